package main

import (
	"fmt"
	"math"
	"net/url"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
	families "github.com/robotskit/robots/internal/hostile"
	"github.com/temoto/robotstxt"
)

const (
	ours      = "robots"
	reference = "reference"
	temoto    = "temoto"
	netURL    = "net/url"
)

// A row is one line of the table. Its work is made when its turn comes, so that
// a single row starts at once.
type row struct {
	name  string
	about string
	unit  string // of an operation
	goal  goal
	make  func() *work
}

// A goal is a number to reach: the floor at least, the aim if we can.
type goal struct {
	kind       goalKind
	floor, aim float64
}

type goalKind uint8

const (
	noGoal    goalKind = iota
	perTemoto          // times as fast as temoto
	perNetURL          // times as fast as net/url
	nanos              // nanoseconds per operation, at most
	millis             // milliseconds per operation, at most
	megabytes          // MB/s, at least
	millions           // million operations per second, at least
	atMost             // any quantity of the second table, at most
	atLeast            // the same, at least
)

// temotoParse is parsing with temoto; a file that it rejects allows everything.
func temotoParse(body []byte) *robotstxt.RobotsData {
	data, err := robotstxt.FromBytes(body)
	if err != nil {
		return nil
	}
	return data
}

func temotoGroup(body []byte, agent string) *robotstxt.Group {
	if data := temotoParse(body); data != nil {
		return data.FindGroup(agent)
	}
	return &robotstxt.Group{}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// oneShot asks one path of every file: body, agent and path in, verdict out.
// Each round takes another of the file's paths.
func oneShot(s *set) *work {
	return &work{ops: len(s.bodies), byteCount: s.byteCount, engines: []engine{
		{name: ours, pass: func(round int) (n int) { return oneShotOurs(s, round, 0, 1) }},
		{name: reference, pass: func(round int) (n int) {
			for i, b := range s.bodies {
				n += count(refAllowed(refRules(refParse(b), s.agents[i]), s.queries[i][round%urlsPerFile].raw))
			}
			return n
		}},
		{name: temoto, pass: func(round int) (n int) {
			for i, b := range s.bodies {
				data := temotoParse(b)
				n += count(data == nil || data.TestAgent(s.queries[i][round%urlsPerFile].raw, s.agents[i]))
			}
			return n
		}},
	}}
}

// urlsOf returns the set's queries as whole URLs, each file on a host of its own.
func urlsOf(s *set) [][urlsPerFile]string {
	urls := make([][urlsPerFile]string, len(s.bodies))
	for i := range s.bodies {
		for k, q := range s.queries[i] {
			urls[i][k] = fmt.Sprintf("https://www.site%d.example%s", i, q.raw)
		}
	}
	return urls
}

// oneShotURL is oneShot from a whole URL: taking it apart belongs to the
// question as crawlers ask it.
func oneShotURL(s *set) *work {
	urls := urlsOf(s)
	w := &work{ops: len(s.bodies), byteCount: s.byteCount, engines: []engine{
		{name: ours, pass: func(round int) (n int) {
			for i, b := range s.bodies {
				_, p, err := robots.ParseURL(urls[i][round%urlsPerFile])
				n += count(err == nil && robots.Allowed(b, robots.RFC9309, p, s.agents[i]))
			}
			return n
		}},
		{name: reference, pass: func(round int) (n int) {
			for i, b := range s.bodies {
				u, err := url.Parse(urls[i][round%urlsPerFile])
				n += count(err == nil && refAllowed(refRules(refParse(b), s.agents[i]), u.RequestURI()))
			}
			return n
		}},
		{name: temoto, pass: func(round int) (n int) {
			for i, b := range s.bodies {
				u, err := url.Parse(urls[i][round%urlsPerFile])
				data := temotoParse(b)
				n += count(err == nil && (data == nil || data.TestAgent(u.RequestURI(), s.agents[i])))
			}
			return n
		}},
	}}
	return withExternals(w, s, urls)
}

// cutURLs takes whole URLs apart; the baseline is net/url, which crawlers use.
func cutURLs(s *set) *work {
	urls := urlsOf(s)
	return &work{ops: len(urls) * urlsPerFile, engines: []engine{
		{name: ours, pass: func(int) (n int) {
			for i := range urls {
				for k := range urls[i] {
					_, _, err := robots.ParseURL(urls[i][k])
					n += count(err == nil)
				}
			}
			return n
		}},
		{name: netURL, pass: func(int) (n int) {
			for i := range urls {
				for k := range urls[i] {
					_, err := url.Parse(urls[i][k])
					n += count(err == nil)
				}
			}
			return n
		}},
	}}
}

// askable reads every file and makes what its crawler asks: for ours Parse and
// Rules, for temoto FromBytes and FindGroup.
func askable(s *set) *work {
	kept := make([]*robots.Rules, len(s.bodies))
	refs := make([][]refRule, len(s.bodies))
	groups := make([]*robotstxt.Group, len(s.bodies))
	return &work{ops: len(s.bodies), byteCount: s.byteCount, engines: []engine{
		{name: ours, pass: func(int) int {
			for i, b := range s.bodies {
				kept[i] = robots.Parse(b).Rules(robots.RFC9309, s.agents[i])
			}
			return 0
		}},
		{name: reference, pass: func(int) int {
			for i, b := range s.bodies {
				refs[i] = refRules(refParse(b), s.agents[i])
			}
			return 0
		}},
		{name: temoto, pass: func(int) int {
			for i, b := range s.bodies {
				groups[i] = temotoGroup(b, s.agents[i])
			}
			return 0
		}},
	}}
}

// oneShotOurs takes the files from, from+step, ...
func oneShotOurs(s *set, round, from, step int) (n int) {
	for i := from; i < len(s.bodies); i += step {
		n += count(robots.Allowed(s.bodies[i], robots.RFC9309, s.queries[i][round%urlsPerFile].path, s.agents[i]))
	}
	return n
}

// parse reads and keeps every file.
func parse(s *set) *work {
	files := make([]*robots.File, len(s.bodies))
	groups := make([][]refGroup, len(s.bodies))
	data := make([]*robotstxt.RobotsData, len(s.bodies))
	return &work{ops: len(s.bodies), byteCount: s.byteCount, engines: []engine{
		{name: ours, pass: func(int) int {
			for i, b := range s.bodies {
				files[i] = robots.Parse(b)
			}
			return 0
		}},
		{name: reference, pass: func(int) int {
			for i, b := range s.bodies {
				groups[i] = refParse(b)
			}
			return 0
		}},
		{name: temoto, pass: func(int) int {
			for i, b := range s.bodies {
				data[i] = temotoParse(b)
			}
			return 0
		}},
	}}
}

// keptRules returns what each crawler obeys of each file.
func keptRules(s *set) []*robots.Rules {
	rules := make([]*robots.Rules, len(s.bodies))
	for i, b := range s.bodies {
		rules[i] = robots.Parse(b).Rules(robots.RFC9309, s.agents[i])
	}
	return rules
}

// matchKept asks every file's paths of the kept file, file after file, so that
// what a match touches has left the caches since it was last used.
func matchKept(s *set) *work {
	rules := keptRules(s)
	refs := make([][]refRule, len(s.bodies))
	groups := make([]*robotstxt.Group, len(s.bodies))
	for i, b := range s.bodies {
		refs[i] = refRules(refParse(b), s.agents[i])
		groups[i] = temotoGroup(b, s.agents[i])
	}
	return &work{ops: len(s.bodies) * urlsPerFile, engines: []engine{
		{name: ours, pass: func(int) int { return matchOurs(s, rules, 0, 1) }},
		{name: reference, pass: func(int) (n int) {
			for i, r := range refs {
				for k := range s.queries[i] {
					n += count(refAllowed(r, s.queries[i][k].raw))
				}
			}
			return n
		}},
		{name: temoto, pass: func(int) (n int) {
			for i, g := range groups {
				for k := range s.queries[i] {
					n += count(g.Test(s.queries[i][k].raw))
				}
			}
			return n
		}},
	}}
}

// crowd reads every file and asks it for some crawlers, each about one path. Those
// who obey the same rules are asked once.
func crowd(s *set, list []crawlers.Crawler) *work {
	together := crawlers.Callers(list)
	type answer struct {
		rules   *robots.Rules
		allowed bool
	}
	var asked []answer
	return &work{ops: len(s.bodies), byteCount: s.byteCount, engines: []engine{{name: ours, pass: func(int) (n int) {
		for i, b := range s.bodies {
			asked = asked[:0]
			for _, r := range together.Rules(robots.Parse(b)) {
				k := slices.IndexFunc(asked, func(a answer) bool { return a.rules == r })
				if k < 0 {
					k = len(asked)
					asked = append(asked, answer{r, r.Allowed(s.queries[i][0].path)})
				}
				n += count(asked[k].allowed)
			}
		}
		return n
	}}}}
}

func crowdAlike(s *set) *work { return crowd(s, someCrawlers(100, true)) }

func crowdDialects(s *set) *work { return crowd(s, someCrawlers(100, false)) }

// alone is crowd for one crawler, asked without the others.
func alone(s *set) *work {
	return &work{ops: len(s.bodies), byteCount: s.byteCount, engines: []engine{{name: ours, pass: func(int) (n int) {
		for i, b := range s.bodies {
			n += count(robots.Parse(b).Rules(robots.RFC9309, s.agents[i]).Allowed(s.queries[i][0].path))
		}
		return n
	}}}}
}

// someCrawlers returns n crawlers of the directory that are in use, from all over it.
// With alike they read files in one dialect.
func someCrawlers(n int, alike bool) []crawlers.Crawler {
	var used, list []crawlers.Crawler
	for _, c := range crawlers.All() {
		if alike {
			c.Dialect = robots.RFC9309.Name
		}
		if c.Status == crawlers.Used {
			used = append(used, c)
		}
	}
	for i := range n {
		list = append(list, used[(2*i+1)*len(used)/(2*n)])
	}
	return list
}

func matchOurs(s *set, rules []*robots.Rules, from, step int) (n int) {
	for i := from; i < len(rules); i += step {
		r := rules[i]
		for k := range s.queries[i] {
			n += count(r.Allowed(s.queries[i][k].path))
		}
	}
	return n
}

// bulk is matchKept from whole URLs, cutting included.
func bulk(s *set) *work {
	rules := keptRules(s)
	groups := make([]*robotstxt.Group, len(s.bodies))
	urls := urlsOf(s)
	for i, b := range s.bodies {
		groups[i] = temotoGroup(b, s.agents[i])
	}
	return &work{ops: len(s.bodies) * urlsPerFile, engines: []engine{
		{name: ours, pass: func(int) (n int) {
			for i, r := range rules {
				for k := range urls[i] {
					_, p, err := robots.ParseURL(urls[i][k])
					n += count(err == nil && r.Allowed(p))
				}
			}
			return n
		}},
		{name: temoto, pass: func(int) (n int) {
			for i, g := range groups {
				for k := range urls[i] {
					u, err := url.Parse(urls[i][k])
					n += count(err == nil && g.Test(u.RequestURI()))
				}
			}
			return n
		}},
	}}
}

// firstMatch reads a hostile file, chooses its rules and asks one path.
func firstMatch(f families.Family, length int) *work {
	text := f.Text(length)
	body := f.File(fileLimit, text)
	path, err := robots.ParsePath(text)
	if err != nil {
		panic(err) // the families only make paths
	}
	return &work{ops: 1, slow: true, engines: []engine{{name: ours, pass: func(int) int {
		return count(robots.Parse(body).Rules(robots.RFC9309, "ExampleBot").Allowed(path))
	}}}}
}

// match asks a problem's paths of its one group.
func match(p problem, withTemoto bool) *work {
	rules := robots.Parse(p.body).Rules(robots.RFC9309, "ExampleBot")
	refs := refRules(refParse(p.body), "ExampleBot")
	w := &work{ops: len(p.queries), engines: []engine{
		{name: ours, pass: func(int) (n int) {
			for i := range p.queries {
				n += count(rules.Allowed(p.queries[i].path))
			}
			return n
		}},
		{name: reference, pass: func(int) (n int) {
			for i := range p.queries {
				n += count(refAllowed(refs, p.queries[i].raw))
			}
			return n
		}},
	}}
	if withTemoto {
		group := temotoGroup(p.body, "ExampleBot")
		w.engines = append(w.engines, engine{name: temoto, pass: func(int) (n int) {
			for i := range p.queries {
				n += count(group.Test(p.queries[i].raw))
			}
			return n
		}})
	}
	return w
}

// buildRules is how many rules the rows memory/build-… and memory/rules-… have.
const buildRules = 10_000

// A buildProblem is what one of these rows is about.
type buildProblem struct {
	name    string
	problem func() problem
}

func builds(s *set, seed uint64) []buildProblem {
	return []buildProblem{
		{"literal", func() problem { return literalProblem(seed, buildRules) }},
		{"mixed", func() problem { return mixedProblem(s, seed, buildRules) }},
	}
}

// warmRules makes the rules of a problem from its File and asks them until they have an index,
// with few answers beyond that.
func warmRules(p problem) *work {
	f := robots.Parse(p.body)
	return &work{ops: buildRules, engines: []engine{{name: ours, pass: func(int) (n int) {
		rules := f.Rules(robots.RFC9309, "ExampleBot")
		for i := range 64 {
			n += count(rules.Allowed(p.queries[i].path))
		}
		return n
	}}}}
}

// oneSet is a problem as a set of one file.
func oneSet(p problem) *set {
	s := &set{name: p.name}
	var q [urlsPerFile]query
	for i := range q {
		q[i] = p.queries[i%len(p.queries)]
	}
	s.add(p.body, "ExampleBot", q)
	return s
}

// twoCores is the same work of ours by one goroutine and by two, each on a part: what they
// take in the mean. As processor time it leaves out what a busy machine does in between, and
// waiting for locks, of which there are none; what they cost one another in caches is in it.
func twoCores(part func(from, step int) int, ops int) *work {
	by := func(goroutines int) func(int) time.Duration {
		return func(int) time.Duration {
			var took atomic.Int64
			n := make([]int, goroutines)
			var wg sync.WaitGroup
			for g := range goroutines {
				wg.Go(func() {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
					start := now()
					n[g] = part(g, goroutines)
					took.Add(int64(now() - start))
				})
			}
			wg.Wait()
			sink += n[0]
			return time.Duration(took.Load()) / time.Duration(goroutines)
		}
	}
	return &work{ops: ops, engines: []engine{{name: ours, timed: by(2)}, {name: "1 goroutine", timed: by(1)}}}
}

var ruleCounts = []int{10, 100, 1000, 10_000}

// rows returns all rows for a set. Programs are built in the folder temp.
func rows(s *set, seed uint64, quick bool, temp string) []row {
	on := "/" + s.name
	// The goals are set for real files; generated ones only stand in.
	files := func(g goal) goal {
		if s.name == "generated" {
			return goal{}
		}
		return g
	}
	all := []row{
		{"oneshot" + on, s.String(), "file", files(goal{perTemoto, 31, 45}), func() *work { return oneShot(s) }},
		{"oneshot≤1KB" + on, "files of at most 1,024 bytes", "file", files(goal{perTemoto, 13, 20}), func() *work { return oneShot(s.only(0, 1024)) }},
		{"oneshot≥50KB" + on, "files of at least 50,000 bytes", "file", goal{}, func() *work { return oneShot(s.only(50_000, math.MaxInt)) }},
		{"parse" + on, "read and keep", "file", files(goal{perTemoto, 25, 40}), func() *work { return parse(s) }},
		{"url" + on, "take a whole URL apart", "URL", files(goal{perNetURL, 6, 8}), func() *work { return cutURLs(s) }},
		{"oneshot-url" + on, "oneshot from a whole URL", "file", files(goal{perTemoto, 36, 42}), func() *work { return oneShotURL(s) }},
		{"oneshot-url≤1KB" + on, "files of at most 1,024 bytes", "file", files(goal{perTemoto, 18, 21}), func() *work { return oneShotURL(s.only(0, 1024)) }},
		{"askable" + on, "read a file and choose an agent's rules", "file", files(goal{perTemoto, 17, 20}), func() *work { return askable(s) }},
		{"askable≤1KB" + on, "files of at most 1,024 bytes", "file", files(goal{perTemoto, 8, 10}), func() *work { return askable(s.only(0, 1024)) }},
		{"askable≥50KB" + on, "files of at least 50,000 bytes", "file", goal{}, func() *work { return askable(s.only(50_000, math.MaxInt)) }},
		{"crawlers-1" + on, "read a file, choose a crawler's rules and ask one path", "file", goal{}, func() *work { return alone(s) }},
		{"crawlers-100" + on, "the same for 100 crawlers of the directory that read alike", "file", goal{}, func() *work { return crowdAlike(s) }},
		{"crawlers-dialects" + on, "the same, each in its own dialect", "file", goal{}, func() *work { return crowdDialects(s) }},
		{"match-kept" + on, "8 paths per file, file after file", "path", files(goal{perTemoto, 9, 15}), func() *work { return matchKept(s) }},
		{"bulk" + on, "the same from whole URLs", "URL", goal{}, func() *work { return bulk(s) }},
		{"cores-oneshot" + on, "two goroutines against one", "file", goal{atLeast, 1.85, 1.85}, func() *work {
			return twoCores(func(from, step int) int { return oneShotOurs(s, 0, from, step) }, len(s.bodies))
		}},
		{"cores-match" + on, "two goroutines against one", "path", goal{atLeast, 1.85, 1.85}, func() *work {
			rules := keptRules(s)
			return twoCores(func(from, step int) int { return matchOurs(s, rules, from, step) }, len(s.bodies)*urlsPerFile)
		}},
	}
	literal := []goal{{}, {}, {}, {perTemoto, 300, 300}}
	for i, n := range ruleCounts {
		all = append(all, row{fmt.Sprintf("match-literal/%d", n), "literal rules of 30 to 40 bytes", "path", literal[i], func() *work {
			return match(literalProblem(seed, n), true)
		}})
	}
	for _, n := range ruleCounts {
		g := goal{}
		if n == 10_000 {
			g = goal{perTemoto, 300, 800}
		}
		all = append(all, row{fmt.Sprintf("match-mixed/%d", n), "rules literal and with wildcards, as files have them", "path", g, func() *work {
			return match(mixedProblem(s, seed, n), true)
		}})
	}
	for i, p := range hostile() {
		all = append(all, row{p.name, p.about, "match", goal{millis, 5, 1}, func() *work {
			w := match(p, i < 8 && !quick)
			w.slow = true
			return w
		}})
	}
	// The worst that a search found (internal/hostile), as a crawler meets it: read,
	// chosen, asked once, and a path of 64 KiB.
	for i, f := range families.Worst() {
		all = append(all, row{fmt.Sprintf("worst/%d", i+1), fmt.Sprintf("file and path of 64 KiB found by search, %d steps per 1,000 bytes", f.Steps), "first match", goal{millis, 10, 5}, func() *work {
			return firstMatch(f, 1<<16)
		}})
	}
	// One file, the path longer and longer: what a byte of path takes.
	for _, n := range []int{1 << 10, 1<<15 - 2, 1 << 15, 1 << 18, 1 << 20} {
		all = append(all, row{fmt.Sprintf("long-path/%d", n), "a byte of the path of a first match, 500 KiB of hostile rules", "byte", goal{}, func() *work {
			w := firstMatch(families.Seeds()[2], n)
			w.ops = n
			return w
		}})
	}
	for _, p := range hostileBodies() {
		all = append(all, row{p.name, p.about, "one shot", goal{millis, 5, 1}, func() *work {
			w := oneShot(oneSet(p))
			w.engines = w.engines[:2]
			w.slow = true
			return w
		}})
	}
	lines, starts := 200_000, 20
	if quick {
		lines /= 10
	}
	return append(all, programRows(s, seed, lines, starts, temp)...)
}

func literalProblem(seed uint64, n int) problem {
	rng := newRand(seed, 4)
	return ruleProblem("literal", rng, literalRules(rng, n))
}

// mixedProblem samples the rules of a set of real files.
func mixedProblem(s *set, seed uint64, n int) problem {
	rng := newRand(seed, 5)
	if s != nil && s.name == "corpus" {
		return ruleProblem("mixed", rng, sampleRules(rng, s.bodies, n))
	}
	return ruleProblem("mixed", rng, mixedRules(rng, n))
}
