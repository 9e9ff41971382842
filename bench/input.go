package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
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

// A file is a robots.txt, a crawler and its queries.
type file struct {
	body    []byte
	agent   string
	queries []query
}

func newFiles(bodies [][]byte) []file {
	rng := newRand(1)
	var files []file
	for _, b := range bodies {
		f := file{body: b}
		rules := rulesOf(b)
		for range urlsPerFile {
			f.queries = append(f.queries, makeQuery(rng, rules))
		}
		f.agent = [...]string{"Googlebot", anyBot}[rng.IntN(2)]
		files = append(files, f)
	}
	return files
}

// upTo returns the files of at most so many bytes.
func upTo(most int, files []file) []file {
	return slices.DeleteFunc(slices.Clone(files), func(f file) bool { return len(f.body) > most })
}

func byteCount(files []file) (n int) {
	for _, f := range files {
		n += len(f.body)
	}
	return n
}

func newRand(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

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

// sampleRules returns n distinct rules of the files.
func sampleRules(rng *rand.Rand, files []file, n int) []string {
	var all []string
	for _, f := range files {
		all = append(all, rulesOf(f.body)...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(n, len(all))]
}

// makeQuery returns a path, made from one of the rules with a probability of 40 %.
func makeQuery(rng *rand.Rand, rules []string) query {
	if len(rules) > 0 && rng.Float64() < 0.4 {
		return newQuery(fromRule(rng, rules[rng.IntN(len(rules))]))
	}
	return newQuery(somePath(rng, 20+rng.IntN(41)))
}

// fromRule makes a path that the rule matches or nearly matches: text for each star, no final '$',
// and text at the end. It does not begin with "//", which starts an authority.
func fromRule(rng *rand.Rand, rule string) string {
	path := "/" + strings.TrimLeft(strings.TrimSuffix(rule, "$"), "/")
	for strings.Contains(path, "*") {
		path = strings.Replace(path, "*", word(rng), 1)
	}
	return path + inWords(rng, [...]string{"W", "/W.html", "?W=W", ""}[rng.IntN(4)])
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

// generateFiles makes n files with the statistics of files on the web: sizes p10, p50, p90 of about 80, 619 and 4,800
// bytes, 13.5 % of the rules with '*' or '$', every third file with CRLF.
func generateFiles(n int) [][]byte {
	rng := newRand(2)
	bodies := make([][]byte, n)
	for i := range bodies {
		size := int(min(max(619*math.Exp(1.6*rng.NormFloat64()), 24), fileLimit))
		end := [...]string{"\n", "\n", "\r\n"}[rng.IntN(3)]
		text := "User-agent: *"
		for b := []byte(nil); len(b) < size; text = generateLine(rng) {
			b = append(append(b, text...), end...)
			bodies[i] = b
		}
	}
	return bodies
}

var bots = strings.Fields(`
	Bingbot Slurp DuckDuckBot Baiduspider YandexBot AhrefsBot SemrushBot MJ12bot
	dotbot GPTBot CCBot Twitterbot ia_archiver Mediapartners-Google AdsBot-Google
	Googlebot-Image msnbot SeznamBot PetalBot Bytespider Googlebot Googlebot`)

func generateLine(rng *rand.Rand) string {
	switch p := rng.Float64(); {
	case p < 0.61:
		return "Disallow: " + generateRule(rng)
	case p < 0.70:
		return "Allow: " + generateRule(rng)
	case p < 0.78:
		return inWords(rng, "# W W W W W")
	case p < 0.82:
		return inWords(rng, "Sitemap: https://www.W.example/W/sitemap.xml")
	case p < 0.83:
		return "Crawl-delay: 10"
	case p < 0.88: // a list of crawlers, or one with rules of its own
		return "User-agent: " + bots[rng.IntN(len(bots))]
	}
	return ""
}

var (
	literals  = strings.Fields("/W-N /W-N/ /W.php /W/W-N /W/W.html /W/W/W /W/W/W/N")
	wildcards = strings.Fields("/*?W= /*&W=W /*/W/W */W/W /*W-N.pdf$ /W/W/*/W /W/*?*W /W/W/W$ /W.html$") // most without a literal head
)

// generateRule makes one rule.
func generateRule(rng *rand.Rand) string {
	if rng.Float64() < 0.135 {
		return inWords(rng, wildcards[rng.IntN(len(wildcards))])
	}
	return inWords(rng, literals[rng.IntN(len(literals))])
}

// inWords replaces each W by a word and each N by a number.
func inWords(rng *rand.Rand, shape string) string {
	var b strings.Builder
	for i := range len(shape) {
		switch shape[i] {
		case 'W':
			b.WriteString(word(rng))
		case 'N':
			fmt.Fprint(&b, rng.IntN(100_000))
		default:
			b.WriteByte(shape[i])
		}
	}
	return b.String()
}

// literalRules makes n distinct rules of 30 to 40 bytes without a wildcard.
func literalRules(rng *rand.Rand, n int) []string {
	rules := make([]string, n)
	for i := range rules {
		rules[i] = somePath(rng, 24+rng.IntN(11)) + fmt.Sprintf("%06d", i)
	}
	return rules
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

// newProblem returns a file of n rules, literal ones or those of the files, and 512 paths, 40 % made from the rules.
func newProblem(files []file, kind string, n int) problem {
	rng := newRand(5)
	rules := literalRules(rng, n)
	if kind == "mixed" {
		rules = sampleRules(rng, files, n)
	}
	p := problem{rules: len(rules), body: fileOf(rules)}
	for range 512 {
		p.queries = append(p.queries, makeQuery(rng, rules))
	}
	return p
}

// urlsOf returns the queries as whole URLs, each file on a host of its own, urlsPerFile for each.
func urlsOf(files []file) (urls []string) {
	for i, f := range files {
		for _, q := range f.queries {
			urls = append(urls, fmt.Sprintf("https://www.site%d.example%s", i, q.raw))
		}
	}
	return urls
}
