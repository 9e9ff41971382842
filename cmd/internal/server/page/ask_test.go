package page

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/hostile"
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
	m := ask(t, "parse", shop)
	if got, want := m["kinds"], "#uddar udg! s"; got != want {
		t.Errorf("kinds %q, want %q", got, want)
	}
	if c := members(m["crawlers"]); len(c) != 1 || c[0]["tokens"].([]any)[0] != "GPTBot" || c[0]["dialect"] != "rfc9309" {
		t.Errorf("crawlers %v", c)
	}
	if s := m["sitemaps"].([]any); len(s) != 1 || s[0] != "https://shop.example/s.xml" {
		t.Errorf("sitemaps %v", s)
	}
	long := "User-agent: *\nDisallow: /a\n" + strings.Repeat("#\n", 256_000) + "Disallow: /b\n"
	kinds := ask(t, "parse", long)["kinds"].(string)
	if !strings.HasPrefix(kinds, "ud##") || !strings.HasSuffix(kinds, "xx") || strings.Count(kinds, "\n") != 0 {
		t.Errorf("kinds of a long file begin with %q and end with %q", kinds[:8], kinds[len(kinds)-8:])
	}
	if notes := members(ask(t, "parse", "<html>")["notes"]); len(notes) != 1 || notes[0]["clause"] != "D-27" {
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
		rows := members(ask(t, "matrix", shop, crawlers, strings.Join(urls, "\n"))["rows"])
		for i, url := range urls {
			for k, cell := range members(rows[i]["cells"]) {
				path, err := answer.Path(d, url)
				if err != nil {
					t.Fatal(err)
				}
				v := f.Rules(d, names[k]).Match(path)
				if cell["word"] != v.Word() || int(cell["line"].(float64)) != v.Rule.Line() || cell["reason"] != v.Reason.String() {
					t.Errorf("%s, %s, %s: %v, want %v", d.Name, names[k], url, cell, v)
				}
			}
		}
	}
	rows := members(ask(t, "matrix", shop, "rfc9309\tMyBot", "nonsense\n/x")["rows"])
	if rows[0]["error"] == nil || rows[1]["error"] != nil {
		t.Errorf("rows %v: want an error for the first alone", rows)
	}
	// An engine with another verdict is named: Google reads the misspelled field.
	rows = members(ask(t, "matrix", "User-agent: a\nDisalow: /x\n", "rfc9309\ta", "/x")["rows"])
	if got := members(rows[0]["cells"])[0]["others"]; len(got.([]any)) != 1 || got.([]any)[0] != "google" {
		t.Errorf("others %v, want google", got)
	}
}

func TestExplain(t *testing.T) {
	m := ask(t, "explain", shop, "rfc9309\tMyBot", "/basket/help")
	if m["word"] != "allow" || m["line"] != 5.0 || len(members(m["matches"])) != 2 || len(members(m["steps"])) == 0 || len(members(m["others"])) != 8 {
		t.Errorf("%v", m)
	}
	if won := members(m["matches"])[0]; won["won"] != true || won["rule"] != "Allow: /basket/help" || won["clause"] != "PREC-01" {
		t.Errorf("the rule that decides is %v", won)
	}
}

// TestAuto: the dialect and tokens of the directory are the dialect auto (D-62).
func TestAuto(t *testing.T) {
	for _, crawler := range []string{"auto\tYandexBot", "yandex\tYandexBot\tYandex"} {
		body := "User-agent: Yandex\nDisallow: /admin\n"
		column := members(ask(t, "matrix", body, crawler, "/admin")["columns"])[0]
		if f, _ := column["fallback"].(map[string]any); f["token"] != "Yandex" || f["kind"] != "fallback" || column["binds"] != "yes" {
			t.Errorf("%q: %v", crawler, column)
		}
		notes := members(ask(t, "explain", body, crawler, "/admin")["notes"])
		if len(notes) != 1 || notes[0]["text"] != "YandexBot is not named; it follows the group of Yandex (Yandex's documentation)" {
			t.Errorf("%q: notes %v", crawler, notes)
		}
	}
	if column := members(ask(t, "matrix", "User-agent: Yandex\nDisallow: /\n", "yandex\tYandexBot", "/")["columns"])[0]; column["fallback"] != nil || column["group"] != "" {
		t.Errorf("a named dialect takes exactly the given tokens: %v", column)
	}
}

func TestFindings(t *testing.T) {
	file := "User-agent: *\nDisallow: /a\nDisallow: /a/b\nDisalow: /c\n"
	list := members(ask(t, "lint", file)["findings"])
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
	body, err := base64.StdEncoding.DecodeString(ask(t, "fix", file+"# \xe9\n")["body"].(string))
	if fixed := string(body); err != nil || !strings.HasSuffix(fixed, "# \xe9\n") || strings.Contains(fixed, "/a/b") || !strings.Contains(fixed, "Disalow: /c") {
		t.Errorf("fixed to %q: want the rule gone that has no effect, and the misspelt one and the bytes of the comment left alone", body)
	}
}

func TestDiff(t *testing.T) {
	m := ask(t, "diff", shop, strings.Replace(shop, "/basket\n", "/cart\n", 1), "google\tGooglebot\nrfc9309\tGPTBot")
	list := members(m["crawlers"])
	if len(list) != 3 || list[0]["result"] != "differs" || list[1]["result"] != "same" || list[2]["tokens"].([]any)[0] != "*" {
		t.Fatalf("%v", list)
	}
	blocked := members(list[0]["blocked"].(map[string]any)["changes"])
	opened := members(list[0]["opened"].(map[string]any)["changes"])
	if len(blocked) != 1 || blocked[0]["path"] != "/cart" || len(opened) != 1 || opened[0]["path"] != "/basket" {
		t.Errorf("blocked %v, opened %v", blocked, opened)
	}
}

func TestRates(t *testing.T) {
	body := "User-agent: SeznamBot\nRequest-rate: 1/30s 1800-1900\nRequest-rate: 10/1m\nDisallow:\n"
	m := ask(t, "rates", body, "seznam\tSeznamBot", "1795305600") // 2026-11-22 00:00:00
	hours := members(m["hours"])
	if len(hours) != 24 || hours[18]["pages"] != 120.0 || hours[17]["pages"] != 600.0 {
		t.Errorf("hours %v", hours)
	}
	if m["takes"] != "3 h" || len(members(m["entries"])) != 2 || m["pace"] != "one request every 6 s" {
		t.Errorf("takes %v, pace %v, entries %v", m["takes"], m["pace"], m["entries"])
	}
	if m := ask(t, "rates", body, "seznam\tSeznamBot", "now"); m["error"] == nil {
		t.Error("a time that is none is no error")
	}
}

func TestDecides(t *testing.T) {
	body := "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b\n\nUser-agent: x\nDisallow: /q%zz?a/../#\n"
	m := ask(t, "decides", body, "rfc9309\tMyBot")
	if got := m["never"].([]any); len(got) != 1 || got[0] != 4.0 || m["complete"] != true {
		t.Errorf("%v: want line 4, where an allow as long always decides", m)
	}
	// For another crawler the rule decides, so it is not listed.
	if got := ask(t, "decides", "User-agent: *\nDisallow: /a$b\nAllow: /\n", "rfc9309\tMyBot\ngoogle\tMyBot")["never"].([]any); len(got) != 0 {
		t.Errorf("never %v, want none", got)
	}
}

func TestDialects(t *testing.T) {
	m := ask(t, "dialects")
	if got := len(m["dialects"].([]any)); got != len(robots.Dialects()) {
		t.Errorf("%d dialects", got)
	}
	i := slices.IndexFunc(members(m["crawlers"]), func(c map[string]any) bool { return c["tokens"].([]any)[0] == "Googlebot-Image" })
	if c := members(m["crawlers"])[i]; c["dialect"] != "google" || len(c["tokens"].([]any)) != 2 {
		t.Errorf("%v", c)
	}
}

// TestWrongQuestions: the answer to any question is JSON, and one that is invalid or takes too
// long gets a sentence.
func TestWrongQuestions(t *testing.T) {
	for _, q := range [][]string{
		{""}, {"nonsense"}, {"parse"}, {"parse", "a", "b"}, {"matrix", "", "x\ty", ""}, {"matrix", "", strings.Repeat("google\ta\n", MaxCrawlers+1), "/"},
		{"matrix", "", "google\ta", strings.Repeat("/\n", MaxURLs+1)}, {"matrix", "", "google\ta", "/" + strings.Repeat("a", MaxLine)},
		{"explain", "", "google\ta", "no url"}, {"explain", "", "", "/"}, {"rates", "", "google", "-1"}, {"decides", "", "google" + strings.Repeat("\ta", 30)},
	} {
		if m := ask(t, q[0], q[1:]...); m["error"] == nil || len(m) != 1 {
			t.Errorf("%.60q: %v, want one member, error", q, m)
		}
	}
	for verb, args := range map[string][]string{"parse": {shop}, "matrix": {shop, "google\ta", "/"}, "diff": {shop, "", ""}, "decides": {shop, "google\ta"}} {
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
		ask(t, verb, args...)
		if v.args > 1 {
			args[1] = "google\t\xff\"\ngoogle-legacy"
		}
		if v.args == 3 {
			args[2] = "/\xff\"\\"
		}
		ask(t, verb, args...)
	}
}

// TestHostile: the size of an answer is limited for any file.
func TestHostile(t *testing.T) {
	size := campaign.Size(2_000, 20_000, 500_000)
	for _, f := range hostile.Files {
		path := f.Path(2_000)
		body := string(f.Body(size, path))
		for _, q := range [][]string{
			{"parse", body}, {"matrix", body, "google\tGooglebot\nrfc9309\tx", path + "\n/"}, {"lint", body},
			{"diff", body, body + "Disallow: /x\n", "google\tGooglebot"}, {"decides", body, "google\tGooglebot\nrfc9309\tx"}, {"explain", body, "google\tGooglebot", path},
		} {
			if answer := Ask(q[0], q[1:]...); len(answer) > 4<<20 {
				t.Errorf("%s: the answer to %s has %d bytes", f.Name, q[0], len(answer))
			}
		}
	}
}
