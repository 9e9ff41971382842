package bulk

import "time"

// A Capture is what one request of an archive came to: a row of captures. Rows are
// sorted by surt, origin and time. The columns are a contract.
type Capture struct {
	SURT    string    `parquet:"surt,dict"`   // the key of the host, as indexes of archives have it
	Origin  string    `parquet:"origin,dict"` // scheme, host, port
	URL     string    `parquet:"url"`         // that was asked
	Fetched time.Time `parquet:"fetched,timestamp(millisecond)"`
	Outcome string    `parquet:"outcome,dict"` // success, unavailable, unreachable, redirect-unresolved; redirect until it is resolved
	Cause   string    `parquet:"cause,dict"`   // as fetch has them
	Status  int32     `parquet:"status,optional"`
	// Location is where a redirect leads, absolute.
	Location string `parquet:"location,optional"`
	Hops     int32  `parquet:"hops"` // redirects that were followed
	// ResolvedFrom is the URL at which the chain of redirects ended.
	ResolvedFrom string `parquet:"resolved_from,optional"`
	SHA256       string `parquet:"sha256,optional"` // of the body, in hex: a row of bodies
	Bytes        int64  `parquet:"bytes"`           // of the body
	Truncated    bool   `parquet:"truncated"`
	Kind         string `parquet:"kind,optional,dict"` // of the body: text, html, empty, binary
	Input        string `parquet:"input,dict"`         // file of the archive
	Offset       int64  `parquet:"offset"`             // in it, of the record
}

// A Body is a file: a row of bodies, sorted by its hash, each once.
type Body struct {
	SHA256 string `parquet:"sha256"`
	Body   []byte `parquet:"body"`
}
