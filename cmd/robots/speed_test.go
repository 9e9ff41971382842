package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
)

// thirteen is a file as shops have them.
const thirteen = "User-agent: *\nDisallow: /a/\nDisallow: /search\nDisallow: /*?sort=\nAllow: /a/public/\nDisallow: /cart\nDisallow: /checkout\n" +
	"Disallow: /private/*.html$\nDisallow: /tmp/\nAllow: /tmp/x\nDisallow: /login\nDisallow: /*.pdf$\nDisallow: /admin/\nDisallow: /api/*/internal\n" +
	"Sitemap: https://shop.example/sitemap.xml\n"

// TestListAllocations: what a URL of a list costs is bounded. What belongs to a chunk of
// lines is shared by the URLs in it.
func TestListAllocations(t *testing.T) {
	const urls, most = chunkLines, 0.2 // a part of what belongs to the chunk
	var in strings.Builder
	for i := range urls {
		fmt.Fprintf(&in, "https://shop.example/%s/page?of=%d\n", []string{"a", "b", "tmp"}[i%3], i)
	}
	for _, format := range []string{formatText, formatJSON} {
		c := newCall(&streams{in: strings.NewReader(in.String()), now: time.Now})
		c.format, c.dialects = format, []robots.Dialect{robots.RFC9309}
		c.file, c.tokens = robots.Parse([]byte(thirteen)), []string{"*"}
		c.compileAll(source{File: c.file})
		dst := make([]byte, 0, 512)
		got := testing.AllocsPerRun(10, func() {
			answers := 0
			take := func(_ context.Context, p *piece) bool {
				c.width = p.width
				for i := range p.pages {
					page := &p.pages[i]
					c.verdict = c.rules[0].Match(page.paths[0])
					if format == formatJSON {
						dst = appendCheck(dst[:0], c.rules[0], page.url, c.verdict, nil)
					} else {
						dst = c.appendLine(dst[:0], page)
					}
					answers++
				}
				return true
			}
			list := urlList{call: c, take: take, pause: func(context.Context) bool { return true }}
			c.std.in, c.args = strings.NewReader(in.String()), []string{"-"}
			list.read(t.Context())
			if answers != urls {
				t.Fatalf("%d answers to %d URLs", answers, urls)
			}
		}) / urls
		if t.Logf("%s: %.2f allocations per URL", format, got); got > most {
			t.Errorf("%s: %.2f allocations per URL, want at most %v", format, got, most)
		}
	}
}

// TestListIsPlain compares the lines of check with the obvious way to write them, which
// makes every part of each line anew.
func TestListIsPlain(t *testing.T) {
	const text = thirteen + "User-agent: Bot\nAllow: /caf\xc3\xa9\nDisallow: /\xff\nDisallow: /a\x07*b\nUser-agent: BOT\nAllow: /*.php\nDisallow: /*.php$\nDisallow:\n\nUser-agent: bot\nuser-agent:bot\nuser-agent:bot\nuser-agent:bot\nuser-agent:bot\nuser-agent:bot\nDisallow: /z\n"
	file := writeFile(t, text)
	r := rand.New(rand.NewPCG(3, 4))
	parts := []string{"/", "a", "search", "public/", "caf\u00e9", "%2f", "\xff", "\x07b", ".php", "?sort=", "\u202e", "tmp/x", ".pdf", "z", "//", "#f", "\u65e5\u672c"}
	var in strings.Builder
	var urls []string
	for range campaign.Size(200, 2000, 10_000) {
		url := "https://shop.example/"
		for range r.IntN(12) {
			url += parts[r.IntN(len(parts))]
		}
		urls = append(urls, url)
		in.WriteString(url + []string{"\n", "\r\n", "\n \n"}[r.IntN(3)])
	}
	for _, d := range robots.Dialects() {
		for _, agent := range []string{"*", "bot", "other"} {
			for _, colour := range []string{colourNever, colourAlways} {
				var out bytes.Buffer
				run(t.Context(), []string{"check", "-f", file, "-d", d.Name, "-a", agent, "--color", colour, "-"}, strings.NewReader(in.String()), &out, io.Discard)
				rules := robots.Parse([]byte(text)).Rules(d, agent)
				answers := strings.Split(out.String(), "\n")
				if len(answers) != len(urls)+1 {
					t.Fatalf("%s: %d answers to %d URLs", d.Name, len(answers)-1, len(urls))
				}
				for i, url := range urls {
					_, path, err := robots.ParseURL(url)
					if d.Escapes == robots.EscapesRaw {
						path = robots.RawPath(url)
					} else if err != nil {
						t.Fatal(err)
					}
					start, end := plainLine(palette{colour == colourAlways}, rules.Match(path), robots.Printable(url))
					middle, cut := strings.CutPrefix(answers[i], start)
					middle, cut2 := strings.CutSuffix(middle, end)
					if !cut || !cut2 || strings.Trim(middle, " ") != "" || !strings.HasPrefix(middle, "  ") {
						t.Fatalf("%s, %s: %q\ngot  %q\nwant %q, blanks, %q", d.Name, agent, url, answers[i], start, end)
					}
					if column := utf8.RuneCountInString(robots.Printable(url)) + len(middle) - 2; i > chunkLines && column < maxURLColumn {
						t.Fatalf("%q: the reason stands in column %d", answers[i], column)
					}
				}
			}
		}
	}
}

// plainLine returns what stands before and behind the blanks of a line of check.
func plainLine(p palette, v robots.Verdict, url string) (start, end string) {
	style := map[string]string{"allow": green, "disallow": red, "undefined": yellow}[v.Word()]
	because := v.Reason.Sentence()
	if !v.Rule.IsZero() {
		because = fmt.Sprintf("line %d: %s", v.Rule.Line(), v.Rule)
	}
	if v.Undefined {
		weighs := map[bool]string{true: "allow", false: "disallow"}[v.Allowed]
		because = fmt.Sprintf("%s leaves this open, by weight %s, %s", v.Dialect, weighs, because)
	}
	if !v.Group.IsZero() {
		because += "  " + p.paint(faint, fmt.Sprintf("(group %s, %s)", v.Group.Token(), lineList(v.Group.Lines())))
	}
	return p.paint(style, fmt.Sprintf("%-9s", v.Word())) + "  " + url, because
}
