package robots

import (
	"fmt"
	"slices"
	"testing"
)

// TestLineGroups: Lines has the group of each line.
func TestLineGroups(t *testing.T) {
	body := "Disallow: /early\nUser-agent: a\nCrawl-delay: 1\nUser-agent: b\nSitemap: http://h/\nClean-param: a\nDisallow:\nfoo: bar\nAllow: /x\n\nUser-agent: c\n\nUser-agent: d\nDisallow: /d\nUser-agent: e"
	for _, c := range []struct {
		dialect Dialect
		want    string // line:group
	}{
		{RFC9309, " 1:-1 2:0 3:0 4:0 5:-1 6:-1 7:0 9:0 11:1 13:1 14:1 15:2"},
		{Seznam, " 1:-1 2:0 3:0 4:1 5:-1 6:-1 7:1 9:1 11:2 13:2 14:2 15:3"},
		{Yandex, " 1:-1 2:0 3:0 4:0 5:-1 6:-1 7:0 9:0 11:1 13:2 14:2 15:3"},
		{Dialect{MaxFileBytes: 35}, " 1:-1 2:0"},
	} {
		got := ""
		for l := range Parse([]byte(body)).Lines(c.dialect) {
			if l.Field > FieldUnknown {
				got += fmt.Sprintf(" %d:%d", l.Number, l.Group)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.dialect.Name, got, c.want)
		}
	}
}

// TestRuns: each member of a group that is no rule ends the user-agent lines before it in the
// dialects that say so, and nothing else does (D-08).
func TestRuns(t *testing.T) {
	for _, d := range Dialects() {
		for field, ends := range map[string]bool{
			"Crawl-delay: 1": true, "Request-rate: 1/5": true, "Visit-time: 0100-0200": true,
			"Sitemap: /s": false, "Clean-param: a": false, "Host: h": false, "Noise: 1": false, "# noise": false,
		} {
			body := "User-agent: a\n" + field + "\nUser-agent: b\nDisallow: /x\n"
			r := Parse([]byte(body)).Rules(d, "a")
			allowed := ends && d.RecordsEndRun
			if got := r.Allowed(Path{"/x"}); got != allowed {
				t.Errorf("%s: %s: allowed %t, want %t", d.Name, field, got, allowed)
			}
			if got := Allowed([]byte(body), d, Path{"/x"}, "a"); got != allowed {
				t.Errorf("%s: %s: in one pass: allowed %t, want %t", d.Name, field, got, allowed)
			}
		}
	}
}

func TestFileCrawlers(t *testing.T) {
	body := "User-agent: AI2Bot\nUser-agent: *\nUser-agent: Googlebot/2.1\nUser-agent: Download Ninja\nUser-agent: 008\nUser-agent:\nUser-agent: googlebot\nUser-agent: Mozilla/5.0 (compatible; SeznamBot/4.0)\nDisallow: /"
	for _, c := range []struct {
		dialect Dialect
		want    []string
	}{
		{RFC9309, []string{"ai2bot", "googlebot", "download", "008", "mozilla"}},
		{Google, []string{"ai", "googlebot", "download", "mozilla"}},
		{Google2019, []string{"AI", "Googlebot", "Download", "googlebot", "Mozilla"}},
		{Seznam, []string{"ai2bot", "googlebot", "download", "008", "seznambot"}},
		{Yandex, []string{"ai2bot", "googlebot/2.1", "download ninja", "008", "googlebot", "mozilla/5.0 (compatible; seznambot/4.0)"}},
	} {
		if got := Parse([]byte(body)).Crawlers(c.dialect); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.dialect.Name, got, c.want)
		}
	}
}

// checkLines compares Lines with readLine, the simple reader, and with Rules: every crawler that
// the file names, and "*", has the same user-agent lines and rules in both.
func checkLines(t *testing.T, body []byte) {
	t.Helper()
	f := Parse(body)
	for _, d := range Dialects() {
		names := []string{"*"}
		for l := range f.Lines(d) {
			field, val, end := readLine(&d, body, l.Span.Start, l.Span.End)
			if field != l.Field || field != FieldNone && string(body[val:end]) != f.Text(l.Value) {
				t.Fatalf("%s reads %q as %v %q, the scanner as %v %q", d.Name, f.Text(l.Span), field, body[val:end], l.Field, f.Text(l.Value))
			}
			for _, name := range l.Names {
				if !slices.Contains(names, name) && len(names) < 40 {
					names = append(names, name)
				}
			}
		}
		isRule := func(field Field, value Span) bool {
			return field == FieldAllow && value.Start < value.End || field == FieldDisallow && (value.Start < value.End || d.EmptyDisallowAllows)
		}
		for _, name := range names {
			var want, got []int // user-agent lines and rules
			groups := map[int]bool{}
			for l := range f.Lines(d) {
				named := slices.Contains(l.Names, name)
				groups[l.Group] = groups[l.Group] || named
				if named || groups[l.Group] && isRule(l.Field, l.Value) {
					want = append(want, l.Number)
				}
			}
			// The name is in the form of the dialect: Rules would read a value as the product
			// tokens in it.
			r := newRules(f, &d, []string{name})
			r.limit, r.fileApplies = f.limit(r.dialect)
			s := new(scratch)
			s.collect(r, r.callerTokens)
			s.sortRules(r)
			for field, span := range r.groupLines() {
				if field == FieldUserAgent || isRule(field, span) {
					got = append(got, f.lineNumber(span.Start))
				}
			}
			if (name != "*" || r.choice.star) && !slices.Equal(got, want) {
				t.Fatalf("%s %q: Lines has the lines %v, Rules %v\n%q", d.Name, name, want, got, body)
			}
		}
	}
}
