package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/duration"
)

// A fetchReport is the fetch of a robots.txt. Members from expires to sha256 that do not apply are absent.
type fetchReport struct {
	URL               string            `json:"url"`                           // as given
	RobotsURL         string            `json:"robots_url"`                    // of its site
	Outcome           string            `json:"outcome"`                       // success, unavailable, unreachable or refused
	Cause             string            `json:"cause"`                         // of the outcome: ok, or a word from the [fault catalogue](fault-catalogue.md)
	Detail            string            `json:"detail"`                        // of the cause: a phrase, can be empty
	Status            int               `json:"status"`                        // of the last response: HTTP status or FTP reply code, 0 without one
	FinalURL          string            `json:"final_url"`                     // of the last request
	Redirects         int               `json:"redirects"`                     // number of those followed
	Started           answer.Time       `json:"started"`                       // when the fetch started
	Fetched           answer.Time       `json:"fetched"`                       // when it ended
	Took              milliseconds      `json:"took_ms"`                       // including waits for a connection
	Expires           answer.Time       `json:"expires,omitempty"`             // when an answer is fetched again
	StatedBy          string            `json:"stated_by,omitempty"`           // header that states a lifetime of an answer
	StatedSeconds     *int64            `json:"stated_seconds,omitempty"`      // that lifetime in seconds, can be negative
	RetryAfterSeconds *int64            `json:"retry_after_seconds,omitempty"` // requested wait after a failure, in seconds
	FailingSince      answer.Time       `json:"failing_since,omitempty"`       // first failure after the last answer
	Failures          *int              `json:"failures,omitempty"`            // since then
	NextTry           answer.Time       `json:"next_try,omitempty"`            // when the next attempt after a failure is due
	LastGood          answer.Time       `json:"last_good,omitempty"`           // when the last answer was fetched, during an outage
	MissingIs5xx      bool              `json:"missing_is_5xx,omitempty"`      // a probe found that the site answers missing pages with 5xx
	Size              *int              `json:"size,omitempty"`                // bytes of the file
	Truncated         *bool             `json:"truncated,omitempty"`           // the file is longer than the limit
	SHA256            string            `json:"sha256,omitempty"`              // of the file, hexadecimal
	Headers           map[string]string `json:"headers"`                       // of the last response, those that matter
	Hops              []fetchHop        `json:"hops"`                          // requests, the first to the site itself

	// For text:
	record *fetch.Record
	reason string // of the outcome
	effect string // on crawlers
	probed bool   // by --probe
}

// A fetchHop is one request of a fetch.
type fetchHop struct {
	URL      string       `json:"url"`                // requested
	Address  string       `json:"address"`            // of the connection to the site, can be empty
	Protocol string       `json:"protocol,omitempty"` // HTTP/1.0, HTTP/1.1, HTTP/2.0 or FTP
	Via      string       `json:"via,omitempty"`      // URL of a proxy, without its credentials
	Status   int          `json:"status"`             // of the response, 0 without one
	Location string       `json:"location"`           // of a redirect, as sent; else empty
	Received int64        `json:"received"`           // bytes of headers and body as transferred
	DNS      milliseconds `json:"dns_ms"`             // lookup of the name
	Connect  milliseconds `json:"connect_ms"`         // all attempted addresses
	TLS      milliseconds `json:"tls_ms"`             // handshake
	Header   milliseconds `json:"header_ms"`          // until the headers were complete
	Body     milliseconds `json:"body_ms"`            // 0 for a redirect, of which it is not read
}

// milliseconds are a duration, in JSON as exact as a microsecond.
type milliseconds time.Duration

// MarshalJSON writes milliseconds.
func (m milliseconds) MarshalJSON() ([]byte, error) { //nolint:unparam // as json.Marshaler wants it
	return strconv.AppendFloat(nil, float64(time.Duration(m).Microseconds())/1000, 'f', -1, 64), nil
}

// newFetchReport describes the fetch of a URL's robots.txt.
func newFetchReport(l *source.Live, url string, r *fetch.Record, now time.Time, probed bool) *fetchReport {
	at := func(t time.Time) answer.Time { return answer.Time(render.Stamp(t)) }
	report := &fetchReport{
		URL: url, RobotsURL: r.Origin.RobotsURL(), Outcome: r.Outcome.String(), Cause: r.Cause.String(), Detail: r.Detail,
		Status: r.Status, FinalURL: r.URL, Redirects: r.Redirects(), Started: at(r.Started), Fetched: at(r.Fetched), Took: milliseconds(r.Took()),
		MissingIs5xx: r.MissingIs5xx, Headers: map[string]string{}, Hops: []fetchHop{}, record: r, probed: probed,
	}
	report.reason, report.effect = meaningOf(l, r, now)
	if r.Outcome.Good() {
		report.Expires = at(r.Expires)
		if r.StatedBy != "" {
			report.StatedBy = r.StatedBy
			report.StatedSeconds = new(int64(r.StatedLife / time.Second))
		}
	} else {
		report.Failures = &r.Failures
		report.NextTry = at(r.NextTry)
		if r.RetryAfter > 0 {
			report.RetryAfterSeconds = new(int64(r.RetryAfter / time.Second))
		}
	}
	if !r.FailingSince.IsZero() {
		report.FailingSince = at(r.FailingSince)
	}
	if r.LastGood != nil {
		report.LastGood = at(r.LastGood.Fetched)
	}
	if r.Outcome == fetch.Success {
		report.Size = new(len(r.Body))
		report.Truncated = &r.Truncated
		report.SHA256 = fmt.Sprintf("%x", sha256.Sum256(r.Body))
	}
	maps.Copy(report.Headers, r.Header)
	for i := range r.Hops {
		h := &r.Hops[i]
		report.Hops = append(report.Hops, fetchHop{
			URL: h.URL, Address: h.Address, Protocol: h.Protocol, Via: h.Via, Status: h.Status, Location: h.Location, Received: h.Received,
			DNS: milliseconds(h.DNS), Connect: milliseconds(h.Connect), TLS: milliseconds(h.TLS), Header: milliseconds(h.Header), Body: milliseconds(h.Body),
		})
	}
	return report
}

func (r *fetchReport) writeText(w io.Writer, colors render.Palette) {
	style := render.Green
	if !r.record.Outcome.Good() {
		style = render.Red
	}
	fmt.Fprintf(w, "%s  %s\n", colors.Paint(style, r.Outcome), colors.Paint(render.Bold, r.RobotsURL))
	render.Wrap(w, "  ", r.reason)
	render.Wrap(w, "  ", r.effect)
	render.Heading(w, colors, "Requests")
	for i := range r.Hops {
		hop := &r.Hops[i]
		lead := fmt.Sprintf("  %*d  ", len(strconv.Itoa(len(r.Hops))), i+1)
		indent := strings.Repeat(" ", len(lead))
		fmt.Fprintf(w, "%s%s\n%s%s\n%s%s\n", lead, robots.Printable(hop.URL), indent, hop.response(), indent, colors.Paint(render.Faint, hop.timings()))
	}
	render.Heading(w, colors, "Details")
	for _, row := range r.details() {
		fmt.Fprintf(w, "  %-11s  %s\n", row[0], robots.Printable(row[1]))
	}
	if len(r.Headers) > 0 {
		render.Heading(w, colors, "Headers that matter")
	}
	for _, name := range fetch.HeaderNames() {
		if value, ok := r.Headers[name]; ok {
			fmt.Fprintf(w, "  %s: %s\n", name, robots.Printable(value))
		}
	}
}

// response describes the response to a request.
func (h *fetchHop) response() string {
	text := "no answer"
	if h.Status != 0 || h.Location != "" {
		text = "status " + strconv.Itoa(h.Status)
	}
	if h.Location != "" {
		text += ", redirects to " + robots.Printable(h.Location)
	}
	return text
}

// timings describes the duration of a request, of its phases from 1 ms, and the connection.
func (h *fetchHop) timings() string {
	var phases []string
	total := milliseconds(0)
	for _, phase := range []struct {
		title string
		took  milliseconds
	}{
		{"DNS", h.DNS}, {"connecting", h.Connect}, {"TLS", h.TLS}, {"headers", h.Header}, {"body", h.Body},
	} {
		total += phase.took
		if phase.took >= milliseconds(time.Millisecond) {
			phases = append(phases, phase.title+" "+render.Took(time.Duration(phase.took)))
		}
	}
	text := render.Took(time.Duration(total))
	if len(phases) > 0 {
		text += ": " + strings.Join(phases, ", ")
	}
	if h.Address != "" {
		text += " (" + h.Address + ")"
	}
	if h.Via != "" {
		text += " via " + h.Via
	}
	return text
}

// details returns further facts with their names.
func (r *fetchReport) details() (rows [][2]string) {
	add := func(name, value string) { rows = append(rows, [2]string{name, value}) }
	add("fetched at", string(r.Started)+", took "+render.Took(time.Duration(r.Took)))
	if r.FinalURL != r.RobotsURL {
		add("final URL", r.FinalURL)
	}
	if r.Size != nil {
		size := render.Count(*r.Size, "byte")
		if *r.Truncated {
			size += ", truncated"
		}
		if n := len(r.Hops); n > 0 && r.Hops[n-1].Received > 0 {
			size += ", " + render.Count(int(r.Hops[n-1].Received), "byte") + " received with headers"
		}
		add("size", size)
		add("SHA-256", r.SHA256)
	}
	switch {
	case r.record.Outcome.Good():
		add("fresh until", r.lifetime())
	case r.record.Outcome == fetch.Unreachable:
		rows = append(rows, r.outage()...)
	}
	switch {
	case r.probed && r.MissingIs5xx:
		add("probe", "the home page works and a page that cannot exist is answered 5xx: this 5xx counts as 404 in "+strings.Join(probing(), " and "))
	case r.probed && r.record.Cause == fetch.ServerError:
		add("probe", "no effect: the 5xx is a failure in every dialect")
	}
	return rows
}

// lifetime describes how long an answer is used.
func (r *fetchReport) lifetime() string {
	stated := "the site states none"
	if r.StatedBy != "" {
		stated = r.StatedBy + " is " + duration.Text(r.record.StatedLife)
	}
	return string(r.Expires) + " (" + duration.Text(r.record.Expires.Sub(r.record.Fetched)) + "; " + stated + ")"
}

// outage returns the facts of a failure with their names.
func (r *fetchReport) outage() (rows [][2]string) {
	next := string(r.NextTry)
	if r.RetryAfterSeconds != nil {
		next += " (Retry-After " + duration.Text(r.record.RetryAfter) + ")"
	}
	rows = append(rows, [2]string{"next try", next})
	if r.FailingSince != "" && r.record.FailingSince.Before(r.record.Fetched) {
		rows = append(rows, [2]string{"failing", "since " + string(r.FailingSince) + ", " + render.Count(*r.Failures, "attempt")})
	}
	if good := r.record.LastGood; good != nil {
		rows = append(rows, [2]string{"last answer", string(r.LastGood) + ", status " + strconv.Itoa(good.Status)})
	}
	return rows
}
