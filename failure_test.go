package robots

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"
)

// TestWholeRules: rules without a file have the same verdict for every path, except for
// /robots.txt where the dialect exempts it.
func TestWholeRules(t *testing.T) {
	page, _ := ParsePath("/page?q=1")
	self, _ := ParsePath("/robots.txt")
	for _, d := range Dialects() {
		for reason := ReasonInvalid; reason <= ReasonUserInitiated; reason++ {
			for _, r := range []*Rules{AllowAll(d, reason, "a", "b"), DisallowAll(d, reason, "a")} {
				allowed := len(r.Tokens()) == 2 && reason != ReasonInvalid
				v := r.Match(page)
				fallback, ok := r.FallbackReason()
				if v.Allowed != allowed || r.Allowed(page) != allowed || v.Reason != reason || fallback != reason || !ok {
					t.Errorf("%s, %v: %v", d.Name, reason, v)
				}
				if v.Undefined != (reason == ReasonUndefined && !allowed) {
					t.Errorf("%s, %v: undefined %v", d.Name, reason, v.Undefined)
				}
				notNow := reason == ReasonUnreachable || reason == ReasonRefused || reason == ReasonUndefined
				if v.Undecided() != (notNow && !allowed) {
					t.Errorf("%s, %v: undecided %v", d.Name, reason, v.Undecided())
				}
				if got := r.Allowed(self); got != (allowed || !d.MatchRobotsTxt && reason != ReasonInvalid) {
					t.Errorf("%s, %v: /robots.txt %v", d.Name, reason, got)
				}
				e := r.Explain(page)
				if len(e.Steps) != 1 || e.Steps[0].Clause == "" || e.Steps[0].Text != v.String() || len(e.Notes) != 0 {
					t.Errorf("%s, %v: explained by %+v", d.Name, reason, e)
				}
				if r.Len() != 0 || r.Sitemaps() != nil || !r.Group().IsZero() {
					t.Errorf("%s, %v: rules of no file have %d rules", d.Name, reason, r.Len())
				}
			}
		}
		if v := AllowAll(d, ReasonUnavailable).UserInitiated().Match(page); v.Reason != ReasonUserInitiated {
			t.Errorf("%s: %v", d.Name, v)
		}
	}
}

// TestZero: with a zero path or zero rules nothing is allowed, not even /robots.txt or a
// user-initiated fetch, and no method panics (D-56).
func TestZero(t *testing.T) {
	page, _ := ParsePath("/page")
	self, _ := ParsePath("/robots.txt")
	body := []byte("User-agent: *\nAllow: /\nCrawl-delay: 1\nSitemap: http://h/s\n")
	made := Parse(body).Rules(Yandex, "a")
	var zero Rules
	var none *Rules
	for _, q := range []struct {
		name string
		r    *Rules
		p    Path
	}{
		{"zero path", made, Path{}},
		{"zero path, a user's request", made.UserInitiated(), Path{}},
		{"zero path, no file", AllowAll(Google, ReasonUnavailable), Path{}},
		{"zero rules", &zero, page},
		{"zero rules, robots.txt", &zero, self},
		{"zero rules, a user's request", zero.UserInitiated(), page},
		{"zero rules with a state", zero.WithState(State{Status: 200}), self},
		{"nil rules", none, page},
		{"nil rules, a user's request", none.UserInitiated(), self},
		{"no reason", AllowAll(RFC9309, ReasonInvalid), self},
	} {
		v := q.r.Match(q.p)
		if v.Allowed || v.Undefined || v.Reason != ReasonInvalid || v.Reason.String() != "invalid" || q.r.Allowed(q.p) {
			t.Errorf("%s: %v, reason %v", q.name, v, v.Reason)
		}
		if e := q.r.Explain(q.p); len(e.Steps) != 1 || e.Steps[0].Clause != "D-56" || e.Verdict.Allowed {
			t.Errorf("%s: explained by %+v", q.name, e)
		}
		if js := q.r.Match(q.p).AppendJSON(nil); !strings.Contains(string(js), `"allowed":false,"verdict":"disallow","reason":"invalid","rule":null`) {
			t.Errorf("%s: %s", q.name, js)
		}
	}
	for _, r := range []*Rules{&zero, none} {
		if _, ok := r.CrawlDelay(); ok || r.Len() != 0 || r.RequestRates() != nil || r.Sitemaps() != nil ||
			r.Hosts() != nil || r.Licenses() != nil || r.ContentSignals(page) != nil || r.ContentUsage(page) != nil ||
			!r.Group().IsZero() || r.Tokens() != nil || r.State() != nil || len(r.File().Bytes()) != 0 || r.Dialect().Name != "rfc9309" {
			t.Error("zero rules declare something")
		}
		for range r.All() {
			t.Error("zero rules hold a rule")
		}
	}
	for _, d := range Dialects() {
		if Allowed(body, d, Path{}, "a") {
			t.Errorf("%s: the one pass allows a zero path", d.Name)
		}
	}
	var v Verdict
	if v.Allowed || v.Reason != ReasonInvalid || v.Word() != "disallow" {
		t.Errorf("the zero verdict is %v", v)
	}
}

// TestState: a verdict contains the state of its fetch, and nil without one.
func TestState(t *testing.T) {
	at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.FixedZone("", 7200))
	file := Parse([]byte("User-agent: *\nDisallow: /a\n")).Rules(RFC9309, "x")
	a, _ := ParsePath("/a")
	plain, _ := json.Marshal(file.Match(a))
	for _, name := range []string{"status", "fetched", "expires", "stale_since", "failing_since", "next_try", "cut_at", "note"} {
		if strings.Contains(string(plain), `"`+name+`"`) {
			t.Errorf("%s in %s", name, plain)
		}
	}
	r := file.WithState(State{Status: 503, Fetched: at, StaleSince: at, CutAt: 513024, Clause: "D-21", Note: "a \x1b note"})
	if file.State() != nil || r.State() == nil {
		t.Error("WithState changed the rules it was called on")
	}
	v := r.Match(a)
	if got, want := v.String(), `disallowed by line 2: Disallow: /a (a \x1B note)`; got != want {
		t.Errorf("got:  %s\nwant: %s", got, want)
	}
	var got map[string]any
	data, err := json.Marshal(v)
	if err != nil || json.Unmarshal(data, &got) != nil {
		t.Fatal(err, string(data))
	}
	if got["status"] != 503.0 || got["fetched"] != "2026-05-01T08:00:00Z" || got["stale_since"] != got["fetched"] || got["expires"] != nil || got["cut_at"] != 513024.0 || got["note"] != "a \x1b note" {
		t.Errorf("%s", data)
	}
	e := r.Explain(a)
	if e.Steps[0] != (Note{Clause: "D-21", Text: `a \x1B note`}) || e.Steps[len(e.Steps)-1].Text != v.String() {
		t.Errorf("%+v", e.Steps)
	}
	if n := testing.AllocsPerRun(100, func() { r.Allowed(a) }); n != 0 {
		t.Errorf("Allowed allocates %v times", n)
	}
}

// TestStateKeepsNothing: rules with a state are a copy that does not keep the original alive,
// and so are user-initiated rules.
func TestStateKeepsNothing(t *testing.T) {
	f := Parse([]byte("User-agent: MyBot\nDisallow: /a\n\nUser-agent: other\nDisallow: /b"))
	for name, copied := range map[string]func(r *Rules) *Rules{
		"WithState":     func(r *Rules) *Rules { return r.WithState(State{Status: 200}) },
		"UserInitiated": (*Rules).UserInitiated,
	} {
		for _, token := range []string{"MyBot", "nobody"} {
			r := f.Rules(RFC9309, token)
			first, c := weak.Make(r), copied(r)
			runtime.GC()
			if first.Value() != nil {
				t.Errorf("%s of the rules of %s keeps them alive", name, token)
			}
			if got := c.Tokens(); !slices.Equal(got, []string{token}) || strings.EqualFold(c.Group().Token(), token) != (token == "MyBot") {
				t.Errorf("%s: tokens %q, group %q", name, got, c.Group().Token())
			}
		}
	}
}
