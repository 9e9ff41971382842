package main

import (
	"context"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/spf13/cobra"
)

// A command is one run of a command that does not have options yet (options.go).
type command struct {
	outputFlags
	std     *screen.Streams
	args    []string
	cmd     *cobra.Command
	palette render.Palette // of standard output
}

func newCommand(std *screen.Streams) *command { return &command{std: std} }

// run returns the RunE of a command.
func (c *command) run(verb func(context.Context) (int, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		c.cmd = cmd
		c.palette = c.outputFlags.palette(c.std)
		return runE(c.std, &c.args, verb)(cmd, args)
	}
}

func (c *command) warn(format string, args ...any) { c.std.Warn(format, args...) }

// given reports whether a flag was given.
func (c *command) given(flag string) bool { return c.cmd.Flags().Changed(flag) }

func (c *command) formatFlag(cmd *cobra.Command, more ...string) { c.registerFormat(cmd, more...) }

func (c *command) colorFlag(cmd *cobra.Command) { c.registerColor(cmd) }

func (c *command) reader() *source.Reader { return c.outputFlags.reader(c.std) }

func (c *command) openLive(flags *siteFlags, dialects []robots.Dialect, maxBytes int) (*source.Live, error) {
	return flags.open(c.std, dialects, maxBytes)
}

func (c *command) named(
	ctx context.Context, flags *siteFlags, dialects []robots.Dialect, maxBytes int, names ...string,
) ([]source.Text, *source.Live, error) {
	return flags.named(ctx, c.reader(), dialects, maxBytes, names...)
}

func (c *command) known(ctx context.Context, flags *siteFlags, dialects []robots.Dialect, names ...string) ([]source.Text, error) {
	return flags.known(ctx, c.reader(), dialects, names...)
}

func (c *command) readFiles(ctx context.Context, flags *siteFlags) ([]source.Text, error) {
	return flags.whole(ctx, c.reader(), c.args)
}

func (c *command) wanted(flags *siteFlags, dialects []robots.Dialect, maxBytes int, names []string) (source.Wanted, error) {
	return flags.wanted(dialects, maxBytes, names)
}
