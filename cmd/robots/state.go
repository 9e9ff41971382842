package main

import (
	"strconv"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// stateLine says in one line what became of a robots.txt and, by the state of
// the rules made from it, what that means at the moment of the question.
func (l *live) stateLine(r *fetch.Record, s *robots.State) string {
	return l.tell(r, s.Text(), s)
}

// factLine is stateLine without what it means, which dialects differ in and
// their own notes say.
func (l *live) factLine(r *fetch.Record, s *robots.State) string {
	fact := ""
	if s != nil {
		fact = s.Fact
	}
	return l.tell(r, fact, s)
}

func (l *live) tell(r *fetch.Record, note string, s *robots.State) (told string) {
	line := r.Origin.RobotsURL() + ": "
	if r.Degraded {
		defer func() { told += "; the fleet's Redis is out of reach" }()
	}
	if !r.Outcome.Good() {
		if note == "" {
			note = r.Cause.Sentence()
		}
		if h := l.permit(r); h != "" {
			note += "; " + h
		}
		if r.Outcome == fetch.Unreachable && l.kept {
			note += "; asked again from " + stamp(r.NextTry)
		}
		return line + note
	}
	if r.Fetched.Before(l.began) {
		line += "kept since " + stamp(r.Fetched)
	} else {
		line += "fetched in " + took(max(r.Took(), time.Millisecond))
	}
	line += ", status " + strconv.Itoa(r.Status)
	if n := r.Redirects(); n > 0 {
		line += " after " + count(n, "redirect")
		if r.Outcome == fetch.Success {
			line += " to " + r.URL
		}
	}
	switch r.Cause {
	case fetch.ClientError, fetch.FTPAbsent, fetch.FTPDenied, fetch.Empty:
		line += " (" + r.Cause.Sentence() + ")"
	}
	if s != nil && s.StaleSince.IsZero() && !r.Expires.IsZero() {
		line += ", fresh until " + stamp(r.Expires)
	}
	if note != "" && note != "status "+strconv.Itoa(r.Status) {
		line += "; " + note
	}
	return line
}

// stamp writes a time as --at takes it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// took writes how long something took: 0.4 ms, 84 ms, 3.2 s.
func took(d time.Duration) string {
	unit, n, digits := " ms", float64(d)/float64(time.Millisecond), 0
	switch {
	case d < 50*time.Microsecond:
		return "under 0.1 ms"
	case d >= time.Second:
		unit, n, digits = " s", d.Seconds(), 1
	case d < 10*time.Millisecond && d%time.Millisecond != 0:
		digits = 1
	}
	return strconv.FormatFloat(n, 'f', digits, 64) + unit
}

// lasting writes a life or a wait in words: 24 h, 5 min.
func lasting(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d%time.Hour == 0:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	case d > 10*time.Hour:
		return strconv.Itoa(int(d.Round(time.Hour)/time.Hour)) + " h"
	case d%time.Minute == 0 || d > 10*time.Minute:
		return strconv.Itoa(int(d.Round(time.Minute)/time.Minute)) + " min"
	}
	return strconv.Itoa(int(d/time.Second)) + " s"
}

// count writes a number of things: 1 byte, 2 bytes, 12,345 bytes.
func count(n int, thing string) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if n == 1 {
		return digits + " " + thing
	}
	return digits + " " + thing + "s"
}
