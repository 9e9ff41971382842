package source

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

const logTime = "[10/Oct/2026:13:55:36 +0000]"

// iisFields are the first lines of a log of IIS.
const iisFields = "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Date: 2026-10-10 00:00:00\n" +
	"#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken\n"

func TestLogLine(t *testing.T) {
	for _, test := range []struct {
		name, line string
		host       string
		target     string
		userAgent  string
		common     bool
		why        string
	}{
		{"combined", `192.0.2.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "http://x/" "MyBot/1.0"`, "192.0.2.1", "/a", "MyBot/1.0", false, ""},
		{"common", `192.0.2.1 - frank ` + logTime + ` "GET /a HTTP/1.0" 200 2326`, "192.0.2.1", "/a", "", true, ""},
		{"common with a blank at its end", `192.0.2.1 - frank ` + logTime + ` "GET /a HTTP/1.0" 200 2326 `, "192.0.2.1", "/a", "", true, ""},
		{"no size", `::1 - - ` + logTime + ` "HEAD /a?b=c HTTP/2.0" 304 - "-" "-"`, "::1", "/a?b=c", "-", false, ""},
		{"more fields", `192.0.2.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot/1.0" "203.0.113.1" rt=0.1`, "192.0.2.1", "/a", "MyBot/1.0", false, ""},
		{"quotes of Apache", `192.0.2.1 - - ` + logTime + ` "GET /a\"b\\ HTTP/1.1" 200 5 "\"x\"" "a \"quoted\" \\ bot\t\x41\xc3\xa9"`, "192.0.2.1", `/a"b\`, "a \"quoted\" \\ bot\tAé", false, ""},
		{"quotes of nginx", `192.0.2.1 - - ` + logTime + ` "GET /a\x22b\x5C HTTP/1.1" 200 5 "\x22x\x22" "a \x22quoted\x22 bot"`, "192.0.2.1", `/a"b\`, `a "quoted" bot`, false, ""},
		{"escapes that are none", `192.0.2.1 - - ` + logTime + ` "GET /\q\x4\xzz HTTP/1.1" 200 5 "-" "\x"`, "192.0.2.1", `/\q\x4\xzz`, `\x`, false, ""},
		{"a user with blanks and brackets", `192.0.2.1 - a [b] \"c\" ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot"`, "192.0.2.1", "/a", "MyBot", false, ""},
		{"a user who looks like a line", `192.0.2.1 - 66.249.66.1 - - ` + logTime + ` \"GET /forged HTTP/1.1\" 200 5 \"-\" \"Googlebot\" ` + logTime + ` "GET /a HTTP/1.1" 401 5 "-" "MyBot"`, "192.0.2.1", "/a", "MyBot", false, ""},
		{"a User-Agent that looks like a line", `192.0.2.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "x\" 200 5 \"-\" \"Googlebot/2.1"`, "192.0.2.1", "/a", `x" 200 5 "-" "Googlebot/2.1`, false, ""},
		{"a name instead of an address", `host.example - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot"`, "invalid IP", "/a", "MyBot", false, ""},
		{"no request line", `192.0.2.1 - - ` + logTime + ` "-" 408 0 "-" "-"`, "192.0.2.1", "", "-", false, ""},
		{"TLS where none was expected", `192.0.2.1 - - ` + logTime + ` "\x16\x03\x01" 400 0 "-" "-"`, "192.0.2.1", "", "-", false, ""},
		{"an empty request", `192.0.2.1 - - ` + logTime + ` "" 400 0 "-" ""`, "192.0.2.1", "", "", false, ""},
		{"a URL as a target", `192.0.2.1 - - ` + logTime + ` "GET https://a.example/b HTTP/1.1" 200 0 "-" "-"`, "192.0.2.1", "https://a.example/b", "-", false, ""},
		{"HTTP/0.9", `192.0.2.1 - - ` + logTime + ` "GET /a" 200 0 "-" "-"`, "192.0.2.1", "/a", "-", false, ""},
		{"a blank in a target", `192.0.2.1 - - ` + logTime + ` "GET /a b HTTP/1.1" 400 0 "-" "-"`, "192.0.2.1", "", "-", false, ""},
		{"a tunnel", `192.0.2.1 - - ` + logTime + ` "CONNECT a.example:443 HTTP/1.1" 400 0 "-" "-"`, "192.0.2.1", "", "-", false, ""},
		{"the server itself", `192.0.2.1 - - ` + logTime + ` "OPTIONS * HTTP/1.1" 200 0 "-" "-"`, "192.0.2.1", "", "-", false, ""},

		{"one word", `junk`, "", "", "", false, "only one word"},
		{"a blank first", ` - - `, "", "", "", false, "begins with a space"},
		{"Cloudflare", `{"ClientIP":"2001:db8::1","ClientRequestHost":"a.example","ClientRequestMethod":"GET","ClientRequestURI":"/a?b=c","ClientRequestUserAgent":"a \"quoted\" \\x41 bot","EdgeResponseStatus":200,"EdgeStartTimestamp":1791640536000000000}`, "2001:db8::1", "/a?b=c", `a "quoted" \x41 bot`, false, ""},
		{"Cloudflare without a method", `{"EdgeStartTimestamp":"2026-10-10T13:55:36Z","ClientRequestURI":"/a","ClientIP":"192.0.2.1","ClientRequestUserAgent":""}`, "192.0.2.1", "/a", "-", false, ""},
		{"Cloudflare tunnel", `{"ClientIP":"192.0.2.1","ClientRequestMethod":"CONNECT","ClientRequestURI":"/a","ClientRequestUserAgent":"MyBot"}`, "192.0.2.1", "", "MyBot", false, ""},
		{"nginx JSON", `{"time_iso8601":"2026-10-10T13:55:36+00:00","remote_addr":"192.0.2.1","request":"GET /a\\b HTTP/1.1","status":"200","http_user_agent":"MyBot/1.0"}`, "192.0.2.1", `/a\b`, "MyBot/1.0", false, ""},
		{"nginx JSON with request_uri", `{"remote_addr":"192.0.2.1","request_method":"HEAD","request_uri":"/a","status":200,"http_user_agent":"-"}`, "192.0.2.1", "/a", "-", false, ""},
		{"nginx JSON without a User-Agent", `{"remote_addr":"192.0.2.1","request_uri":"/a"}`, "192.0.2.1", "/a", "", true, ""},
		{"nginx JSON without a request", `{"remote_addr":"192.0.2.1","http_user_agent":"MyBot"}`, "192.0.2.1", "", "MyBot", false, ""},
		{"JSON of another program", `{"host": "192.0.2.1", "request": "GET / HTTP/1.1"}`, "", "", "", false, "no ClientIP (Cloudflare) or remote_addr (nginx)"},
		{"truncated JSON", `{"ClientIP":"192.0.2.1","ClientReq`, "", "", "", false, "invalid JSON, or a field that is not a string"},
		{"JSON with a number as address", `{"ClientIP":3221225985}`, "", "", "", false, "invalid JSON, or a field that is not a string"},
		{"a host before the line", `a.example:443 192.0.2.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot"`, "192.0.2.1", "/a", "MyBot", false, ""},
		{"an address as host before the line", `[2001:db8::1]:443 192.0.2.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot"`, "192.0.2.1", "/a", "MyBot", false, ""},
		{"a host and a user with blanks", `a.example:443 192.0.2.1 - a b ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot"`, "192.0.2.1", "/a", "MyBot", false, ""},
		{"X-Forwarded-For instead of the address", `203.0.113.9, 192.0.2.1, 10.0.0.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot"`, "192.0.2.1", "/a", "MyBot", false, ""},
		{"X-Forwarded-For without blanks", `203.0.113.9,10.0.0.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot"`, "203.0.113.9", "/a", "MyBot", false, ""},
		{"X-Forwarded-For after a host", `a.example:80 192.0.2.1, 10.0.0.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot"`, "192.0.2.1", "/a", "MyBot", false, ""},
		{"X-Forwarded-For after the address", `10.0.0.1 192.0.2.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot"`, "192.0.2.1", "/a", "MyBot", false, ""},
		{"X-Forwarded-For of nobody", `-, 10.0.0.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot"`, "10.0.0.1", "/a", "MyBot", false, ""},
		{"X-Forwarded-For with a name", `unknown, 192.0.2.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot"`, "192.0.2.1", "/a", "MyBot", false, ""},
		{"a client that forges X-Forwarded-For", `192.0.2.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot" "66.249.66.1"`, "192.0.2.1", "/a", "MyBot", false, ""},
		{"X-Forwarded-For at the end", `10.0.0.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot" "66.249.66.1, 192.0.2.1"`, "192.0.2.1", "/a", "MyBot", false, ""},
		{"X-Forwarded-For of a trusted proxy", `198.51.100.7 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot" "192.0.2.1"`, "192.0.2.1", "/a", "MyBot", false, ""},
		{"no X-Forwarded-For at the end", `10.0.0.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot" "-"`, "10.0.0.1", "/a", "MyBot", false, ""},
		{"X-Forwarded-For of nginx JSON", `{"remote_addr":"10.0.0.1","http_x_forwarded_for":"192.0.2.1","request_uri":"/a","http_user_agent":"MyBot"}`, "192.0.2.1", "/a", "MyBot", false, ""},
		{"IIS", iisFields + "2026-10-10 13:55:36 10.0.0.2 GET /a b=c&d 443 - 192.0.2.1 Mozilla/5.0+(compatible;+MyBot/1.0) - 200 0 0 15", "192.0.2.1", "/a?b=c&d", "Mozilla/5.0 (compatible; MyBot/1.0)", false, ""},
		{"IIS without a User-Agent", iisFields + "2026-10-10 13:55:36 10.0.0.2 GET / - 443 - 192.0.2.1 - - 200 0 0 15", "192.0.2.1", "/", "-", false, ""},
		{"IIS with fewer values", iisFields + "2026-10-10 13:55:36 10.0.0.2 GET / - 443", "", "", "", false, "not as many values as the #Fields line has names"},
		{"IIS that logs few fields", "#Fields: c-ip cs-uri-stem X-Forwarded-For\n10.0.0.1 /a 203.0.113.9,+192.0.2.1", "192.0.2.1", "/a", "", true, ""},
		{"IIS without addresses", "#Fields: date cs-uri-stem\n2026-10-10 /a", "", "", "", false, "no c-ip"},
		{"CloudFront", "#Fields: date time c-ip cs-method cs-uri-stem cs(User-Agent) cs-uri-query\n2026-10-10\t13:55:36\t192.0.2.1\tGET\t/a\tMozilla/5.0%20(compatible;%20MyBot/1.0;%20+http://x/)\t-", "192.0.2.1", "/a", "Mozilla/5.0 (compatible; MyBot/1.0; +http://x/)", false, ""},
		{"another time", `192.0.2.1 - - [2026-10-10T13:55:36+00:00] "GET /a HTTP/1.1" 200 5 "-" "MyBot"`, "", "", "", false, "invalid time (expected [10/Oct/2026:13:55:36 +0000])"},
		{"no bracket", `192.0.2.1 - - 10/Oct/2026:13:55:36 +0000] "GET /a HTTP/1.1" 200 5`, "", "", "", false, "invalid time (expected [10/Oct/2026:13:55:36 +0000])"},
		{"cut in the request", `192.0.2.1 - - ` + logTime + ` "GET /a`, "", "", "", false, "unterminated request"},
		{"cut in an escape", `192.0.2.1 - - ` + logTime + ` "GET /a\"`, "", "", "", false, "unterminated request"},
		{"cut behind the request", `192.0.2.1 - - ` + logTime + ` "GET /a HTTP/1.1"`, "", "", "", false, "no status and size after the request"},
		{"no size at all", `192.0.2.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200`, "", "", "", false, "no status and size after the request"},
		{"cut in the Referer", `192.0.2.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "http:`, "", "", "", false, "unterminated Referer"},
		{"cut behind the Referer", `192.0.2.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-"`, "", "", "", false, "missing or unterminated User-Agent"},
		{"cut in the User-Agent", `192.0.2.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "Goo`, "", "", "", false, "missing or unterminated User-Agent"},
		{"another field first", `192.0.2.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 0.001 "-" "MyBot"`, "", "", "", false, "unterminated Referer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var parser LogParser
			var l LogLine
			why := ""
			for line := range strings.SplitSeq(test.line, "\n") {
				l, why = parser.Parse(line)
			}
			if why != test.why {
				t.Fatalf("why %q, want %q", why, test.why)
			}
			if why != "" {
				return
			}
			if url := Target(l.Request); l.Client([]netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}).String() != test.host || url != test.target || l.UserAgent != test.userAgent || l.Common != test.common {
				t.Errorf("got  %q %q %q common %t\nwant %q %q %q common %t", l.Host, url, l.UserAgent, l.Common, test.host, test.target, test.userAgent, test.common)
			}
		})
	}
}

// TestLogTime: the time of a request is read in each format.
func TestLogTime(t *testing.T) {
	want := time.Date(2026, 10, 10, 13, 55, 36, 0, time.UTC)
	for _, lines := range []string{
		`192.0.2.1 - - [10/Oct/2026:15:55:36 +0200] "GET / HTTP/1.1" 200 5`,
		`{"ClientIP":"192.0.2.1","EdgeStartTimestamp":1791640536000000000}`,
		`{"ClientIP":"192.0.2.1","EdgeStartTimestamp":1791640536}`,
		`{"ClientIP":"192.0.2.1","EdgeStartTimestamp":"2026-10-10T13:55:36Z"}`,
		`{"remote_addr":"192.0.2.1","time_iso8601":"2026-10-10T13:55:36+00:00"}`,
		`{"remote_addr":"192.0.2.1","time_local":"10/Oct/2026:13:55:36 +0000"}`,
		`{"remote_addr":"192.0.2.1","msec":"1791640536.123"}`,
		"#Fields: date time c-ip\n2026-10-10 13:55:36 192.0.2.1",
	} {
		var parser LogParser
		var l LogLine
		for line := range strings.SplitSeq(lines, "\n") {
			l, _ = parser.Parse(line)
		}
		if !l.Time.Equal(want) {
			t.Errorf("%s: %v, want %v", lines, l.Time, want)
		}
	}
	for _, text := range []string{"", "null", "-1", "NaN", "1e300", "yesterday"} {
		if got := parseLogTime(text); !got.IsZero() {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

// FuzzLogLine: a line written by a server is read as the request that it received.
func FuzzLogLine(f *testing.F) {
	f.Add("frank", "GET / HTTP/1.1", "http://a/", "MyBot/1.0", true)
	f.Add(`a] "b`, "\"\\", "\\", "x\\\"", false)
	f.Fuzz(func(t *testing.T, user, request, referer, userAgent string, apache bool) {
		escape := func(s string) string {
			var b strings.Builder
			for _, c := range []byte(s) {
				switch {
				case apache && (c == '"' || c == '\\'):
					b.WriteString(`\` + string(c))
				case apache && c == '\t':
					b.WriteString(`\t`)
				case c == '"' || c == '\\' || c < ' ' || c > '~':
					fmt.Fprintf(&b, `\x%02X`, c)
				default:
					b.WriteByte(c)
				}
			}
			return b.String()
		}
		line := fmt.Sprintf(`192.0.2.1 - %s %s "%s" 200 5 "%s" "%s"`, escape(user), logTime, escape(request), escape(referer), escape(userAgent))
		l, why := new(LogParser).Parse(line)
		if why != "" {
			t.Fatalf("%s: %s", line, why)
		}
		if l.Request != request || l.UserAgent != userAgent {
			t.Errorf("%s: request %q of %q, want %q of %q", line, l.Request, l.UserAgent, request, userAgent)
		}
		_, _ = new(LogParser).Parse(request) // anything else must not panic
		_ = Target(request)
	})
}
