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

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/internal/campaign"
)

const logTime = "[10/Oct/2026:13:55:36 +0000]"

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
	lines := campaign.Size(answer.MaxVisits/2, 2*answer.MaxVisits, 1_000_000)
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
		want := fmt.Sprintf(",%d,%d,%d,0,%d,", n, verified, n-verified, n)
		if name == "bingbot" || name == "MJ12bot" {
			want = fmt.Sprintf(",%d,0,0,%d,%d,", n, n, n)
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
	if status != exitAllowed || !strings.Contains(out.String(), "\nGooglebot,Google,search,2,0,0,2,1,100.0,0\n") {
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
	for _, name := range []string{`[x](http://e/)`, `a|b`, "`c`", `<script>`, `*d*`, `\x1b[31me`, "\x1bf", `=1+1`} { // which programs call themselves
		fmt.Fprintf(&log, "192.0.2.9 - - %s \"GET /private/ HTTP/1.1\" 200 5 \"-\" \"%s/1.0\"\n", logTime, name)
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"robots.txt": "User-agent: *\nDisallow: /private/", "list.txt": "198.51.100.1"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range []string{"text", "json", "csv", "markdown"} {
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
		lines := map[string]int{"text": 24, "json": 1, "csv": 19, "markdown": 33}[format]
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
		p := logProgress{reader: new(source.LogReader)}
		p.reader.Read.Store(test.read)
		p.verified.Store(test.asked)
		p.verifying.Store(test.asking)
		if got := p.line("robots verify"); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
