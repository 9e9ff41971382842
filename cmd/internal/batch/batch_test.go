package batch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/quote"
)

// thirteen is a typical file of a shop.
const thirteen = "User-agent: *\nDisallow: /a/\nDisallow: /search\nDisallow: /*?sort=\nAllow: /a/public/\nDisallow: /cart\nDisallow: /checkout\n" +
	"Disallow: /private/*.html$\nDisallow: /tmp/\nAllow: /tmp/x\nDisallow: /login\nDisallow: /*.pdf$\nDisallow: /admin/\nDisallow: /api/*/internal\n" +
	"Sitemap: https://shop.example/sitemap.xml\n"

// TestAllocations limits the cost of a line with its own file.
func TestAllocations(t *testing.T) {
	const lines, most = 64, 16
	var texts [lines][]byte
	for i := range texts {
		texts[i], _ = json.Marshal(map[string]any{"id": i, "url": fmt.Sprintf("/a/%d?sort=", i), "robots": fmt.Sprint(thirteen, "Disallow: /", i), "agent": fmt.Sprint("Bot", 'A'+i%3)})
	}
	a := NewAnswerer(&Defaults{Dialect: robots.RFC9309})
	dst := make([]byte, 0, 1024)
	answer := func() {
		for i := range texts {
			q := Read(texts[i])
			if dst = a.Append(dst[:0], &q); !bytes.Contains(dst, []byte(`"allowed":false`)) {
				t.Fatalf("%s: %s", texts[i], dst)
			}
		}
	}
	got := testing.AllocsPerRun(10, answer) / lines
	if t.Logf("%.2f allocations per line", got); got > most {
		t.Errorf("%.2f allocations per line, want at most %v", got, most)
	}
}

// TestRemembers compares an answerer that has answered many lines with a new one: what it keeps
// changes no answer.
func TestRemembers(t *testing.T) {
	defaults := &Defaults{Dialect: robots.RFC9309, File: robots.Parse([]byte("User-agent: *\nDisallow: /of-the-call\n"))}
	kept := NewAnswerer(defaults)
	quoted := func(s string) string { return string(quote.Append(nil, s)) }
	members := [][]string{
		{``, `,"agent":"Googlebot"`, `,"agent":["a","b"]`, `,"agent":["b","a"]`, `,"agent":"a,b"`, `,"agent":7`, `,"agent":["a",1]`, `,"agent":"Mozilla/5.0 (compatible; A/1)"`, `,"agent":null`, `,"agent":""`},
		{
			``, `,"robots":` + quoted(thirteen), `,"robots":` + quoted("User-agent: a\nDisallow: /a\nUser-agent: b\nCrawl-delay: 5\n"),
			`,"robots":"\u00e9\ud83d\ude00"`, `,"robots":"User-agent: b\nDisallow: /"`, `,"robots":"User-agent: a\nDisallow: /"`, `,"robots":{}`, `,"robots_b64":"VXNlci1hZ2VudDogKgpEaXNhbGxvdzogLwo="`,
			`,"robots_b64":"` + strings.Repeat("%", 200) + `"`, `,"robots":"","robots_b64":""`, `,"robots":` + quoted("Sitemap: x\nUser-agent: *\nRequest-rate: 1/5\nDisallow: /"+strings.Repeat("x", 2000)),
		},
		{``, `,"dialect":"google"`, `,"dialect":"google-cpp"`, `,"dialect":"bing"`, `,"dialect":"all"`, `,"dialect":"nobody"`},
		{``, ``, `,"max_bytes":20`, `,"max_bytes":0`, `,"max_bytes":-1`},
		{`,"url":"/a"`, `,"url":"/of-the-call"`, `,"url":"/a?\ud800"`, `,"url":"x"`, ``, `,"url":1`},
		{``, ``, ``, `,"Url":"/"`, `}`, `,"at":"never"`},
	}
	r := rand.New(rand.NewPCG(5, 6))
	var line []byte
	for i := range 20_000 {
		if i == 0 || r.IntN(4) > 0 { // else the line before once more
			line = fmt.Appendf(nil, `{"id":%d`, r.IntN(9))
			for _, m := range members {
				line = append(line, m[r.IntN(len(m))]...)
			}
			line = append(line, '}')
		}
		q, again := Read(line), Read(bytes.Clone(line))
		got := kept.Append(nil, &q)
		if want := NewAnswerer(defaults).Append(nil, &again); !bytes.Equal(got, want) {
			t.Fatalf("line %d: %s\ngot  %s\nwant %s", i+1, line, got, want)
		}
	}
}
