package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	families "github.com/robotskit/robots/internal/hostile"
	"github.com/temoto/robotstxt"
)

// A fact is one exact figure, measured once.
type fact struct {
	name   string
	unit   string
	values map[string]float64
	goal   goal
}

// measureFacts counts allocations and retained memory on the first set.
func measureFacts(s *set, seed uint64, selected *regexp.Regexp) []fact {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var facts []fact
	want := func(name string) bool { return selected.MatchString("memory/" + name) }
	add := func(name, unit string, g goal, values map[string]float64) {
		f := fact{name, unit, values, g}
		progress("%s", f.line())
		facts = append(facts, f)
	}
	for _, k := range []struct {
		name string
		make func(*set) *work
		most float64
	}{
		{"oneshot-allocs", oneShot, 0}, {"match-allocs", matchKept, 0}, {"parse-allocs", parse, 3}, {"askable-allocs", askable, 6},
	} {
		if !want(k.name) {
			continue
		}
		w := k.make(s)
		values := map[string]float64{}
		for _, e := range w.engines {
			values[e.name] = allocs(w, e)
		}
		add("memory/"+k.name, "allocations per operation", goal{atMost, k.most, k.most}, values)
	}
	if want("kept-file") {
		byteCount := float64(s.byteCount)
		add("memory/kept-file", "× body, the body included if kept", goal{atMost, 1.35, 1.2}, map[string]float64{
			ours: 1 + retained(func() any {
				v := make([]*robots.File, len(s.bodies))
				for i, b := range s.bodies {
					v[i] = robots.Parse(b)
				}
				return v
			})/byteCount,
			reference: retained(func() any {
				v := make([][]refGroup, len(s.bodies))
				for i, b := range s.bodies {
					v[i] = refParse(b)
				}
				return v
			}) / byteCount,
			// Its strings are copies: the body is not kept.
			temoto: retained(func() any {
				v := make([]*robotstxt.RobotsData, len(s.bodies))
				for i, b := range s.bodies {
					v[i] = temotoParse(b)
				}
				return v
			}) / byteCount,
		})
	}
	for _, k := range builds(s, seed) {
		if !want("rules-"+k.name) && !want("build-"+k.name) {
			continue
		}
		p := k.problem()
		f := robots.Parse(p.body)
		var rules *robots.Rules
		ask := func(times int) {
			for range times {
				for i := range p.queries {
					sink += count(rules.Allowed(p.queries[i].path))
				}
			}
		}
		size := retained(func() any {
			rules = f.Rules(robots.RFC9309, "ExampleBot")
			ask(16)
			return rules
		})
		add("memory/rules-"+k.name, "bytes per rule of an asked Rules beyond the file", goal{atMost, 60, 32}, map[string]float64{ours: size / buildRules})

		// What it takes until the Rules answers at full speed, beyond the answers.
		const times = 2
		var build []float64
		for range 9 {
			rules = f.Rules(robots.RFC9309, "ExampleBot")
			ask(16)
			start := now()
			ask(times)
			steady := now() - start
			runtime.GC()
			start = now()
			rules = f.Rules(robots.RFC9309, "ExampleBot")
			ask(times)
			build = append(build, float64((now()-start-steady).Nanoseconds())/buildRules)
		}
		add("memory/build-"+k.name, "ns per rule from File to a warm Rules, the least of nine", goal{atMost, 350, 150}, map[string]float64{ours: slices.Min(build)})
	}
	if selected.MatchString("hostile-worst") {
		facts = append(facts, worstFirst()...)
	}
	if selected.MatchString("verdicts") {
		unlike := map[string]float64{reference: 0, temoto: 0}
		for i, b := range s.bodies {
			rules := robots.Parse(b).Rules(robots.RFC9309, s.agents[i])
			refs := refRules(refParse(b), s.agents[i])
			group := temotoGroup(b, s.agents[i])
			for _, q := range s.queries[i] {
				allowed := rules.Allowed(q.path)
				unlike[reference] += float64(count(allowed != refAllowed(refs, q.raw)))
				unlike[temoto] += float64(count(allowed != group.Test(q.raw)))
			}
		}
		add("verdicts", fmt.Sprintf("unlike those of robots, of %d", len(s.bodies)*urlsPerFile), goal{}, unlike)
	}
	return facts
}

// worstFirst returns what the hostile files cost when no match has been asked
// yet: one question of the body, the choice of the rules, and the slowest of the
// first matches, in which an index may be built; and what the families cost that the
// search for the worst begins with. Each is done three, five or fifteen times and the
// least counts, as what else the machine does only adds to it.
func worstFirst() []fact {
	const first, most = 300, 100 * time.Millisecond
	var worst [6]time.Duration
	var at [6]string
	for _, p := range hostile() {
		q := p.queries[0].path
		f := robots.Parse(p.body)
		took := [3]time.Duration{math.MaxInt64, math.MaxInt64, math.MaxInt64}
		for range 3 {
			runtime.GC()
			start := now()
			sink += count(robots.Allowed(p.body, robots.RFC9309, q, "ExampleBot"))
			took[0] = min(took[0], now()-start)
			start = now()
			rules := f.Rules(robots.RFC9309, "ExampleBot")
			took[1] = min(took[1], now()-start)
			slowest := time.Duration(0)
			for i, begun := 0, now(); i < first && now()-begun < most; i++ {
				start = now()
				sink += count(rules.Allowed(q))
				slowest = max(slowest, now()-start)
			}
			took[2] = min(took[2], slowest)
		}
		for k, d := range took {
			if d > worst[k] {
				worst[k], at[k] = d, strings.TrimPrefix(p.name, "hostile/")
			}
		}
	}
	// Lines that google alone reads take it longer than all others, and of an explanation
	// every rule that matches is a part.
	lenient := []string{"disalow: /a\n", "disalow:/\r", "allow /\r", "sitemap /\n"}
	for _, line := range lenient {
		f := robots.Parse(lines(line))
		if d := least(func() { f.Rules(robots.Google, "ExampleBot") }); d > worst[3] {
			worst[3], at[3] = d, strconv.Quote(line)
		}
	}
	const stars = "allow:/*a*b\n"
	rules := robots.Parse(lines(stars)).Rules(robots.RFC9309, "ExampleBot")
	path := newQuery("/" + strings.Repeat("xyz", 700) + "ab").path
	worst[4], at[4] = least(func() { rules.Explain(path) }), strconv.Quote(stars)
	// The rows worst/ are those of the most steps; what waits for memory takes longer than its steps. Others
	// may use the machine for longer than a family takes, so each has its turn in each round.
	var seeds []*work
	for _, family := range families.Seeds() {
		seeds = append(seeds, firstMatch(family, 1<<16))
	}
	took := make([]time.Duration, len(seeds))
	for range 3 {
		for i, w := range seeds {
			d := least(func() { sink += w.engines[0].pass(0) })
			if took[i] == 0 || d < took[i] {
				took[i] = d
			}
		}
	}
	worst[5] = slices.Max(took)
	at[5] = fmt.Sprintf("seed %d", 1+slices.Index(took, worst[5]))
	var facts []fact
	for k, name := range []string{"one shot", "File.Rules", "first matches", "File.Rules of google", "Explain", "path of 64 KiB"} {
		f := fact{"hostile-worst/" + name, "ms, at " + at[k], map[string]float64{ours: worst[k].Seconds() * 1e3}, goal{}}
		if k != 1 {
			f.goal = goal{atMost, 10, 5}
		}
		progress("%s", f.line())
		facts = append(facts, f)
	}
	return facts
}

// lines is a file of 500 KiB of one line again and again.
func lines(line string) []byte {
	const head = "User-agent: *\n"
	return []byte(head + strings.Repeat(line, (fileLimit-len(head))/len(line)))
}

// least returns the least time of five calls.
func least(call func()) time.Duration {
	d := time.Duration(math.MaxInt64)
	for range 5 {
		runtime.GC()
		start := now()
		call()
		d = min(d, now()-start)
	}
	return d
}

func (f fact) line() string {
	return fmt.Sprintf("%-28s %12s %s  %s", f.name, number(f.values[ours]), f.unit, f.goal.reached(f.values[ours]))
}

// line is the row in short.
func (r *result) line() string {
	mid, _, _ := median(r.ns[ours])
	s := fmt.Sprintf("%-28s %12s", r.name, duration(mid))
	for _, e := range append([]string{reference, temoto}, others...) {
		if q := r.ratios(e); len(q) > 0 {
			m, _, _ := median(q)
			s += fmt.Sprintf("  %s × %s", number(m), e)
		}
	}
	floor, aim := r.goal.words()
	if r.goal.kind != noGoal {
		s += fmt.Sprintf("  (%s; floor %s, aim %s)", r.reached(), floor, aim)
	}
	return s
}

// value is the row's figure that the goal is about. Of times it is the least: what else the
// machine does adds to each, to some as much again, and no ratio takes it out.
func (r *result) value() float64 {
	mid, low, _ := median(r.ns[ours])
	switch r.goal.kind {
	case perTemoto:
		m, _, _ := median(r.ratios(temoto))
		return m
	case perNetURL:
		m, _, _ := median(r.ratios(netURL))
		return m
	case nanos:
		return low
	case millis:
		return low / 1e6
	case megabytes:
		return r.speed(ours)
	case millions:
		return 1e3 / mid
	default:
		for _, e := range []string{"1 goroutine", asText} {
			if q := r.ratios(e); len(q) > 0 {
				mid, _, _ = median(q)
			}
		}
		return mid
	}
}

// others are the engines that have no column of their own.
var others = []string{"1 goroutine", netURL, "google", "fast-robots", asText, hello, earlier}

func (r *result) reached() string { return r.goal.reached(r.value()) }

// speed is in MB/s, 0 where no files are read.
func (r *result) speed(engine string) float64 {
	mid, _, _ := median(r.ns[engine])
	if mid == 0 {
		return 0
	}
	return float64(r.byteCount) / (mid * float64(r.ops)) * 1e3
}

func (g goal) reached(v float64) string {
	better := v >= g.floor
	best := v >= g.aim
	if g.kind == nanos || g.kind == millis || g.kind == atMost {
		better, best = v <= g.floor, v <= g.aim
	}
	switch {
	case g.kind == noGoal:
		return ""
	case best:
		return "aim reached"
	case better:
		return "floor reached"
	default:
		return "**missed**"
	}
}

func (g goal) words() (floor, aim string) {
	format := map[goalKind]string{
		perTemoto: "≥ %s × temoto", perNetURL: "≥ %s × net/url", nanos: "≤ %s ns", millis: "≤ %s ms", megabytes: "≥ %s MB/s",
		millions: "≥ %s M/s", atMost: "≤ %s", atLeast: "≥ %s",
	}[g.kind]
	if format == "" {
		return "", ""
	}
	return fmt.Sprintf(format, number(g.floor)), fmt.Sprintf(format, number(g.aim))
}

// number prints three significant digits.
func number(v float64) string {
	switch {
	case v >= 1000:
		s := fmt.Sprintf("%.0f", v)
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		return s
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	default:
		return strings.TrimSuffix(fmt.Sprintf("%.3g", v), ".0")
	}
}

// duration prints nanoseconds in a fitting unit.
func duration(ns float64) string {
	switch {
	case ns == 0:
		return ""
	case ns < 10_000:
		return number(ns) + " ns"
	case ns < 1e7:
		return number(ns/1e3) + " µs"
	default:
		return number(ns/1e6) + " ms"
	}
}

func spread(v []float64) string {
	if len(v) == 0 {
		return ""
	}
	mid, low, high := median(v)
	if len(v) == 1 {
		return number(mid)
	}
	return fmt.Sprintf("%s (%s–%s)", number(mid), number(low), number(high))
}

// A report is everything that was measured.
type report struct {
	results []*result
	facts   []fact
	set     *set
	seed    uint64
	rounds  int
}

func (rep *report) write(w io.Writer) {
	fmt.Fprintf(w, "# Benchmarks of %s\n\n", time.Now().UTC().Format(time.DateOnly))
	fmt.Fprintf(w, "- processor: %s, %d cores\n- Go: %s %s/%s\n- commit: %s\n- seed: %d\n- rounds: %d, interleaved in one process\n- temoto: github.com/temoto/robotstxt %s\n",
		processor(), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, commit(), rep.seed, rep.rounds, temotoVersion())
	fmt.Fprintf(w, "- %s\n", rep.set)
	mixed := rulesOf(mixedProblem(rep.set, rep.seed, 10_000).body)
	wild := 0
	for _, r := range mixed {
		wild += count(strings.ContainsAny(r, "*$"))
	}
	fmt.Fprintf(w, "- mixed rules: %s distinct ones of %s files, %.1f %% with '*' or '$'\n", number(float64(len(mixed))), rep.set.name, 100*float64(wild)/float64(len(mixed)))
	fmt.Fprintf(w, "\nTimes are medians per operation, %s. A goal that is a time is about the best round.\nThe columns × say how many times as fast robots is: the median of the ratios\nwithin each round, lowest and highest in brackets.\n\n", clockName)
	fmt.Fprintln(w, "| row | input | robots | MB/s | reference | temoto | × reference | × temoto | floor | aim | |")
	fmt.Fprintln(w, "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|")
	for _, r := range rep.results {
		mid := func(e string) string { m, _, _ := median(r.ns[e]); return duration(m) }
		mb := ""
		if s := r.speed(ours); s > 0 {
			mb = number(s)
		}
		about := r.about
		for _, e := range others {
			if q := r.ratios(e); len(q) > 0 {
				about += "; × " + e + " " + spread(q)
			}
		}
		if r.goal.kind == nanos || r.goal.kind == millis {
			_, low, high := median(r.ns[ours])
			about += fmt.Sprintf("; rounds %s to %s", duration(low), duration(high))
		}
		floor, aim := r.goal.words()
		fmt.Fprintf(w, "| %s | %s | %s/%s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.name, about, mid(ours), r.unit, mb,
			mid(reference), mid(temoto), spread(r.ratios(reference)), spread(r.ratios(temoto)), floor, aim, r.reached())
	}
	if len(rep.facts) == 0 {
		return
	}
	fmt.Fprintln(w, "\n| figure | unit | robots | reference | temoto | floor | aim | |")
	fmt.Fprintln(w, "|---|---|--:|--:|--:|--:|--:|---|")
	for _, f := range rep.facts {
		v := func(e string) string {
			if x, ok := f.values[e]; ok {
				return number(x)
			}
			return ""
		}
		floor, aim := f.goal.words()
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", f.name, f.unit, v(ours), v(reference), v(temoto), floor, aim, f.goal.reached(f.values[ours]))
	}
}

func (rep *report) save(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, time.Now().UTC().Format(time.DateOnly)+".md"))
	if err != nil {
		return err
	}
	rep.write(f)
	if err := f.Close(); err != nil {
		return err
	}
	if svg := rep.plot(); svg != nil {
		return os.WriteFile(filepath.Join(dir, "match.svg"), svg, 0o666)
	}
	return nil
}

func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// commit names the tree that was measured.
func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	c := strings.TrimSpace(string(out))
	if out, err := exec.Command("git", "status", "--porcelain").Output(); err == nil && len(out) > 0 {
		c += " with changes"
	}
	return c
}
