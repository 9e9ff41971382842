package crawlers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/robotskit/robots"
)

// TestResolve: what the dialect auto means (D-62).
func TestResolve(t *testing.T) {
	for _, c := range []struct{ given, tokens, dialect, binds string }{
		{"YandexBot", "YandexBot Yandex", "yandex", "yes"},
		{"yandexbot", "yandexbot Yandex", "yandex", "yes"}, // the echo
		{"Applebot", "Applebot Googlebot", "rfc9309", "yes"},
		{"Googlebot-Image/1.0", "Googlebot-Image/1.0 Googlebot", "google", "yes"},
		{"Google-GeminiNotebook", "Google-GeminiNotebook Google-NotebookLM", "google", "no"},
		{"YandexAdditionalBot", "YandexAdditionalBot YandexAdditional Yandex", "yandex", "yes"},
		{"AdsBot-Google", "AdsBot-Google", "google", "not-by-star"},
		{"ChatGPT-User", "ChatGPT-User", "rfc9309", "no"},
		{"Mediapartners-Google*", "Mediapartners-Google*", "google", "not-by-star"}, // a spelling
		{"Applebot,Bingbot", "Applebot Bingbot", "rfc9309", "yes"},                  // a list does not expand
		{"Googlebot,Applebot", "Googlebot Applebot", "google", "yes"},
		{"MyBot,Googlebot", "MyBot Googlebot", "rfc9309", "yes"},
		{"MyBot", "MyBot", "rfc9309", "yes"},
		{"*", "*", "rfc9309", "yes"},
		{"", "", "rfc9309", "yes"},
	} {
		got := Resolve(strings.Split(c.given, ",")...)
		if tokens := strings.Join(got.Tokens, " "); tokens != c.tokens || got.ReadAs().Name != c.dialect || string(got.Binds()) != c.binds {
			t.Errorf("%q is %q in %s, binds %s; want %q in %s, %s", c.given, tokens, got.ReadAs().Name, got.Binds(), c.tokens, c.dialect, c.binds)
		}
	}
	header := "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)"
	if got := Resolve(header); len(got.Tokens) != 2 || got.Tokens[0] != header || got.Tokens[1] != "Googlebot" {
		t.Errorf("a header: %q", got.Tokens)
	}
	if c := Resolve(); c.Name != "*" {
		t.Errorf("no token is %q", c.Name)
	}
}

// TestReadAs: a crawler's dialect has the delays that it honors.
func TestReadAs(t *testing.T) {
	for name, want := range map[string]robots.Honor{
		"Amazonbot": robots.HonorIgnored, "ClaudeBot": robots.HonorObeyed, "bingbot": robots.HonorInherited,
		"Googlebot": robots.HonorIgnored, "MyBot": robots.RFC9309.CrawlDelay,
	} {
		if got := Resolve(name).ReadAs().CrawlDelay; got != want {
			t.Errorf("%s: Crawl-delay %v, want %v", name, got, want)
		}
	}
}

// TestFallback: the sentence follows the kind of the token whose group applies.
func TestFallback(t *testing.T) {
	for _, c := range []struct{ given, body, want string }{
		{"Applebot", "Googlebot", "Applebot is not named; it follows the group of Googlebot (Apple's documentation)"},
		{"Applebot", "Applebot", ""},
		{"Applebot", "*", ""},
		{"Applebot,Googlebot", "Googlebot", ""},
		{"Qwantbot", "Qwantify", "Qwantbot, formerly Qwantify, is not named; it follows the group of Qwantify (Qwant's documentation)"},
		{"Qwantify", "Qwantbot", "Qwantify, now Qwantbot, is not named; it follows the group of Qwantbot (Qwant's documentation)"},
		{"Google-NotebookLM", "Google-GeminiNotebook", "Google-NotebookLM, now Google-GeminiNotebook, is not named; it follows the group of Google-GeminiNotebook (Google's documentation)"},
		{"Google-GeminiNotebook", "Google-NotebookLM", "Google-GeminiNotebook, formerly Google-NotebookLM, is not named; it follows the group of Google-NotebookLM (Google's documentation)"},
		{"Pinterest", "Pinterestbot", "Pinterest is not named; it follows the group of its other name Pinterestbot (Pinterest's documentation)"},
		{"Baiduspider-video", "Baiduspider", "Baiduspider-video is not named; it follows the group of Baiduspider (reported, not documented)"},
		{"Googlebot-Image/1.0", "Googlebot", "Googlebot-Image is not named; it follows the group of Googlebot (Google's documentation)"},
	} {
		f := robots.Parse([]byte("User-agent: " + c.body + "\nDisallow: /"))
		crawler := Resolve(strings.Split(c.given, ",")...)
		got := ""
		if token, ok := crawler.Fallback(f.Rules(crawler.ReadAs(), crawler.Tokens...)); ok {
			got = crawler.FallbackSentence(token)
		}
		if got != c.want {
			t.Errorf("%s, a group of %s: %q, want %q", c.given, c.body, got, c.want)
		}
	}
}

func ExampleResolve() {
	file := robots.Parse([]byte("User-agent: Googlebot\nDisallow: /search\n"))
	c := Resolve("Applebot")
	rules := file.Rules(c.ReadAs(), c.Tokens...)
	fmt.Println(rules.Match(robots.RawPath("/search")))
	if token, ok := c.Fallback(rules); ok {
		fmt.Println(c.FallbackSentence(token))
	}
	// Output:
	// disallowed by line 2: Disallow: /search
	// Applebot is not named; it follows the group of Googlebot (Apple's documentation)
}
