package bulk

import "time"

// A Capture is what one request of an archive came to: a row of captures. Rows are
// sorted by surt, origin and time. The columns are a contract.
type Capture struct {
	SURT    string    `parquet:"surt,delta"`   // the key of the host, as indexes of archives have it
	Origin  string    `parquet:"origin,delta"` // scheme, host, port
	URL     string    `parquet:"url,delta"`    // that was asked
	Fetched time.Time `parquet:"fetched,timestamp(millisecond),delta"`
	Outcome string    `parquet:"outcome,dict"` // success, unavailable, unreachable; or Unresolved, RevisitUnresolved
	Cause   string    `parquet:"cause,dict"`   // as fetch has them; NotArchived; RevisitUnresolved
	// Status is that of the last answer, null where only its body was kept.
	Status int32 `parquet:"status,optional"`
	// Location is where the answer leads if it is a redirect, absolute.
	Location string `parquet:"location,optional"`
	Hops     int32  `parquet:"hops"` // redirects that were followed
	// ResolvedFrom is the URL at which the chain of redirects ended, null if there was none.
	ResolvedFrom string `parquet:"resolved_from,optional"`
	SHA256       string `parquet:"sha256,optional"` // of the body, in hex: a row of bodies
	Bytes        int64  `parquet:"bytes"`           // of the body
	Truncated    bool   `parquet:"truncated"`
	Kind         string `parquet:"kind,optional,dict"` // of the body: text, html, empty, binary
	Input        string `parquet:"input,dict"`         // file of the archive
	Offset       int64  `parquet:"warc_offset,delta"`  // in it, of the record
}

// What an archive may leave open. An answer is then not known: nobody may take it for
// one that allows.
const (
	Unresolved        = "redirect-unresolved" // an outcome: a redirect leads to what was not archived
	NotArchived       = "not-archived"        // its cause
	RevisitUnresolved = "revisit-unresolved"  // an outcome and a cause: what a record refers to was not archived
)

// Answered reports whether it is known what the site answered, or that it did not.
func (c *Capture) Answered() bool {
	return c.Outcome != Unresolved && c.Outcome != RevisitUnresolved
}

// Damaged is something of an input that could not be read, or several of a kind: a row of
// errors/*.jsonl.
type Damaged struct {
	Input  string `parquet:"input"`
	Offset int64  `parquet:"offset"` // in it, near enough to find it
	Kind   string `parquet:"kind"`   // gzip, zstd, header, length, http, garbage; uri, name, line, tar, zip; no-capture of an input
	Count  int64  `parquet:"count"`  // of the kind, from here on
	Detail string `parquet:"detail"` // of the first
}

// A Body is a file: a row of bodies, sorted by its hash, each once.
type Body struct {
	SHA256 string `parquet:"sha256,delta"`
	Body   []byte `parquet:"body"`
}
