package page

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestView: a view shows the rows that it selects, in its order, and marks URLs of another host than the file's.
func TestView(t *testing.T) {
	const file = "User-agent: *\nDisallow: /a\nDisallow: /b\n\nUser-agent: GPTBot\nDisalow: /c\nDisallow: /b\n"
	urls := []string{"https://shop.example/d", "/b", "https://shop.example/a?X=1", "https://other.example/c", "/c", "no URL"}
	for _, c := range []struct {
		view, site string
		shown      string // indexes of rows
	}{
		{"", "shop.example", "[0 1 2 3 4 5]"},
		{`{"show":"blocked"}`, "shop.example", "[1 2]"},
		{`{"show":"blocked","crawler":1}`, "shop.example", "[1]"},
		{`{"show":"allowed","crawler":0}`, "shop.example", "[0 3 4]"},
		{`{"show":"differing"}`, "shop.example", "[2]"},
		{`{"show":"engines"}`, "shop.example", "[3 4]"},
		{`{"show":"odd"}`, "shop.example", "[3 5]"},
		{`{"show":"odd","site":"other.example"}`, "other.example", "[0 2 5]"},
		{`{"text":"EXAMPLE/a?x"}`, "shop.example", "[2]"},
		{`{"sort":"url"}`, "shop.example", "[1 4 3 2 0 5]"},
		{`{"sort":"url","descending":true}`, "shop.example", "[5 0 2 3 4 1]"},
		{`{"sort":"verdict"}`, "shop.example", "[2 1 0 3 4 5]"},
		{`{"sort":"verdict","crawler":1}`, "shop.example", "[1 0 2 3 4 5]"},
		{`{"crawler":7}`, "shop.example", "[0 1 2 3 4 5]"},
	} {
		m := question(t, "matrix", file, "rfc9309\tMyBot\nrfc9309\tGPTBot", strings.Join(urls, "\n"), c.view)
		if shown := fmt.Sprint(m["shown"]); shown != c.shown || m["site"] != c.site {
			t.Errorf("%s: rows %s of %s, want %s of %s", c.view, shown, m["site"], c.shown, c.site)
		}
		for i, row := range members(m["rows"]) {
			host := ""
			if i == 3 && c.site == "shop.example" {
				host = "other.example"
			} else if (i == 0 || i == 2) && c.site == "other.example" {
				host = "shop.example"
			}
			if got, _ := row["host"].(string); got != host {
				t.Errorf("%s: host %q of %s, want %q", c.view, got, urls[i], host)
			}
		}
	}
}

// TestTyped: a crawler that is typed is recognized in the table, and among the lines before it; so is a URL.
func TestTyped(t *testing.T) {
	list := members(question(t, "crawler", "Googlebot\nBing\nMozilla/5.0 (compatible; bingbot/2.0)\nBINGBOT\na, b\nA,B", "google\tgooglebot\nauto\tbingbot")["crawlers"])
	for i, want := range []struct {
		title     string
		duplicate any
	}{{"Googlebot", 0.0}, {"Bing", nil}, {"bingbot", 1.0}, {"bingbot", 1.0}, {"a", nil}, {"A", 6.0}} {
		if list[i]["title"] != want.title || list[i]["duplicate"] != want.duplicate {
			t.Errorf("%v: want %s, duplicate of %v", list[i], want.title, want.duplicate)
		}
	}
	if similar := list[1]["similar"].([]any); len(similar) == 0 || similar[0] != "bingbot" {
		t.Errorf("Bing is similar to %v", similar)
	}
	m := question(t, "urls", "page,clicks\n/a,1\nshop.example/b,2\n", "/a\n/c")
	if want := map[string]any{"kind": "csv", "urls": []any{"https://shop.example/b"}, "duplicates": []any{"/a"}, "dropped": 0.0}; !reflect.DeepEqual(m, want) {
		t.Errorf("%v, want %v", m, want)
	}
	many := ""
	for i := range MaxURLs + 5 {
		many += fmt.Sprintf("/%d\n", i)
	}
	if m := question(t, "urls", many, "/a\n/0"); len(m["urls"].([]any)) != MaxURLs-2 || m["dropped"] != 6.0 || len(m["duplicates"].([]any)) != 1 {
		t.Errorf("of %d URLs %d are left out", MaxURLs+5, m["dropped"])
	}
}
