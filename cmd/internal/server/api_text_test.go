package server

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/budget"
)

// read sends a body and decodes the response.
func read[T any](b *bench, path string, body any) T {
	b.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		b.Fatal(err)
	}
	return decoded[T](b, b.post(path, string(text)))
}

func TestExplain(t *testing.T) {
	b := newBench(t, Parts{})
	got := read[map[string]any](b, "/v1/explain", map[string]any{"robots": shop, "url": "https://shop.example/basket/1", "agent": "MyBot"})
	if got["allowed"] != false || got["agent"] != "MyBot" || len(got["steps"].([]any)) == 0 || len(got["matches"].([]any)) != 1 || got["signals"] == nil {
		t.Errorf("%v", got)
	}
	batch := b.post("/v1/check", fmt.Sprintf(`{"questions":[{"robots":%q,"url":"https://shop.example/basket/1","agent":"MyBot"}]}`, shop))
	var same struct{ Answers []map[string]any }
	if json.Unmarshal([]byte(batch.body), &same); true {
		delete(same.Answers[0], "id")
		for name, want := range same.Answers[0] {
			if !reflect.DeepEqual(got[name], want) {
				t.Errorf("%s: explain has %v, check %v", name, got[name], want)
			}
		}
	}
	if got := read[map[string]any](b, "/v1/explain", map[string]any{"robots_b64": "VXNlci1hZ2VudDogKgpEaXNhbGxvdzogL/8=", "url": "/%ff"}); len(got["matches"].([]any)) != 1 || got["matches"].([]any)[0].(map[string]any)["pattern_b64"] != "L/8=" {
		t.Errorf("of a pattern that is no UTF-8: %v", got)
	}
}

func TestLint(t *testing.T) {
	b := newBench(t, Parts{})
	for _, dialects := range [][]string{nil, {}} { // all
		got := read[answer.Findings](b, "/v1/lint", map[string]any{"robots": "User-agent: *\nDisalow: /a\n", "dialects": dialects}).Findings
		if len(got) != 2 || got[0].Fix != nil || got[1].Fix == nil {
			t.Errorf("%q: %+v", dialects, got)
		}
	}
	if got := read[answer.Findings](b, "/v1/lint", map[string]any{"robots": "User-agent: *\nDisallow: /a\n", "dialects": []string{"google"}}); len(got.Findings) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestDiff(t *testing.T) {
	b := newBench(t, Parts{})
	got := read[answer.FileComparison](b, "/v1/diff", map[string]any{"old": shop, "new": strings.Replace(shop, "/basket", "/bas", 1)})
	if got.Same || len(got.Crawlers) != 2 || got.Crawlers[0].Result != "differs" || len(got.Crawlers[0].NewlyBlocked) != 1 || got.Crawlers[0].NewlyBlocked[0].Path != "/bas" || got.Crawlers[1].Result != "same" {
		t.Errorf("%+v", got)
	}
	if got := read[answer.FileComparison](b, "/v1/diff", map[string]any{"old": shop, "new": "# " + shop, "agent": []string{"Googlebot", "x"}, "dialect": "google"}); !got.Same || len(got.Crawlers) != 2 {
		t.Errorf("%+v", got)
	}
	var many strings.Builder
	for i := range mostCompared + 1 {
		fmt.Fprintf(&many, "User-agent: bot-%s\nDisallow: /%d\n", strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(i)), i)
	}
	text, _ := json.Marshal(map[string]string{"old": many.String(), "new": ""})
	if r := b.post("/v1/diff", string(text)); r.status != 422 || !strings.Contains(r.body, "too-many") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestDiffTogether: the rules of crawlers in one group are compared once, so that steps remain
// for the others.
func TestDiffTogether(t *testing.T) {
	b := newBench(t, Parts{})
	const crawlers, rules = 200, 20_000
	var file strings.Builder
	for i := range crawlers {
		fmt.Fprintf(&file, "User-agent: bot%c%c\n", 'a'+i/20, 'a'+i%20)
	}
	for i := range rules {
		fmt.Fprintf(&file, "Disallow: /%d*a\n", i)
	}
	text := file.String()
	got := read[answer.FileComparison](b, "/v1/diff", map[string]any{"old": text, "new": text + "Allow: /1\n\nUser-agent: *\nDisallow: /\n"})
	if len(got.Crawlers) != crawlers+1 || got.Crawlers[0].Result != "differs" {
		t.Fatalf("%d crawlers, the first is %+v", len(got.Crawlers), got.Crawlers[0])
	}
	for _, c := range got.Crawlers[1:] {
		if c.Result != "same" {
			t.Fatalf("%s is %s, want same", c.Agent, c.Result)
		}
	}
}

// TestDiffBudget: crawlers that share a long pattern, or many declarations, cost a request its
// budget and no more, and the answer counts the entries that it does not list.
func TestDiffBudget(t *testing.T) {
	post := budgetBench(t)
	const crawlers = 999
	name := func(i int) string {
		return fmt.Sprintf("bot%c%c", 'a'+i/40, 'a'+i%40%26) + strings.Repeat("x", i%40/26)
	}
	var group, groups strings.Builder
	for i := range crawlers {
		fmt.Fprintf(&group, "User-agent: %s\n", name(i))
		fmt.Fprintf(&groups, "User-agent: %s\nDisallow: /%d\n", name(i), i)
	}
	long := "/" + strings.Repeat("a", 400_000)
	stars := "/" + strings.Repeat("*a", 200_000)
	var sitemaps strings.Builder
	for i := range 15_000 {
		fmt.Fprintf(&sitemaps, "Sitemap: https://a.example/%d\n", i)
	}
	for _, c := range []struct{ name, old, new string }{
		{"one pattern of one group", group.String() + "Disallow: " + long + "\n", ""},
		{"two patterns of one group", group.String() + "Disallow: " + long + "\n", group.String() + "Disallow: " + long + "b\n"},
		{"one pattern in many groups", group.String() + "Disallow: " + long + "\n" + groups.String(), groups.String()},
		{"stars in many groups", group.String() + "Disallow: " + stars + "\n" + groups.String(), groups.String()},
		{"sitemaps in many groups", sitemaps.String() + groups.String(), groups.String()},
		{"rates in many groups", group.String() + strings.ReplaceAll(sitemaps.String(), "Sitemap: https://a.example/", "Request-rate: 1/1") + "Disallow: /\n" + groups.String(), groups.String()},
	} {
		text, _ := json.Marshal(map[string]string{"old": c.old, "new": c.new})
		status, body, b := post("/v1/diff", typeJSON, string(text))
		var got answer.FileComparison
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || len(got.Crawlers) != crawlers+1 {
			t.Errorf("%s: status %d, %v, %d crawlers: %.200s", c.name, status, err, len(got.Crawlers), body)
			continue
		}
		listed, dropped, complete := 0, 0, true
		for _, crawler := range got.Crawlers {
			listed += len(crawler.NewlyAllowed) + len(crawler.NewlyBlocked) + len(crawler.Declared)
			dropped += crawler.Dropped
			complete = complete && crawler.Complete
		}
		if listed == 0 && complete || dropped == 0 && complete || len(body) > 4*longestLists || b.Used() > budget.Steps {
			t.Errorf("%s: complete %t, %d listed, %d dropped, %d bytes, %d steps", c.name, complete, listed, dropped, len(body), b.Used())
		}
	}
}
