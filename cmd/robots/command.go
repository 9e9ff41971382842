package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/spf13/cobra"
)

// A command is one run of a verb: its streams, flags and arguments. Verbs embed it.
type command struct {
	std     *streams
	name    string // begins its messages: "robots check"
	args    []string
	cmd     *cobra.Command
	format  string
	formats []string // values of --format other than text and json
	color   string
	palette palette // of standard output

	errPalette palette
}

func newCommand(std *streams, formats ...string) *command {
	return &command{std: std, format: formatText, formats: formats, color: colorNever}
}

// run returns the RunE of a verb: it checks the flags that all verbs share.
func (c *command) run(status *int, verb func(context.Context) (int, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		c.cmd, c.name, c.args = cmd, cmd.CommandPath(), args
		c.std.name = c.name
		if err = checkFormat(c.format, c.formats...); err != nil {
			return err
		}
		if c.palette, err = newPalette(c.color, c.std.terminal); err != nil {
			return err
		}
		c.errPalette, _ = newPalette(c.color, c.std.screen.terminal)
		*status, err = verb(cmd.Context())
		return err
	}
}

func (c *command) warn(format string, args ...any) { warn(c.std, c.name, format, args...) }

// given reports whether a flag was given.
func (c *command) given(flag string) bool { return c.cmd.Flags().Changed(flag) }

func (c *command) formatFlag(cmd *cobra.Command) { registerFormat(cmd, &c.format, c.formats...) }

func (c *command) colorFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.color, "color", colorAuto, "`WHEN` color of text: auto, always or never")
	complete(cmd, "color", []string{colorAuto, colorAlways, colorNever})
}

// maxFile limits what is read of a file or of standard input, and a line of a batch.
const maxFile = 64 << 20

// readNamed reads a file, or standard input for "-", and returns its name for messages.
func (c *command) readNamed(name string) (body []byte, title string, err error) {
	from, title, err := c.std.open(name)
	if err != nil {
		return nil, title, err
	}
	defer from.Close()
	if body, err = io.ReadAll(io.LimitReader(from, maxFile+1)); err != nil {
		return nil, title, fmt.Errorf("cannot read %s: %w", title, cause(err))
	}
	if len(body) > maxFile {
		body = body[:maxFile]
		c.warn("%s is larger than 64 MiB; the rest is not read", title)
	}
	return body, title, nil
}

// readRobots reads a robots.txt and warns about oddities in it as read by dialect d.
func (c *command) readRobots(name string, d robots.Dialect, maxBytes int) (*robots.File, error) {
	if name == "" {
		return nil, errors.New("empty file name")
	}
	body, title, err := c.readNamed(name)
	if err != nil {
		return nil, err
	}
	f := robots.Parse(body)
	c.warnFile(title, f, d, maxBytes)
	switch {
	case len(body) == 0 && name == "-":
		c.warn("%s is empty, so everything is allowed", title)
	case isForeign(f):
		c.warn("%s has no line of a robots.txt, so everything is allowed: is it the right file?", title)
	}
	return f, nil
}

// warnFile warns about oddities of a file as a whole. Truncation by --max-bytes is intended.
func (c *command) warnFile(title string, f *robots.File, d robots.Dialect, maxBytes int) {
	if maxBytes != noLimit {
		d.MaxFileBytes = 0
	}
	for _, n := range f.Notes(d) {
		text := robots.Printable(title + ": " + n.Text)
		fmt.Fprintf(c.std.err, "%s: warning: %s (%s)\n", c.name, text, c.errPalette.link(n.Clause, 0))
	}
}

// isForeign reports whether a file has text but no line of a field known in robots.txt.
func isForeign(f *robots.File) bool {
	text := false
	for line := range f.Lines(robots.Dialect{}) {
		if line.Field > robots.FieldUnknown {
			return false
		}
		text = text || line.Field == robots.FieldUnknown ||
			strings.TrimSpace(strings.TrimSuffix(f.Text(line.Span), f.Text(line.Comment))) != ""
	}
	return text
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
