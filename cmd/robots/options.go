package main

import (
	"context"
	"strings"

	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/spf13/cobra"
)

// This file holds the scheme of all commands. The command check is
//
//	type checkOptions struct          its streams, arguments and flags; groups of flags that commands share are named fields
//	newCheckCommand(std)              declares the flags
//	(o *checkOptions) run(ctx)        checks the flags, opens a source, gets one answer, writes it; returns the exit status

// runE returns the RunE of a command: it sets the name that begins messages, passes the arguments to the
// options and keeps the exit status of run. An error of run is invalid usage or input.
func runE(std *screen.Streams, args *[]string, run func(context.Context) (int, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, arguments []string) error {
		std.Name = cmd.CommandPath()
		*args = arguments
		status, err := run(cmd.Context())
		std.Status = status
		return err
	}
}

// outputFlags are --format and --color. The zero value is text without colors.
type outputFlags struct {
	format string
	color  string
}

// registerFormat declares --format, with more formats than text and json.
func (f *outputFlags) registerFormat(cmd *cobra.Command, more ...string) {
	usage := "`FORMAT` text, or json (one object per line)"
	if len(more) > 0 {
		usage = "`FORMAT` text, json, " + strings.Join(more, ", ")
	}
	choiceFlag(cmd, &f.format, "format", formatText, usage, append([]string{formatText, formatJSON}, more...)...)
}

// registerColor declares --color.
func (f *outputFlags) registerColor(cmd *cobra.Command) {
	usage := "`WHEN` color of text: auto, always or never"
	choiceFlag(cmd, &f.color, "color", render.ColorAuto, usage, render.ColorAuto, render.ColorAlways, render.ColorNever)
}

// json reports whether the output is JSON.
func (f *outputFlags) json() bool { return f.format == formatJSON }

// palette returns the colors of standard output.
func (f *outputFlags) palette(std *screen.Streams) render.Palette {
	return render.NewPalette(f.color, std.Terminal)
}

// reader returns what reads the robots.txt files that users name; its warnings have the colors of standard error.
func (f *outputFlags) reader(std *screen.Streams) *source.Reader {
	return &source.Reader{Std: std, Colors: render.NewPalette(f.color, std.Screen.Terminal)}
}
