// Robots-bulk makes tables of archives of robots.txt: what each site answered, and what that
// says to each crawler.
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
	"sync"
	"syscall"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/spf13/cobra"
)

// Exit statuses (ARCHITECTURE.md, Contracts).
const (
	exitDone        = 0
	exitFailed      = 1   // some shards failed
	exitBad         = 2   // bad use, or the work cannot go on
	exitUnfinished  = 3   // not all shards are done yet
	exitInterrupted = 130 // what was made is whole, and the same command goes on
)

// streams are the standard streams of one run.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program: it reads the command line, runs the verb and returns the exit
// status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	std := &streams{stdin, stdout, stderr}
	status := exitDone
	root := newRoot(std, &status)
	root.SetArgs(append([]string{}, args...))
	if cmd, err := root.ExecuteContextC(ctx); err != nil {
		complain(std, cmd.CommandPath(), err)
		return exitBad
	}
	return status
}

// newRoot builds the command line. The verb that runs leaves its exit status in status; its
// error is a bad call and becomes one sentence on standard error.
func newRoot(std *streams, status *int) *cobra.Command {
	root := &cobra.Command{
		Use:   "robots-bulk VERB",
		Short: "Archives of robots.txt in, tables out",
		Long: `Robots-bulk works on archives of robots.txt, a shard at a time. Each shard makes one part
of each table, which appears when it is whole, so a run that was ended in any way goes on
with the same command, and the same input gives the same bytes.

One run uses the cores of its machine. On many machines each job of an array takes its
share with --shard; all see the output folder. A shard that fails is listed in the folder
errors, the rest is done, and the same command tries it again.

Exit status: 0 all shards are done, 1 some failed, 2 bad use or the work cannot go on,
3 not all are done yet (status, and pack of a share that waits for others), 130
interrupted.`,
		Example: `  robots-bulk pack -o snap CC-MAIN-*.warc.gz
  robots-bulk ask -a GPTBot -o verdicts snap`,
		Version:                    fmt.Sprintf("%s\n%s %s/%s", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH),
		DisableFlagsInUseLine:      true,
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				return fmt.Errorf("unknown command %q, did you mean %s?", ask.Clip(args[0]), near[0])
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
	root.SetVersionTemplate("robots-bulk {{.Version}}\n")
	root.AddCommand(
		packCommand(std, status),
		askCommand(std, status),
		joinCommand(std, status),
		diffCommand(std, status),
		statusCommand(std, status),
	)
	return root
}

// programVersion is as Go gives it: v1.2.3 where that tag is, a pseudo-version between tags.
var programVersion = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
})

// complain writes one sentence on standard error.
func complain(std *streams, name string, err error) {
	fmt.Fprintf(std.err, "%s: %s\n", name, robots.Printable(err.Error()))
}

// warn writes one sentence on standard error that does not stop the verb.
func warn(std *streams, name, format string, args ...any) {
	complain(std, name, fmt.Errorf("warning: "+format, args...))
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
