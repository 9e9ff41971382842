package fetch

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
)

// TestJudge compares the record of an archived answer with that of a fetch of the same bytes;
// see also the catalogue.
func TestJudge(t *testing.T) {
	at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	tests := []struct {
		name    string
		url     string
		status  int
		header  string // Name: value, lines
		body    string
		cut     bool
		lost    bool // the transfer was cut
		outcome Outcome
		cause   Cause
		want    string // the body
		next    string
	}{
		{"file", "", 200, "", "User-agent: *\n", false, false, Success, OK, "User-agent: *\n", ""},
		{"empty", "", 200, "", "", false, false, Success, Empty, "", ""},
		{"no content", "", 204, "", "", false, false, Success, Empty, "", ""},
		{"no content, length 0", "", 205, "Content-Length: 0", "", false, false, Success, Empty, "", ""},
		{"no content but some", "", 204, "", "x", false, false, Unreachable, BadResponse, "", ""},
		{"no content but announced", "", 205, "Content-Length: 1", "", false, false, Unreachable, BadResponse, "", ""},
		{"no content, cut on the way", "", 205, "", "", false, true, Unreachable, Closed, "", ""},
		{"missing", "", 404, "", "no", false, false, Unavailable, ClientError, "", ""},
		{"forbidden", "", 403, "", "no", false, false, Unavailable, ClientError, "", ""},
		{"too many", "", 429, "Retry-After: 60", "", false, false, Unreachable, TooManyRequests, "", ""},
		{"down", "", 503, "", "", false, false, Unreachable, ServerError, "", ""},
		{"partial", "", 206, "", "User", false, false, Unreachable, Partial, "", ""},
		{"not modified", "", 304, "", "", false, false, Unreachable, NotModified, "", ""},
		{"no status", "", 0, "", "", false, false, Unreachable, BadStatus, "", ""},
		{"gzip", "", 200, "Content-Encoding: gzip", gzipped("Disallow: /\n"), false, false, Success, OK, "Disallow: /\n", ""},
		{"gzip in name only", "", 200, "Content-Encoding: gzip", "Disallow: /\n", false, false, Unreachable, Undecodable, "", ""},
		{"brotli", "", 200, "Content-Encoding: br", "Disallow: /\n", false, false, Unreachable, BadEncoding, "", ""},
		{"cut by the archive", "", 200, "", "Allow: /\nDisal", true, false, Success, OK, "Allow: /\n", ""},
		{"cut in its first line", "", 200, "", "Disal", true, false, Success, OK, "", ""},
		{"gzip, cut by the archive", "", 200, "Content-Encoding: gzip", gzipped(strings.Repeat("Allow: /\n", 9))[:24], true, false, Success, OK, strings.Repeat("Allow: /\n", 9), ""},
		{"cut on the way", "", 200, "", "Allow: /\nDisal", false, true, Unreachable, Incomplete, "", ""},
		{"redirect", "", 301, "Location: https://WWW.example.com:443/a/../robots.txt#x", "", false, false, OutcomeNone, CauseNone, "", "https://www.example.com/a/../robots.txt"},
		{"redirect up one of several folders", "http://example.com/a/b/c/d", 302, "Location: ../e", "", false, false, OutcomeNone, CauseNone, "", "http://example.com/a/b/e"},
		{"relative redirect", "http://example.com/a/b?c", 302, "Location: ../d e", "", false, false, OutcomeNone, CauseNone, "", "http://example.com/d%20e"},
		{"redirect to nowhere", "", 301, "", "", false, false, Unreachable, BadRedirect, "", ""},
		{"redirect to ftp", "", 301, "Location: ftp://example.com/", "", false, false, Unreachable, ForeignScheme, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := &Answer{URL: test.url, At: at, Protocol: "HTTP/1.1", Status: test.status, Header: http.Header{}, Body: strings.NewReader(test.body), Cut: test.cut}
			if a.URL == "" {
				a.URL = "http://Example.com/robots.txt"
			}
			if test.lost {
				a.Body = io.MultiReader(a.Body, unreadable{io.ErrUnexpectedEOF})
			}
			for line := range strings.Lines(test.header) {
				name, value, _ := strings.Cut(line, ": ")
				a.Header.Add(name, value)
			}
			origin, _, err := robots.ParseURL("http://example.com/")
			if err != nil {
				t.Fatal(err)
			}
			r, next, err := Limits{}.Judge(origin, a)
			if err != nil {
				t.Fatal(err)
			}
			if r.Outcome != test.outcome || r.Cause != test.cause || string(r.Body) != test.want || next != test.next || r.Status != test.status {
				t.Errorf("%v, %v, status %d, body %q, next %q; want %v, %v, %q, %q",
					r.Outcome, r.Cause, r.Status, r.Body, next, test.outcome, test.cause, test.want, test.next)
			}
			if r.Truncated != test.cut {
				t.Errorf("truncated: %v", r.Truncated)
			}
			if !r.Fetched.Equal(at) || r.Outcome.Good() && !r.Expires.Equal(at.Add(24*time.Hour)) {
				t.Errorf("fetched %v, expires %v", r.Fetched, r.Expires)
			}
			if test.outcome == Unreachable && !test.cause.OwnSide() && !r.FailingSince.Equal(at) {
				t.Errorf("failing since %v", r.FailingSince)
			}
		})
	}
	if _, _, err := (Limits{}).Judge(robots.Origin{}, &Answer{URL: "nonsense"}); err == nil {
		t.Error("a URL that is none: no error")
	}
}

// TestJudgeBuffer: a body is read into the given buffer while it has room.
func TestJudgeBuffer(t *testing.T) {
	origin, _, err := robots.ParseURL("http://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"", "User-agent: *\n", strings.Repeat("#\n", 5000), strings.Repeat("#\n", 300_000)} {
		for _, buffer := range [][]byte{nil, {}, make([]byte, 3, 7), make([]byte, 1<<20)} {
			want, _, err := Limits{}.Judge(origin, &Answer{URL: origin.RobotsURL(), Status: 200, Body: strings.NewReader(body)})
			if err != nil {
				t.Fatal(err)
			}
			r, _, err := Limits{}.Judge(origin, &Answer{URL: origin.RobotsURL(), Status: 200, Body: strings.NewReader(body), Buffer: buffer})
			if err != nil || !bytes.Equal(r.Body, want.Body) || r.Cause != want.Cause || r.Truncated != want.Truncated {
				t.Errorf("%d bytes, room for %d: %d bytes, %v, %v; want %d, %v", len(body), cap(buffer), len(r.Body), r.Cause, err, len(want.Body), want.Cause)
			}
			if inside := len(body) > 0 && cap(buffer) > len(body) && &buffer[:1][0] == &r.Body[0]; inside != (len(body) > 0 && cap(buffer) > len(body)) {
				t.Errorf("%d bytes, room for %d: in the buffer is %v", len(body), cap(buffer), inside)
			}
		}
	}
}

type unreadable struct{ err error }

func (e unreadable) Read([]byte) (int, error) { return 0, e.err }

func TestRedirected(t *testing.T) {
	hops := []Hop{{URL: "http://a.test/robots.txt"}}
	for n, tests := 1, []Cause{1: CauseNone, 5: CauseNone, 6: RedirectLimit}; n <= 6; n++ {
		next := "http://a.test/" + strings.Repeat("x", n)
		if got := (Limits{}).Redirected(hops, next); got != tests[n] {
			t.Errorf("redirect %d: %v, want %v", n, got, tests[n])
		}
		if got := (Limits{}).Redirected(hops, hops[0].URL); got != RedirectLoop {
			t.Errorf("redirect %d to the first URL: %v", n, got)
		}
		hops = append(hops, Hop{URL: next})
	}
	if got := (Limits{Redirects: -1}).Redirected(hops[:1], "http://b.test/"); got != RedirectLimit {
		t.Errorf("no redirects: %v", got)
	}
}
