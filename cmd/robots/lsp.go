package main

import (
	"bufio"
	"context"

	"github.com/robotskit/robots/cmd/internal/lsp"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/spf13/cobra"
)

// lspOptions are one run of robots lsp.
type lspOptions struct {
	std  *screen.Streams
	args []string
}

func newLspCommand(std *screen.Streams) *cobra.Command {
	o := &lspOptions{std: std}
	return &cobra.Command{Use: "lsp", RunE: runE(std, &o.args, o.run)}
}

func (o *lspOptions) run(context.Context) (int, error) {
	if err := noArguments(o.args); err != nil {
		return exitBad, err
	}
	if err := lsp.Serve(o.std.In, unbuffered{o.std.Out}, programVersion()); err != nil {
		return exitBad, err
	}
	return exitAllowed, nil
}

// unbuffered passes every message on at once.
type unbuffered struct{ *bufio.Writer }

func (w unbuffered) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err == nil {
		err = w.Flush()
	}
	return n, err
}

// Close does nothing: standard output is closed by the end of the program.
func (unbuffered) Close() error { return nil }
