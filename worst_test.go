package robots

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/hostile"
)

// steps returns what a first answer takes, per 1,000 bytes of file and path, and is what the
// search for the worst goes by: reading the file, some 8 instructions a byte, 840 a rule and 24 a byte
// of a rule with escapes, and the work of a first match. It is within a fifth of what valgrind counts
// (bench/callgrind.sh).
func steps(f hostile.Family, size, length int) int {
	path := f.Text(length)
	body := f.File(size, path)
	r := Parse(body).Rules(RFC9309, "x")
	_, work := r.scan(path, FieldNone)
	for i := range r.rules {
		work += readWork
		if text := r.text(&r.rules[i]); strings.Contains(text, "%") {
			work += escapeWork * len(text)
		}
	}
	return 1000 * (work + len(body)) / (len(body) + len(path))
}

// readWork is the work of reading a rule besides its bytes, escapeWork that of a byte of a rule
// with escapes.
const readWork, escapeWork = 105, 3

// mostSteps bounds them: on 512,000 bytes and a path of 64 KiB these are some 90 million
// instructions. A third is the tree.
const mostSteps = 20_000

// TestWorst searches for the file and path that take the most steps: families
// that were slow for somebody are changed at random and the worst kept. A
// campaign with -update writes the worst ten to internal/hostile, from where
// they are rows of bench.
func TestWorst(t *testing.T) {
	size, length := 512_000, 1<<16 // what happens on such a path happens on no shorter one
	rng := rand.New(rand.NewPCG(5, 10))
	found := append(hostile.Seeds(), hostile.Worst()...)
	// What the fuzzer has found joins as words of a path and of rules.
	for _, value := range fuzzed(t) {
		found = append(found, hostile.Family{Path: []hostile.Part{{Word: value, Times: 100}}, Reps: 1, Pieces: 5, Least: 1, Most: 6, Last: value})
	}
	for i := range found {
		found[i].Steps = steps(found[i], size, length)
	}
	const kept = 10
	for range campaign.Size(5, 20, 1500) {
		f := found[rng.IntN(len(found))]
		for range 1 + rng.IntN(3) {
			f = f.Mutate(rng)
		}
		if f.Steps = steps(f, size, length); f.Steps > mostSteps {
			t.Errorf("%d steps per 1,000 bytes: %+v", f.Steps, f)
		}
		found = append(found, f)
		slices.SortStableFunc(found, func(a, b hostile.Family) int { return cmp.Compare(b.Steps, a.Steps) })
		found = found[:min(len(found), 3*kept)]
	}
	slices.SortStableFunc(found, func(a, b hostile.Family) int { return cmp.Compare(b.Steps, a.Steps) })
	found = found[:kept]
	t.Logf("the worst take %d to %d steps per 1,000 bytes", found[0].Steps, found[kept-1].Steps)
	if *update {
		data, err := json.MarshalIndent(found, "", "\t")
		if err == nil {
			err = os.WriteFile("internal/hostile/worst.json", append(data, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestWorstExplained: an explanation takes no more than three first matches may, as the path is read
// in up to three ways, in any dialect and whatever makes rules match nearly.
func TestWorstExplained(t *testing.T) {
	size, length := 32_000, 8_192
	worst := 0
	for _, f := range append(hostile.Seeds(), hostile.Worst()...) {
		path := f.Text(length)
		body := f.File(size, path)
		for _, d := range []Dialect{RFC9309, Google, GoogleCPP} {
			for _, end := range []string{"", "/", "$"} {
				lines := bytes.ReplaceAll(body, []byte("\n"), []byte(end+"\n"))
				r := Parse(append([]byte("User-agent: x\n"), lines...)).Rules(d, "x")
				e, work := r.explain(Path{path})
				per := 1000 * work / (len(lines) + len(path))
				if worst = max(worst, per); per > 3*mostSteps {
					t.Errorf("%s, rules ending with %q: %d steps per 1,000 bytes: %+v", d.Name, end, per, f)
				}
				if v := r.Match(Path{path}); v.String() != e.Verdict.String() {
					t.Errorf("%s: %v explained as %v", d.Name, v, e.Verdict)
				}
			}
		}
	}
	t.Logf("an explanation takes up to %d steps per 1,000 bytes", worst)
}

// fuzzed returns paths that the fuzzer has kept.
func fuzzed(t *testing.T) (values []string) {
	entries, err := os.ReadDir("testdata/fuzz/FuzzLaws")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile("testdata/fuzz/FuzzLaws/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			line = strings.Map(func(c rune) rune {
				if c <= ' ' || c >= 0x7F || strings.ContainsRune("#*$\"\\", c) {
					return -1
				}
				return c
			}, line)
			if len(line) > 2 && len(line) < 60 {
				values = append(values, line)
			}
		}
	}
	return values
}
