// Robots-bulk makes tables of archives of robots.txt: the answers of sites, and the verdicts for
// crawlers.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/help"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/robots-bulk/internal/bulk"
	"github.com/spf13/cobra"
)

// Exit statuses (ARCHITECTURE.md, Contracts).
const (
	exitDone        = 0
	exitFailed      = 1   // some shards failed
	exitBad         = 2   // invalid usage, or the work cannot continue
	exitUnfinished  = 3   // not all shards are done yet
	exitInterrupted = 130 // the same command continues
)

// streams are the standard streams of one run.
type streams struct {
	in       io.Reader
	out, err io.Writer
	screen   *screen.Screen // of err
}

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(bulk.CollectorPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run reads the command line, runs the command and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	std := &streams{in: stdin, out: stdout, screen: screen.New(stderr)}
	std.err = std.screen.Writer(stderr)
	status := exitDone
	root := newRoot(std, &status)
	root.SetArgs(append([]string{}, args...))
	if cmd, err := root.ExecuteContextC(ctx); err != nil {
		complain(std, cmd.CommandPath(), err)
		return exitBad
	}
	return status
}

// newRoot builds the command line. A command leaves its exit status in status; an error is
// invalid usage and is printed on standard error.
func newRoot(std *streams, status *int) *cobra.Command {
	root := &cobra.Command{
		Use:                        "robots-bulk",
		Short:                      "Make tables of robots.txt archives",
		Version:                    fmt.Sprintf("%s\n%s %s/%s", bulk.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH),
		DisableFlagsInUseLine:      true,
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				return fmt.Errorf("unknown command %q (did you mean %s?)", ask.Clip(args[0]), near[0])
			}
			return fmt.Errorf("unknown command %q; robots-bulk --help lists them", ask.Clip(args[0]))
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			*status = exitBad
			cmd.SetOut(std.err)
			return cmd.Help()
		},
	}
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.SetUsageFunc(help.Usage)
	root.SetVersionTemplate("robots-bulk {{.Version}}\n")
	root.AddCommand(
		newPackCommand(std, status),
		newAskCommand(std, status),
		newJoinCommand(std, status),
		newDiffCommand(std, status),
		newStatusCommand(std, status),
	)
	help.Describe(root)
	return root
}

// complain writes one sentence on standard error.
func complain(std *streams, name string, err error) {
	fmt.Fprintf(std.err, "%s: %s\n", name, robots.Printable(err.Error()))
}

// open opens a file, or standard input for "-".
func (s *streams) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(s.in), nil
	}
	f, err := os.Open(name)
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		return nil, fmt.Errorf("cannot read %s: %w", name, failed.Err)
	}
	return f, err
}

// complete lets the shell complete a flag from a closed list.
func complete(cmd *cobra.Command, flag string, values []string) {
	// The only errors are an unknown flag and a flag that is completed twice.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
