package bulk

import "time"

// A Verdict is a row of verdicts: one capture, crawler, dialect and path. Rows are in the
// order of captures, then agents, dialects and paths. The columns are a contract.
type Verdict struct {
	SURT    string    `parquet:"surt,delta"`
	Origin  string    `parquet:"origin,delta"`
	Fetched time.Time `parquet:"fetched,timestamp(millisecond),delta"`
	Outcome string    `parquet:"outcome,dict"` // of the capture
	Agent   string    `parquet:"agent,dict"`   // tokens of the crawler, separated by spaces
	Dialect string    `parquet:"dialect,dict"`
	Path    string    `parquet:"path,dict"`
	PathVerdict
	CrawlDelay *float64 `parquet:"crawl_delay,dict"` // seconds, as declared by the group
	Engine     string   `parquet:"engine,dict"`
	Input      string   `parquet:"input,dict"` // of the capture
	Offset     int64    `parquet:"warc_offset"`
	Site       string   `parquet:"site,optional,dict"` // of the capture
}

// A PathVerdict is the verdict for one path and the access to the site. It holds no pointer, as
// parquet-go reads one in an embedded struct as never null.
type PathVerdict struct {
	// Verdict is allow, disallow or undefined, null if the archive holds no answer of the
	// site. Reason is that of the batch, null if the outcome is unknown.
	Verdict   string `parquet:"verdict,optional,dict"`
	Reason    string `parquet:"reason,optional,dict"`
	Line      int32  `parquet:"line,optional"` // of the rule that decided, from 1
	Directive string `parquet:"directive,optional,dict"`
	Pattern   string `parquet:"pattern,optional,dict"`
	Group     string `parquet:"group_name,optional,dict"` // token of the deciding group
	// Access is all, part, none (nothing but /robots.txt), undecided (too many steps of the
	// proof, or a truncated file) or unknown (no answer).
	Access string `parquet:"access,dict"`
}

// A JoinedVerdict is a row of joined: a URL and the verdict in force at its time for one crawler,
// in the columns of Verdict. Rows are in the order of the list. Without a capture access is
// unknown. The columns are a contract.
type JoinedVerdict struct {
	URL  string    `parquet:"url,delta"` // as in the list
	At   time.Time `parquet:"asked_at,timestamp(millisecond),delta"`
	AgeS *int64    `parquet:"age_s"` // seconds from the capture to At

	SURT    string     `parquet:"surt,delta"`
	Origin  string     `parquet:"origin,optional,delta"` // null: the URL has none
	Fetched *time.Time `parquet:"fetched,timestamp(millisecond)"`
	Outcome string     `parquet:"outcome,optional,dict"` // null: no capture is in force
	Agent   string     `parquet:"agent,dict"`
	Dialect string     `parquet:"dialect,dict"`
	Path    string     `parquet:"path,delta"` // of the URL, with its query
	PathVerdict
	CrawlDelay *float64 `parquet:"crawl_delay,dict"`
	Engine     string   `parquet:"engine,dict"`
	Input      string   `parquet:"input,optional,dict"`
	Offset     *int64   `parquet:"warc_offset"`
}

// The values of Diff.Change.
const (
	ChangeSame      = "same"     // proved over all URLs
	ChangeChanged   = "changed"  // with a witness
	ChangeAppeared  = "appeared" // only in the second snapshot
	ChangeGone      = "gone"     // only in the first
	ChangeUndecided = "undecided"
)

// A AccessChange is a row of changes: how the access of one crawler to a site differs between two
// snapshots. The columns are a contract.
type AccessChange struct {
	Origin  string `parquet:"origin,delta"`
	Agent   string `parquet:"agent,dict"`
	Dialect string `parquet:"dialect,dict"`
	// Change is same, changed, appeared, gone, or undecided if a snapshot holds no answer
	// or the proof takes too many steps.
	Change string `parquet:"change,dict"`
	// Witness is the path of a shortest URL whose verdict changed; the lines are those of
	// the deciding rules, null without a rule.
	Witness    string `parquet:"witness,optional"`
	LineBefore int32  `parquet:"line_before,optional"`
	LineAfter  int32  `parquet:"line_after,optional"`
	Site       string `parquet:"site,optional,dict"` // of the captures
}
