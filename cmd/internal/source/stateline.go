package source

import (
	"strconv"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/fetch"
)

// Hint warns once which flag permits what the guard has refused, for formats other than text.
func (l *Live) Hint(r *fetch.Record) {
	if h := l.Permit(r); h != "" {
		l.Std.WarnOnce("refused", "%s is not fetched: %s", r.Origin.RobotsURL(), h)
	}
}

// Permit names the flag that permits what the guard has refused, "" if there is none, as for
// the metadata address of a cloud.
func (l *Live) Permit(r *fetch.Record) string {
	if l.Options.Guard.AllowPrivate || !r.Private() {
		return ""
	}
	return "--allow-private permits private and loopback addresses"
}

// FactOf is the note on a state without its meaning, which differs by dialect.
func FactOf(s *robots.State) string {
	if s == nil {
		return ""
	}
	return s.Fact
}

// StateLine describes the fetch of a robots.txt in one line, with a note on the state of its
// rules.
func (l *Live) StateLine(r *fetch.Record, s *robots.State, note string) (line string) {
	line = r.Origin.RobotsURL() + ": "
	if r.Degraded {
		defer func() { line += "; the fleet's Redis is unavailable" }()
	}
	if !r.Outcome.Good() {
		if note == "" {
			note = r.Cause.Sentence()
		}
		if h := l.Permit(r); h != "" {
			note += "; " + h
		}
		if r.Outcome == fetch.Unreachable && l.Store != nil {
			note += "; next try from " + render.Stamp(r.NextTry)
		}
		return line + note
	}
	if r.Fetched.Before(l.began) {
		line += "kept since " + render.Stamp(r.Fetched)
	} else {
		line += "fetched in " + render.Took(r.Took())
	}
	line += ", status " + strconv.Itoa(r.Status)
	if n := r.Redirects(); n > 0 {
		line += " after " + render.Count(n, "redirect")
		if r.Outcome == fetch.Success {
			line += " to " + r.URL
		}
	}
	switch r.Cause {
	case fetch.ClientError, fetch.FTPAbsent, fetch.FTPDenied, fetch.Empty:
		line += " (" + r.Cause.Sentence() + ")"
	}
	if s != nil && s.StaleSince.IsZero() && !r.Expires.IsZero() {
		line += ", fresh until " + render.Stamp(r.Expires)
	}
	if note != "" && note != "status "+strconv.Itoa(r.Status) {
		line += "; " + note
	}
	return line
}
