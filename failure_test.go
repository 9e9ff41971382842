package robots

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestWholeRules: rules that no file gives answer every path alike, but for
// /robots.txt where the dialect exempts it.
func TestWholeRules(t *testing.T) {
	page, _ := ParsePath("/page?q=1")
	self, _ := ParsePath("/robots.txt")
	for _, d := range Dialects() {
		for reason := ReasonNone; reason <= ReasonUserInitiated; reason++ {
			for _, r := range []*Rules{AllowAll(d, reason, "a", "b"), DisallowAll(d, reason, "a")} {
				allowed := len(r.Tokens()) == 2 && reason != ReasonNone
				v := r.Match(page)
				want := reason
				if reason == ReasonNone {
					want = ReasonUnreachable
				}
				if v.Allowed != allowed || r.Allowed(page) != allowed || v.Reason != want || r.Whole() != want {
					t.Errorf("%s, %v: %v", d.Name, reason, v)
				}
				if v.Undefined != (reason == ReasonUndefined && !allowed) {
					t.Errorf("%s, %v: undefined %v", d.Name, reason, v.Undefined)
				}
				if got := r.Allowed(self); got != (allowed || d.RobotsTxt == AlwaysAllowed) {
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

// TestState: a verdict shows the state of its fetch, and nothing where there
// was none.
func TestState(t *testing.T) {
	at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.FixedZone("", 7200))
	file := Parse([]byte("User-agent: *\nDisallow: /a\n")).Rules(RFC9309, "x")
	a, _ := ParsePath("/a")
	plain, _ := json.Marshal(file.Match(a))
	for _, name := range []string{"status", "fetched", "expires", "stale_since", "failing_since", "next_try", "note"} {
		if strings.Contains(string(plain), `"`+name+`"`) {
			t.Errorf("%s in %s", name, plain)
		}
	}
	r := file.WithState(State{Status: 503, Fetched: at, StaleSince: at, Clause: "D-21", Note: "a \x1b note"})
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
	if got["status"] != 503.0 || got["fetched"] != "2026-05-01T08:00:00Z" || got["stale_since"] != got["fetched"] || got["expires"] != nil || got["note"] != "a \x1b note" {
		t.Errorf("%s", data)
	}
	e := r.Explain(a)
	if e.Steps[0] != (Step{"D-21", `a \x1B note`}) || e.Steps[len(e.Steps)-1].Text != v.String() {
		t.Errorf("%+v", e.Steps)
	}
	if n := testing.AllocsPerRun(100, func() { r.Allowed(a) }); n != 0 {
		t.Errorf("Allowed allocates %v times", n)
	}
}

// TestOutageAt: the steps of an outage begin at their ages.
func TestOutageAt(t *testing.T) {
	d := Dialect{Outage: [3]OutageStep{{Without: HoldNothing}, {From: time.Hour, Without: HoldOpen}, {From: 3 * time.Hour, Without: HoldCopy}}}
	for _, row := range []struct {
		age  time.Duration
		want Hold
		next time.Duration
	}{
		{-1, HoldNothing, time.Hour}, {0, HoldNothing, time.Hour}, {time.Hour - 1, HoldNothing, time.Hour},
		{time.Hour, HoldOpen, 3 * time.Hour}, {3*time.Hour - 1, HoldOpen, 3 * time.Hour}, {3 * time.Hour, HoldCopy, 0}, {1 << 62, HoldCopy, 0},
	} {
		if step, next := d.OutageAt(row.age); step.Without != row.want || next != row.next {
			t.Errorf("%v: %v, next %v; want %v, %v", row.age, step, next, row.want, row.next)
		}
	}
	if step, next := (Dialect{}).OutageAt(1 << 62); step.Without != HoldNothing || next != 0 {
		t.Errorf("the zero dialect ends an outage: %v, %v", step, next)
	}
	for _, row := range []struct{ dialect, want string }{
		{"rfc9309", "copy or nothing, 30d: copy or open"},
		{"google", "nothing, 12h: copy or open, 30d: if-answering"},
		{"google-legacy", "nothing"},
	} {
		d, _ := DialectByName(row.dialect)
		if got := d.outageWord(); got != row.want {
			t.Errorf("%s: %q, want %q", row.dialect, got, row.want)
		}
	}
}
