package robotstest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/robotskit/robots"
)

// The tables in testdata/spec contain the facts of the documents, one per row. TestSpec checks
// every row about one of the eight dialects. It counts rows about older dialects and other
// sources, and the tables about other packages, so that the counts add up to all rows.

// conflicts lists the rows that a decision in docs/clauses.md overrules, by table and line. Such
// a row must fail.
var conflicts = map[string]string{
	"percent_encoding:3": "D-14: row 2 of figure 4 escapes ':' and '/' in a query, which would break every path",
	"group_effective:22": "D-07: a sitemap never ends a run; the row is the Korean page's grammar alone",
	"scope:57":           "SCOPE-11: the page drops the www label, an error of the page",
}

// elsewhere lists the tables about other packages.
var elsewhere = map[string]string{
	"http_status":   "outcomes of a fetch",
	"content_usage": "preferences of Content-Usage",
}

// checks are the tables with the check of a row.
var checks = map[string]func(d robots.Dialect, r record) error{
	"agent_equiv":      checkAgentEquiv,
	"body_verdicts":    checkBodyVerdict,
	"dialects":         checkDialect,
	"google_cpp_probe": checkProbe,
	"group_effective":  checkGroupEffective,
	"group_select":     checkGroupSelect,
	"path_equiv":       checkPathEquiv,
	"path_match":       checkPathMatch,
	"percent_encoding": checkPercentEncoding,
	"precedence":       checkPrecedence,
	"rate_window":      checkRateWindow,
	"request_rate":     checkRequestRate,
	"robots_bodies":    checkBody,
	"scope":            checkScope,
	"sitemaps":         checkSitemaps,
}

func TestSpec(t *testing.T) {
	names, err := filepath.Glob("testdata/spec/*.tsv")
	if err != nil || len(names) != len(checks)+len(elsewhere) {
		t.Fatalf("%d tables, want %d (%v)", len(names), len(checks)+len(elsewhere), err)
	}
	for _, file := range names {
		name := strings.TrimSuffix(filepath.Base(file), ".tsv")
		t.Run(name, func(t *testing.T) {
			rows := readTable(t, name)
			if about, ok := elsewhere[name]; ok {
				t.Logf("%d rows: none checked here (%s)", len(rows), about)
				return
			}
			checked, conflicting, others := 0, 0, map[string]int{}
			for _, r := range rows {
				ds := r.dialects()
				if len(ds) == 0 {
					others[r.source()]++
					continue
				}
				err := error(nil)
				for _, d := range ds {
					err = errors.Join(err, checks[name](d, r))
				}
				reason, listed := conflicts[r.id]
				switch {
				case listed && err == nil:
					t.Errorf("%s: no conflict any more (%s)", r.id, reason)
				case listed:
					conflicting++
					t.Logf("%s: not followed: %s", r.id, reason)
				default:
					checked++
					if err != nil {
						t.Errorf("%s: %v\n%v", r.id, r.cells, err)
					}
				}
			}
			other := 0
			for _, n := range others {
				other += n
			}
			if checked+conflicting+other != len(rows) {
				t.Errorf("%d checked, %d conflicting and %d of other sources are not %d rows", checked, conflicting, other, len(rows))
			}
			t.Logf("%d rows: %d checked, %d conflicting, %d of other sources %v", len(rows), checked, conflicting, other, others)
		})
	}
}

// record is a row of a table.
type record struct {
	id    string // table and line
	cells map[string]string
}

func readTable(t *testing.T, name string) []record {
	t.Helper()
	data, err := os.ReadFile("testdata/spec/" + name + ".tsv")
	if err != nil {
		t.Fatal(err)
	}
	var head []string
	var rows []record
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		cells := strings.Split(line, "\t")
		if i == 0 {
			head = cells
			continue
		}
		if len(cells) != len(head) {
			t.Fatalf("%s:%d: %d cells under %d columns", name, i+1, len(cells), len(head))
		}
		r := record{id: name + ":" + strconv.Itoa(i+1), cells: map[string]string{}}
		for j, c := range cells {
			r.cells[head[j]] = c
		}
		rows = append(rows, r)
	}
	return rows
}

func (r record) source() string {
	if s, ok := r.cells["source"]; ok {
		return s
	}
	return r.cells["dialect"]
}

// dialects returns the sources of the row that are dialects.
func (r record) dialects() []robots.Dialect {
	var ds []robots.Dialect
	for name := range strings.SplitSeq(r.source(), "|") {
		if d, ok := robots.DialectByName(name); ok {
			ds = append(ds, d)
		}
	}
	return ds
}

// text returns a cell with its escapes decoded.
func (r record) text(column string) string {
	s, ok := r.cells[column]
	if !ok {
		panic(r.id + ": no column " + column)
	}
	b, err := unescape(s)
	if err != nil {
		panic(r.id + ": " + err.Error())
	}
	return string(b)
}

// number returns the number in a cell, 0 if it is empty.
func (r record) number(column string) int {
	if r.text(column) == "" {
		return 0
	}
	n, err := strconv.Atoi(r.text(column))
	if err != nil {
		panic(r.id + ": " + err.Error())
	}
	return n
}

// tokens returns a crawler's tokens: '>' in fallback order, ',' as one crawler.
func (r record) tokens(column string) []string {
	return strings.FieldsFunc(r.text(column), func(c rune) bool { return c == '>' || c == ',' })
}

// body returns the robots.txt of a row.
func (r record) body() []byte {
	data, err := os.ReadFile("testdata/spec/robots_bodies.tsv")
	if err != nil {
		panic(err)
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if cells := strings.Split(line, "\t"); cells[0] == r.cells["body_id"] {
			body, err := unescape(cells[3])
			if err != nil {
				panic(err)
			}
			return body
		}
	}
	panic(r.id + ": no body " + r.cells["body_id"])
}

// expect checks one verdict with the runner of the case files.
func expect(d robots.Dialect, body string, tokens []string, url, want string) error {
	got, err := Own([]byte(body), d.Name, tokens, url)
	if err == nil && got.Verdict == want {
		return nil
	}
	return fmt.Errorf("%s, %q, %s\ngot:  %s (error: %v)\nwant: %s", d.Name, tokens, url, got, err, want)
}

func same(what string, got, want any) error {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		return fmt.Errorf("%s\ngot:  %s\nwant: %s", what, g, w)
	}
	return nil
}

func checkPathMatch(d robots.Dialect, r record) error {
	want := map[string]string{"match": "disallow", "no-match": "allow"}[r.text("result")]
	return expect(d, "User-agent: *\nDisallow: "+r.text("pattern")+"\n", []string{"GooseBot"}, r.text("url_path"), want)
}

// checkPathEquiv compares two patterns on a few URLs that distinguish them if they differ.
func checkPathEquiv(d robots.Dialect, r record) error {
	var errs error
	for _, url := range []string{"/", "/a", "/fish", "/fish/", "/fish/a", "/fishes", "/x/fish/", "/?fish"} {
		var got [2]string
		for i, column := range []string{"pattern", "equivalent_to"} {
			a, err := Own([]byte("User-agent: *\nDisallow: "+r.text(column)+"\n"), d.Name, []string{"GooseBot"}, url)
			if err != nil {
				return err
			}
			got[i] = a.Verdict
		}
		errs = errors.Join(errs, same(url, got[0], got[1]))
	}
	return errs
}

func checkPrecedence(d robots.Dialect, r record) error {
	body := "User-agent: *\nAllow: " + r.text("allow") + "\n"
	for path := range strings.SplitSeq(r.text("disallow"), "|") {
		body += "Disallow: " + path + "\n"
	}
	err := expect(d, body, []string{"GooseBot"}, r.text("url"), r.text("verdict"))
	if rule := r.text("decisive_rule"); rule != "" {
		path, perr := robots.ParsePath(r.text("url"))
		v := robots.Parse([]byte(body)).Rules(d, "GooseBot").Match(path)
		err = errors.Join(err, perr, same("deciding rule", v.Rule.Directive()+": "+v.Rule.Path(), rule))
	}
	return err
}

// checkPercentEncoding: canon rows have a path, its encoded form and the form for comparison;
// match rows a pattern and a path.
func checkPercentEncoding(d robots.Dialect, r record) error {
	pattern, url := r.text("pattern"), r.text("url_or_encoded")
	body := "User-agent: *\nDisallow: " + pattern + "\n"
	if r.text("kind") == "match" {
		want := map[string]string{"match": "disallow", "no-match": "allow"}[r.text("result")]
		return expect(d, body, []string{"GooseBot"}, url, want)
	}
	err := expect(d, body, []string{"GooseBot"}, url, "disallow")
	for rule := range robots.Parse([]byte(body)).Rules(d, "GooseBot").All() {
		err = errors.Join(err, same("normal form", rule.Pattern(), r.text("result")))
	}
	return err
}

// checkGroupSelect: group N of the body disallows only /gN.
func checkGroupSelect(d robots.Dialect, r record) error {
	var errs error
	for n := 1; n <= 3; n++ {
		want := "allow"
		if n == r.number("group") {
			want = "disallow"
		}
		errs = errors.Join(errs, expect(d, string(r.body()), r.tokens("tokens_in_order"), "/g"+strconv.Itoa(n), want))
	}
	return errs
}

func checkGroupEffective(d robots.Dialect, r record) error {
	rules := robots.Parse(r.body()).Rules(d, r.text("agent"))
	if rules.Group().IsZero() {
		return errors.New("no group")
	}
	var got []string
	for rule := range rules.All() {
		got = append(got, rule.Directive()+":"+rule.Path())
	}
	for _, rate := range rules.RequestRates() {
		got = append(got, "request-rate:"+strconv.Itoa(rate.Requests)+"/"+strconv.Itoa(rate.Seconds)+"s")
	}
	var want []string
	for s := range strings.SplitSeq(r.text("rules"), "|") {
		if strings.HasPrefix(s, "(empty group") {
			continue
		}
		// All rates of these examples are per minute.
		want = append(want, strings.Replace(s, "/1m", "/60s", 1))
	}
	slices.Sort(got)
	slices.Sort(want)
	return same("rules", got, want)
}

func checkAgentEquiv(d robots.Dialect, r record) error {
	f := robots.Parse([]byte("User-agent: " + r.text("file_value") + "\nDisallow: /\n"))
	got := "same"
	if f.Rules(d, r.text("robot_token")).Group().IsZero() {
		got = "differs"
	}
	return same("names", got, r.text("result"))
}

func checkBodyVerdict(d robots.Dialect, r record) error {
	return expect(d, string(r.body()), []string{r.text("agent")}, r.text("url_path"), r.text("verdict"))
}

func checkProbe(d robots.Dialect, r record) error {
	tokens := strings.Split(r.text("agents"), ",")
	body := []byte(r.text("body"))
	line := r.number("matching_line")
	// The library names the line of an empty rule; here such a line is not a rule and decides
	// nothing (RULE-01).
	for l := range robots.Parse(body).Lines(robots.Dialect{}) {
		if l.Number == line && l.Field != robots.FieldNone && l.Value.Start == l.Value.End {
			line = 0
		}
	}
	got, err := Own(body, d.Name, tokens, r.text("url"))
	want := Answer{Verdict: r.text("verdict"), Line: line}
	if err != nil || !want.agrees(got) {
		return fmt.Errorf("got:  %s, line %d (error: %v)\nwant: %s, line %d", got.Verdict, got.Line, err, want.Verdict, want.Line)
	}
	return nil
}

func checkScope(_ robots.Dialect, r record) error {
	got, err := governs(r.text("robots_url"), r.text("url"))
	// A robots.txt in another place applies to nothing.
	want := map[string]string{"yes": "true", "no": "false", "invalid-robots-url": "false"}[r.text("applies")]
	return errors.Join(err, same("governs", got, want))
}

func checkRequestRate(d robots.Dialect, r record) error {
	f := robots.Parse([]byte("User-agent: *\nRequest-rate: " + r.text("value") + "\n"))
	rates := f.Rules(d, "SeznamBot").RequestRates()
	if r.text("status") == "invalid" {
		return same("rates", rates, "[]")
	}
	if len(rates) != 1 {
		return fmt.Errorf("got %d rates, want 1", len(rates))
	}
	got := rates[0]
	window := ""
	if r.text("from_hhmm") != "" {
		window = r.text("from_hhmm") + "-" + r.text("to_hhmm")
	}
	floor := got.AtLeast(d.RateFloor)
	return errors.Join(
		same("documents", got.Requests, r.number("documents")),
		same("seconds", got.Seconds, r.number("seconds")),
		same("window", got.Window, window),
		same("effective documents", floor.Requests, r.number("effective_documents")),
		same("effective seconds", floor.Seconds, r.number("effective_seconds")),
	)
}

func checkRateWindow(d robots.Dialect, r record) error {
	f := robots.Parse([]byte("User-agent: *\nRequest-rate: 1/1s " + r.text("window") + "\n"))
	rates := f.Rules(d, "SeznamBot").RequestRates()
	if len(rates) != 1 {
		return fmt.Errorf("got %d rates, want 1", len(rates))
	}
	var h, m, s int
	if _, err := fmt.Sscanf(r.text("time"), "%d:%d:%d", &h, &m, &s); err != nil {
		return err
	}
	got := "out"
	if rates[0].Window.Contains(h*3600 + m*60 + s) {
		got = "in"
	}
	return same("inside", got, r.text("inside"))
}

// checkSitemaps: the rows of one body are its sitemaps in order.
func checkSitemaps(d robots.Dialect, r record) error {
	maps := robots.Parse(r.body()).Rules(d, "GooseBot").Sitemaps()
	if !slices.Contains(maps, r.text("sitemap")) {
		return fmt.Errorf("got:  %q\nwant: %q among them", maps, r.text("sitemap"))
	}
	return nil
}

// checkBody: an example is kept byte for byte, and its lines are those of a simple split.
func checkBody(_ robots.Dialect, r record) error {
	body := []byte(r.text("body"))
	f := robots.Parse(body)
	if !bytes.Equal(f.Bytes(), body) {
		return errors.New("the body is not kept")
	}
	var got, want []string
	for l := range f.Lines(robots.Dialect{}) {
		if l.Field != robots.FieldNone {
			got = append(got, strconv.Itoa(l.Number)+" "+l.Field.String()+" "+f.Text(l.Value))
		}
	}
	for i, line := range strings.Split(string(body), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if field, value, ok := strings.Cut(line, ":"); ok {
			want = append(want, strconv.Itoa(i+1)+" "+strings.ToLower(strings.TrimSpace(field))+" "+strings.TrimSpace(value))
		}
	}
	return same("lines", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

// dialectColumns maps a column of dialects.tsv to the field of a Dialect, with the value for
// each word. Words have the same meaning in every row, so a row agrees if each of its cells
// does.
var dialectColumns = map[string]func(d robots.Dialect, cell string) error{
	"agent_case": func(d robots.Dialect, cell string) error {
		return word(d.ExactCase, cell, map[string]bool{"fold": false, "exact": true})
	},
	"agent_match": func(d robots.Dialect, cell string) error {
		return word(d.AgentMatch, cell, map[string]robots.AgentMatch{"whole-or-cut": robots.AgentWholeOrCut, "token-cut": robots.AgentTokenCut, "whole": robots.AgentWhole})
	},
	"agent_fallback": func(d robots.Dialect, cell string) error {
		return word(d.MergeTokens, cell, map[string]bool{"caller-list": false, "none": true})
	},
	"group_close": func(d robots.Dialect, cell string) error {
		type ends struct{ records, blanks bool }
		return word(ends{d.RecordsEndRun, d.BlanksEndRun}, cell, map[string]ends{"rule": {}, "member": {records: true}, "blank": {blanks: true}})
	},
	"field_typos": func(d robots.Dialect, cell string) error {
		return word(d.Misspellings, cell, map[string]bool{"off": false, "google": true})
	},
	"missing_colon": func(d robots.Dialect, cell string) error {
		return word(d.MissingColon, cell, map[string]bool{"off": false, "google": true})
	},
	"path_slash": func(d robots.Dialect, cell string) error {
		return word(d.AssumeSlash, cell, map[string]bool{"glob-ok": false, "assume": true})
	},
	"star_conflict": func(d robots.Dialect, cell string) error {
		return word(d.StarConflictUndefined, cell, map[string]bool{"length": false, "undefined": true})
	},
	"pct": func(d robots.Dialect, cell string) error {
		return word(d.Escapes, cell, map[string]robots.Escapes{"rfc": robots.EscapesRFC, "cpp-url-normalised": robots.EscapesGoogle, "cpp": robots.EscapesRaw})
	},
	"self": func(d robots.Dialect, cell string) error {
		return word(d.MatchRobotsTxt, cell, map[string]bool{"allowed": false, "matched": true})
	},
	"index_html": func(d robots.Dialect, cell string) error {
		return word(d.IndexHTML, cell, map[string]bool{"off": false, "allow-index": true})
	},
	"size_bytes": func(d robots.Dialect, cell string) error { return size(d.MaxFileBytes, cell) },
	"line_max":   func(d robots.Dialect, cell string) error { return size(d.MaxLineBytes, cell) },
	"over_size": func(d robots.Dialect, cell string) error {
		return word(d.OverSizeOpens, cell, map[string]bool{"truncate": false, "allow-all": true, "n/a": false})
	},
	"crawl_delay": func(d robots.Dialect, cell string) error {
		return word(d.CrawlDelay, cell, map[string]robots.Honor{"report": robots.HonorReported, "ignore": robots.HonorIgnored, "honour-inherit": robots.HonorInherited})
	},
	"request_rate": func(d robots.Dialect, cell string) error {
		return word(d.RequestRate, cell, map[string]robots.Honor{"report": robots.HonorReported, "ignore": robots.HonorIgnored, "honour": robots.HonorObeyed})
	},
	"rate_floor": func(d robots.Dialect, cell string) error {
		return word(d.RateFloor, cell, map[string]int{"none": 0, "1/30s": 30})
	},
}

// sameForAll are the columns with one value for all eight dialects, which have no field in a
// Dialect. Each must be constant.
var sameForAll = map[string]string{
	"same_agent":    "merge",
	"star_groups":   "merge",
	"before_group":  "ignore",
	"wildcards":     "star-dollar",
	"anchor":        "prefix",
	"precedence":    "longest",
	"tie":           "allow",
	"robot_version": "ignore",
}

// fetchColumns are about fetching and pacing in other packages.
var fetchColumns = []string{
	"s4xx", "s401_403", "s429", "redirects", "over_redirects", "html_body",
	"net_fail", "unreachable", "ttl", "rate_zone",
}

func word[T comparable](got T, cell string, words map[string]T) error {
	want, ok := words[cell]
	if !ok {
		return fmt.Errorf("unknown word %q", cell)
	}
	if got != want {
		return fmt.Errorf("got:  %v\nwant: %v (%s)", got, want, cell)
	}
	return nil
}

func size(got int, cell string) error {
	want := 0
	if cell != "none" {
		var err error
		if want, err = strconv.Atoi(cell); err != nil {
			return err
		}
	}
	return same("size", got, want)
}

func checkDialect(d robots.Dialect, r record) error {
	var errs error
	for column, cell := range r.cells {
		check, field := dialectColumns[column]
		constant, same := sameForAll[column]
		switch {
		case column == "dialect" || slices.Contains(fetchColumns, column):
		case field:
			if err := check(d, cell); err != nil {
				errs = errors.Join(errs, fmt.Errorf("%s, %s: %w", d.Name, column, err))
			}
		case !same:
			errs = errors.Join(errs, fmt.Errorf("nobody checks the column %s", column))
		case cell != constant:
			errs = errors.Join(errs, fmt.Errorf("%s, %s: %q differs from %q, but Dialect has no field for it", d.Name, column, cell, constant))
		}
	}
	return errs
}

// TestSpecDialects: every dialect has its row.
func TestSpecDialects(t *testing.T) {
	rows := readTable(t, "dialects")
	for _, d := range robots.Dialects() {
		if !slices.ContainsFunc(rows, func(r record) bool { return r.cells["dialect"] == d.Name }) {
			t.Errorf("no row for %s", d.Name)
		}
	}
	t.Logf("%d columns compared with a field, %d constant, %d of other packages", len(dialectColumns), len(sameForAll), len(fetchColumns))
}

// TestSpecSitemapOrder: the rows of a body are its complete list, in order.
func TestSpecSitemapOrder(t *testing.T) {
	want := map[string][]string{}
	bodies := map[string]record{}
	for _, r := range readTable(t, "sitemaps") {
		id := r.cells["body_id"]
		want[id] = append(want[id], r.text("sitemap"))
		bodies[id] = r
	}
	for id, list := range want {
		for _, d := range robots.Dialects() {
			if got := robots.Parse(bodies[id].body()).Rules(d).Sitemaps(); !slices.Equal(got, list) {
				t.Errorf("%s, %s\ngot:  %q\nwant: %q", id, d.Name, got, list)
			}
		}
	}
}
