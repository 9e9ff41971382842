package bulk

import (
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// A Capture is a row of captures: the outcome of one archived request. Rows are sorted by
// surt, origin and time. The columns are a contract.
type Capture struct {
	SURT    string    `parquet:"surt,delta"`   // SURT key of the host
	Origin  string    `parquet:"origin,delta"` // scheme, host, port
	URL     string    `parquet:"url,delta"`    // requested
	Fetched time.Time `parquet:"fetched,timestamp(millisecond),delta"`
	Outcome string    `parquet:"outcome,dict"` // success, unavailable, unreachable; or an Outcome constant
	Cause   string    `parquet:"cause,dict"`   // as in package fetch, or a Cause constant
	// Status is that of the last answer, null if only its body was archived.
	Status int32 `parquet:"status,optional"`
	// Location is the absolute target of a redirect.
	Location string `parquet:"location,optional"`
	Hops     int32  `parquet:"hops"` // followed redirects
	// ResolvedFrom is the last URL of the redirect chain, null without a redirect.
	ResolvedFrom string `parquet:"resolved_from,optional"`
	SHA256       string `parquet:"sha256,optional"` // of the whole body, in hex: the key in bodies
	Bytes        int64  `parquet:"bytes"`           // of the whole body
	Truncated    bool   `parquet:"truncated"`
	ContentKind  string `parquet:"kind,optional,dict"` // of the body: text, html, empty, binary
	Input        string `parquet:"input,dict"`         // file of the archive
	Offset       int64  `parquet:"warc_offset,delta"`  // in it, of the record
	// Site is the registered domain, null for an IP address and for a public suffix.
	Site string `parquet:"site,optional,dict"`
	// ContentType is the Content-Type of the last answer as sent, null if it has none.
	ContentType string `parquet:"content_type,optional,dict"`
	// IdentifiedType is the media type that the crawler identified (WARC-Identified-Payload-Type),
	// null if the record has none.
	IdentifiedType string `parquet:"identified_type,optional,dict"`
}

// Outcomes without an answer of the site, which are never a permission, and their causes.
const (
	OutcomeRedirectUnresolved = "redirect-unresolved"
	CauseNotArchived          = "not-archived" // the redirect target was not archived

	OutcomeRevisitUnresolved = "revisit-unresolved"
	CauseRevisitUnresolved   = "revisit-unresolved" // the original of a revisit was not archived
)

// HasAnswer reports whether the answer of the site, or its failure, is known.
func (c *Capture) HasAnswer() bool {
	return c.Outcome != OutcomeRedirectUnresolved && c.Outcome != OutcomeRevisitUnresolved
}

// Damage is a row of errors/*.jsonl: unreadable records of one kind.
type Damage struct {
	Input  string `parquet:"input"`
	Offset int64  `parquet:"offset"` // in the input, approximate
	Kind   string `parquet:"kind"`   // a warc.DamageKind; type, uri, name, line, tar, zip; no-archive, no-capture
	Count  int64  `parquet:"count"`  // records from here on
	Detail string `parquet:"detail"` // of the first record
}

// A Body is a row of bodies: the kept bytes of a file, sorted by its hash, each once.
type Body struct {
	SHA256 string `parquet:"sha256,delta"`
	Body   []byte `parquet:"body"`
}

// hasBody reports whether the snapshot has a body of the capture.
func (c *Capture) hasBody() bool { return c.Outcome == fetch.Success.String() }

// newCapture returns the row of a response without its outcome.
func newCapture(response *archivedResponse) (*Capture, error) {
	origin, _, err := robots.ParseURL(response.URL)
	if err != nil {
		return nil, err
	}
	return &Capture{
		SURT: SURT(origin), Origin: origin.String(), URL: response.URL, Fetched: time.UnixMilli(response.Time).UTC(),
		Location: response.Location, Input: response.Input, Offset: response.Offset, Site: registeredDomain(origin.Host()),
	}, nil
}

// setOutcome copies the outcome of the last response of the redirect chain.
func (c *Capture) setOutcome(last *archivedResponse) {
	c.Outcome = last.Outcome
	c.Cause = last.Cause
	c.Status = last.Status
	c.SHA256 = last.SHA256
	c.Bytes = last.Bytes
	c.Truncated = last.Truncated
	c.ContentKind = last.ContentKind
	c.ContentType = last.ContentType
	c.IdentifiedType = last.IdentifiedType
}

// setUnresolved sets the outcome of a redirect or revisit that leads to no response.
func (c *Capture) setUnresolved(outcome, cause string, status int32) {
	c.Outcome = outcome
	c.Cause = cause
	c.Status = status
}
