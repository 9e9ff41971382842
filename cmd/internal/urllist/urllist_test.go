package urllist

import (
	"slices"
	"strings"
	"testing"
)

// TestRead: what people paste is read as they mean it.
func TestRead(t *testing.T) {
	const sitemap = `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
		<url><loc> https://shop.example/a?x=1&amp;y=2 </loc><image:image><image:loc>https://shop.example/a.jpg</image:loc></image:image></url>
		<url><loc>https://shop.example/b</loc></url></urlset>`
	for _, c := range []struct {
		name, text string
		kind       Kind
		urls       string // with spaces between them
	}{
		{"nothing", " \n\n", Lines, ""},
		{"lines, each once", "\ufeff/a\r\n/b\r\n\r\n/a\n", Lines, "/a /b"},
		{"hosts without a scheme", "shop.example/foo\nwww.shop.example\nb\u00fccher.example:8080/x?y\nfoo/bar\npage.html\nshop.example/page.html", Lines, "https://shop.example/foo https://www.shop.example https://b\u00fccher.example:8080/x?y foo/bar page.html https://shop.example/page.html"},
		{"commas of URLs", "/a,b\n/c\n/d,e,f", Lines, "/a,b /c /d,e,f"},
		{"commas of one URL", "https://shop.example/a,b", Lines, "https://shop.example/a,b"},
		{"CSV with a header", "Page,Clicks\nhttps://shop.example/a,3\nhttps://shop.example/b,2\n", CSV, "https://shop.example/a https://shop.example/b"},
		{"Search Console", "Top pages\tClicks\tImpressions\nhttps://shop.example/a\t3\t9\n", CSV, "https://shop.example/a"},
		{"a crawl", "\"Address\",\"Content Type\",\"Status Code\"\n\"https://shop.example/a,\"\"b\"\"\",\"text/html\",\"200\"\n", CSV, `https://shop.example/a,"b"`},
		{"a header in another language", "Seite;Klicks\n/a;3\n/b;2\n", CSV, "/a /b"},
		{"CSV without a header", "https://shop.example/a,200,12\nhttps://shop.example/b,404,0\n", CSV, "https://shop.example/a https://shop.example/b"},
		{"URLs in the second column", "1;/a;x\n2;/b;y\n", CSV, "/a /b"},
		{"old ends of lines", "url,n\r/a,1\r/b,2\r", CSV, "/a /b"},
		{"hosts in CSV", "url,n\nshop.example/a,1\n", CSV, "https://shop.example/a"},
		{"a sitemap without its images", sitemap, Sitemap, "https://shop.example/a?x=1&y=2 https://shop.example/b"},
		{"a damaged sitemap", sitemap[:strings.Index(sitemap, "/b<")], Sitemap, "https://shop.example/a?x=1&y=2"},
		{"a sitemap index", `<sitemapindex><sitemap><loc>https://shop.example/1.xml</loc></sitemap></sitemapindex>`, Index, "https://shop.example/1.xml"},
		{"a page", `<!doctype html><html><body>/x</body></html>`, Markup, ""},
		{"a robots.txt", "# shop\nUser-agent: *\nDisallow: /a\n", Robots, ""},
	} {
		list := Read(c.text)
		want := strings.Fields(c.urls)
		if list.Kind != c.kind || !slices.Equal(list.URLs, want) {
			t.Errorf("%s: %s %q, want %s %q", c.name, list.Kind, list.URLs, c.kind, want)
		}
	}
}

// TestWithScheme: only what begins with the name of a host gets a scheme.
func TestWithScheme(t *testing.T) {
	for url, isHost := range map[string]bool{
		"shop.example": true, "shop.example/foo": true, "shop.example:8080/": true, "a-1.example?x": true, "bücher.example": true, "shop.example/a.html": true,
		"/a.b": false, "http://a.example/": false, "page.html": false, "a_b.example/": false, "a b.example/": false, "a@b.example/": false, ".example": false,
		"example.": false, "shop.example:x/": false, "": false,
	} {
		want := url
		if isHost {
			want = "https://" + url
		}
		if got := withScheme(url); got != want {
			t.Errorf("%q: %q", url, got)
		}
	}
}
