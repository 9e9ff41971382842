package bulk

import "time"

// A Verdict is a row of verdicts: a capture, crawler, dialect and path. The columns are a contract.
type Verdict struct {
	SURT    string    `parquet:"surt,delta"`                           // as in captures
	Origin  string    `parquet:"origin,delta"`                         // likewise
	Fetched time.Time `parquet:"fetched,timestamp(millisecond),delta"` // likewise
	Outcome string    `parquet:"outcome,dict"`                         // likewise
	Agent   string    `parquet:"agent,dict"`                           // tokens of the crawler, separated by spaces
	Dialect string    `parquet:"dialect,dict"`                         // in which the file is read
	Path    string    `parquet:"path,dict"`                            // as given with --path
	PathVerdict
	// CrawlDelay is the delay in seconds that the crawler's group declares, null if it declares none.
	CrawlDelay *float64 `parquet:"crawl_delay,dict"`
	Engine     string   `parquet:"engine,dict"`        // version of the program and a hash of its dialects
	Input      string   `parquet:"input,dict"`         // of the capture
	Offset     int64    `parquet:"warc_offset"`        // likewise
	Site       string   `parquet:"site,optional,dict"` // of the capture, null if that is
}

// A PathVerdict is the verdict for one path and the access to the site. It holds no pointer, as
// parquet-go reads one in an embedded struct as never null.
type PathVerdict struct {
	// Verdict is allow, disallow or undefined (historic dialects), null without a response.
	Verdict string `parquet:"verdict,optional,dict"`
	// Reason is as in docs/batch.md, such as unreachable; null if the archive lacks the response, and for
	// a truncated file whose verdict needs the missing part.
	Reason string `parquet:"reason,optional,dict"`
	// Line is that of the rule that decided, from 1, null if none did.
	Line int32 `parquet:"line,optional"`
	// Directive is allow or disallow, of the rule that decided, null if none did.
	Directive string `parquet:"directive,optional,dict"`
	// Pattern is the path of the rule that decided, null if none did, or if it is empty.
	Pattern string `parquet:"pattern,optional,dict"`
	// Group is the token of the crawler's group, null if it has none.
	Group string `parquet:"group_name,optional,dict"`
	// Access is all, part or none (nothing but /robots.txt), proved over all URLs of the site; undecided
	// (too many steps of the proof, or a truncated file) or unknown (no response).
	Access string `parquet:"access,dict"`
}

// A JoinedVerdict is a row of joined: a URL of the list, and the verdict of the last capture up to its time
// for one crawler and dialect. The columns are a contract.
type JoinedVerdict struct {
	URL  string    `parquet:"url,delta"`                             // as in the list
	At   time.Time `parquet:"asked_at,timestamp(millisecond),delta"` // of the list
	AgeS *int64    `parquet:"age_s"`                                 // seconds from the capture to asked_at, null without a capture

	SURT    string     `parquet:"surt,delta"`                     // site key of the URL
	Origin  string     `parquet:"origin,optional,delta"`          // of the URL, null if it has none
	Fetched *time.Time `parquet:"fetched,timestamp(millisecond)"` // of the capture, null without one
	Outcome string     `parquet:"outcome,optional,dict"`          // likewise null without a capture
	Agent   string     `parquet:"agent,dict"`                     // tokens of the crawler, separated by spaces
	Dialect string     `parquet:"dialect,dict"`                   // in which the file is read
	Path    string     `parquet:"path,delta"`                     // of the URL, with its query
	PathVerdict
	// CrawlDelay is as in verdicts, null if the group declares none.
	CrawlDelay *float64 `parquet:"crawl_delay,dict"`
	Engine     string   `parquet:"engine,dict"`         // version of the program and a hash of its dialects
	Input      string   `parquet:"input,optional,dict"` // of the capture, null without one
	Offset     *int64   `parquet:"warc_offset"`         // likewise null without a capture
}

// The values of Diff.Change.
const (
	ChangeSame      = "same"     // proved over all URLs
	ChangeChanged   = "changed"  // with a witness
	ChangeAppeared  = "appeared" // only in the second snapshot
	ChangeGone      = "gone"     // only in the first
	ChangeUndecided = "undecided"
)

// An AccessChange is a row of changes: the access of one crawler to a site in two snapshots. The columns
// are a contract.
type AccessChange struct {
	Origin  string `parquet:"origin,delta"` // of the site
	Agent   string `parquet:"agent,dict"`   // tokens of the crawler, separated by spaces
	Dialect string `parquet:"dialect,dict"` // in which the files are read
	// Change is same or changed, both proved over all URLs for the last responses; appeared or gone, if
	// one snapshot lacks the site; undecided, if one has no response or the proof takes too many steps.
	Change string `parquet:"change,dict"`
	// Witness is a shortest path whose verdict changed, null unless changed.
	Witness    string `parquet:"witness,optional"`
	LineBefore int32  `parquet:"line_before,optional"` // of the rule that decides the witness, null if none does
	LineAfter  int32  `parquet:"line_after,optional"`  // likewise, null if none does
	Site       string `parquet:"site,optional,dict"`   // registered domain, null as in captures
}
