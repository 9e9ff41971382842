package robots

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/hostile"
)

// hostileRules makes files that made engines slow: every piece of every rule
// occurs in the path, or nearly, so that no filter helps.
var hostileRules = map[string]struct {
	path func(n int) string
	rule func(i int) string
}{
	"stars": {
		func(n int) string { return "/" + strings.Repeat("a", n) },
		func(i int) string { return "/" + strings.Repeat("*a", 9) + "*b" + fmt.Sprint(i) },
	},
	"wrong order": {
		func(n int) string { return "/bbbb" + strings.Repeat("a", n) },
		func(i int) string {
			s := "/"
			for _, c := range fmt.Sprintf("%05o", i) {
				s += "*" + strings.Repeat("a", 4+int(c-'0'))
			}
			return s + "*bbbb"
		},
	},
	"near miss": {
		func(n int) string { return "/" + strings.Repeat("a", n/2) + "b" + strings.Repeat("a", n/2) },
		func(i int) string {
			a := strings.Repeat("a", 64)
			return "/*" + a[:40] + "b" + a[:4+i%60] + "b" + a[:4+i/60%60]
		},
	},
	"period": {
		func(n int) string { return "/aaab" + strings.Repeat("aab", n/3) },
		func(i int) string {
			return "/*baab*" + strings.Repeat("aab", 1+i%20) + "*" + fmt.Sprint(i%10) + "*aaab"
		},
	},
	"single bytes": {
		func(n int) string { return "/" + strings.Repeat("abcdefgh", n/8) },
		func(i int) string { return "/*" + strings.Repeat("h*g*f*e*d*c*b*a*", 1+i%8) + "abcdefghh" },
	},
	"random text": {
		func(n int) string { return "/" + hostileText(n) },
		func(i int) string {
			s, k := "/*", 40*(i%20)
			for range 9 {
				s += hostileWord[k:k+12] + "*"
				k += 12
			}
			return s + "abzba" + fmt.Sprint(i)
		},
	},
	"first and last": { // every piece occurs at both ends of the path
		func(n int) string { return "/abcdefghg" + strings.Repeat("x", n) + "hgfedcbabcdefgha" },
		func(i int) string {
			s := "/*"
			for range 6 {
				s += "abcdefghg"[i%8:i%8+2] + "*"
				i /= 8
			}
			return s + "xhgx*a"
		},
	},
	"literals": {
		func(n int) string { return "/" + strings.Repeat("a", n) },
		func(i int) string { return "/" + strings.Repeat("a", 400) + fmt.Sprint(i) },
	},
	"stars in a row": {
		func(n int) string { return "/" + strings.Repeat("a", n) },
		func(i int) string { return "/" + strings.Repeat("*", 200) + "aaaab" + fmt.Sprint(i) },
	},
}

var hostileWord = hostileText(1 << 10)

// TestHostileWork counts the work of one match, not seconds. The
// work may double when the rules or the path double, not more; on a file of
// 512,000 bytes it is at most five a byte, some 20 million instructions.
func TestHostileWork(t *testing.T) {
	count := func(name string, byteCount, pathLen int) int {
		h := hostileRules[name]
		var b strings.Builder
		b.WriteString("User-agent: *\n")
		for i := 0; b.Len() < byteCount; i++ {
			b.WriteString("Disallow: " + h.rule(i) + "\n")
		}
		r := Parse([]byte(b.String())).Rules(RFC9309, "x")
		id, work := newIndex(r).findCounted(r, h.path(pathLen), FieldNone)
		if id != none {
			t.Fatalf("%s: %q matches", name, r.text(&r.rules[id]))
		}
		return work
	}
	for name := range hostileRules {
		one := count(name, 250_000, 1024)
		rules := count(name, 500_000, 1024)
		path := count(name, 250_000, 2048)
		most := count(name, 512_000, 2048)
		t.Logf("%-15s %9d of work; rules doubled %.2f times, path doubled %.2f times; largest %d", name, one, float64(rules)/float64(one), float64(path)/float64(one), most)
		const slack = searchLeast + searchLimit*2048 // the tree is built after some work
		if rules > 2*one+one/4+slack {
			t.Errorf("%s: twice the rules, work of %d instead of %d", name, rules, one)
		}
		if path > 2*one+one/4+slack {
			t.Errorf("%s: twice the path, work of %d instead of %d", name, path, one)
		}
		if most > 5*512_000 {
			t.Errorf("%s: work of %d", name, most)
		}
	}
}

// TestLongPath: a path may have any length. From 1 KiB to 256 KiB, in a campaign to
// 1 MiB, the work per byte of the path at most doubles, with and without an index, and
// the memory that a match takes stays below 64 bytes per byte of the path.
func TestLongPath(t *testing.T) {
	lengths := campaign.Size([]int{1 << 10, 1 << 16}, []int{1 << 10, 1 << 16, 1 << 18}, []int{1 << 10, 1 << 12, 1 << 15, 1 << 16, 1 << 18, 1 << 20})
	for name, h := range hostileRules {
		var b strings.Builder
		b.WriteString("User-agent: *\n")
		for i := 0; b.Len() < 500_000; i++ {
			b.WriteString("Disallow: " + h.rule(i) + "\n")
		}
		r := Parse([]byte(b.String())).Rules(RFC9309, "x")
		x := newIndex(r)
		least := [2]float64{}
		for i, n := range lengths {
			path := h.path(n)
			_, work := r.scan(path, FieldNone)
			_, indexed := x.findCounted(r, path, FieldNone)
			for k, work := range []int{work, indexed} {
				per := float64(work) / float64(len(path))
				if i == 0 {
					least[k] = per
				} else if per > 2*least[k] {
					t.Errorf("%s: %d bytes of path take %d steps, %.1f per byte; 1 KiB takes %.1f", name, len(path), work, per, least[k])
				}
				if most := 4*512_000 + (searchLimit+treeWork+nodeWork+sortWork)*len(path); work > most {
					t.Errorf("%s: %d bytes of path take %d steps, at most %d", name, len(path), work, most)
				}
			}
		}
	}
	for _, path := range []string{strings.Repeat("a", 1<<18), strings.Repeat("ab", 1<<17) + "c", hostileText(1 << 18), strings.Repeat("a", 1<<17) + strings.Repeat("b", 1<<17),
		hostile.Family{Coin: 1, Letters: hostile.Letters}.Text(1 << 18)} {
		tree := new(suffixTree)
		tree.read(path)
		tree.sortLeaves()
		size := int(unsafe.Sizeof(*tree)) + cap(tree.text) + 8*cap(tree.edges) +
			int(unsafe.Sizeof(treeNode{}))*cap(tree.nodes) + 8*cap(tree.regions.rows) + 8*cap(tree.block) + 4*(cap(tree.above)+cap(tree.order)+cap(tree.spare)+cap(tree.pairs))
		t.Logf("%.1f bytes of memory per byte of %.12s...", float64(size)/float64(len(path)), path)
		if size > 64*len(path) {
			t.Errorf("%d bytes of memory for %d of path", size, len(path))
		}
	}
}

// TestHostileRead: no file is slow to read, in any dialect and for any question.
// Each of these 500,000 bytes was quadratic once, or is what would be if
// something looked beyond its line. Nothing counts the bytes that are read, so this
// is a clock with two orders of magnitude of room, for a busy machine: a call takes
// 40 ms at most, most of them 10 ms, and what looks at each byte once for each takes minutes.
func TestHostileRead(t *testing.T) {
	if campaign.Race {
		t.Skip("the race detector takes ten times as long")
	}
	const size, limit = 500_000, 100 * 40 * time.Millisecond
	group := "User-agent: x\n"
	fill := func(head, line string) []byte {
		return []byte(head + strings.Repeat(line, size/len(line)))
	}
	products := ""
	for i := 0; len(products) < size; i++ {
		products += strings.Repeat(fmt.Sprintf("b%d/1,", i), 20)
	}
	names := group + "Content-Usage: "
	for i := 0; len(names) < size; i++ {
		names += strings.Repeat(fmt.Sprintf("a%d=y,", i), 20)
	}
	files := map[string][]byte{
		"misspelt, CR":            fill("", "disalow: /a\r"),
		"misspelt":                fill(group, "disalow: /a\n"),
		"user-agents":             fill("", "user-agent:x\n"),
		"user-agents, CR":         fill("", "user-agent:x\r"),
		"user-agents, blank":      fill("", "user-agent:x\n\n"),
		"no colon":                fill("", "a\n"),
		"no colon, CR":            fill("", "allow /\r"),
		"comment, then rules":     append(fill("#", "x"), fill("\n"+group, "allow:/\n")[:size/2]...),
		"one line":                fill(group+"allow:/", "a"),
		"long lines":              fill(group, "allow:/"+strings.Repeat("a", 70_000)+"\n"),
		"records":                 fill(group, "crawl-delay:1\nsitemap:/\rrequest-rate:1/1\n"),
		"names of usage":          []byte(strings.TrimSuffix(names, ",")),
		"names of signals":        []byte(strings.Replace(names, "Usage", "Signal", 1)),
		"paths of signals":        fill(group, "content-signal:/*a*b*c ai-train=no\n"),
		"products":                fill("User-agent: a/1 ", "b/1,"),
		"other products":          []byte("User-agent: a/1 " + products),
		"blanks":                  fill("", " \r"),
		"NUL and vertical blanks": fill(group, "allow:\v/\x00\n"),
	}
	for name, body := range files {
		// The three ways to read a line, and the end of a run at a blank line.
		for _, d := range campaign.Size([]Dialect{Yandex}, []Dialect{RFC9309, GoogleCPP, Yandex, Seznam}, Dialects()) {
			d.MaxFileBytes = 0
			var f *File
			var r *Rules
			p := Path{"/some/path"}
			callers := NewCallers(Caller{d, []string{"x"}}, Caller{d, []string{"a", "b"}}, Caller{d, []string{"b", "x"}}, Caller{d, []string{"nobody"}})
			for _, call := range []struct {
				name string
				do   func()
			}{
				{"Parse", func() { f = Parse(body) }},
				{"Rules", func() { r = f.Rules(d, "x") }},
				{"Match", func() { r.Match(p) }},
				{"Allowed", func() { Allowed(body, d, p, "x") }},
				{"Explain", func() { r.Explain(p) }},
				{"AppendJSON", func() { r.AppendJSON(nil, p) }},
				{"Sitemaps", func() { r.Sitemaps() }},
				{"RequestRates", func() { r.RequestRates() }},
				{"CrawlDelay", func() { r.CrawlDelay() }},
				{"ContentUsage", func() { r.ContentUsage(p) }},
				{"ContentSignals", func() { r.ContentSignals(p) }},
				{"Unknown", func() {
					for range r.Unknown() {
					}
				}},
				{"Lines", func() { r.Group().Lines() }},
				{"Crawlers", func() { f.Crawlers(d) }},
				{"Callers", func() { callers.Rules(f) }},
			} {
				took := limit + 1
				for try := 0; try < 5 && took > limit; try++ { // a machine that others use stops for seconds
					begun := time.Now()
					call.do()
					took = time.Since(begun)
				}
				if took > limit {
					t.Errorf("%s, %s: %s takes %v", name, d.Name, call.name, took)
				}
			}
		}
	}
}

// TestManyTokens: a caller's name may be a header that somebody sent, so that taking it
// apart is linear too. A million bytes take 80 ms at most, and took half a minute. The limit
// is two orders of magnitude above, as in TestHostileRead, for a busy machine.
func TestManyTokens(t *testing.T) {
	const names, limit = 120_000, 100 * 80 * time.Millisecond
	var header strings.Builder
	for i := range names {
		fmt.Fprintf(&header, "b%d/1 ", i)
	}
	f := Parse([]byte("User-agent: b77\nDisallow: /"))
	for name, call := range map[string]func() int{
		"ProductTokens": func() int { return len(ProductTokens(header.String())) },
		"Rules":         func() int { return len(f.Rules(RFC9309, header.String()).Tokens()) },
		"Rules, twice":  func() int { return len(f.Rules(RFC9309, header.String(), header.String()).Tokens()) },
	} {
		took := limit + 1
		for try := 0; try < 3 && took > limit; try++ { // a machine that others use stops for seconds
			begun := time.Now()
			if got := call(); got != names+1 {
				t.Fatalf("%s: %d tokens, want %d", name, got, names+1)
			}
			took = time.Since(begun)
		}
		if took > limit {
			t.Errorf("%s takes %v", name, took)
		}
	}
}

// TestReadOnce: what is ambiguous is read once for a caller in a lenient dialect, which takes
// several times as long as reading the rest. Once rules are made, the words that say what
// these lines are may go, and no answer changes.
func TestReadOnce(t *testing.T) {
	lines := []string{"User-agent: x", "disallow /a", "disallow a", "disalow: /b", "allow /b/c", "sitemap https://a.example/s", "crawldelay: 7", "useragent: y", "dissallow: /d"}
	body := []byte(strings.Join(lines, "\n"))
	at, r, p := 0, Parse(body).Rules(Google, "x"), Path{"/b/d"}
	answers := func() string {
		e := r.Explain(p)
		s := fmt.Sprintf("%s %v %v %v %d", r.AppendJSON(nil, p), r.Match(p), e.Steps, e.Notes, len(e.Matches))
		for rec := range r.Records() {
			s += fmt.Sprint(rec)
		}
		for l := range r.all() {
			s += fmt.Sprint(l)
		}
		return s
	}
	before := answers()
	for i, line := range lines {
		if i > 0 {
			body[at] = '#'
		}
		at += len(line) + 1
	}
	if after := answers(); after != before {
		t.Errorf("lines were read again:\n%s\nbefore:\n%s", after, before)
	}
	if fresh := Parse(body).Rules(Google, "x"); fresh.Len() > 0 {
		t.Errorf("%d rules of a file without any: the test proves nothing", fresh.Len())
	}
}

// hostileText is a text without order over two letters.
func hostileText(n int) string {
	rng := rand.New(rand.NewPCG(1, 3))
	b := make([]byte, n)
	for i := range b {
		b[i] = "ab"[rng.IntN(2)]
	}
	return string(b)
}

// TestSuffixTree compares the tree with plain matching.
func TestSuffixTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	draw := func(letters string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = letters[rng.IntN(len(letters))]
		}
		return string(b)
	}
	every := make([]byte, 256) // but for the star
	for i := range every {
		every[i] = byte(i)
	}
	every['*'] = '+'
	for range 3000 {
		letters := []string{"ab", "a", "abc", "/abcdefgh\xff\x00", string(every)}[rng.IntN(5)]
		path := draw(letters, 1+rng.IntN(200))
		if rng.IntN(2) == 0 {
			path += draw("z", rng.IntN(150)) + path // so that much occurs early and late
		}
		s := search{tree: newSuffixTree(path)}
		for range 30 {
			cut := func() string {
				if rng.IntN(4) == 0 {
					return draw(letters+"z", 1+rng.IntN(6))
				}
				i := rng.IntN(len(path))
				return path[i : i+1+rng.IntN(min(12, len(path)-i))]
			}
			piece := cut()
			want := []int{}
			for i := range len(path) {
				if strings.HasPrefix(path[i:], piece) {
					want = append(want, i)
				}
			}
			found := s.tree.locate(piece, load8(piece))
			last := s.tree.lastOf(found)
			if (found == 0) != (len(want) == 0) || len(want) > 0 && last != want[len(want)-1] {
				t.Fatalf("%q in %q: got %d, want %v", piece, path, last, want)
			}
			if found != 0 && found&leafBit == 0 {
				from := rng.IntN(last + 1)
				i := 0
				for want[i] < from {
					i++
				}
				got, sure := s.tree.after(&s.tree.nodes[found], from, piece)
				if !sure {
					got = from + strings.Index(path[from:], piece)
				}
				if got != want[i] {
					t.Fatalf("%q in %q from %d: got %d, want %d", piece, path, from, got, want[i])
				}
			}
			text := path[:rng.IntN(min(4, len(path)))] + "*" + draw("*", rng.IntN(2)) + piece
			for range rng.IntN(5) {
				text += "*" + cut()
			}
			text += draw("*", rng.IntN(2)) + draw("$", rng.IntN(2))
			if got, want := s.match(path, Pattern{text: text}), (Pattern{text: text}).match(path); got != want {
				t.Fatalf("%q on %q: got %v", text, path, got)
			}
		}
		s.done()
	}
}

// TestAfter compares the next occurrences that the tree tells with those that a plain search
// finds, in random texts and in runs, of lengths about which numbers and words change their size,
// and when there is no more room for sets.
func TestAfter(t *testing.T) {
	campaign.OneGoroutine(t)
	rng := rand.New(rand.NewPCG(7, 11))
	random := func(letters string) func(n int) string {
		return func(n int) string {
			b := make([]byte, n)
			for i := range b {
				b[i] = letters[rng.IntN(len(letters))]
			}
			return string(b)
		}
	}
	runs := func(words ...string) func(n int) string {
		return func(n int) string {
			var b strings.Builder
			for b.Len() < n {
				b.WriteString(strings.Repeat(words[rng.IntN(len(words))], 1+rng.IntN(60)))
			}
			return b.String()[:n]
		}
	}
	for name, text := range map[string]func(n int) string{
		"two letters": random("ab"),
		"40 letters":  random(hostile.Letters[:40]),
		"runs":        runs("a", "b", "c", "d"),
		"periods":     runs("ab", "abc", "aabb", "%C3%A9"),
		"one letter":  func(n int) string { return strings.Repeat("a", n) },
	} {
		made, full := false, false
		for _, n := range campaign.Size([]int{70, 1<<16 + 1}, []int{70, 1 << 11, 1<<15 + 1, 1<<16 + 1}, []int{70, 1 << 11, 1<<15 - 1, 1 << 15, 1<<15 + 1, 1<<16 - 1, 1 << 16, 1<<16 + 1, 1 << 18}) {
			path := text(n)
			for _, share := range []int{1, 8, 200} {
				tree := newSuffixTree(path)
				tree.sortLeaves()
				tree.ends = tree.ends[: 0 : cap(tree.ends)/share]
				// Longer pieces first, so that the room is full when those come that are more frequent.
				for k := 23_999; k >= 0; k-- {
					i := rng.IntN(n)
					piece := path[i:min(n, i+1+k%6000/600+rng.IntN(2))]
					node := tree.locate(piece, load8(piece))
					if node == 0 || node&leafBit != 0 {
						continue
					}
					v := &tree.nodes[node]
					from := rng.IntN(int(v.last) + 1)
					want := from + strings.Index(path[from:], piece)
					got, sure := tree.after(v, from, piece)
					if !sure {
						got = from + strings.Index(path[from:min(n, from+blockSize+len(piece)-1)], piece)
					}
					if got != want {
						t.Fatalf("%s, %d bytes: %q from %d on: got %d, want %d", name, n, piece, from, got, want)
					}
					made, full = made || len(tree.ends) > 0, full || tree.full
				}
				tree.free()
			}
		}
		if name == "two letters" && !(made && full) {
			t.Errorf("%s: sets made %v, the room for them full %v: the test is to see both", name, made, full)
		}
	}
}
