package bulk

import (
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// A Capture is a row of captures: the outcome of one archived request. The columns are a contract.
type Capture struct {
	// SURT is the site's key in archive indexes, such as com,example for https://www.example.com; several
	// origins share one.
	SURT    string    `parquet:"surt,delta"`
	Origin  string    `parquet:"origin,delta"`                         // scheme, host, and port if it is not the default
	URL     string    `parquet:"url,delta"`                            // requested
	Fetched time.Time `parquet:"fetched,timestamp(millisecond),delta"` // time of the request
	// Outcome is success, unavailable (no robots.txt: everything is allowed), unreachable, or, if the
	// archive lacks the target, redirect-unresolved or revisit-unresolved.
	Outcome string `parquet:"outcome,dict"`
	Cause   string `parquet:"cause,dict"` // why the outcome is so, such as ok, status, not-archived
	// Status is that of the last response, null if only its body was archived.
	Status int32 `parquet:"status,optional"`
	// Location is the absolute target of the request's redirect, null without one.
	Location string `parquet:"location,optional"`
	Hops     int32  `parquet:"hops"` // followed redirects
	// ResolvedFrom is the last URL of the redirect chain, null without a redirect.
	ResolvedFrom string `parquet:"resolved_from,optional"`
	// SHA256 is that of the whole body in hexadecimal, the key of bodies and of the tables about files;
	// null without a body. Of a body that the archive truncated, or a compressed one, it is that of the
	// kept bytes.
	SHA256    string `parquet:"sha256,optional"`
	Bytes     int64  `parquet:"bytes"`     // size of the whole body, 0 without one
	Truncated bool   `parquet:"truncated"` // bodies has only the beginning of the body
	// ContentKind is that of the body by its first bytes: text, html, empty, binary; null without a body.
	ContentKind string `parquet:"kind,optional,dict"`
	Input       string `parquet:"input,dict"`        // file of the archive
	Offset      int64  `parquet:"warc_offset,delta"` // position of the record in it
	// Site is the registered domain by the Public Suffix List with its private suffixes, null for an IP
	// address and for a public suffix.
	Site string `parquet:"site,optional,dict"`
	// ContentType is the Content-Type of the last response as sent, null if it has none.
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

// A Body is a row of bodies: the kept bytes of a body. The columns are a contract.
type Body struct {
	SHA256 string `parquet:"sha256,delta"` // as in captures
	Body   []byte `parquet:"body"`         // the first 513,024 bytes at most
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
