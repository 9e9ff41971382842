package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

const (
	fileLimit   = 512_000 // bytes of a file that are read, whole lines
	urlsPerFile = 8
	seed        = 9309 // of everything generated
)

// A query is the path of a URL, for our engine and for others.
type query struct {
	raw  string
	path robots.Path
}

func newQuery(raw string) query {
	p, err := robots.ParsePath(raw)
	if err != nil {
		panic(err) // the generators only make paths
	}
	return query{p.String(), p}
}

// A set is some files, and for each the crawler and its queries.
type set struct {
	bodies    [][]byte
	agents    []string
	queries   [][urlsPerFile]query
	byteCount int
}

func newSet(bodies [][]byte) *set {
	s := &set{}
	rng := newRand(1)
	for _, b := range bodies {
		s.add(b, [...]string{"Googlebot", anyBot}[rng.IntN(2)], makeQueries(rng, b))
	}
	return s
}

func (s *set) add(body []byte, agent string, q [urlsPerFile]query) {
	s.bodies = append(s.bodies, body)
	s.agents = append(s.agents, agent)
	s.queries = append(s.queries, q)
	s.byteCount += len(body)
}

// upTo returns the files of at most so many bytes.
func (s *set) upTo(most int) *set {
	o := &set{}
	for i, b := range s.bodies {
		if len(b) <= most {
			o.add(b, s.agents[i], s.queries[i])
		}
	}
	return o
}

func newRand(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// readCorpus reads every step-th file below dir that is not an HTML page, in the order of the names.
func readCorpus(dir string, step int) ([][]byte, error) {
	var bodies [][]byte
	n := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF")), " \t\r\n\v\f")
		if bytes.HasPrefix(text, []byte("<")) {
			return nil
		}
		if len(b) > fileLimit {
			b = b[:1+bytes.LastIndexAny(b[:fileLimit], "\r\n")]
		}
		if n++; n%step == 0 {
			bodies = append(bodies, bytes.Clone(b))
		}
		return nil
	})
	return bodies, err
}

// rulesOf returns the paths of all rules of a body as written.
func rulesOf(body []byte) []string {
	var paths []string
	f := robots.Parse(body)
	for l := range f.Lines(robots.Dialect{}) {
		if (l.Field == robots.FieldAllow || l.Field == robots.FieldDisallow) && l.Value.Start < l.Value.End {
			paths = append(paths, f.Text(l.Value))
		}
	}
	return paths
}

// sampleRules returns n distinct rules of the bodies.
func sampleRules(rng *rand.Rand, bodies [][]byte, n int) []string {
	seen := map[string]bool{}
	var all []string
	for _, b := range bodies {
		for _, r := range rulesOf(b) {
			if !seen[r] {
				seen[r] = true
				all = append(all, r)
			}
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(n, len(all))]
}

// makeQueries returns paths for one body: 40 % made from its own rules.
func makeQueries(rng *rand.Rand, body []byte) (q [urlsPerFile]query) {
	rules := rulesOf(body)
	for i := range q {
		q[i] = makeQuery(rng, rules)
	}
	return q
}

func makeQuery(rng *rand.Rand, rules []string) query {
	if len(rules) > 0 && rng.Float64() < 0.4 {
		return newQuery(fromRule(rng, rules[rng.IntN(len(rules))]))
	}
	return newQuery(somePath(rng, 20+rng.IntN(41)))
}

// fromRule makes a path that the rule matches or nearly matches: text for each star, no final '$',
// and text at the end.
func fromRule(rng *rand.Rand, rule string) string {
	var b strings.Builder
	b.WriteByte('/')
	rule = strings.TrimSuffix(rule, "$")
	for i := range len(rule) {
		switch {
		case rule[i] == '*':
			b.WriteString(word(rng))
		case rule[i] == '/' && b.Len() == 1: // no "//", which starts an authority
		default:
			b.WriteByte(rule[i])
		}
	}
	switch rng.IntN(4) {
	case 0:
		b.WriteString(word(rng))
	case 1:
		b.WriteString("/" + word(rng) + ".html")
	case 2:
		b.WriteString("?" + word(rng) + "=" + word(rng))
	}
	return b.String()
}

// somePath makes a path of n bytes.
func somePath(rng *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteByte('/')
		b.WriteString(word(rng))
		if rng.IntN(3) == 0 {
			fmt.Fprintf(&b, "-%d", rng.IntN(1000))
		}
	}
	return b.String()[:n]
}

var words = strings.Fields(`
	about account add-to-cart admin ajax amp api archive articles assets author
	backup basket blog brand browse cache calendar cart catalog category cgi-bin
	checkout comment compare config contact content core css customer data
	default download edit en error event export feed file filter forum gallery
	help home image images includes index item js language list login logout mail
	media member misc modules news node order page panel password photo plugins
	popup preview price print private product profile public register report
	review rss sale scripts search send service session shop site sort static
	store tag temp template test theme tmp topic track trackback upload user
	users view wishlist wp-admin wp-content wp-includes wp-json xmlrpc`)

func word(rng *rand.Rand) string { return words[rng.IntN(len(words))] }

// sizes holds quantiles of the size of real files in bytes; between them the
// logarithm is interpolated.
var sizes = []struct{ quantile, byteCount float64 }{
	{0, 24}, {0.10, 87}, {0.50, 619}, {0.90, 4527}, {0.99, 89403}, {1, 512_000},
}

// generateFiles makes n files with the statistics of files on the web: sizes p10, p50, p90, p99 of
// 87, 619, 4,527 and 89,403 bytes, a median of 13 rules, 13.5 % of the rules with '*' or '$', every
// third file with CRLF.
func generateFiles(n int) [][]byte {
	rng := newRand(2)
	bodies := make([][]byte, n)
	for i, k := range rng.Perm(n) {
		q := (float64(k) + rng.Float64()) / float64(n) // evenly over the quantiles
		k := 1
		for q > sizes[k].quantile {
			k++
		}
		a, b := sizes[k-1], sizes[k]
		t := (q - a.quantile) / (b.quantile - a.quantile)
		bodies[i] = generateFile(rng, int(math.Exp((1-t)*math.Log(a.byteCount)+t*math.Log(b.byteCount))))
	}
	return bodies
}

var bots = strings.Fields(`
	Bingbot Slurp DuckDuckBot Baiduspider YandexBot AhrefsBot SemrushBot MJ12bot
	dotbot GPTBot CCBot Twitterbot ia_archiver Mediapartners-Google AdsBot-Google
	Googlebot-Image msnbot SeznamBot PetalBot Bytespider`)

// generateFile makes one file of about the given size.
func generateFile(rng *rand.Rand, size int) []byte {
	end := "\n"
	if rng.IntN(3) == 0 {
		end = "\r\n"
	}
	b := make([]byte, 0, size+64)
	line := func(parts ...string) {
		for _, p := range parts {
			b = append(b, p...)
		}
		b = append(b, end...)
	}
	if size > 300 && rng.IntN(3) == 0 {
		line("# robots.txt of ", word(rng), ".example, see https://www.robotstxt.org/")
		line()
	}
	line("User-agent: *")
	// Some files then have a list of crawlers, most have rules.
	perGroup := 3
	if rng.IntN(4) > 0 {
		perGroup = 20 + rng.IntN(200)
	}
	if size < 40 {
		line("Disallow:")
	}
	for rules := 0; len(b) < size; {
		switch p := rng.Float64(); {
		case p < 0.70:
			directive := "Disallow: "
			if rng.IntN(8) == 0 {
				directive = "Allow: "
			}
			line(directive, generateRule(rng))
			rules++
		case p < 0.80:
			line("# ", word(rng), " ", word(rng), " ", word(rng), " ", word(rng), " ", word(rng))
		case p < 0.84:
			line("Sitemap: https://www.", word(rng), ".example/", word(rng), "/sitemap.xml")
		case p < 0.85:
			line("Crawl-delay: 10")
		default:
			line()
		}
		if rules >= perGroup {
			rules = 0
			line()
			for range 1 + rng.IntN(3) {
				agent := bots[rng.IntN(len(bots))]
				if rng.IntN(10) == 0 {
					agent = "Googlebot"
				}
				line("User-agent: ", agent)
			}
		}
	}
	return b
}

// generateRule makes one rule; 13.5 % hold '*' or '$', most of them without a
// literal head worth the name.
func generateRule(rng *rand.Rand) string {
	path := func(most int) string {
		var b strings.Builder
		for range 1 + rng.IntN(most) {
			b.WriteString("/" + word(rng))
		}
		if rng.IntN(3) == 0 {
			fmt.Fprintf(&b, "/%d", rng.IntN(100_000))
		}
		return b.String()
	}
	if rng.Float64() >= 0.135 {
		return path(3) + [...]string{"", "/", ".php", ".html"}[rng.IntN(4)]
	}
	switch rng.IntN(10) {
	case 0, 1:
		return "/*?" + word(rng) + "="
	case 2:
		return "/*&" + word(rng) + "=" + word(rng)
	case 3, 4:
		return "/*/" + word(rng) + "/" + word(rng)
	case 5:
		return "*" + path(2)
	case 6:
		return fmt.Sprintf("/*%s-%d.%s$", word(rng), rng.IntN(1000), [...]string{"pdf", "php", "doc", "js"}[rng.IntN(4)])
	case 7:
		return path(2) + "/*/" + word(rng)
	case 8:
		return path(2) + "/*?*" + word(rng)
	default:
		return path(3) + "$"
	}
}

// literalRules makes n distinct rules of 30 to 40 bytes without a wildcard.
func literalRules(rng *rand.Rand, n int) []string {
	seen := map[string]bool{}
	for len(seen) < n {
		r := somePath(rng, 24+rng.IntN(11))
		r += fmt.Sprintf("%06d", rng.IntN(1_000_000))
		seen[r] = true
	}
	return keys(rng, seen)
}

// keys returns the keys in an order that depends only on rng.
func keys(rng *rand.Rand, m map[string]bool) []string {
	all := make([]string, 0, len(m))
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// fileOf is one group for all crawlers with the given rules.
func fileOf(rules []string) []byte {
	var b bytes.Buffer
	b.WriteString("User-agent: *\n")
	for _, r := range rules {
		b.WriteString("Disallow: " + r + "\n")
	}
	return b.Bytes()
}

// A problem is one file with one group and the paths to ask about.
type problem struct {
	rules   int
	body    []byte
	queries []query
}

// problem returns a file of n rules, literal ones or those of the files, and 512 paths, 40 % made from the rules.
func (s *set) problem(kind string, n int) problem {
	rng := newRand(5)
	rules := literalRules(rng, n)
	if kind == "mixed" {
		rules = sampleRules(rng, s.bodies, n)
	}
	p := problem{rules: len(rules), body: fileOf(rules)}
	for range 512 {
		p.queries = append(p.queries, makeQuery(rng, rules))
	}
	return p
}

// urls returns the queries as whole URLs, each file on a host of its own, urlsPerFile for each.
func (s *set) urls() (urls []string) {
	for i, queries := range s.queries {
		for _, q := range queries {
			urls = append(urls, fmt.Sprintf("https://www.site%d.example%s", i, q.raw))
		}
	}
	return urls
}
