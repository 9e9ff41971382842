package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

var (
	// guideBlock is a block of a guide: a file with its name, or commands with their output.
	guideBlock = regexp.MustCompile("(?s)```(console|[a-z]+ [^\n]+)\n(.*?)```")
	// guideTime is a time in the output, which is another in each run.
	guideTime = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
)

// TestGuides: the output of each command in the guides is what the program writes for the files above it.
// README=write updates it.
func TestGuides(t *testing.T) {
	const site, when = "https://www.example.com", "2026-11-28T09:00:00Z"
	folder, err := filepath.Abs("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	for name, least := range map[string]int{"mistakes.md": 6, "monitor.md": 3, "log.md": 1, "cookbook.md": 1} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(folder, name)
			page, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			var served atomic.Value
			served.Store("")
			server := serveAt(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(served.Load().(string)))
			})
			commands := 0
			got := guideBlock.ReplaceAllStringFunc(string(page), func(block string) string {
				m := guideBlock.FindStringSubmatch(block)
				if m[1] != "console" {
					_, file, _ := strings.Cut(m[1], " ")
					if file == site+"/robots.txt" {
						served.Store(m[2])
					} else if err := os.WriteFile(file, []byte(m[2]), 0o600); err != nil {
						t.Fatal(err)
					}
					return block
				}
				out := "```console\n"
				for line := range strings.Lines(m[2]) {
					if line[0] != '$' {
						continue
					}
					command := strings.TrimSpace(line[1:])
					if strings.HasPrefix(command, "robots watch") {
						command = strings.Replace(command, site, server, 1) + " --allow-private"
					}
					output := strings.ReplaceAll(readmeOutput(t, command), server, site)
					out += line + guideTime.ReplaceAllString(output, when)
					commands++
				}
				return out + "```"
			})
			if commands < least {
				t.Errorf("%d commands found, want at least %d", commands, least)
			}
			if os.Getenv("README") == "write" {
				err = os.WriteFile(path, []byte(got), 0o644)
			} else if got != string(page) {
				t.Errorf("the output of a command differs; the page should be:\n%s", got)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}
