package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/spf13/cobra"
)

// A command is one run of a verb: its streams, flags and arguments. Verbs embed it.
type command struct {
	std     *screen.Streams
	args    []string
	cmd     *cobra.Command
	format  string
	color   string
	palette render.Palette // of standard output
}

func newCommand(std *screen.Streams) *command {
	return &command{std: std, format: formatText, color: render.ColorNever}
}

// run returns the RunE of a verb: it checks the flags that all verbs share.
func (c *command) run(verb func(context.Context) (int, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		c.cmd, c.std.Name, c.args = cmd, cmd.CommandPath(), args
		c.palette = render.NewPalette(c.color, c.std.Terminal)
		c.std.Status, err = verb(cmd.Context())
		return err
	}
}

func (c *command) warn(format string, args ...any) { c.std.Warn(format, args...) }

// given reports whether a flag was given.
func (c *command) given(flag string) bool { return c.cmd.Flags().Changed(flag) }

// formatFlag declares --format. Of a verb that has more formats than text and json, more names
// them.
func (c *command) formatFlag(cmd *cobra.Command, more ...string) {
	usage := "`FORMAT` text, or json (one object per line)"
	if len(more) > 0 {
		usage = "`FORMAT` text, json, " + strings.Join(more, ", ")
	}
	choiceFlag(cmd, &c.format, "format", formatText, usage, append([]string{formatText, formatJSON}, more...)...)
}

func (c *command) colorFlag(cmd *cobra.Command) {
	choiceFlag(cmd, &c.color, "color", render.ColorAuto, "`WHEN` color of text: auto, always or never", render.ColorAuto, render.ColorAlways, render.ColorNever)
}

// timeFlag declares --at.
func timeFlag(cmd *cobra.Command, at *time.Time, usage string) {
	cmd.Flags().Func("at", usage, func(s string) (err error) {
		if *at, err = ask.Time(s); err != nil {
			return fmt.Errorf("--at %w", err)
		}
		return nil
	})
}
