package robotstest

import (
	"bytes"
	"cmp"
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
			rows := readTable(name)
			if about, ok := elsewhere[name]; ok {
				t.Logf("%d rows: none checked here (%s)", len(rows), about)
				return
			}
			checked, conflicting, others := 0, 0, 0
			for _, r := range rows {
				ds := r.dialects()
				if len(ds) == 0 {
					others++
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
			t.Logf("%d rows: %d checked, %d conflicting, %d of other sources", len(rows), checked, conflicting, others)
		})
	}
}

// record is a row of a table.
type record struct {
	id    string // table and line
	cells map[string]string
}

func readTable(name string) []record {
	data, err := os.ReadFile("testdata/spec/" + name + ".tsv")
	if err != nil {
		panic(err)
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
			panic(fmt.Sprintf("%s:%d: %d cells under %d columns", name, i+1, len(cells), len(head)))
		}
		r := record{id: name + ":" + strconv.Itoa(i+1), cells: map[string]string{}}
		for j, c := range cells {
			r.cells[head[j]] = c
		}
		rows = append(rows, r)
	}
	return rows
}

// dialects returns the sources of the row that are dialects.
func (r record) dialects() []robots.Dialect {
	var ds []robots.Dialect
	for name := range strings.SplitSeq(cmp.Or(r.cells["source"], r.cells["dialect"]), "|") {
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
	bodies := readTable("robots_bodies")
	i := slices.IndexFunc(bodies, func(b record) bool { return b.cells["id"] == r.cells["body_id"] })
	return []byte(bodies[i].text("body"))
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

// checkSitemaps: the rows of a body are its sitemaps in order.
func checkSitemaps(d robots.Dialect, r record) error {
	var want []string
	for _, row := range readTable("sitemaps") {
		if row.cells["body_id"] == r.cells["body_id"] {
			want = append(want, row.text("sitemap"))
		}
	}
	return same("sitemaps", robots.Parse(r.body()).Rules(d, "GooseBot").Sitemaps(), want)
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

// dialectColumns are the columns of dialects.tsv with the value in a Dialect, and the value that
// each word means. Words have the same meaning in every row, so a row agrees if each of its cells
// does. A word without values must be in every row: all eight dialects agree, and Dialect has no
// field for it.
var dialectColumns = map[string]struct {
	value func(d robots.Dialect) any
	words map[string]any
}{
	"agent_case":     {func(d robots.Dialect) any { return d.ExactCase }, map[string]any{"fold": false, "exact": true}},
	"agent_match":    {func(d robots.Dialect) any { return d.AgentMatch }, map[string]any{"whole-or-cut": robots.AgentWholeOrCut, "token-cut": robots.AgentTokenCut, "whole": robots.AgentWhole}},
	"agent_fallback": {func(d robots.Dialect) any { return d.MergeTokens }, map[string]any{"caller-list": false, "none": true}},
	"group_close":    {func(d robots.Dialect) any { return [2]bool{d.RecordsEndRun, d.BlanksEndRun} }, map[string]any{"rule": [2]bool{}, "member": [2]bool{true, false}, "blank": [2]bool{false, true}}},
	"field_typos":    {func(d robots.Dialect) any { return d.Misspellings }, map[string]any{"off": false, "google": true}},
	"missing_colon":  {func(d robots.Dialect) any { return d.MissingColon }, map[string]any{"off": false, "google": true}},
	"path_slash":     {func(d robots.Dialect) any { return d.AssumeSlash }, map[string]any{"glob-ok": false, "assume": true}},
	"star_conflict":  {func(d robots.Dialect) any { return d.StarConflictUndefined }, map[string]any{"length": false, "undefined": true}},
	"pct":            {func(d robots.Dialect) any { return d.Escapes }, map[string]any{"rfc": robots.EscapesRFC, "cpp-url-normalised": robots.EscapesGoogle, "cpp": robots.EscapesRaw}},
	"self":           {func(d robots.Dialect) any { return d.MatchRobotsTxt }, map[string]any{"allowed": false, "matched": true}},
	"index_html":     {func(d robots.Dialect) any { return d.IndexHTML }, map[string]any{"off": false, "allow-index": true}},
	"size_bytes":     {func(d robots.Dialect) any { return d.MaxFileBytes }, map[string]any{"none": 0, "512000": 512_000, "500000": 500_000}},
	"line_max":       {func(d robots.Dialect) any { return d.MaxLineBytes }, map[string]any{"none": 0, "16663": 16_663, "1024": 1024}},
	"over_size":      {func(d robots.Dialect) any { return d.OverSizeOpens }, map[string]any{"truncate": false, "allow-all": true, "n/a": false}},
	"crawl_delay":    {func(d robots.Dialect) any { return d.CrawlDelay }, map[string]any{"report": robots.HonorReported, "ignore": robots.HonorIgnored, "honour-inherit": robots.HonorInherited}},
	"request_rate":   {func(d robots.Dialect) any { return d.RequestRate }, map[string]any{"report": robots.HonorReported, "ignore": robots.HonorIgnored, "honour": robots.HonorObeyed}},
	"rate_floor":     {func(d robots.Dialect) any { return d.RateFloor }, map[string]any{"none": 0, "1/30s": 30}},
	"same_agent":     {words: map[string]any{"merge": nil}},
	"star_groups":    {words: map[string]any{"merge": nil}},
	"before_group":   {words: map[string]any{"ignore": nil}},
	"wildcards":      {words: map[string]any{"star-dollar": nil}},
	"anchor":         {words: map[string]any{"prefix": nil}},
	"precedence":     {words: map[string]any{"longest": nil}},
	"tie":            {words: map[string]any{"allow": nil}},
	"robot_version":  {words: map[string]any{"ignore": nil}},
}

// fetchColumns are about fetching and pacing in other packages.
var fetchColumns = []string{
	"s4xx", "s401_403", "s429", "redirects", "over_redirects", "html_body",
	"net_fail", "unreachable", "ttl", "rate_zone",
}

func checkDialect(d robots.Dialect, r record) error {
	var errs error
	for column, cell := range r.cells {
		if column == "dialect" || slices.Contains(fetchColumns, column) {
			continue
		}
		c := dialectColumns[column]
		want, ok := c.words[cell]
		switch {
		case !ok:
			errs = errors.Join(errs, fmt.Errorf("unknown column or word %s %q", column, cell))
		case want != nil:
			errs = errors.Join(errs, same(column+" "+cell, c.value(d), want))
		}
	}
	return errs
}
