package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMalformedFiles: a malformed robots.txt causes one warning, given with -f or fetched; a
// usual one causes none.
func TestMalformedFiles(t *testing.T) {
	const rules = "User-agent: *\nDisallow: /a\n"
	long := rules + strings.Repeat("# 34567890\n", 60_000)
	for _, tt := range []struct {
		name, body, args, want string
		file                   bool // of -f alone
	}{
		{name: "usual", body: rules},
		{name: "page", body: "<html>\n" + rules, want: "the file looks like an HTML page; only lines that happen to be robots.txt lines count (D-27)"},
		{name: "UTF-16", body: "\xFF\xFEU\x00s\x00", want: "the file is UTF-16; its lines cannot be read, so it has no rules (D-51)"},
		{name: "long", body: long, file: true, want: fmt.Sprintf("the file has %d bytes; only its complete lines within the first 512000 count, 512000 bytes (D-17)", len(long))},
		{name: "too long", body: long, file: true, args: "-d yandex", want: fmt.Sprintf("the file has %d bytes, more than 500000, so it is ignored (SPEC 3.5)", len(long))},
		{name: "cut on purpose", body: long, args: "--max-bytes 20"},
		{name: "long of a site", body: long, want: "the file has 513024 bytes; only its complete lines within the first 512000 count, 512000 bytes (D-17)"},
	} {
		file := filepath.Join(t.TempDir(), "robots.txt")
		if err := os.WriteFile(file, []byte(tt.body), 0o666); err != nil {
			t.Fatal(err)
		}
		site := serveAt(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, tt.body) })
		for _, args := range [][]string{{"-f", file, "/a", "/b"}, {"--allow-private", site + "/a", site + "/b", site + "/c"}} {
			if args[0] == "-f" == strings.HasSuffix(tt.name, "site") || args[0] != "-f" && tt.file {
				continue
			}
			var out, said bytes.Buffer
			run(context.Background(), append(append([]string{"check"}, strings.Fields(tt.args)...), args...), nil, &out, &said)
			var got []string
			for line := range strings.Lines(said.String()) {
				if !strings.Contains(line, "has no line of") { // of its own test
					_, line, _ = strings.Cut(line, ": the file")
					got = append(got, "the file"+strings.TrimSuffix(line, "\n"))
				}
			}
			if strings.Join(got, "\n") != tt.want {
				t.Errorf("%s, %v\ngot  %q\nwant %q", tt.name, args, got, tt.want)
			}
		}
	}
}
