package crawlers

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
)

// agree compares the crawlers of a set together and alone.
func agree(t *testing.T, together *robots.Crawlers, list []Crawler, f *robots.File) (shared int) {
	t.Helper()
	all := together.Rules(f)
	for i, c := range list {
		want, got := f.Rules(c.ReadAs(), c.Tokens...), all[i]
		if got.Group().Token() != want.Group().Token() || got.Len() != want.Len() ||
			!slices.Equal(got.Group().Lines(), want.Group().Lines()) || got.Dialect() != want.Dialect() {
			t.Fatalf("%s in %q: together group %q of lines %v, %d rules; alone %q of lines %v, %d rules", c.Name, f.Bytes(),
				got.Group().Token(), got.Group().Lines(), got.Len(), want.Group().Token(), want.Group().Lines(), want.Len())
		}
		path := robots.RawPath("/a/b")
		if g, w := got.Match(path).String(), want.Match(path).String(); g != w {
			t.Fatalf("%s in %q: together it is %s, alone %s", c.Name, f.Bytes(), g, w)
		}
		if i > 0 && all[i] == all[i-1] {
			shared++
		}
	}
	return shared
}

// TestCallers: crawlers have the same verdicts together and alone, for any user-agent lines.
func TestCallers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	all := All()
	for range campaign.Size(20, 150, 5000) {
		var list []Crawler
		dialects := robots.Dialects()
		for range 60 {
			c := all[rng.IntN(len(all))]
			if rng.IntN(3) == 0 {
				c.Dialect = dialects[rng.IntN(len(dialects))].Name
			}
			list = append(list, c)
		}
		agree(t, Callers(list), list, robots.Parse(randomFile(rng, list)))
	}
}

// randomFile returns a random file whose user-agent lines have names from a list, similar names
// and others.
func randomFile(rng *rand.Rand, list []Crawler) []byte {
	var b strings.Builder
	for range 1 + rng.IntN(12) {
		field := []string{"User-agent: ", "user-agent:", "User agent: ", "User-agent ", " \xef\xbb\xbf useragent :", "USER-AGENTS: ", "\v\fuser-agent:\x00", "# user-agent: "}[rng.IntN(8)]
		tokens := list[rng.IntN(len(list))].Tokens
		name := tokens[rng.IntN(len(tokens))]
		switch rng.IntN(8) {
		case 0:
			name = "*"
		case 1:
			name += []string{"/1.0", "*", "2", " more", "-x", "/2.0 (compatible; " + list[0].Name + "/1.0)"}[rng.IntN(6)]
		case 2:
			name = "Mozilla/5.0 (compatible; " + name + "/2.1; +http://x/)"
		case 3:
			name = strings.ToUpper(name)
		case 4:
			name = name[:1+rng.IntN(len(name))]
		}
		b.WriteString(field + name + []string{"\n", "\n", "\r", "\r\n"}[rng.IntN(4)])
		if rng.IntN(3) > 0 {
			b.WriteString([]string{"Disallow: /\n", "Disallow: /a\n", "Allow: /a/\n", "Disallow:\n", "Crawl-delay: 3\n", "\n"}[rng.IntN(6)])
		}
	}
	return []byte(b.String())
}

var review = flag.Bool("review", false, "print what the directory lacks, and what is old (make crawlers)")

// TestRealFiles: which part of the names in real files the directory contains. It contains every
// name that is in three of a thousand files.
func TestRealFiles(t *testing.T) {
	all := All()
	together := Callers(all)
	files := map[string]int{} // that name a value, in lower case
	read, lines, known, shared := 0, 0, 0, 0
	part := campaign.Size(64, 16, 1)
	if *review {
		part = 1
	}
	campaign.Files(t, part, func(_ string, body []byte) {
		f := robots.Parse(body)
		if read++; read%8 == 0 {
			shared += agree(t, together, all, f)
		}
		in := map[string]bool{}
		for l := range f.Lines(robots.Dialect{}) {
			value := strings.ToLower(f.Text(l.Value))
			if l.Field != robots.FieldUserAgent || value == "*" || value == "" {
				continue
			}
			lines++
			if _, ok := Find(value); ok {
				known++
			}
			in[value] = true
		}
		for value := range in {
			files[value]++
		}
	})
	t.Logf("%d of %d user-agent lines that name somebody are known, %.1f %%, in %d files", known, lines, 100*float64(known)/float64(max(lines, 1)), read)
	t.Logf("%d crawlers had the rules of the one before them", shared)
	values := slices.Collect(maps.Keys(files))
	slices.SortFunc(values, func(a, b string) int {
		if files[a] != files[b] {
			return files[b] - files[a]
		}
		return strings.Compare(a, b)
	})
	printed := 0
	for _, v := range values {
		if _, ok := Find(v); ok {
			continue
		}
		if part == 1 && 1000*files[v] >= 3*read {
			t.Errorf("%d of %d files name %q, which the directory does not know", files[v], read, v)
		} else if *review && printed < 60 {
			t.Logf("not known: %4d files name %q", files[v], v)
			printed++
		}
	}
}

// TestReview prints the entries whose latest source was seen more than a year ago. It fails for
// none.
func TestReview(t *testing.T) {
	if !*review {
		t.Skip("only with -review (make crawlers)")
	}
	limit := time.Now().AddDate(-1, 0, 0).Format(time.DateOnly)
	undated := 0
	for _, c := range All() {
		youngest, web := "", false
		for _, s := range c.Sources {
			if isURL(s.Document) {
				web = true
				if s.Seen != Unknown {
					youngest = max(youngest, s.Seen)
				}
			}
		}
		switch {
		case web && youngest == "":
			undated++
			t.Logf("no date: %s, %s", c.Name, c.Sources[0].Document)
		case web && youngest < limit:
			t.Logf("old: %s, seen %s, %s", c.Name, youngest, c.Sources[0].Document)
		}
	}
	t.Logf("%d entries have no source with a date", undated)
}
