package robots

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

// A caller is a crawler to add to Crawlers.
type caller struct {
	Dialect Dialect
	Tokens  []string
}

func crawlersOf(list ...caller) *Crawlers {
	all := new(Crawlers)
	for _, k := range list {
		all.Add(k.Dialect, k.Tokens...)
	}
	return all
}

// said is everything that rules report about themselves and about a path.
func said(r *Rules, path string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q %q %v %d rules", r.Dialect().Name, r.Tokens(), r.Group().Token(), r.Group().Lines(), r.Len())
	for rule := range r.All() {
		fmt.Fprintf(&b, "\n%d %s %q %d", rule.Line(), rule, rule.Pattern().String(), rule.Weight())
	}
	for rec := range r.Records() {
		fmt.Fprintf(&b, "\n%+v", rec)
	}
	p := Path{path}
	fmt.Fprintf(&b, "\n%v %s %+v %s", r.Allowed(p), r.Match(p), r.Explain(p), r.AppendJSON(nil, JSONLimits{}))
	return b.String()
}

// likeNobody returns a dialect with other values in some of the fields that affect how a file is
// read, so that dialects differ in more ways than the eight do.
func likeNobody(rng *rand.Rand, d Dialect) Dialect {
	v := reflect.ValueOf(&d).Elem()
	for i := range v.NumField() {
		if rng.IntN(5) > 0 {
			continue
		}
		switch f := v.Field(i); {
		case v.Type().Field(i).Name == "MaxFileBytes":
			f.SetInt(int64(1 + rng.IntN(200)))
		case v.Type().Field(i).Name == "MaxLineBytes":
			f.SetInt(int64(rng.IntN(2) * lineLimitYandex))
		case f.Kind() == reflect.Bool:
			f.SetBool(!f.Bool())
		case f.Kind() == reflect.Uint8:
			f.SetUint(uint64(rng.IntN(3))) // each kind has so many values
		}
	}
	return d
}

// checkCrawlers compares the rules of crawlers in a list with those of each alone, both copied
// and shared rules.
func checkCrawlers(t *testing.T, body []byte, path string, more ...string) {
	t.Helper()
	f := Parse(body)
	rng := rand.New(rand.NewPCG(uint64(len(body)), uint64(len(path))))
	var list []caller
	dialects := Dialects()
	for _, d := range Dialects() {
		dialects = append(dialects, likeNobody(rng, d))
	}
	rng.Shuffle(len(dialects), func(i, k int) { dialects[i], dialects[k] = dialects[k], dialects[i] })
	for _, d := range dialects {
		lists := [][]string{more, append([]string{"b"}, more...)}
		for i := rng.IntN(4); i < len(testTokens); i += 4 {
			lists = append(lists, testTokens[i])
		}
		for name := range f.Lines(d) {
			if len(name.Names) > 0 && len(lists) < 12 {
				lists = append(lists, name.Names[len(name.Names)-1:])
			}
		}
		for _, tokens := range lists {
			list = append(list, caller{d, tokens})
		}
	}
	all, p := crawlersOf(list...), Path{path}
	for _, least := range []int{minCopied, -8*len(body) - 1} { // copies, the pool
		for i, got := range all.rules(func(Dialect) *Rules { return &Rules{file: f} }, least) {
			k := list[i]
			want := f.Rules(k.Dialect, k.Tokens...)
			if g, w := fmt.Sprint(got.Match(p), got.Group().Lines()), fmt.Sprint(want.Match(p), want.Group().Lines()); g != w {
				t.Fatalf("%s %q %q %q: together %s, alone %s", k.Dialect.Name, k.Tokens, path, body, g, w)
			}
			if copied := got.WithState(State{}); !slices.Equal(copied.Tokens(), got.Tokens()) {
				t.Fatalf("%s %q: a copy is for %q, not %q", k.Dialect.Name, k.Tokens, copied.Tokens(), got.Tokens())
			}
			if len(got.Tokens()) == 0 { // no line names it
				want = f.Rules(k.Dialect)
			}
			if g, w := said(got, path), said(want, path); g != w {
				t.Fatalf("%s %q %q %q\ntogether %s\nalone    %s", k.Dialect.Name, k.Tokens, path, body, g, w)
			}
		}
	}
}

// TestCrawlersState: the rules of each crawler have the state of the fetch. If no file decides,
// all crawlers of the dialect have the same rules.
func TestCrawlersState(t *testing.T) {
	f := Parse([]byte("User-agent: a\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n"))
	none := DisallowAll(Bing, ReasonUnreachable)
	list := []caller{{Google, []string{"a"}}, {Bing, []string{"a"}}, {Google, []string{"b"}}, {Google, []string{"APIs-Google"}}}
	asked := 0
	for i, r := range crawlersOf(list...).RulesBy(func(d Dialect) *Rules {
		if asked++; d == Bing {
			return none
		}
		return f.Rules(d).WithState(State{Note: "known"}).UserInitiated()
	}) {
		want := f.Rules(Google, list[i].Tokens...)
		switch {
		case list[i].Dialect == Bing:
			if r != none {
				t.Errorf("caller %d has other rules where no file gives any", i)
			}
		case r.State() == nil || r.State().Note != "known" || r.Match(RawPath("/a")).Reason != ReasonUserInitiated ||
			!slices.Equal(r.Group().Lines(), want.Group().Lines()) || r.Dialect() != Google:
			t.Errorf("caller %d: %v, lines %v, want %v", i, r.Match(RawPath("/a")), r.Group().Lines(), want.Group().Lines())
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times for two dialects", asked)
	}
	for i, r := range crawlersOf(list...).RulesBy(func(Dialect) *Rules { return nil }) {
		if v := r.Match(RawPath("/")); v.Allowed || v.Reason != ReasonInvalid {
			t.Errorf("caller %d of no rules: %v", i, v)
		}
	}
}

// TestCrawlersPool: groups with equal rules in one list are distinguished, however often they
// are matched.
func TestCrawlersPool(t *testing.T) {
	var rules strings.Builder
	for i := range 2 * scanMost {
		fmt.Fprintf(&rules, "Disallow: /p%d/\n", i)
	}
	f := Parse([]byte("User-agent: a\n" + rules.String() + "User-agent: b\n" + rules.String()))
	both := crawlersOf(caller{RFC9309, []string{"a"}}, caller{RFC9309, []string{"b"}}).rules(func(Dialect) *Rules { return &Rules{file: f} }, -9*len(rules.String()))
	for i, r := range both {
		if r.memberBits == nil {
			t.Fatal("not in the pool")
		}
		want := 2 + 7 + i*(1+2*scanMost)
		for range 4 * indexAfter {
			if got := r.Match(RawPath("/p7/")).Rule.Line(); got != want {
				t.Fatalf("caller %d has line %d, want %d", i, got, want)
			}
		}
	}
}

// TestCrawlersHostile: the rules of a file that names all crawlers in groups of their own and
// again in one group of all rules take bounded memory: the copied rules, and one bit for each
// rule and crawler. For each crawler alone, the whole file would be copied.
func TestCrawlersHostile(t *testing.T) {
	const callers, size = 540, 500_000
	var b strings.Builder
	var list []caller
	for i := range callers {
		name := "bot" + strconv.Itoa(i) + "x"
		list = append(list, caller{RFC9309, []string{name}})
		fmt.Fprintf(&b, "User-agent: %s\nDisallow: /%d\n\n", name, i)
	}
	for _, k := range list {
		fmt.Fprintf(&b, "User-agent: %s\n", k.Tokens[0])
	}
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "Disallow: /p%d/\n", i)
	}
	f := Parse([]byte(b.String()))
	all := crawlersOf(list...).Rules(f)
	parts, copied, marked := map[*uint64]bool{}, 0, 0
	rules := map[*rule]bool{}
	for i, r := range all {
		if want := f.Rules(RFC9309, list[i].Tokens...); i%90 == 0 && said(r, "/p77/") != said(want, "/p77/") {
			t.Fatalf("caller %d is answered otherwise alone", i)
		}
		if !rules[&r.rules[0]] {
			rules[&r.rules[0]] = true
			copied += len(r.rules)
		}
		if r.memberBits != nil && !parts[&r.memberBits[0]] {
			parts[&r.memberBits[0]] = true
			marked += 8 * len(r.memberBits)
		}
	}
	n := all[0].Len() + callers - 1 // of the file
	bytes := copied*(int(unsafe.Sizeof(rule{}))+9) + marked + callers*int(unsafe.Sizeof(*all[0]))
	if copied > 9*n+minCopied || marked > callers*(n/8+8) || bytes > 32*size {
		t.Errorf("%d of %d rules are copied, %d bytes of marks, %d bytes in all", copied, n, marked, bytes)
	}
}

// TestCrawlersMentions: crawlers that are chosen by the same token share the lines that name it.
func TestCrawlersMentions(t *testing.T) {
	f := Parse([]byte(strings.Repeat("User-agent: a\nDisallow: /\n", 1000)))
	var list []caller
	for i := range 100 {
		list = append(list, caller{RFC9309, []string{"b" + strconv.Itoa(i), "a"}})
	}
	all := crawlersOf(list...).Rules(f)
	for i, r := range all {
		if len(r.agentLines) != 1000 || &r.agentLines[0] != &all[0].agentLines[0] {
			t.Fatalf("caller %d has a copy of the %d lines", i, len(r.agentLines))
		}
		if !slices.Equal(r.Tokens(), list[i].Tokens) {
			t.Fatalf("caller %d has the tokens %q", i, r.Tokens())
		}
	}
}

// TestCrawlersGroups: for crawlers that each have a group of their own, all that is allocated is in proportion
// to the file.
func TestCrawlersGroups(t *testing.T) {
	allocated := func(groups int) uint64 {
		var b strings.Builder
		var list []caller
		for i := range groups {
			list = append(list, caller{RFC9309, []string{"bot" + strconv.Itoa(i) + "x"}})
			fmt.Fprintf(&b, "User-agent: bot%dx\nDisallow: /%d\n", i, i)
		}
		f := Parse([]byte(b.String()))
		all := crawlersOf(list...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		all.Rules(f)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	allocated(10) // fills the pools
	if few, many := allocated(2000), allocated(8000); many > 6*few {
		t.Errorf("%d bytes for 2,000 groups, %d for 8,000", few, many)
	}
}
