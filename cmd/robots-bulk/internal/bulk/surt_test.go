package bulk

import (
	"testing"

	"github.com/robotskit/robots"
)

func TestSURT(t *testing.T) {
	for url, want := range map[string]string{
		"https://example.com/":          "com,example",
		"http://www.Example.com/":       "com,example",
		"https://www2.example.co.uk/":   "uk,co,example",
		"https://wwwx.example.com/":     "com,example,wwwx",
		"https://www.com/":              "com",
		"https://www/":                  "www",
		"https://localhost/":            "localhost",
		"http://example.com:443/":       "com,example:443",
		"https://example.com:443/":      "com,example",
		"https://a.www.example.com:81/": "com,example,www,a:81",
		"http://192.0.2.1/":             "192.0.2.1",
		"http://[2001:DB8::1]:8080/":    "[2001:db8::1]:8080",
		"https://bücher.example/":       "example,xn--bcher-kva",
		"https://example.com./":         "com,example",
		"ftp://ftp.example.com/":        "com,example,ftp",
	} {
		o, _, err := robots.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		if got := SURT(o); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
