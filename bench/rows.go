package main

import (
	"context"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/guard"
	"github.com/robotskit/robots/internal/hostile"
	"github.com/robotskit/robots/lint"
	"github.com/robotskit/robots/polite"
	"github.com/temoto/robotstxt"
)

// Engines and baselines.
const (
	ours   = "robots"
	plain  = "plain"   // the matcher of plain.go
	temoto = "temoto"  // github.com/temoto/robotstxt
	netURL = "net-url" // net/url.Parse
	one    = "one"     // one crawler instead of many
	// allRules is the rules of each crawler that a file names, in each dialect.
	allRules = "all-rules"
)

// A row is a line of the table, and a benchmark with a sub-benchmark per engine.
type row struct {
	name  string
	about string
	per   string // of what unit is a time
	goal  goal
	make  func(files []file) *work
}

// A goal is what a row must reach, 0 for nothing: with a baseline a multiple of its speed, without one a maximum value in
// the unit.
type goal struct {
	baseline string
	unit     string
	floor    float64
}

func faster(baseline string, floor float64) goal { return goal{baseline, "ns/op", floor} }

func atMost(unit string, floor float64) goal { return goal{"", unit, floor} }

// work is the measured work of a row. A pass has the same operations for all engines.
type work struct {
	ops     int // operations in a pass
	bytes   int // of the files that a pass reads, 0 if it reads none
	engines []engine
	skipped string // why the row cannot be measured on this machine, instead of engines
	// children is set if the engines are child processes, whose CPU time counts.
	children bool
	extra    func() float64 // in the unit of the goal, instead of engines
}

// An engine makes a pass over all operations. The round selects the input, the same for all engines. The result, such
// as a count of verdicts, is the same for all engines that agree, and keeps the compiler from dropping the work.
type engine struct {
	name string
	pass func(round int) int
}

// rows are all rows, in the order of the table.
func rows() []row {
	small := func(of func([]file) *work) func([]file) *work {
		return func(files []file) *work { return of(upTo(1024, files)) }
	}
	list := []row{
		{"OneShotURL/files=all", "body, agent and URL to a verdict", "file", faster(temoto, 36), oneShotURL},
		{"OneShotURL/files=small", "the same, files up to 1 KiB", "file", faster(temoto, 14), small(oneShotURL)},
		{"Rules/files=all", "parse a file and choose the rules of a crawler", "file", faster(temoto, 17), chooseRules},
		{"Rules/files=small", "the same, files up to 1 KiB", "file", faster(temoto, 8), small(chooseRules)},
		{"FirstMatch/files=all", "parse a file, choose the rules of a crawler and match one path", "file", faster(temoto, 12), firstMatch},
		{"FirstMatch/files=small", "the same, files up to 1 KiB", "file", faster(temoto, 6), small(firstMatch)},
		{"Lint/files=small", "lint a file of up to 1 KiB, against the rules of its crawlers in all dialects", "file", faster(allRules, 0.025),
			small(lintFiles)},
		{"Kept/files=all", "match a path against parsed files, 8 paths per file, file after file", "path", faster(temoto, 7), kept},
		{"Memory/files=all", "memory of a file and the rules of a crawler, body included", "file", atMost("B/body-B", 1.8), memory},
	}
	for _, size := range []int{2, 8} {
		list = append(
			list,
			row{fmt.Sprintf("LongPath/path=%dKiB", size), fmt.Sprintf("match a path of %d KiB against each parsed file", size), "path",
				faster(plain, 1), func(files []file) *work { return longPath(files, size<<10) }},
		)
	}
	for _, kind := range []string{"literal", "mixed"} {
		about := "match against literal rules of 30 to 40 bytes"
		if kind == "mixed" {
			about = "match against rules sampled from the files"
		}
		for _, n := range ruleCounts {
			g := faster(temoto, 0)
			if n == 10_000 {
				g.floor = 300
			}
			list = append(list, row{matchRow(kind, n), about, "path", g, func(files []file) *work { return match(newProblem(files, kind, n)) }})
		}
		list = append(list, row{"Index/rules=" + kind, "parse 10,000 rules and index them, which temoto does not", "rule", faster(temoto, 1.5),
			func(files []file) *work { return index(newProblem(files, kind, 10_000)) }},
			row{"IndexMemory/rules=" + kind, "memory per rule beyond the parsed file, index included", "rule", atMost("B/rule", 60),
				func(files []file) *work { return indexMemory(newProblem(files, kind, 10_000)) }})
	}
	list = append(
		list,
		row{
			"ParseURL/url=crawl", "URLs of the files' sites", "URL", faster(netURL, 6),
			func(files []file) *work { return parseURL(urlsOf(files)...) },
		},
		row{
			"Verdict/url=10000-sites", "verdict of polite.Transport, robots.txt in memory: 10,000 sites in random order", "URL",
			faster(netURL, 0.4), func([]file) *work { return verdicts(manySites(10_000)...) },
		},
	)
	for _, u := range commonURLs {
		list = append(list,
			row{"ParseURL/url=" + u.kind, u.url, "URL", faster(netURL, u.floor), func([]file) *work { return parseURL(u.url) }},
			row{"Verdict/url=" + u.kind, "verdict of polite.Transport, robots.txt in memory", "URL", faster(netURL, 0.8),
				func([]file) *work { return verdicts(u.url) }})
	}
	list = append(
		list,
		row{"Crawlers/who=100", "parse a file and check 100 crawlers, each in its own dialect, against one crawler", "file", faster(one, 0.07),
			manyCrawlers},
		row{"Crawlers/who=all", "all crawlers of the directory, a hostile file of 512,000 bytes", "file", atMost("ns/op", 1e9),
			func([]file) *work { return hostileCrawlers() }},
		row{
			"Guard/header=remembered", "decide on a request of a browser or a crawler whose User-Agent came before", "request",
			atMost("ns/op", 1000), func([]file) *work { return guardRequests(false) },
		},
		row{"Guard/header=new", "the same with another User-Agent for each request", "request", atMost("ns/op", 50_000),
			func([]file) *work { return guardRequests(true) }},
	)
	lines := func(files []file) int { return min(250*len(files), 1_000_000) }
	for _, p := range []struct {
		against string
		floor   float64
	}{{temoto, 4}, {temotoPaths, 0}, {library, 0.67}} {
		list = append(
			list,
			row{
				"Program/list/against=" + p.against, "robots check -f FILE --urls FILE: a list of 10⁶ URLs, CPU time", "URL",
				faster(p.against, p.floor), func(files []file) *work { return listProgram(lines(files), p.against) },
			},
		)
	}
	list = append(
		list,
		row{
			"Program/batch/robots=shared", "robots check --batch -f FILE: 10⁶ questions of four crawlers in turn, CPU time", "line",
			faster(temoto, 2), func(files []file) *work { return batchProgram(lines(files), false) },
		},
		row{"Program/batch/robots=inside", "robots check --batch: the same with a file in each of 10⁵ lines", "line", faster(temoto, 10),
			func(files []file) *work { return batchProgram(lines(files)/10, true) }},
		row{"Program/lint/files=1000", "robots lint: 1,000 files, CPU time", "file", faster(allRules, 0.05),
			func(files []file) *work { return lintProgram(thousand(files)) }},
		row{"Program/lint/files=1", "robots lint: a file of 400 bytes, CPU time with the start", "file", faster(allRules, 0.3),
			func([]file) *work { return lintProgram([]file{{body: []byte(shop)}}) }},
		row{"Program/serve", "POST /v1/check: a question with its file, one connection, CPU time", "request", faster(echo, 0.5),
			func(files []file) *work { return serviceProgram(lines(files) / 50) }},
		row{"Redis/page", "the scripts of a page, CPU time of redis-server; against three GET commands", "page", faster(get, 0.15),
			func(files []file) *work { return redisPages(lines(files) / 50) }},
	)
	for _, p := range []struct {
		size  int
		floor time.Duration
	}{{2, 60 * time.Millisecond}, {8, 250 * time.Millisecond}, {64, 2 * time.Second}} {
		for _, f := range hostile.Files {
			list = append(
				list,
				row{fmt.Sprintf("FirstAnswer/path=%dKiB/file=%s", p.size, f.Name), "parse 512,000 hostile bytes, choose the rules, match one path",
					"file", atMost("ns/op", float64(p.floor)), func([]file) *work { return firstAnswer(f, p.size<<10) }},
			)
		}
	}
	return list
}

var ruleCounts = []int{10, 100, 1000, 10_000}

func matchRow(kind string, n int) string { return fmt.Sprintf("Match/rules=%s/n=%d", kind, n) }

// commonURLs are kinds of URL that crawlers meet, with the floor for parsing them: net/url does not convert the Unicode
// host.
var commonURLs = []struct {
	kind, url string
	floor     float64
}{
	{"page", "https://www.shop.example/list/shoes?sort=price&page=2", 1},
	{"port-443", "https://www.shop.example:443/list/shoes?sort=price&page=2", 1},
	{"upper-case", "HTTPS://WWW.Shop.Example/list/shoes?sort=price&page=2", 1},
	{"userinfo", "https://me:secret@www.shop.example/list/shoes?sort=price&page=2", 1},
	{"ipv4", "http://93.184.215.14/list/shoes?sort=price&page=2", 1},
	{"localhost", "http://localhost:8080/list/shoes?sort=price&page=2", 1},
	{"unicode", "https://www.müller.example/list/shoes?sort=price&page=2", 0.33},
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// temotoParse returns nil for a file that temoto rejects; it counts as allowed.
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

// requestURI is what users of temoto ask with.
func requestURI(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		panic(err) // the generators make URLs that net/url accepts
	}
	return u.RequestURI()
}

// each returns a pass of n operations that counts those that return true.
func each(n int, holds func(i, round int) bool) func(round int) int {
	return func(round int) (sum int) {
		for i := range n {
			sum += count(holds(i, round))
		}
		return sum
	}
}

// oneShotURL matches one URL against every file, another one in each round.
func oneShotURL(files []file) *work {
	n := len(files)
	urls := urlsOf(files)
	return &work{ops: n, bytes: byteCount(files), engines: []engine{
		{ours, each(n, func(i, round int) bool {
			_, p, err := robots.ParseURL(urls[i*urlsPerFile+round%urlsPerFile])
			return err == nil && robots.Allowed(files[i].body, robots.RFC9309, p, files[i].agent)
		})},
		{temoto, each(n, func(i, round int) bool {
			path := requestURI(urls[i*urlsPerFile+round%urlsPerFile])
			data := temotoParse(files[i].body)
			return data == nil || data.TestAgent(path, files[i].agent)
		})},
	}}
}

// chooseRules parses every file and keeps the rules of a crawler for all, as a cache does.
func chooseRules(files []file) *work {
	n := len(files)
	rules := make([]*robots.Rules, n)
	groups := make([]*robotstxt.Group, n)
	return &work{ops: n, bytes: byteCount(files), engines: []engine{
		{ours, each(n, func(i, _ int) bool {
			rules[i] = robots.Parse(files[i].body).Rules(robots.RFC9309, files[i].agent)
			return true
		})},
		{temoto, each(n, func(i, _ int) bool { groups[i] = temotoGroup(files[i].body, files[i].agent); return true })},
	}}
}

// firstMatch parses every file, chooses the rules of a crawler and matches one path, another one in each round.
func firstMatch(files []file) *work {
	n := len(files)
	return &work{ops: n, bytes: byteCount(files), engines: []engine{
		{ours, each(n, func(i, round int) bool {
			f := &files[i]
			return robots.Parse(f.body).Rules(robots.RFC9309, f.agent).Allowed(f.queries[round%urlsPerFile].path)
		})},
		{temoto, each(n, func(i, round int) bool {
			return temotoGroup(files[i].body, files[i].agent).Test(files[i].queries[round%urlsPerFile].raw)
		})},
	}}
}

// makeAllRules parses a file and makes the rules of each crawler that it names, in each dialect, without sharing anything.
func makeAllRules(body []byte) (made int) {
	f := robots.Parse(body)
	for _, d := range robots.Dialects() {
		for _, token := range f.Crawlers(d) {
			made += count(f.Rules(d, token) != nil)
		}
	}
	return made
}

// lintFiles runs all checks on every file.
func lintFiles(files []file) *work {
	n := len(files)
	return &work{ops: n, bytes: byteCount(files), engines: []engine{
		{ours, each(n, func(i, _ int) bool {
			return len(lint.File(robots.Parse(files[i].body), lint.Options{}).Diagnostics) > 0
		})},
		{allRules, each(n, func(i, _ int) bool { return makeAllRules(files[i].body) > 0 })},
	}}
}

// kept matches the paths of every file, file after file, so that the data of a match has left the processor's caches
// since its last use.
func kept(files []file) *work {
	rules := make([]*robots.Rules, len(files))
	groups := make([]*robotstxt.Group, len(files))
	for i, f := range files {
		rules[i] = robots.Parse(f.body).Rules(robots.RFC9309, f.agent)
		groups[i] = temotoGroup(f.body, f.agent)
	}
	const per = urlsPerFile
	n := len(files) * per
	return &work{ops: n, engines: []engine{
		{ours, each(n, func(i, _ int) bool { return rules[i/per].Allowed(files[i/per].queries[i%per].path) })},
		{temoto, each(n, func(i, _ int) bool { return groups[i/per].Test(files[i/per].queries[i%per].raw) })},
	}}
}

// longPath matches one long path against every parsed file, made from one of its short paths.
func longPath(files []file, size int) *work {
	rules := make([]*robots.Rules, len(files))
	plains := make([][]plainRule, len(files))
	queries := make([]query, len(files))
	rng := newRand(3)
	for i, f := range files {
		rules[i] = robots.Parse(f.body).Rules(robots.RFC9309, f.agent)
		plains[i] = plainRules(plainParse(f.body), f.agent)
		head := f.queries[0].raw
		queries[i] = newQuery(head + somePath(rng, max(1, size-len(head))))
	}
	n := len(files)
	return &work{ops: n, engines: []engine{
		{ours, each(n, func(i, _ int) bool { return rules[i].Allowed(queries[i].path) })},
		{plain, each(n, func(i, _ int) bool { return plainAllowed(plains[i], queries[i].raw) })},
	}}
}

// match matches the paths of a problem, with an index.
func match(p problem) *work {
	rules := indexed(robots.Parse(p.body), p)
	plains := plainRules(plainParse(p.body), anyBot)
	group := temotoGroup(p.body, anyBot)
	n := len(p.queries)
	return &work{ops: n, engines: []engine{
		{ours, each(n, func(i, _ int) bool { return rules.Allowed(p.queries[i].path) })},
		{plain, each(n, func(i, _ int) bool { return plainAllowed(plains, p.queries[i].raw) })},
		{temoto, each(n, func(i, _ int) bool { return group.Test(p.queries[i].raw) })},
	}}
}

// indexed returns Rules after the matches that make them build an index.
func indexed(f *robots.File, p problem) *robots.Rules {
	rules := f.Rules(robots.RFC9309, anyBot)
	for i := range 64 {
		rules.Allowed(p.queries[i].path)
	}
	return rules
}

// index reads a file: ours with the index of its rules, temoto's without one.
func index(p problem) *work {
	return &work{ops: p.rules, engines: []engine{
		{ours, func(int) int { indexed(robots.Parse(p.body), p); return p.rules }},
		{temoto, func(int) int { temotoGroup(p.body, anyBot); return p.rules }},
	}}
}

func indexMemory(p problem) *work {
	f := robots.Parse(p.body)
	return &work{extra: func() float64 {
		return retained(func() any { return indexed(f, p) }) / float64(p.rules)
	}}
}

func memory(files []file) *work {
	return &work{extra: func() float64 {
		return 1 + retained(func() any {
			rules := make([]*robots.Rules, len(files))
			for i, f := range files {
				rules[i] = robots.Parse(f.body).Rules(robots.RFC9309, f.agent)
			}
			return rules
		})/float64(byteCount(files))
	}}
}

// retained returns the bytes of heap that the made values retain.
func retained(create func() any) float64 {
	heap := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := heap()
	made := create()
	after := heap()
	runtime.KeepAlive(made)
	return after - before
}

// repeated fills a pass of short operations.
func repeated(urls []string) []string { return slices.Repeat(urls, (1000+len(urls)-1)/len(urls)) }

// parsing compares a call for each URL with net/url.Parse.
func parsing(urls []string, allowed func(raw string) bool) *work {
	return &work{ops: len(urls), engines: []engine{
		{ours, each(len(urls), func(i, _ int) bool { return allowed(urls[i]) })},
		{netURL, each(len(urls), func(i, _ int) bool { _, err := url.Parse(urls[i]); return err == nil })},
	}}
}

func parseURL(urls ...string) *work {
	return parsing(repeated(urls), func(raw string) bool { _, _, err := robots.ParseURL(raw); return err == nil })
}

// sites returns a robots.txt for every site that disallows none of the URLs.
type sites struct{}

func (sites) Fetch(_ context.Context, origin robots.Origin) (*fetch.Record, error) {
	now := time.Now()
	return &fetch.Record{
		Origin: origin, URL: origin.RobotsURL(), Outcome: fetch.Success, Cause: fetch.OK, Status: 200, Started: now, Fetched: now,
		Body: fileOf(slices.Repeat([]string{"/-private/"}, 13)),
	}, nil
}

func verdicts(urls ...string) *work {
	urls = repeated(urls)
	kept, err := cache.New(cache.Options{Fetcher: sites{}})
	if err != nil {
		panic(err)
	}
	t, err := polite.New(anyBot, polite.Options{Cache: kept, AllowPrivate: true})
	if err != nil {
		panic(err)
	}
	w := parsing(urls, func(raw string) bool {
		v, err := t.Verdict(context.Background(), raw)
		return err == nil && v.Allowed
	})
	w.engines[0].pass(0) // fills the cache
	return w
}

// manySites returns a URL of each of n sites.
func manySites(n int) []string {
	rng := newRand(4)
	urls := make([]string, n)
	for i := range urls {
		urls[i] = fmt.Sprintf("https://www.site%d.example%s", i, somePath(rng, 40))
	}
	rng.Shuffle(n, func(i, j int) { urls[i], urls[j] = urls[j], urls[i] })
	return urls
}

// allowedOf parses a file and matches one path for each crawler, once for crawlers with the same rules.
func allowedOf(together *robots.Crawlers, body []byte, path robots.Path) (n int) {
	asked := map[*robots.Rules]bool{}
	for _, r := range together.Rules(robots.Parse(body)) {
		allowed, ok := asked[r]
		if !ok {
			allowed = r.Allowed(path)
			asked[r] = allowed
		}
		n += count(allowed)
	}
	return n
}

func manyCrawlers(files []file) *work {
	var list []crawlers.Crawler
	for i, all := 0, crawlers.All(); i < 100; i++ {
		list = append(list, all[i*len(all)/100])
	}
	together := crawlers.Callers(list)
	return &work{ops: len(files), bytes: byteCount(files), engines: []engine{
		{ours, func(round int) (n int) {
			for _, f := range files {
				n += allowedOf(together, f.body, f.queries[round%urlsPerFile].path)
			}
			return n
		}},
		{one, func(round int) (n int) {
			for _, f := range files {
				n += count(robots.Parse(f.body).Rules(robots.RFC9309, f.agent).Allowed(f.queries[round%urlsPerFile].path))
			}
			return n
		}},
	}}
}

// hostileCrawlers is a file with a group for each crawler of the directory and a large one for all of them, so that all
// have different rules.
func hostileCrawlers() *work {
	all := crawlers.All()
	var b, names []byte
	for i, c := range all {
		b = fmt.Appendf(b, "User-agent: %s\nDisallow: /%d\n", c.Tokens[0], i)
		names = fmt.Appendf(names, "User-agent: %s\n", c.Tokens[0])
	}
	b = append(b, names...)
	for i := 0; len(b) < fileLimit; i++ {
		b = fmt.Appendf(b, "Disallow: /*%d\n", i)
	}
	together := crawlers.Callers(all)
	path := newQuery("/page").path
	return &work{ops: 1, bytes: fileLimit, engines: []engine{{ours, func(int) int { return allowedOf(together, b[:fileLimit], path) }}}}
}

// firstAnswer parses a hostile file, chooses its rules and matches one path.
func firstAnswer(f hostile.File, size int) *work {
	path := f.Path(size)
	body := f.Body(fileLimit, path)
	q := newQuery(path)
	return &work{ops: 1, bytes: len(body), engines: []engine{{ours, func(int) int {
		return count(robots.Parse(body).Rules(robots.RFC9309, anyBot).Allowed(q.path))
	}}}}
}

const anyBot = "ExampleBot"

// guardRequests decides on requests, of which every second is that of a crawler.
func guardRequests(newHeaders bool) *work {
	site := guard.NewSite([]byte("User-agent: *\nDisallow: /basket/\nAllow: /basket/help\n"))
	g, err := guard.New(guard.Options{Site: func(string) *guard.Site { return site }})
	if err != nil {
		panic(err)
	}
	headers := []string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/142.0.0.0 Safari/537.36",
	}
	const ops = 1000
	pass := func(round int) (found int) {
		for i := range ops {
			header := headers[i%len(headers)]
			if newHeaders {
				header = fmt.Sprintf("%s Build/%d.%d", header, round, i)
			}
			if g.Decide(guard.Request{Host: "shop.example", UserAgent: header, Target: "/basket/1"}).Crawler != nil {
				found++
			}
		}
		return found
	}
	return &work{ops: ops, engines: []engine{{ours, pass}}}
}
