package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/robotskit/robots/cmd/internal/help"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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
