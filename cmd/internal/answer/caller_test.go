package answer

import (
	"os"
	"strings"
	"testing"

	"github.com/robotskit/robots/crawlers"
)

// TestCallerName: a program that is not in the directory has the name that it gives itself, and a browser none.
func TestCallerName(t *testing.T) {
	for _, test := range []struct{ header, want string }{
		{"", NoName},
		{"-", NoName},
		{"python-requests/2.32.3", "python-requests"},
		{"Go-http-client/1.1", "Go-http-client"},
		{"Apache-HttpClient/4.5.14 (Java/17.0.9)", "Apache-HttpClient"},
		{"Mozilla/5.0 (compatible; FooFetcher/1.0; +https://foo.example/)", "FooFetcher"},
		{"Mozilla/5.0 (compatible; RSiteAuditor)", "RSiteAuditor"},
		{"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Foo/1.0; +https://foo.example/) Chrome/124.0.0.0 Safari/537.36", "Foo"},
		{"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/124.0.0.0 Safari/537.36", "HeadlessChrome"},
		{"Mozilla/5.0 (Windows NT 6.1; rv:38.0) Gecko/20100101 Firefox/38.0 (FooBot 1.1)", "FooBot"},
		{"FooBot/3.0 (compatible; MSIE 6.0; http://foo.example/crawler)", "FooBot"},
		{"=cmd|' /C calc'!A0", "cmd|'"},
		{"***", otherPrograms},
		{strings.Repeat("é", 100), strings.Repeat("é", maxName/2) + "…"},

		{"Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 5.1)", ""},
		{"Mozilla/5.0 (Linux; Android 9; CUBOT NOTE 20) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Mobile Safari/537.36", ""},
		{"Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Slack/4.38 Chrome/124.0.0.0 Electron/30.0 Safari/537.36", ""},
	} {
		if got := callerName(test.header); got != test.want {
			t.Errorf("%s: %q, want %q", test.header, got, test.want)
		}
	}
	text, err := os.ReadFile("../../../crawlers/testdata/browsers.txt")
	if err != nil {
		t.Fatal(err)
	}
	for header := range strings.Lines(string(text)) {
		if name := callerName(header); name != "" {
			t.Errorf("a browser is %s: %s", name, header)
		}
	}
	if text, err = os.ReadFile("../../../crawlers/testdata/user-agents.tsv"); err != nil {
		t.Fatal(err)
	}
	missed := 0
	for line := range strings.Lines(string(text)) {
		_, header, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if _, known := crawlers.Sender(header); !known && callerName(header) == "" {
			missed++
			t.Logf("neither a crawler nor a program: %s", header)
		}
	}
	if missed > 1 { // whose headers are those of browsers
		t.Errorf("%d headers of crawlers are browsers'", missed)
	}
}
