package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots/cmd/internal/batch"
)

// A ProblemType is the last part of a problem's type, such as /problems/bad-url (RFC 9457).
// The words are a contract.
type ProblemType string

// The problems of the service.
const (
	BadURL           ProblemType = "bad-url"
	BadParameter     ProblemType = "bad-parameter"
	BadJSON          ProblemType = "bad-json"
	TooLarge         ProblemType = "too-large"
	TooMany          ProblemType = "too-many"
	UnsupportedType  ProblemType = "unsupported-type"
	NotAcceptable    ProblemType = "not-acceptable"
	Unauthorized     ProblemType = "unauthorized"
	Forbidden        ProblemType = "forbidden"
	ForbiddenHost    ProblemType = "forbidden-host"
	NotFound         ProblemType = "not-found"
	MethodNotAllowed ProblemType = "method-not-allowed"
	CrossOrigin      ProblemType = "cross-origin"
	Busy             ProblemType = "busy"
	RateLimited      ProblemType = "rate-limited"
	Pending          ProblemType = "pending"
	Disallowed       ProblemType = "disallowed"
	Ended            ProblemType = "ended"
	Internal         ProblemType = "internal"
)

// problems contains the usual status and the title of each type.
var problems = map[ProblemType]struct {
	status int
	title  string
}{
	BadURL:           {http.StatusUnprocessableEntity, "Invalid URL"},
	BadParameter:     {http.StatusUnprocessableEntity, "Invalid parameter"},
	BadJSON:          {http.StatusBadRequest, "Invalid JSON"},
	TooLarge:         {http.StatusRequestEntityTooLarge, "Too large"},
	TooMany:          {http.StatusUnprocessableEntity, "Too many"},
	UnsupportedType:  {http.StatusUnsupportedMediaType, "Unsupported media type"},
	NotAcceptable:    {http.StatusNotAcceptable, "Not acceptable"},
	Unauthorized:     {http.StatusUnauthorized, "Token required"},
	Forbidden:        {http.StatusForbidden, "Scope required"}, // which the token lacks
	ForbiddenHost:    {http.StatusMisdirectedRequest, "Unknown host"},
	NotFound:         {http.StatusNotFound, "Not found"},
	MethodNotAllowed: {http.StatusMethodNotAllowed, "Method not allowed"},
	CrossOrigin:      {http.StatusForbidden, "Cross-origin request"},
	Busy:             {http.StatusServiceUnavailable, "Busy"},
	RateLimited:      {http.StatusTooManyRequests, "Too many requests"},
	Pending:          {http.StatusServiceUnavailable, "Undecided"},
	Disallowed:       {http.StatusForbidden, "Disallowed by robots.txt"}, // if the status is the answer
	Ended:            {http.StatusGone, "Permit expired"},
	Internal:         {http.StatusInternalServerError, "Internal error"},
}

// A Problem is the body of every response with a status of 400 or more (RFC 9457), and an
// error.
type Problem struct {
	Type     string       `json:"type"`
	Title    string       `json:"title"`
	Status   int          `json:"status"`
	Detail   string       `json:"detail"`
	Instance string       `json:"instance,omitempty"`
	Errors   []FieldError `json:"errors,omitempty"`

	RetryAfter int `json:"-"` // seconds, for the header of that name; 0 for none
}

// NewProblem returns a problem of the type with its usual status and title.
func NewProblem(t ProblemType, detail string, errors ...FieldError) *Problem {
	p := problems[t]
	return &Problem{Type: "/problems/" + string(t), Title: p.title, Status: p.status, Detail: detail, Errors: errors}
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }

// After returns the problem with a Retry-After of at least one second.
func (p *Problem) After(d time.Duration) *Problem {
	later := *p
	later.RetryAfter = max(int((d+time.Second-1)/time.Second), 1)
	return &later
}

// Write sends the problem. Other headers must be set before.
func (p *Problem) Write(w http.ResponseWriter, r *http.Request) {
	copied := *p
	h := w.Header()
	copied.Instance = r.URL.Path
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag"} { // of a response that it replaces
		h.Del(name)
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	if p.Status == http.StatusUnauthorized && h.Get("WWW-Authenticate") == "" { // RFC 9110 section 15.5.2
		h.Set("WWW-Authenticate", "Bearer")
	}
	if v, ok := w.(*exchange); ok {
		v.gate.metrics.refused.of(string(p.code())).Inc()
	}
	w.WriteHeader(p.Status)
	if r.Method == http.MethodHead {
		return
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(&copied) // the client might have disconnected
}

// code returns the code of a problem in a batch.
func (p *Problem) code() batch.Code {
	return batch.Code(strings.TrimPrefix(p.Type, "/problems/"))
}
