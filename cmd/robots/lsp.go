package main

import (
	"bufio"

	"github.com/robotskit/robots/cmd/internal/lsp"
	"github.com/spf13/cobra"
)

func lspCommand(std *streams) *cobra.Command {
	return &cobra.Command{
		Use: "lsp",
		Long: `Start a language server for robots.txt on standard input and output, for editors that support the
Language Server Protocol: findings of lint with their fixes, formatting, explanations of lines,
completion of fields and crawlers, and jumps from a rule or crawler to its group. docs/editors.md
shows how to set up VS Code, Neovim and Helix.

Exit status: 0 after the client has disconnected; 2 for invalid usage or a broken connection.`,
		Example: "  robots lsp",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := noArguments(args); err != nil {
				return err
			}
			return lsp.Serve(std.in, unbuffered{std.out}, programVersion())
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
