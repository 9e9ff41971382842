package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/internal/campaign"
)

const logTime = "[10/Oct/2026:13:55:36 +0000]"

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
		{"a name in place of an address", `host.example - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot"`, "host.example", "/a", "MyBot", false, ""},
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
		{"a host before the line", `a.example:443 192.0.2.1 - - ` + logTime + ` "GET /a HTTP/1.1" 200 5 "-" "MyBot"`, "a.example:443", "/a", "MyBot", false, ""},
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
			l, why := source.ParseLogLine(test.line)
			if why != test.why {
				t.Fatalf("why %q, want %q", why, test.why)
			}
			if why != "" {
				return
			}
			if url := source.Target(l.Request); l.Host != test.host || url != test.target || l.UserAgent != test.userAgent || l.Common != test.common {
				t.Errorf("got  %q %q %q common %t\nwant %q %q %q common %t", l.Host, url, l.UserAgent, l.Common, test.host, test.target, test.userAgent, test.common)
			}
		})
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
		l, why := source.ParseLogLine(line)
		if why != "" {
			t.Fatalf("%s: %s", line, why)
		}
		if l.Request != request || l.UserAgent != userAgent {
			t.Errorf("%s: request %q of %q, want %q of %q", line, l.Request, l.UserAgent, request, userAgent)
		}
		_, _ = source.ParseLogLine(request) // anything else must not panic
		_ = source.Target(request)
	})
}

// A madeLog generates a log. Each line has a different address and User-Agent.
type madeLog struct {
	lines, made int
	rest        []byte
	each        func(line int)
}

var madeAgents = []string{
	"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/120.0.0.0 Safari/537.36",
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36",
	"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.2; +https://openai.com/gptbot",
	"Mozilla/5.0 (X11; Linux x86_64; rv:125.0) Gecko/20100101 Firefox/125.0",
	"Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
	"Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)",
}

func (m *madeLog) Read(p []byte) (int, error) {
	for len(m.rest) < len(p) && m.made < m.lines {
		i := m.made
		m.made++
		agent := madeAgents[i%len(madeAgents)] + fmt.Sprint(" n/", i)
		m.rest = fmt.Appendf(m.rest, "%d.%d.%d.%d - - %s \"GET /list/%d?sort=price&page=%d HTTP/1.1\" 200 %d \"-\" %q\n", 1+i>>24, i>>16&255, i>>8&255, i&255, logTime, i%100, i, i%10_000, agent)
		if m.each != nil {
			m.each(m.made)
		}
	}
	if len(m.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, m.rest)
	m.rest = append(m.rest[:0], m.rest[n:]...)
	return n, nil
}

// TestLogMemory: a log of any length is counted completely in bounded memory, even if each
// line has a different address and User-Agent.
func TestLogMemory(t *testing.T) {
	lines := campaign.Size(maxVisits/2, 2*maxVisits, 1_000_000)
	list := filepath.Join(t.TempDir(), "list.txt")
	if err := os.WriteFile(list, []byte("1.0.0.0/16\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most := heap(), uint64(0)
	log := &madeLog{lines: lines, each: func(line int) {
		if line%(1<<15) == 0 {
			most = max(most, heap())
		}
	}}
	var out, errs bytes.Buffer
	args := []string{"verify", "--log", "-", "--offline", "--list", "Googlebot,GPTBot=" + list, "-f", "../../examples/shop.txt", "--format", "csv"}
	status := run(context.Background(), args, log, &out, &errs)
	if status != exitDisallowed || strings.Contains(errs.String(), "warning") { // its progress is said there too
		t.Fatalf("status %d, %s", status, &errs)
	}
	for i, name := range []string{"Googlebot", "", "GPTBot", "", "bingbot", "MJ12bot"} {
		if name == "" {
			continue
		}
		n, verified := 0, 0 // of the lines of this crawler; those of its list
		for at := i; at < lines; at += len(madeAgents) {
			n++
			if at < 1<<16 {
				verified++
			}
		}
		want := fmt.Sprintf(",%d,%d,%d,0,%d,,,\n", n, verified, n-verified, n)
		if name == "bingbot" || name == "MJ12bot" {
			want = fmt.Sprintf(",%d,0,0,%d,%d,,,\n", n, n, n)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: no line with %s\n%s", name, want, &out)
		}
	}
	grown := max(most, before) - before
	t.Logf("%d lines, at most %.1f MiB more than before", lines, float64(grown)/(1<<20))
	if grown > 32<<20 {
		t.Errorf("%d MiB of heap for %d lines", grown>>20, lines)
	}
}

// TestLongLogLine: an endless line of a compressed log is skipped in bounded memory.
func TestLongLogLine(t *testing.T) {
	size := campaign.Size(8<<20, 32<<20, 1<<30)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	line := "66.249.66.1 - - " + logTime + " \"GET / HTTP/1.1\" 200 5 \"-\" \"Googlebot/2.1\"\n"
	_, _ = io.WriteString(z, line)
	zeros := make([]byte, 1<<20)
	for range size >> 20 {
		_, _ = z.Write(zeros)
	}
	_, _ = io.WriteString(z, "\n"+line)
	z.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var out, errs bytes.Buffer
	status := run(context.Background(), []string{"verify", "--log", "-", "--offline", "--format", "csv"}, &packed, &out, &errs)
	runtime.ReadMemStats(&after)
	if status != exitAllowed || !strings.Contains(out.String(), "\nGooglebot,Google,search,2,0,0,2,1\n") {
		t.Errorf("status %d\n%s", status, &out)
	}
	if want := "standard input:2: not a line of an access log: longer than 64 KiB"; !strings.Contains(errs.String(), want) {
		t.Errorf("%s\nwant %s", &errs, want)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("%d MiB were allocated", n>>20)
	}
}

// TestLogHostile: bytes that clients send never put control characters or lines into a
// report, and its JSON is valid.
func TestLogHostile(t *testing.T) {
	var log strings.Builder
	for _, bad := range []string{
		`\x1b[31m`, `\n`, `\r\nrobots: `, `\x00`, `\x7f`, `\xff\xfe`, `\xe2\x80\xae`, "\x1b]0;x\a", "\xff", `\"\"\"`, `|`, `,"`, `=1+1`, strings.Repeat("a", 5000), `<script>`,
	} {
		for _, host := range []string{"192.0.2.1", "::ffff:192.0.2.1", bad, "-", "fe80::1%" + strings.ReplaceAll(bad, " ", "")} {
			fmt.Fprintf(&log, "%s - %s %s \"GET /private/%s HTTP/1.1\" 200 5 \"%s\" \"Googlebot/2.1 %s\"\n", host, bad, logTime, bad, bad, bad)
		}
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"robots.txt": "User-agent: *\nDisallow: /private/", "list.txt": "198.51.100.1"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range []string{"text", "json", "csv"} {
		var out, errs bytes.Buffer
		args := []string{"verify", "--log", "-", "-f", filepath.Join(folder, "robots.txt"), "--list", "Googlebot=" + filepath.Join(folder, "list.txt"), "--offline", "--format", format}
		if status := run(context.Background(), args, strings.NewReader(log.String()), &out, &errs); status != exitDisallowed {
			t.Errorf("%s: status %d", format, status)
		}
		for _, text := range []string{out.String(), errs.String()} {
			if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r == '\u202e' }); i >= 0 {
				t.Errorf("%s: a character of a visitor in %q", format, text[max(0, i-40):min(i+40, len(text))])
			}
		}
		lines := map[string]int{"text": 9, "json": 1, "csv": 3}[format]
		if n := strings.Count(out.String(), "\n"); n != lines || format == "json" && !json.Valid(out.Bytes()) {
			t.Errorf("%s has %d lines, want %d:\n%s", format, n, lines, &out)
		}
	}
}

// TestVerifyInterrupted: a run that is interrupted while it waits for input reports it.
func TestVerifyInterrupted(t *testing.T) {
	for _, args := range [][]string{{"verify", "--log", "-"}, {"verify", "-"}} {
		ctx, cancel := context.WithCancel(t.Context())
		in, more := io.Pipe()
		defer more.Close()
		log := io.MultiReader(strings.NewReader("\n\n"), readerFunc(func(p []byte) (int, error) {
			cancel()
			return in.Read(p)
		}))
		var out, errs bytes.Buffer
		if status := run(ctx, args, log, &out, &errs); status != exitBad || out.Len() > 0 {
			t.Errorf("%s: status %d, %s", args, status, &out)
		}
		if !strings.HasPrefix(errs.String(), "robots verify: interrupted") {
			t.Errorf("%s: %s", args, &errs)
		}
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestLogProgress: only a long log has a progress line.
func TestLogProgress(t *testing.T) {
	for _, test := range []struct {
		read, asked, asking int64
		want                string
	}{
		{99_999, 0, 0, ""},
		{1_000_000, 0, 0, "robots verify: 1,000,000 lines read"},
		{100, 1, 1000, "robots verify: 100 lines read, 1 of 1,000 addresses verified"},
	} {
		l := &logReader{call: &verifyCall{command: &command{std: &screen.Streams{Name: "robots verify"}}}}
		l.read.Store(test.read)
		l.verified.Store(test.asked)
		l.verifying.Store(test.asking)
		if got := l.progress(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
