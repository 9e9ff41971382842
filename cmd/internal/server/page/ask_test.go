package page

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/indexing"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/hostile"
	"github.com/robotskit/robots/lint"
)

const shop = "# shop\nUser-agent: *\nDisallow: /basket\nDisallow: /*?sort=\nAllow: /basket/help\nCrawl-delay: 2\n\n" +
	"User-agent: GPTBot\nDisallow: /\nDisalow: /x\nstrange\n\nSitemap: https://shop.example/s.xml\n"

func members(v any) []map[string]any {
	var list []map[string]any
	for _, x := range v.([]any) {
		list = append(list, x.(map[string]any))
	}
	return list
}

func TestParse(t *testing.T) {
	m := question(t, "parse", shop)
	if got, want := m["kinds"], "#uddar udg! s"; got != want {
		t.Errorf("kinds %q, want %q", got, want)
	}
	if names := m["names"].([]any); len(names) != 1 || names[0] != "GPTBot" {
		t.Errorf("names %v", names)
	}
	if got, want := m["start"], []any{"Googlebot", "GPTBot", "bingbot"}; !reflect.DeepEqual(got, want) {
		t.Errorf("crawlers to begin with: %v, want %v", got, want)
	}
	long := "User-agent: *\nDisallow: /a\n" + strings.Repeat("#\n", 256_000) + "Disallow: /b\n"
	kinds := question(t, "parse", long)["kinds"].(string)
	if !strings.HasPrefix(kinds, "ud##") || !strings.HasSuffix(kinds, "xx") || strings.Count(kinds, "\n") != 0 {
		t.Errorf("kinds of a long file begin with %q and end with %q", kinds[:8], kinds[len(kinds)-8:])
	}
	if notes := members(question(t, "parse", "<html>")["notes"]); len(notes) != 1 || notes[0]["clause"] != "D-27" {
		t.Errorf("notes of a page %v", notes)
	}
}

// TestMatrix: the cells are the verdicts of the engine, in every dialect.
func TestMatrix(t *testing.T) {
	names := []string{"Googlebot", "GPTBot", "*", "SeznamBot", "MJ12bot"}
	urls := []string{"/basket", "https://shop.example/list?sort=1", "/basket/help", "/robots.txt", "/caf\u00e9", "/%zz", "//a/b", "/"}
	for _, d := range robots.Dialects() {
		crawlers := ""
		for _, n := range names {
			crawlers += d.Name + "\t" + n + "\n"
		}
		f := robots.Parse([]byte(shop))
		rows := members(question(t, "matrix", shop, crawlers, strings.Join(urls, "\n"), "")["rows"])
		for i, url := range urls {
			for k, cell := range members(rows[i]["cells"]) {
				path, err := answer.Path(d, url)
				if err != nil {
					t.Fatal(err)
				}
				v := f.Rules(d, names[k]).Match(path)
				if cell["verdict"] != v.Word() || int(cell["line"].(float64)) != v.Rule.Line() || cell["reason"] != v.Reason.String() {
					t.Errorf("%s, %s, %s: %v, want %v", d.Name, names[k], url, cell, v)
				}
			}
		}
	}
	rows := members(question(t, "matrix", shop, "rfc9309\tMyBot", "nonsense\n/x", "")["rows"])
	if rows[0]["error"] == nil || rows[1]["error"] != nil {
		t.Errorf("rows %v: want an error for the first alone", rows)
	}
	// An engine with another verdict is named: Google reads the misspelled field.
	rows = members(question(t, "matrix", "User-agent: a\nDisalow: /x\n", "rfc9309\ta", "/x", `{"engines":true}`)["rows"])
	if got := members(rows[0]["cells"])[0]["differing"]; len(got.([]any)) != 1 || got.([]any)[0] != "google" {
		t.Errorf("differing %v, want google", got)
	}
}

func TestExplain(t *testing.T) {
	m := question(t, "explain", shop, "rfc9309\tMyBot", "/basket/help")
	if m["verdict"] != "allow" || m["summary"] != "line 5: Allow: /basket/help" || len(members(m["matches"])) != 2 || len(members(m["steps"])) == 0 || len(members(m["dialects"])) != 8 {
		t.Errorf("%v", m)
	}
	if won := members(m["matches"])[0]; won["won"] != true || won["pattern"] != "/basket/help" || won["clause"] != "PREC-01" {
		t.Errorf("the rule that decides is %v", won)
	}
}

// TestAnswers: an answer has the members of its struct in package answer, with the same values.
func TestAnswers(t *testing.T) {
	f := robots.Parse([]byte(shop))
	who := answer.Auto("SeznamBot", "SeznamBot")
	rules := f.Rules(who.Dialect, who.Tokens...)
	path, err := robots.ParsePath("/list?sort=1")
	if err != nil {
		t.Fatal(err)
	}
	verdict := rules.Match(path)
	findings, err := answer.Lint(nil, f, lint.Options{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	unused, err := answer.FindUnused(nil, f, []answer.Crawler{who}, decidesSteps)
	if err != nil {
		t.Fatal(err)
	}
	page := indexing.Parse(map[string][]string{"X-Robots-Tag": {"noindex"}}, nil)
	before := robots.Parse([]byte("User-agent: *\nCrawl-delay: 5\nDisallow: /a\n"))
	at := time.Unix(1795305600, 0).UTC()
	googlebot, _ := crawlers.Find("Googlebot")
	const crawler = "auto\tSeznamBot"
	for _, c := range []struct {
		verb   string
		args   []string
		member string // of the answer that has the struct, "" for the answer itself
		want   any
	}{
		{"explain", []string{shop, crawler, "/list?sort=1"}, "", answer.Explain(rules, &who, path, "/list?sort=1", []string{"SeznamBot"}, answer.ExplainLimits{})},
		{"lint", []string{shop}, "", findings},
		{"diff", []string{string(before.Bytes()), shop, crawler}, "crawlers", answer.Diff(before, f, append([]answer.Crawler{who}, answer.Comparable(before, f, [2]robots.Dialect{})...), answer.DiffOptions{}).Crawlers},
		{"show", []string{shop, crawler, "1795305600"}, "", answer.Show(f, &who, at, answer.ShowOptions{Sections: []answer.Section{answer.SectionDelays, answer.SectionSitemaps}, Pages: ratePages})},
		{"decides", []string{shop, crawler}, "", unused},
		{"access", []string{shop}, "crawlers/Googlebot", first(answer.AccessTable(f, []crawlers.Crawler{googlebot}, nil, accessSteps))[0]},
		{"directory", nil, "crawlers/Googlebot", answer.NewCrawlerEntry(googlebot)},
		{"outlook", []string{shop, crawler, "/list?sort=1", "X-Robots-Tag: noindex"}, "", answer.Page(rules, &who, "/list?sort=1", &verdict, page, time.Time{})},
	} {
		encoded, err := json.Marshal(c.want)
		if err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal(encoded, &want); err != nil {
			t.Fatal(err)
		}
		var got any = question(t, c.verb, c.args...)
		if member, name, _ := strings.Cut(c.member, "/"); member != "" {
			got = got.(map[string]any)[member]
			if name != "" {
				list := members(got)
				got = any(list[slices.IndexFunc(list, func(m map[string]any) bool { return m["name"] == name })])
			}
		}
		if object, ok := want.(map[string]any); ok {
			for name, value := range object {
				if other, has := got.(map[string]any)[name]; !has || !reflect.DeepEqual(value, other) {
					t.Errorf("%s: %s is %v, want %v", c.verb, name, other, value)
				}
			}
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", c.verb, got, want)
		}
	}
}

func first[T any](v T, _ int) T { return v }

// TestAuto: in the dialect auto a name is all that the directory documents of its crawler (D-62).
func TestAuto(t *testing.T) {
	body := "User-agent: Yandex\nDisallow: /admin\n\nUser-agent: Google-NotebookLM\nDisallow: /notebook\n"
	for _, c := range []struct{ crawler, name, dialect, fallback, reason, binds string }{
		{"auto\tYandexBot", "YandexBot", "yandex", "Yandex", "YandexBot is not named; it follows the group of Yandex (Yandex's documentation)", "yes"},
		{"auto\tyandexbot", "YandexBot", "yandex", "Yandex", "yandexbot is not named; it follows the group of Yandex (Yandex's documentation)", "yes"},
		{"auto\tMozilla/5.0 (compatible; YandexBot/3.0)", "YandexBot", "yandex", "Yandex", "YandexBot is not named; it follows the group of Yandex (Yandex's documentation)", "yes"},
		{"auto\tGoogle-GeminiNotebook", "Google-GeminiNotebook", "google", "Google-NotebookLM", "", "no"},
		{"auto\tYandexBot\tYandex", "YandexBot", "yandex", "", "", "yes"}, // a list is taken as given
		{"yandex\tYandexBot", "YandexBot", "yandex", "", "", "yes"},
		{"auto\tMyBot", "MyBot", "rfc9309", "", "", "yes"},
		{"auto", "*", "rfc9309", "", "", "yes"},
	} {
		column := members(question(t, "matrix", body, c.crawler, "/admin", "")["columns"])[0]
		e := question(t, "explain", body, c.crawler, "/admin")
		token := ""
		if f, ok := column["fallback"].(map[string]any); ok {
			token = f["token"].(string)
		}
		if column["name"] != c.name || column["dialect"] != c.dialect || token != c.fallback || column["binds"] != c.binds || c.reason != "" && column["fallback_reason"] != c.reason {
			t.Errorf("%q: %v", c.crawler, column)
		}
		for _, member := range []string{"fallback", "fallback_reason", "binds", "dialect", "group"} {
			if !reflect.DeepEqual(e[member], column[member]) {
				t.Errorf("%q: %s is %v in the explanation, %v in the table", c.crawler, member, e[member], column[member])
			}
		}
	}
}

func TestFindings(t *testing.T) {
	file := "User-agent: *\nDisallow: /a\nDisallow: /a/b\nDisalow: /c\n"
	list := members(question(t, "lint", file)["findings"])
	safe := 0
	for _, d := range list {
		if fix, ok := d["fix"].(map[string]any); ok && fix["safe"] == true {
			safe++
			edit := members(fix["edits"])[0]
			if end := int(edit["end"].(float64)); end > len(file) {
				t.Errorf("an edit ends at %d of %d", end, len(file))
			}
		}
	}
	if safe == 0 || len(list) < 2 {
		t.Errorf("%d findings, %d with a fix that is proved: %v", len(list), safe, list)
	}
	body, err := base64.StdEncoding.DecodeString(question(t, "fix", file+"# \xe9\n")["body"].(string))
	if fixed := string(body); err != nil || !strings.HasSuffix(fixed, "# \xe9\n") || strings.Contains(fixed, "/a/b") || !strings.Contains(fixed, "Disalow: /c") {
		t.Errorf("fixed to %q: want the rule gone that has no effect, and the misspelt one and the bytes of the comment left alone", body)
	}
}

func TestDiff(t *testing.T) {
	m := question(t, "diff", shop, strings.Replace(shop, "/basket\n", "/cart\n", 1), "google\tGooglebot\nrfc9309\tGPTBot")
	list := members(m["crawlers"])
	if len(list) != 3 || list[0]["result"] != "differs" || list[1]["result"] != "same" || list[2]["agent"] != "*" {
		t.Fatalf("%v", list)
	}
	blocked := members(list[0]["newly_blocked"])
	allowed := members(list[0]["newly_allowed"])
	if len(blocked) != 1 || blocked[0]["path"] != "/cart" || len(allowed) != 1 || allowed[0]["path"] != "/basket" {
		t.Errorf("newly blocked %v, newly allowed %v", blocked, allowed)
	}
}

func TestShow(t *testing.T) {
	body := "User-agent: SeznamBot\nRequest-rate: 1/30s 1800-1900\nRequest-rate: 10/1m\nDisallow:\nSitemap: https://shop.example/s.xml\n"
	m := question(t, "show", body, "auto\tSeznamBot", "1795305600") // 2026-11-22 00:00:00
	hours := m["hours"].([]any)
	phases := members(m["phases"])
	if len(hours) != 24 || hours[18] != 120.0 || hours[17] != 600.0 || len(phases) != 3 || phases[1]["from"] != "18:00" || phases[2]["to"] != "24:00" {
		t.Errorf("hours %v, phases %v", hours, phases)
	}
	if m["takes"] != "3 h" || m["pace"] != "one request every 6 s" || len(m["sitemaps"].([]any)) != 1 {
		t.Errorf("takes %v, pace %v, sitemaps %v", m["takes"], m["pace"], m["sitemaps"])
	}
	if m := question(t, "show", body, "seznam\tSeznamBot", "now"); m["error"] == nil {
		t.Error("a time that is none is no error")
	}
	if m := question(t, "show", strings.Repeat("Sitemap: /x\n", maxNamed+5), "auto", "0"); len(m["sitemaps"].([]any)) != maxNamed || m["sitemaps_dropped"] != 5.0 {
		t.Errorf("%v sitemaps are left out", m["sitemaps_dropped"])
	}
}

func TestDecides(t *testing.T) {
	body := "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b\n\nUser-agent: x\nDisallow: /q%zz?a/../#\n"
	m := question(t, "decides", body, "rfc9309\tMyBot")
	if got := m["lines"].([]any); len(got) != 1 || got[0] != 4.0 || m["complete"] != true {
		t.Errorf("%v: want line 4, where an allow as long always decides", m)
	}
	// For another crawler the rule decides, so it is not listed.
	if got := question(t, "decides", "User-agent: *\nDisallow: /a$b\nAllow: /\n", "rfc9309\tMyBot\ngoogle\tMyBot")["lines"].([]any); len(got) != 0 {
		t.Errorf("lines %v, want none", got)
	}
}

func TestDirectory(t *testing.T) {
	m := question(t, "directory")
	if got := len(m["dialects"].([]any)); got != len(robots.Dialects()) {
		t.Errorf("%d dialects", got)
	}
	if got := len(m["checks"].([]any)); got != len(lint.Checks) {
		t.Errorf("%d checks", got)
	}
}

// TestWrongQuestions: the answer to any question is JSON, and one that is invalid or takes too
// long gets a sentence.
func TestWrongQuestions(t *testing.T) {
	for _, q := range [][]string{
		{""}, {"nonsense"}, {"parse"}, {"parse", "a", "b"}, {"matrix", "", "x\ty", "", ""}, {"matrix", "", strings.Repeat("google\ta\n", MaxCrawlers+1), "/", ""},
		{"matrix", "", "google\ta", strings.Repeat("/\n", MaxURLs+1), ""}, {"matrix", "", "google\ta", "/" + strings.Repeat("a", MaxLine), ""},
		{"matrix", "", "", "", "no view"}, {"matrix", "", "", "", `{"show":"red"}`}, {"matrix", "", "", "", `{"sort":"red"}`}, {"crawler", "a,,b", ""}, {"crawler", "a", "x\ty"}, {"crawler", strings.Repeat("a\n", MaxCrawlers), ""},
		{"urls", "/" + strings.Repeat("a", MaxLine), ""},
		{"explain", "", "google\ta", "no url"}, {"explain", "", "", "/"}, {"explain", "", "google", "/" + strings.Repeat("a", MaxLine)}, {"show", "", "google", "-1"}, {"show", "", "all", "0"}, {"decides", "", "google" + strings.Repeat("\ta", 30)},
	} {
		if m := question(t, q[0], q[1:]...); m["error"] == nil || len(m) != 1 {
			t.Errorf("%.60q: %v, want one member, error", q, m)
		}
	}
	for verb, args := range map[string][]string{"parse": {shop}, "matrix": {shop, "google\ta", "/", ""}, "crawler": {"a", ""}, "urls": {"/", ""}, "diff": {shop, "", ""}, "decides": {shop, "google\ta"}} {
		if got, err := AskWithin(budget.New(1, 1<<20), verb, args...); got != "" || !errors.Is(err, budget.ErrSteps) {
			t.Errorf("%s with one step: %s, %v", verb, got, err)
		}
	}
	ugly := "\xEF\xBB\xBF\x00User-agent: \xff<b>\"\u2028*\r\nDisallow: /\xff\"</script>\r"
	for verb, v := range verbs {
		args := make([]string, v.args)
		for i := range args {
			args[i] = ugly
		}
		question(t, verb, args...)
		if v.args > 1 {
			args[1] = "google\t\xff\"\ngoogle-legacy"
		}
		if v.args == 3 {
			args[2] = "/\xff\"\\"
		}
		question(t, verb, args...)
	}
}

// TestHostile: the size of an answer is limited for any file.
func TestHostile(t *testing.T) {
	size := campaign.Size(2_000, 20_000, 500_000)
	for _, f := range hostile.Files {
		path := f.Path(2_000)
		body := string(f.Body(size, path))
		for _, q := range [][]string{
			{"parse", body}, {"matrix", body, "google\tGooglebot\nrfc9309\tx", path + "\n/", ""}, {"urls", body, ""}, {"crawler", body, ""}, {"lint", body},
			{"diff", body, body + "Disallow: /x\n", "google\tGooglebot"}, {"decides", body, "google\tGooglebot\nrfc9309\tx"}, {"explain", body, "google\tGooglebot", path},
		} {
			if answer := Ask(q[0], q[1:]...); len(answer) > 4<<20 {
				t.Errorf("%s: the answer to %s has %d bytes", f.Name, q[0], len(answer))
			}
		}
	}
}

// TestBlock: the file is that of robots block --purpose ai-training, with the inserted text; what it cannot block
// it leaves alone.
func TestBlock(t *testing.T) {
	entries, _, err := ask.ChooseCrawlers([]string{"ai-training"}, "", false)
	if err != nil {
		t.Fatal(err)
	}
	var chosen []answer.Crawler
	for _, e := range entries {
		chosen = append(chosen, answer.Auto(e.Name, e.Name))
	}
	for _, test := range []struct {
		before string
		line   int // 0 if nothing is added
	}{
		{"User-agent: *\nDisallow: /basket\n", 3},
		{"User-agent: *\nDisallow: /basket", 2},
		{"User-agent: WorseBot\r\nDisallow: /\r\n", 2},
		{"User-agent: GPTBot\nUser-agent: WorseBot\nDisallow: /\n\nUser-agent: x\nDisallow:\n", 3},
		{"User-agent: Googlebot\n", 1},
		{"User-agent: GPTBot\nAllow: /\n", 0},
	} {
		m := question(t, "block", test.before)
		body, err := base64.StdEncoding.DecodeString(m["body"].(string))
		if err != nil {
			t.Fatal(err)
		}
		file := robots.Parse([]byte(test.before))
		want := answer.Block(file, chosen, answer.Named(file), answer.AccessSteps)
		wantBody := string(want.Body)
		if !want.Possible {
			wantBody = test.before
		}
		if string(body) != wantBody || m["possible"] != want.Possible {
			t.Errorf("%q becomes %q, want %q", test.before, body, wantBody)
		}
		added := m["added"].(string)
		if int(m["line"].(float64)) != test.line || (added != "") != (test.line > 0) || strings.Replace(string(body), added, "", 1) != test.before {
			t.Errorf("%q: added from line %v on: %q", test.before, m["line"], added)
		}
	}
}
