package main

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/robotskit/robots/cmd/internal/help"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/docs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "rewrite the flags in docs/commands.md")

// TestFlags: docs/commands.md has the current flags of every command. To rewrite them:
//
//	go test ./cmd/robots-bulk -run TestFlags -update
func TestFlags(t *testing.T) {
	const page = "../../docs/commands.md"
	want := help.WithFlags(docs.Commands, newRoot(&streams{}, new(int)))
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if docs.Commands != want {
		t.Errorf("%s has other flags than the program; run make docs", page)
	}
}

// TestHelp: the help of every command fits a terminal and lists the exit statuses.
func TestHelp(t *testing.T) {
	status := 0
	var check func(*cobra.Command)
	check = func(c *cobra.Command) {
		var out bytes.Buffer
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		if got := run(t.Context(), args, nil, &out, &out); got != exitDone {
			t.Errorf("%s: exit status %d", args, got)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > render.Width {
				t.Errorf("%s: a line of %d columns: %s", args, n, line)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if _, text := help.FlagText(f); len(text) > 100 {
				t.Errorf("%s --%s: a description of %d characters: %s", args, f.Name, len(text), text)
			}
		})
		if !strings.Contains(c.Root().Long, "Exit status: 0") {
			t.Error("the help does not name the exit statuses")
		}
		for _, sub := range c.Commands() {
			if sub.Name() != "completion" && sub.Name() != "help" {
				check(sub)
			}
		}
	}
	check(newRoot(&streams{}, &status))
}
