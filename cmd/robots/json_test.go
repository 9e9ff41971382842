package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/redistest"
)

// TestJSONPage: docs/json.md has every member that the commands write, and no other in its tables.
func TestJSONPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	body := "User-agent: *\nDisallow: /a\nCrawl-delay: 2\nContent-Signal: search=yes\nSitemap: https://a.example/s.xml\nUser-agent: x\nDisalow: /b\n"
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			_, _ = w.Write([]byte(body))
			return
		}
		w.Header().Set("X-Robots-Tag", "noindex, nofollow")
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<meta name=robots content=index>"))
	}))
	defer site.Close()
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer down.Close()
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	robotsTxt, state := file("robots.txt", body), filepath.Join(dir, "state.json")
	log := file("a.log", `66.249.66.1 - - [10/Oct/2026:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "Googlebot/2.1"`+"\n")
	list := file("list", "1.0.0.0/16\n")
	watch := "watch --allow-private --state " + state + " " + site.URL // the second run has a state
	commands := map[string][]string{                                   // by section
		"Values":   nil,
		"check":    {"check -f " + robotsTxt + " /a", "check --allow-private " + site.URL + "/a", "check --allow-private " + down.URL + "/a"},
		"explain":  {"explain -f " + robotsTxt + " -a x /a", "explain -f " + robotsTxt + " /a"},
		"crawlers": {"crawlers GPTBot", "crawlers " + robotsTxt + " --path /a"},
		"show":     {"show --url /a?b " + robotsTxt, "show --allow-private " + site.URL, "show --allow-private " + down.URL},
		"page":     {"page --allow-private " + site.URL + "/", "page --allow-private " + site.URL + "/a", "page --html " + file("p.html", strings.Repeat("x", 600_000))},
		"fetch":    {"fetch --allow-private " + site.URL, "fetch --allow-private " + down.URL},
		"diff":     {"diff --urls " + file("urls", "/a\n") + " " + robotsTxt + " " + file("new.txt", "User-agent: *\nDisallow: /c\n"), "diff --dialects " + robotsTxt},
		"lint":     {"lint " + robotsTxt},
		"block":    {"block --crawler Googlebot " + file("open.txt", "User-agent: Googlebot\nAllow: /\n"), "block --crawler Googlebot " + file("empty.txt", "")},
		"test":     {"test " + file("t.yaml", "version: 1\nrobots: robots.txt\ntests:\n- {name: n, disallow: [/a, {every: /b}], crawl_delay: 2}\n")},
		"verify":   {"verify 127.0.0.1 --offline --as Googlebot", "verify --log " + log + " --list Googlebot=" + list + " -f " + robotsTxt},
		"watch":    {watch, watch, "watch --expect " + list + " --allow-private " + site.URL, "watch --expect " + filepath.Join(dir, "new.txt") + " --allow-private " + site.URL},
		"fleet":    nil,
		"clause":   {"clause"},

		"--version": {"--version"},
	}
	if _, err := exec.LookPath("redis-server"); err == nil {
		at := " --redis " + redistest.Start(t, redistest.Options{}).URL()
		for _, c := range []string{"show 192.0.2.1", "hold --yes " + site.URL, "config", "held", "log", "status", "doctor"} {
			commands["fleet"] = append(commands["fleet"], "fleet "+c+at)
		}
		output(t, "page --allow-private"+at+" --timeout 1m "+site.URL+"/x") // by a worker, which leaves its state
		commands["fleet"] = append(commands["fleet"], "fleet show"+at+" "+site.URL)
	}
	quoted := regexp.MustCompile("`([a-z0-9_]+)`")
	common := strings.Fields("schema line directive pattern pattern_b64 token lines allowed verdict reason rule group crawl_delay request_rates requests seconds from to sitemaps url agent dialect status fetched expires note")
	rare := strings.Fields("last_good stated_by stated_seconds missing_is_5xx stale_since cut_at degraded lines_dropped request_rates_dropped sitemaps_dropped matches_dropped signals_dropped") // which need an outage, a large file or the API
	sections := strings.Split(string(page), "\n## ")
	if len(sections)-1 != len(commands) {
		t.Errorf("%d sections, want %d", len(sections)-1, len(commands))
	}
	for _, section := range sections[1:] {
		title, text, _ := strings.Cut(section, "\n")
		known := text
		if strings.Contains(text, "](#") { // which refers to other sections
			known = string(page)
		}
		named, seen := map[string]bool{}, map[string]bool{}
		for _, m := range quoted.FindAllStringSubmatch(known, -1) {
			named[m[1]] = true
		}
		for _, c := range commands[title] {
			for line := range strings.Lines(output(t, c+" --format json")) {
				var v any
				if err := json.Unmarshal([]byte(line), &v); err != nil {
					t.Fatalf("%s: %v: %s", c, err, line)
				}
				membersOf(v, seen)
			}
		}
		if len(seen) == 0 {
			continue
		}
		for name := range seen {
			if !named[name] && !slices.Contains(common, name) {
				t.Errorf("%s lacks %s", title, name)
			}
		}
		for row := range strings.Lines(text) {
			if first, _, ok := strings.Cut(strings.TrimPrefix(row, "| "), " |"); ok && strings.HasPrefix(row, "| `") {
				for _, m := range quoted.FindAllStringSubmatch(first, -1) {
					if !seen[m[1]] && !slices.Contains(rare, m[1]) {
						t.Errorf("%s: no command writes %s", title, m[1])
					}
				}
			}
		}
	}
}

// output runs a command, whatever its status, and returns standard output.
func output(t *testing.T, command string) string {
	t.Helper()
	var out, said strings.Builder
	if status := run(t.Context(), strings.Fields(command), strings.NewReader(""), &out, &said); status == exitBad {
		t.Fatalf("robots %s: %s", command, said.String())
	}
	return out.String()
}

// membersOf adds the names of all members of a JSON value, except those of headers.
func membersOf(v any, names map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if name != strings.ToLower(name) {
				continue
			}
			names[name] = true
			membersOf(value, names)
		}
	case []any:
		for _, value := range v {
			membersOf(value, names)
		}
	}
}
