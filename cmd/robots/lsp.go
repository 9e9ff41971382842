package main

import (
	"bufio"

	"github.com/robotskit/robots/cmd/internal/lsp"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/spf13/cobra"
)

func lspCommand(std *screen.Streams) *cobra.Command {
	return &cobra.Command{
		Use: "lsp",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := noArguments(args); err != nil {
				return err
			}
			return lsp.Serve(std.In, unbuffered{std.Out}, programVersion())
		},
	}
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
