package main

import (
	"bytes"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
)

const testSeed = 9309

func benchmarkWork(b *testing.B, w *work) {
	for _, e := range w.engines {
		b.Run(e.name, func(b *testing.B) {
			if w.byteCount > 0 {
				b.SetBytes(int64(w.byteCount))
			}
			b.ReportAllocs()
			round := 0
			for b.Loop() {
				sink += e.pass(round)
				round++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(w.ops), "ns/verdict")
		})
	}
}

func testSet(n int) *set { return newSet("generated", generateFiles(n, testSeed), testSeed) }

func BenchmarkOneShot(b *testing.B) { benchmarkWork(b, oneShot(testSet(1000))) }

func BenchmarkOneShotSmall(b *testing.B) { benchmarkWork(b, oneShot(testSet(1000).only(0, 1024))) }

func BenchmarkOneShotLarge(b *testing.B) {
	benchmarkWork(b, oneShot(testSet(1000).only(50_000, math.MaxInt)))
}

func BenchmarkParse(b *testing.B) { benchmarkWork(b, parse(testSet(1000))) }

func BenchmarkMatchKept(b *testing.B) { benchmarkWork(b, matchKept(testSet(1000))) }

func BenchmarkMatchLiteral(b *testing.B) {
	for _, n := range ruleCounts {
		b.Run(number(float64(n)), func(b *testing.B) { benchmarkWork(b, match(literalProblem(testSeed, n), true)) })
	}
}

func BenchmarkMatchMixed(b *testing.B) {
	for _, n := range ruleCounts {
		b.Run(number(float64(n)), func(b *testing.B) { benchmarkWork(b, match(mixedProblem(nil, testSeed, n), true)) })
	}
}

// BenchmarkHostile leaves the other engines out: they take seconds for a match.
func BenchmarkHostile(b *testing.B) {
	for _, p := range hostile() {
		b.Run(strings.TrimPrefix(p.name, "hostile/"), func(b *testing.B) {
			w := match(p, false)
			w.engines = w.engines[:1]
			benchmarkWork(b, w)
		})
	}
}

func TestGeneratorsAreDeterministic(t *testing.T) {
	a, b := testSet(200), testSet(200)
	if !slices.EqualFunc(a.bodies, b.bodies, bytes.Equal) || !slices.Equal(a.agents, b.agents) || !slices.Equal(a.queries, b.queries) {
		t.Error("two sets of one seed differ")
	}
	c := newSet("other", generateFiles(200, testSeed+1), testSeed+1)
	if slices.EqualFunc(a.bodies, c.bodies, bytes.Equal) {
		t.Error("sets of two seeds are equal")
	}
	for name, make := range map[string]func() problem{
		"literal": func() problem { return literalProblem(testSeed, 1000) },
		"mixed":   func() problem { return mixedProblem(nil, testSeed, 1000) },
		"hostile": func() problem { return hostile()[13] },
	} {
		if p, q := make(), make(); !bytes.Equal(p.body, q.body) || !slices.Equal(p.queries, q.queries) {
			t.Errorf("two %s problems of one seed differ", name)
		}
	}
}

// TestGeneratedFilesLookReal holds the generator to the figures it states.
func TestGeneratedFilesLookReal(t *testing.T) {
	var byteCount, rules []int
	wild, all := 0, 0
	for _, body := range generateFiles(4000, testSeed) {
		paths := rulesOf(body)
		byteCount, rules = append(byteCount, len(body)), append(rules, len(paths))
		for _, p := range paths {
			all++
			if strings.ContainsAny(p, "*$") {
				wild++
			}
		}
	}
	slices.Sort(byteCount)
	slices.Sort(rules)
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if math.Abs(got-want) > tolerance*want {
			t.Errorf("%s: got %.4g, want %.4g within %.0f %%", what, got, want, 100*tolerance)
		}
	}
	near("bytes p10", float64(byteCount[400]), 87, 0.3)
	near("bytes p50", float64(byteCount[2000]), 619, 0.15)
	near("bytes p90", float64(byteCount[3600]), 4527, 0.25)
	near("bytes p99", float64(byteCount[3960]), 89403, 0.5)
	near("rules p50", float64(rules[2000]), 13, 0.16)
	near("wildcards", float64(wild)/float64(all), 0.135, 0.05)
}

// TestAgree compares every verdict of the engine and of the reference, on
// generated files and on those of the folder that ROBOTS_CORPUS names.
func TestAgree(t *testing.T) {
	sets := []*set{testSet(1000)}
	if dir := os.Getenv("ROBOTS_CORPUS"); dir != "" {
		bodies, err := readCorpus(dir, campaign.Size(32, 16, 1))
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, newSet("corpus", bodies, testSeed))
	}
	for _, p := range []problem{literalProblem(testSeed, 1000), mixedProblem(sets[len(sets)-1], testSeed, 1000)} {
		for q := range slices.Chunk(p.queries, urlsPerFile) {
			sets[0].add(p.body, "ExampleBot", [urlsPerFile]query(q))
		}
	}
	for _, p := range append(hostile(), hostileBodies()...) {
		// The reference takes seconds for one of these whole.
		body := p.body[:campaign.Size(0, min(len(p.body), 32<<10), len(p.body))]
		sets[0].add(body, "ExampleBot", oneSet(p).queries[0])
	}
	for _, s := range sets {
		verdicts, disallowed := 0, 0
		for i, body := range s.bodies {
			rules := robots.Parse(body).Rules(robots.RFC9309, s.agents[i])
			refs := refRules(refParse(body), s.agents[i])
			asked := map[string]bool{}
			for _, q := range s.queries[i] {
				if asked[q.raw] {
					continue
				}
				asked[q.raw] = true
				want := refAllowed(refs, q.raw)
				if got := rules.Allowed(q.path); got != want {
					t.Errorf("%s, file %d, %s, %.100q: kept rules say %v, reference says %v: %s", s.name, i, s.agents[i], q.raw, got, want, rules.Match(q.path))
				}
				if got := robots.Allowed(body, robots.RFC9309, q.path, s.agents[i]); got != want {
					t.Errorf("%s, file %d, %s, %.100q: one shot says %v, reference says %v", s.name, i, s.agents[i], q.raw, got, want)
				}
				verdicts++
				disallowed += count(!want)
			}
		}
		t.Logf("%s: %d verdicts, %d of them disallowed", s.name, verdicts, disallowed)
		if disallowed == 0 || disallowed == verdicts {
			t.Errorf("%s: all verdicts are the same", s.name)
		}
	}
}

func BenchmarkWarm(b *testing.B) {
	for _, c := range []struct {
		name         string
		sites, rules int
	}{{"site", 1, 13}, {"rules", 1, 10_000}, {"sites", warmURLs, 13}} {
		b.Run(c.name, func(b *testing.B) {
			w := newCrawl(testSeed, c.sites, c.rules, "ExampleBot")
			benchmarkWork(b, &work{ops: warmURLs, engines: []engine{{name: ours, pass: w.verdicts}, {name: "net/url", pass: w.parses}}})
		})
	}
}
