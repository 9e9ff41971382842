package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/robotskit/robots/cmd/internal/help"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/docs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestFlags: docs/commands.md has the current flags of every command. To rewrite them:
//
//	go test ./cmd/robots -run TestFlags -update
func TestFlags(t *testing.T) {
	const page = "../../docs/commands.md"
	want := help.WithFlags(docs.Commands, newRoot(&screen.Streams{}, ""))
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if docs.Commands != want {
		t.Errorf("%s has other flags than the program; run make docs", page)
	}
}

// TestHelp: the help of every command fits a terminal, shows at most twelve flags, and lists the
// exit statuses; docs/commands.md has no other command, and lists all purposes of crawlers.
func TestHelp(t *testing.T) {
	const columns, description, shown = 100, 100, 12
	var commands []*cobra.Command
	var collect func(*cobra.Command)
	collect = func(c *cobra.Command) {
		if c.Name() != "completion" && c.Name() != "help" {
			commands = append(commands, c)
			for _, sub := range c.Commands() {
				collect(sub)
			}
		}
	}
	collect(newRoot(&screen.Streams{}, ""))
	for heading := range strings.Lines(docs.Commands) {
		path, isCommand := strings.CutPrefix(strings.TrimSpace(heading), "## robots ")
		if _, rest, err := commands[0].Find(strings.Fields(path)); isCommand && (err != nil || len(rest) > 0) {
			t.Errorf("docs/commands.md: robots %s is no command", path)
		}
	}
	for _, purpose := range crawlers.Purposes() {
		if !strings.Contains(docs.Commands, string(purpose)+",") {
			t.Errorf("docs/commands.md: category %s is missing", purpose)
		}
	}
	for _, c := range commands {
		name := c.CommandPath()
		flags := []string{"--help", "--help-all"}
		if !c.HasParent() {
			flags = flags[:1]
		}
		for _, flag := range flags {
			var help bytes.Buffer
			if got := run(context.Background(), append(strings.Fields(name)[1:], flag), nil, &help, &help); got != exitAllowed {
				t.Errorf("%s %s: exit status %d", name, flag, got)
			}
			for line := range strings.Lines(help.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
					t.Errorf("%s %s: a line of %d columns: %s", name, flag, n, line)
				}
			}
		}
		visible := 0
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if _, usage := help.FlagText(f); len(usage) > description {
				t.Errorf("%s --%s: a description of %d characters: %s", name, f.Name, len(usage), usage)
			}
			if f.Value.Type() != "bool" && f.NoOptDefVal == "" && !strings.HasPrefix(f.Usage, "`") {
				t.Errorf("%s --%s: the usage does not begin with a placeholder: %s", name, f.Name, f.Usage)
			}
			if !f.Hidden {
				visible++
			}
		})
		if visible > shown {
			t.Errorf("%s: the help shows %d flags, want at most %d", name, visible, shown)
		}
		if !c.HasSubCommands() && (!strings.Contains(c.Long, "Exit") || !strings.Contains(c.Long, "0")) {
			t.Errorf("%s: the help does not name the exit statuses", name)
		}
	}
}
