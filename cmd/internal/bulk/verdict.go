package bulk

import "time"

// A Verdict is what one capture says to one crawler about one path: a row of verdicts.
// Rows come in the order of the captures, and of one capture in that of the agents,
// dialects and paths that were asked for. The columns are a contract.
type Verdict struct {
	SURT    string    `parquet:"surt,delta"`
	Origin  string    `parquet:"origin,delta"`
	Fetched time.Time `parquet:"fetched,timestamp(millisecond),delta"`
	Outcome string    `parquet:"outcome,dict"` // of the capture
	Agent   string    `parquet:"agent,dict"`   // the tokens of the crawler, with a blank between
	Dialect string    `parquet:"dialect,dict"`
	Path    string    `parquet:"path,dict"`
	// Verdict is allow, disallow or undefined, null where the archive holds no answer of
	// the site. Reason is that of the batch, null where it is not even known that the site
	// cannot be reached.
	Verdict   string `parquet:"verdict,optional,dict"`
	Reason    string `parquet:"reason,optional,dict"`
	Line      int32  `parquet:"line,optional"` // of the rule that decided, from 1
	Directive string `parquet:"directive,optional,dict"`
	Pattern   string `parquet:"pattern,optional,dict"`
	Group     string `parquet:"group_name,optional,dict"` // the token of the group that holds
	// Access is how much of the site the file leaves: all, part, none (nothing but
	// /robots.txt), undecided (the proof takes more than its steps), unknown (no answer).
	Access     string   `parquet:"access,dict"`
	CrawlDelay *float64 `parquet:"crawl_delay,dict"` // seconds, as the group declares
	Engine     string   `parquet:"engine,dict"`
	Input      string   `parquet:"input,dict"` // of the capture
	Offset     int64    `parquet:"warc_offset"`
}

// A Joined is a URL with what the capture in force at its time says to one crawler: the
// columns of Verdict and three more. Rows come in the order of the list. Without a capture
// in force at and url are all that is known, and access is unknown. The columns are a
// contract.
type Joined struct {
	URL  string    `parquet:"url,delta"` // as the list has it
	At   time.Time `parquet:"asked_at,timestamp(millisecond),delta"`
	AgeS *int64    `parquet:"age_s"` // seconds from the capture to At

	SURT       string     `parquet:"surt,delta"`
	Origin     string     `parquet:"origin,optional,delta"` // null: the URL has none
	Fetched    *time.Time `parquet:"fetched,timestamp(millisecond)"`
	Outcome    string     `parquet:"outcome,optional,dict"` // null: no capture is in force
	Agent      string     `parquet:"agent,dict"`
	Dialect    string     `parquet:"dialect,dict"`
	Path       string     `parquet:"path,delta"` // of the URL, with its query
	Verdict    string     `parquet:"verdict,optional,dict"`
	Reason     string     `parquet:"reason,optional,dict"`
	Line       int32      `parquet:"line,optional"`
	Directive  string     `parquet:"directive,optional,dict"`
	Pattern    string     `parquet:"pattern,optional,dict"`
	Group      string     `parquet:"group_name,optional,dict"`
	Access     string     `parquet:"access,dict"`
	CrawlDelay *float64   `parquet:"crawl_delay,dict"`
	Engine     string     `parquet:"engine,dict"`
	Input      string     `parquet:"input,optional,dict"`
	Offset     *int64     `parquet:"warc_offset"`
}

// The values of Diff.Change.
const (
	Same      = "same"     // proved over all URLs
	Changed   = "changed"  // with a witness
	Appeared  = "appeared" // the site is in the second snapshot alone
	Gone      = "gone"     // in the first alone
	Undecided = "undecided"
)

// A Diff says how what a site says to one crawler differs between two snapshots: a row of
// changes. The columns are a contract.
type Diff struct {
	Origin  string `parquet:"origin,delta"`
	Agent   string `parquet:"agent,dict"`
	Dialect string `parquet:"dialect,dict"`
	// Change is same, changed, appeared or gone; undecided where a snapshot holds no answer
	// of the site, or the proof takes more than its steps.
	Change string `parquet:"change,dict"`
	// Witness is the path of a shortest URL with another verdict than before, and the lines
	// are those of the rules that decide it, null where none does.
	Witness    string `parquet:"witness,optional"`
	LineBefore int32  `parquet:"line_before,optional"`
	LineAfter  int32  `parquet:"line_after,optional"`
}
