package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/robotskit/robots"
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
	answer, _ := got["answer"].(map[string]any)
	if answer["allowed"] != false || answer["agent"] != "MyBot" || len(got["steps"].([]any)) == 0 || len(got["matches"].([]any)) != 1 {
		t.Errorf("%v", got)
	}
	batch := b.post("/v1/check", fmt.Sprintf(`{"questions":[{"robots":%q,"url":"https://shop.example/basket/1","agent":"MyBot"}]}`, shop))
	text, _ := json.Marshal(answer)
	var same struct{ Answers []map[string]any }
	if json.Unmarshal([]byte(batch.body), &same); true {
		delete(same.Answers[0], "id")
		want, _ := json.Marshal(same.Answers[0])
		if string(text) != string(want) {
			t.Errorf("explain says %s, check %s", text, want)
		}
	}
	if got := read[map[string]any](b, "/v1/explain", map[string]any{"robots_b64": "VXNlci1hZ2VudDogKgpEaXNhbGxvdzogL/8=", "url": "/%ff"}); len(got["matches"].([]any)) != 1 || got["matches"].([]any)[0].(map[string]any)["pattern_b64"] != "L/8=" {
		t.Errorf("of a pattern that is no UTF-8: %v", got)
	}
}

func TestLint(t *testing.T) {
	b := newBench(t, Parts{})
	for _, dialects := range [][]string{nil, {}} { // all
		got := read[Findings](b, "/v1/lint", map[string]any{"robots": "User-agent: *\nDisalow: /a\n", "dialects": dialects}).Findings
		if len(got) != 2 || got[0].Fix != nil || got[1].Fix == nil {
			t.Errorf("%q: %+v", dialects, got)
		}
	}
	if got := read[Findings](b, "/v1/lint", map[string]any{"robots": "User-agent: *\nDisallow: /a\n", "dialects": []string{"google"}}); len(got.Findings) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestDiff(t *testing.T) {
	b := newBench(t, Parts{})
	got := read[Diff](b, "/v1/diff", map[string]any{"old": shop, "new": strings.Replace(shop, "/basket", "/bas", 1)})
	if got.Same || len(got.Crawlers) != 2 || got.Crawlers[0].Result != "differs" || len(got.Crawlers[0].NewlyBlocked) != 1 || got.Crawlers[0].NewlyBlocked[0].Path != "/bas" || got.Crawlers[1].Result != "same" {
		t.Errorf("%+v", got)
	}
	if got := read[Diff](b, "/v1/diff", map[string]any{"old": shop, "new": "# " + shop, "agent": []string{"Googlebot", "x"}, "dialect": "google"}); !got.Same || len(got.Crawlers) != 2 {
		t.Errorf("%+v", got)
	}
	var many strings.Builder
	for i := range mostCrawlers + 1 {
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
	got := read[Diff](b, "/v1/diff", map[string]any{"old": text, "new": text + "Allow: /1\n\nUser-agent: *\nDisallow: /\n"})
	if len(got.Crawlers) != crawlers+1 || got.Crawlers[0].Result != "differs" {
		t.Fatalf("%d crawlers, the first is %+v", len(got.Crawlers), got.Crawlers[0])
	}
	for _, c := range got.Crawlers[1:] {
		if c.Result != "same" {
			t.Fatalf("%s is %s, want same", c.Agent, c.Result)
		}
	}
}

// TestDiffEnds: the steps of a request limit its work also for thousands of rules for each
// crawler. The last crawlers are undecided.
func TestDiffEnds(t *testing.T) {
	const crawlers, rules, steps = 60, 1000, 100_000
	var file strings.Builder
	names := []string{}
	for i := range crawlers {
		names = append(names, fmt.Sprintf("bot%c%c", 'a'+i/20, 'a'+i%20))
		fmt.Fprintf(&file, "User-agent: %s\n", names[i])
		for j := range rules {
			fmt.Fprintf(&file, "Disallow: /%d*%d\n", i, j)
		}
	}
	d := robots.RFC9309
	d.MaxFileBytes = 0
	old := robots.Parse([]byte(file.String()))
	changed := robots.Parse([]byte(strings.ReplaceAll(file.String(), "Disallow", "Allow")))
	proofs := newDiffer(steps)
	var said []string
	for _, name := range names {
		r := proofs.compare(old.Rules(d, name), changed.Rules(d, name))
		said = append(said, r.String())
	}
	// Reading two sets of rules takes steps for each rule.
	if most := 2*steps + 10*rules; proofs.used < 2*steps || proofs.used > most {
		t.Errorf("%d steps, want from %d to %d", proofs.used, 2*steps, most)
	}
	if said[0] != "differs" || said[crawlers-1] != "undecided" {
		t.Errorf("the first crawler is %s, the last %s", said[0], said[crawlers-1])
	}
	// Equal rules are found while they are read, and not after the last step.
	for left, want := range map[int]string{1: "same", 0: "undecided"} {
		proofs := newDiffer(steps)
		proofs.used = 2*steps - left
		used := proofs.used
		if r := proofs.compare(old.Rules(d, names[0]), old.Rules(d, names[0])); r.String() != want || left == 0 && proofs.used != used {
			t.Errorf("%d steps before the end the same rules are %s, want %s", left, r, want)
		}
	}
}
