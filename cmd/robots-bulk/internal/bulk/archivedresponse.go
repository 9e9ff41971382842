package bulk

import "strings"

// An archivedResponse is one archived response and its outcome, before redirects and revisits are
// resolved: a row of a sorted run, as JSON.
type archivedResponse struct {
	URL  string // of the request
	Time int64  `json:"At"` // milliseconds since 1970

	Outcome  string // "" for a redirect and for a revisit
	Cause    string
	Status   int32  // 0 if only the body was archived
	Location string `json:"Next"` // absolute target of a redirect

	SHA256      string // of the whole body, in hexadecimal, "" without a body
	BodyOffset  int64  `json:"Body"` // in the run, -1 without a body
	Bytes       int64  // of the whole body
	Truncated   bool
	ContentKind string `json:"Kind"`

	ContentType    string `json:"Type,omitempty"`       // as sent
	IdentifiedType string `json:"Identified,omitempty"` // by the crawler that archived it

	Input    string // file of the archive
	Offset   int64  // in it, of the record
	RecordID string `json:"ID"`

	Revisit *revisitReference // nil if the record is not a revisit

	run *sortedRun // that holds it
}

// A revisitReference identifies the response that a revisit record reports as unchanged.
type revisitReference struct {
	URL      string
	Time     int64  `json:"At"` // milliseconds since 1970
	RecordID string `json:"ID"`
}

// isRobotsTxt reports whether the request was for a robots.txt.
func (r *archivedResponse) isRobotsTxt() bool {
	return strings.HasSuffix(r.URL, "/robots.txt") && strings.Count(r.URL, "/") == 3
}
