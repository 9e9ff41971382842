package answer

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/quote"
)

// encoded returns a value as one line of JSON.
func encoded(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(screen.JSON(&b))
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// written returns a check as lists and batches write it, without the struct.
func written(r *robots.Rules, c *Crawler, path robots.Path, url, agent string) string {
	line := append(r.Match(path).AppendJSON([]byte{'{'}), ',')
	line = append(r.AppendJSON(line, robots.JSONLimits{}), `,"url":`...)
	line = append(quote.Append(line, url), `,"agent":`...)
	line = append(quote.Append(line, agent), ',')
	return string(append(c.AppendJSON(line, r), "}\n"...))
}

// compareLines compares the encoding of a check with the written line.
func compareLines(t *testing.T, name string, r *robots.Rules, url, agent string) {
	t.Helper()
	path, err := robots.ParsePath(url)
	if err != nil {
		t.Fatal(err)
	}
	c := Auto(agent, agent)
	got := encoded(t, NewCheck(r, &c, path, url, agent, robots.JSONLimits{}))
	if want := written(r, &c, path, url, agent); got != want {
		t.Errorf("%s: the struct is\n%swritten is\n%s", name, got, want)
	}
}

// TestCheckIsWritten: the hand-written line is the encoding of the struct, byte for byte.
func TestCheckIsWritten(t *testing.T) {
	now := time.Date(2026, 5, 1, 10, 0, 0, 500, time.FixedZone("x", 3600))
	state := robots.State{
		Status: 503, Fetched: now, Expires: now, StaleSince: now, FailingSince: now, NextTry: now, CutAt: 9, Degraded: true, Fact: "status 503", Note: "<copy> used",
	}
	hostile := "User-agent: a\nDisallow: /\x01\x08\x0c\x1f\x7f\xff<&>\u2028\n\nUser-agent: *\nCrawl-delay: 0.00000001\nCrawl-delay: 0.5\n" +
		"Request-rate: 1/5 0600-1200\nRequest-rate: 3/7m\nSitemap: \xe9\"\\\nAllow: /\n"
	for _, d := range robots.Dialects() {
		f := robots.Parse([]byte(hostile))
		for _, agent := range []string{"a", "b", "*"} {
			for _, url := range []string{"/", "/\x01\x08\x0c\x1f\x7f\xff<&>\u2028", "/robots.txt", "/\xff"} {
				compareLines(t, d.Name, f.Rules(d, agent), url, agent)
				compareLines(t, d.Name, f.Rules(d, agent).WithState(state), url, agent)
				compareLines(t, d.Name, robots.DisallowAll(d, robots.ReasonUnreachable).WithState(state), url, agent)
			}
		}
	}
}

// TestCheckIsWrittenCorpus is TestCheckIsWritten over real files.
func TestCheckIsWrittenCorpus(t *testing.T) {
	campaign.Files(t, campaign.Size(2000, 200, 1), func(name string, body []byte) {
		f := robots.Parse(body)
		for _, d := range []robots.Dialect{robots.RFC9309, robots.Google, robots.Seznam} {
			for _, agent := range append(f.Crawlers(d), "*")[:1] {
				r := f.Rules(d, agent)
				url := "/"
				for rule := range r.All() {
					url = "https://example.com/" + rule.Path()
					break
				}
				compareLines(t, name, r, url, agent)
			}
		}
	})
}

// TestHideUser: a user and a password are hidden, and an @ elsewhere stays.
func TestHideUser(t *testing.T) {
	for url, want := range map[string]string{
		"https://user:secret@staging.example/a": "https://***@staging.example/a",
		"https://u:p@ss@staging.example":        "https://***@staging.example",
		"//u@h.example/":                        "//***@h.example/",
		"https://h.example/a@b":                 "https://h.example/a@b",
		"https://h.example?m=a@b":               "https://h.example?m=a@b",
		"/a//b@c":                               "/a//b@c",
		"":                                      "",
	} {
		if got := HideUser(url); got != want {
			t.Errorf("%q: %q, want %q", url, got, want)
		}
	}
}
