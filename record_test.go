package robots

import (
	"fmt"
	"slices"
	"testing"
)

func TestRecords(t *testing.T) {
	f := Parse([]byte(`License: https://l.example/all
Content-Signal: search=yes, ai-train=no
User-agent: a
Crawl-delay: 2
Crawl-delay: 1e3
Clean-param: ref&sid /shop/
Content-Usage: train-ai=n
Content-Usage: /ok/ train-ai=y, search=y
Content-Usage: /ok/ search=n
License: https://l.example/a
Host: example.com
Foo: bar
Disallow: /never/
User-agent: b
Visit-time: 0100-0200
Visit-time: noon
Clean-param: &
Sitemap: https://example.com/s.xml
Disallow: /x
`))
	for _, tt := range []struct {
		token, what string
		got         func(r *Rules) any
		want        string
	}{
		{"a", "licenses", func(r *Rules) any { return lines(r.Licenses()) }, "[10]"},
		{"b", "licenses", func(r *Rules) any { return lines(r.Licenses()) }, "[1]"},
		{"a", "clean-param", func(r *Rules) any { return lines(r.validRecords(FieldCleanParam)) }, "[6]"},
		{"b", "clean-param", func(r *Rules) any { return lines(r.validRecords(FieldCleanParam)) }, "[6]"},
		{"b", "hosts", func(r *Rules) any { return lines(r.Hosts()) }, "[11]"},
		{"b", "visit-time", func(r *Rules) any { return r.validRecords(FieldVisitTime)[0].Window }, "0100-0200"},
		{"a", "usage /ok/", func(r *Rules) any { return r.ContentUsage(Path{"/ok/test"}) }, "[{train-ai y 8 /ok/} {search n 9 /ok/}]"},
	} {
		if got := fmt.Sprint(tt.got(f.Rules(RFC9309, tt.token))); got != tt.want {
			t.Errorf("%s of %s: got %s, want %s", tt.what, tt.token, got, tt.want)
		}
	}
	var problems []string
	for rec := range f.Rules(RFC9309, "b").Records() {
		if rec.Problem != "" {
			problems = append(problems, fmt.Sprint(rec.Line, " ", rec.Problem))
		}
	}
	if want := []string{"16 it is not HHMM-HHMM", "17 it is not names joined by &, then a path"}; !slices.Equal(problems, want) {
		t.Errorf("problems %q, want %q", problems, want)
	}
}

func lines(list []Record) (n []int) {
	for _, rec := range list {
		n = append(n, rec.Line)
	}
	return n
}

// TestValues enumerates the grammar of delays, rates and windows.
func TestValues(t *testing.T) {
	for s, want := range map[string]string{
		"0": "0 true", "10": "10 true", ".5": "0.5 true", "5.": "5 true", "1.25": "1.25 true",
		"": "0 false", ".": "0 false", "1e3": "0 false", "inf": "0 false", "nan": "0 false",
		"+5": "0 false", "-5": "0 false", "10s": "0 false", "1 0": "0 false", "1.2.3": "0 false", "０": "0 false",
	} {
		v, ok, why := parseDelay(s)
		if got := fmt.Sprint(v, ok); got != want || ok == (why != "") {
			t.Errorf("delay %q: got %s (%s), want %s", s, got, why, want)
		}
	}
	for s, want := range map[string]string{
		"1/30s": "1/30s", "100/15m": "100/900s", "400/1H": "400/3600s", "9000/1d": "9000/86400s", "1/5": "1/5s",
		"1/30s 1800-1900": "1/30s 1800-1900", "8/2m 07:00 - 21:00": "8/120s 0700-2100", "1/1s 22.00-6:00": "1/1s 2200-0600",
		"1/1s 0000-2400": "1/1s 0000-2400", "1/1s 0800-0800": "1/1s 0800-0800",
		"1/30s 1800": "1/30s window", "1/30s 2500-2600": "1/30s window", "1/30s noon": "1/30s window", "1/30s 2400-0100": "1/30s window", "1/30s 0000-2430": "1/30s window", "1/1s 1260-1300": "1/1s window",
		"0/1m": "", "1/0s": "", "-1/10s": "", "1/10x": "", "5": "", "1 / 10": "", "1/": "", "/5": "", "1/1ms": "", "99999999999999999999/1": "", "1/9999999999d": "",
	} {
		r, ok, why := parseRequestRate(s)
		got := ""
		if ok {
			got = r.String()
			if why != "" {
				got += " window"
			}
		}
		if got != want {
			t.Errorf("rate %q: got %q (%s), want %q", s, got, why, want)
		}
	}
}

// TestWindow: a window is open from its first minute until its end, which HH59 means to be the
// full hour (D-30).
func TestWindow(t *testing.T) {
	for text, want := range map[string]string{
		"0600-0845": "360-525: 360..524",
		"0600-0859": "360-540: 360..539",
		"0600-0858": "360-538: 360..537",
		"0759-0830": "479-510: 479..509", // only an end means the full hour
		"2200-0359": "1320-240: 0..239 1320..1439",
		"2200-0000": "1320-0: 1320..1439",
		"2200-2400": "1320-1440: 1320..1439",
		"2200-2359": "1320-1440: 1320..1439",
		"0900-0859": "0-1440: 0..1439",
		"0859-0859": "0-1440: 0..1439",
		"0000-2359": "0-1440: 0..1439",
		"0000-0000": "0-1440: 0..1439",
	} {
		w, ok := parseWindow(text)
		from, end := w.Minutes()
		got := fmt.Sprintf("%d-%d:", from, end)
		open := false
		for second := range 24*60*60 + 1 {
			if now := second < 24*60*60 && w.Contains(second); now != open {
				if open = now; now {
					got += fmt.Sprintf(" %d", second/60)
				} else {
					got += fmt.Sprintf("..%d", (second-1)/60)
				}
				if second%60 != 0 {
					t.Errorf("%s changes at second %d of a minute", text, second%60)
				}
			}
		}
		if !ok || got != want {
			t.Errorf("%s: got %t, %s; want %s", text, ok, got, want)
		}
	}
}
