package ask

import (
	"slices"
	"testing"
)

// TestMention: names that people use lead to crawlers of the directory.
func TestMention(t *testing.T) {
	for _, c := range []struct {
		text, name string
		browser    bool
		similar    []string // the first ones
	}{
		{"googlebot", "Googlebot", false, nil},
		{"MyBot", "", false, nil},
		{"MyBot, Googlebot", "", false, nil},
		{"*", "", false, nil},
		{"Bing", "", false, []string{"bingbot"}},
		{"ChatGPT", "", false, []string{"ChatGPT-User", "ChatGPT Agent", "GPTBot"}},
		{"Google AdsBot", "", false, []string{"AdsBot-Google"}},
		{"google bot", "", false, []string{"Googlebot"}},
		{"Googelbot", "", false, []string{"Googlebot"}},
		{"OpenAI", "", false, []string{"GPTBot", "OAI-SearchBot", "ChatGPT-User"}},
		{"Perplexity", "", false, []string{"PerplexityBot", "Perplexity-User"}},
		{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0", "", true, nil},
		{"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "", true, nil},
		{"Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "bingbot", false, nil},
		{"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/126.0 Safari/537.36", "Googlebot", false, nil},
		{"MyBot/1.0 (+https://mybot.example/)", "", false, nil},
		{"Mozilla/5.0) (X11; x) Firefox/128.0", "", true, nil}, // one parenthesis too many
	} {
		m, err := ReadMention(c.text)
		if err != nil || m.Name != c.name || m.Browser != c.browser || len(m.Similar) < len(c.similar) || !slices.Equal(m.Similar[:len(c.similar)], c.similar) || c.similar == nil && len(m.Similar) > 0 {
			t.Errorf("%s: %+v, %v; want %q, browser %t, similar %q", c.text, m, err, c.name, c.browser, c.similar)
		}
	}
	if _, err := ReadMention("a,,b"); err == nil {
		t.Error("an empty token is no error")
	}
}
