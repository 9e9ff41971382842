package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/hostile"
)

// realFiles returns each part-th file below the folder of ROBOTS_CORPUS that is not an HTML page, and nil without that folder.
func realFiles(t testing.TB, part int) []file {
	if os.Getenv("ROBOTS_CORPUS") == "" {
		return nil
	}
	var bodies [][]byte
	campaign.Files(t, part, func(_ string, b []byte) {
		text := bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF")), " \t\r\n\v\f")
		if bytes.HasPrefix(text, []byte("<")) {
			return
		}
		if len(b) > fileLimit {
			b = b[:1+bytes.LastIndexAny(b[:fileLimit], "\r\n")]
		}
		bodies = append(bodies, bytes.Clone(b)) // without spare capacity, as a larger heap has the collector run less often
	})
	return newFiles(bodies)
}

func TestMain(m *testing.M) {
	if name, ok := os.LookupEnv(loopVariable); ok {
		if !runLoop(name) {
			panic("unknown loop " + name)
		}
		return
	}
	m.Run()
	_ = os.RemoveAll(madeFolder)
}

// sink stores results, so that the compiler drops no work.
var sink int

// BenchmarkRow runs all rows. Before them it prints its input, in the form that benchstat reads.
func BenchmarkRow(b *testing.B) {
	files, kind := realFiles(b, 1), "real"
	if files == nil {
		files, kind = newFiles(generateFiles(4000)), "generated"
	}
	fmt.Printf("files: %d %s, %d bytes\n", len(files), kind, byteCount(files))
	if info, ok := debug.ReadBuildInfo(); ok {
		fmt.Println("go:", info.GoVersion)
		for _, d := range info.Deps {
			if strings.Contains(d.Path, "temoto") {
				fmt.Println("temoto:", d.Version)
			}
		}
	}
	for _, r := range rows() {
		b.Run(r.name, func(b *testing.B) {
			w := r.make(files)
			if w.skipped != "" {
				fmt.Printf("skipped: %s: %s\n", r.name, w.skipped)
				b.Skip(w.skipped)
			}
			if w.extra != nil {
				b.Run("engine="+ours, func(b *testing.B) {
					for b.Loop() {
						b.ReportMetric(w.extra(), r.goal.unit)
					}
					b.ReportMetric(0, "ns/op") // not printed
				})
			}
			for _, e := range w.engines {
				b.Run("engine="+e.name, func(b *testing.B) {
					round := 0
					before := childTime
					for b.Loop() {
						sink += e.pass(round)
						round++
					}
					b.SetBytes(int64(w.bytes))
					took := b.Elapsed()
					if w.children {
						took = childTime - before
					}
					b.ReportMetric(float64(took.Nanoseconds())/float64(b.N)/float64(w.ops), "ns/op")
				})
			}
		})
	}
}

// TestRows makes one pass of each row over a few files. Engines that follow RFC 9309 agree.
func TestRows(t *testing.T) {
	files := newFiles(generateFiles(100))
	names := map[string]bool{}
	for _, r := range rows() {
		if names[r.name] {
			t.Errorf("two rows are named %s", r.name)
		}
		names[r.name] = true
		if strings.HasPrefix(r.name, "FirstAnswer") && !strings.Contains(r.name, "path=2KiB") && !campaign.On() {
			continue // the same for longer paths, which takes seconds
		}
		if strings.HasPrefix(r.name, "Program") && !campaign.On() {
			continue // they build the program
		}
		w := r.make(files)
		if w.skipped != "" {
			t.Logf("%s: %s", r.name, w.skipped)
			continue
		}
		found := r.goal.baseline == ""
		if w.extra != nil {
			if v := w.extra(); v <= 0 {
				t.Errorf("%s: %v %s, want more than nothing", r.name, v, r.goal.unit)
			}
			continue
		}
		want := w.engines[0].pass(0)
		if w.ops == 0 || w.engines[0].name != ours || want == 0 {
			t.Errorf("%s: %d of %d by %s", r.name, want, w.ops, w.engines[0].name)
		}
		for _, e := range w.engines[1:] {
			found = found || e.name == r.goal.baseline
			if got := e.pass(0); (e.name == plain || e.name == netURL || e.name == library) && got != want {
				t.Errorf("%s: %d by %s, %d by robots", r.name, got, e.name, want)
			}
		}
		if !found {
			t.Errorf("%s: no engine is %s", r.name, r.goal.baseline)
		}
	}
}

// TestAgree compares every verdict of the engine with the plain matcher's, on generated files,
// hostile files and those of ROBOTS_CORPUS.
func TestAgree(t *testing.T) {
	files := newFiles(generateFiles(1000))
	for _, kind := range []string{"literal", "mixed"} {
		p := newProblem(files, kind, 1000)
		files = append(files, file{p.body, anyBot, p.queries})
	}
	for _, f := range hostile.Files {
		var queries []query
		for i := range urlsPerFile {
			queries = append(queries, newQuery(f.Path(32<<i)))
		}
		files = append(files, file{f.Body(fileLimit, queries[urlsPerFile-1].raw), anyBot, queries})
	}
	sets := [][]file{files}
	if kept := realFiles(t, campaign.Size(32, 16, 1)); kept != nil {
		sets = append(sets, kept)
	}
	for _, files := range sets {
		verdicts, disallowed := 0, 0
		for i, f := range files {
			rules := robots.Parse(f.body).Rules(robots.RFC9309, f.agent)
			plains := plainRules(plainParse(f.body), f.agent)
			for _, q := range f.queries {
				want := plainAllowed(plains, q.raw)
				if got := rules.Allowed(q.path); got != want {
					t.Errorf("file %d, %s, %.100q: parsed rules say %v, the plain matcher %v: %s", i, f.agent, q.raw, got, want, rules.Match(q.path))
				}
				if got := robots.Allowed(f.body, robots.RFC9309, q.path, f.agent); got != want {
					t.Errorf("file %d, %s, %.100q: one shot says %v, the plain matcher %v", i, f.agent, q.raw, got, want)
				}
				verdicts++
				disallowed += count(!want)
			}
		}
		t.Logf("%d verdicts, %d of them disallowed", verdicts, disallowed)
		if disallowed == 0 || disallowed == verdicts {
			t.Error("all verdicts are the same")
		}
	}
}

// TestTable reads two rounds and writes their files.
func TestTable(t *testing.T) {
	var in strings.Builder
	for _, round := range []string{"100", "200"} {
		in.WriteString("goos: linux\nfiles: 3 generated, 99 bytes\n")
		for _, n := range ruleCounts {
			for _, kind := range []string{"literal", "mixed"} {
				fmt.Fprintf(&in, "BenchmarkRow/%s/engine=robots-2 \t 10\t %s ns/op\nBenchmarkRow/%[1]s/engine=plain-2 10 %[2]s0 ns/op\n", matchRow(kind, n), round)
				fmt.Fprintf(&in, "BenchmarkRow/%s/engine=temoto-2 \t 10\t 40000 ns/op\t 3.5 MB/s\n", matchRow(kind, n))
			}
		}
		fmt.Fprintf(&in, "BenchmarkRow/FirstAnswer/path=2KiB/file=stars/engine=robots 1 %s000000 ns/op\nBenchmarkRow/Memory/files=all/engine=robots-2 1 1.300 B/body-B\nPASS\n", round)
	}
	dir := t.TempDir()
	if err := run(strings.NewReader(in.String()), dir); err != nil {
		t.Fatal(err)
	}
	for name, parts := range map[string][]string{"bench.txt": {in.String()}, "match.svg": {"<svg"}, "table.md": {
		"- files: 3 generated, 99 bytes\n\n",
		"| 150 ns/path | temoto: 40 µs | 300 (200–400) | ≥ 300 | reached |",
		"| 150 ms/file |  | 100 ms | ≤ 60 ms | **not reached** |",
		"| 1.3 B/body-B |  | 1.3 B/body-B | ≤ 1.8 B/body-B | reached |",
	}} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		for _, want := range parts {
			if err != nil || !strings.Contains(string(got), want) {
				t.Errorf("%s: %v, no %q in\n%s", name, err, want, got)
			}
		}
	}
	for _, bad := range []string{"", "PASS\n", "FAIL\tbench\n", "BenchmarkRow/x/engine=robots 1 fast ns/op\n", "BenchmarkRow/x 1 1 ns/op\n"} {
		if _, err := read(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is read without an error", bad)
		}
	}
}

// TestNumber: three digits, all of the whole number.
func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0.1234: "0.123", 9.876: "9.88", 350: "350", 1004.9: "1,004", 1234567: "1,234,567", 99.95: "100"} {
		if got := number(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
