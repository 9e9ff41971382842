// Robots answers whether a crawler may fetch a URL, and why, from a robots.txt.
//
// Each verb is a cobra command in the file of its name (help.go lists them). Those that judge URLs share a
// judge (judge.go): crawlers, a source of robots.txt, and what reads the URLs.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/help"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/spf13/cobra"
)

// Exit statuses, the same for all verbs (ARCHITECTURE.md, Contracts).
const (
	exitAllowed    = 0 // all allowed, or done
	exitDisallowed = 1 // some disallowed
	exitBad        = 2 // invalid usage or input, a bad line of a list, or interrupted
	exitUndecided  = 3 // some undecided: robots.txt is unreachable
)

// streams are the standard streams of one run. Output is buffered, and flushed
// when the verb is done; lists and batch flush it before they wait.
type streams struct {
	in       io.Reader
	out      *bufio.Writer
	err      io.Writer
	screen   *screen.Screen // of err
	terminal bool           // out is a terminal
	now      func() time.Time
	name     string // of the command, which begins its messages: "robots check"
	status   int    // of the run
	failed   error  // the first of the writers to out, reported at the end
	warned   sync.Map
}

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program: it reads the command line, runs the verb and
// returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	std := &streams{
		in: stdin, terminal: screen.IsTerminal(stdout),
		screen: screen.New(stderr),
		now:    time.Now, //nolint:forbidigo // the one clock of the program
	}
	std.err = std.screen.Writer(stderr)
	if std.screen.Terminal {
		stdout = std.screen.Writer(stdout)
	}
	std.out = bufio.NewWriterSize(stdout, 64<<10)
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	root := newRoot(std, verb)
	root.SetArgs(append([]string{}, args...))
	root.SetFlagErrorFunc(flagError)
	cmd, err := strict(root, args)
	if err == nil {
		cmd, err = root.ExecuteContextC(ctx)
	}
	std.name = cmd.CommandPath()
	if err != nil {
		std.complain(err)
		std.status = exitBad
	}
	std.keep(std.out.Flush())
	if err := std.failed; err != nil && !errors.Is(err, syscall.EPIPE) {
		// A closed pipe is not an error: its reader has seen enough.
		std.complain(fmt.Errorf("cannot write standard output: %w", cause(err)))
		std.status = exitBad
	}
	return std.status
}

// newRoot builds the command line: all verbs, or only the named one, as most of the time of
// a short run goes into building. The verb sets the status; its error is invalid usage and becomes
// one sentence on standard error.
func newRoot(std *streams, only string) *cobra.Command {
	var showVersion bool
	var versionFormat string
	root := &cobra.Command{
		Use:           "robots",
		Short:         "Check, explain and test robots.txt rules",
		Long:          "Check, explain and test robots.txt rules.\n\nExit status: 0 done or all allowed, 1 some disallowed or found, 2 invalid usage\nor input, 3 undecided.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return unknownCommand(cmd, args[0])
			case showVersion:
				std.writeAnswer(newProgramBuild(), versionFormat, palette{})
			default:
				std.status = exitBad
				rootHelp(std.err)
			}
			return nil
		},
	}
	root.Flags().BoolVar(&showVersion, "version", false, "print the version and stop")
	choiceFlag(root, &versionFormat, "format", formatText, "`FORMAT` with --version: text or json", formatText, formatJSON)
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.SetHelpFunc(func(*cobra.Command, []string) { rootHelp(std.out) })
	add := func(v verb) {
		cmd := v.make(std)
		cmd.Short = v.short
		root.AddCommand(cmd)
		help.Describe(cmd)
		helpFor(cmd)
	}
	list := verbList()
	if i := slices.IndexFunc(list, func(v verb) bool { return v.name == only }); i >= 0 {
		root.CompletionOptions.DisableDefaultCmd = true
		add(list[i])
		return root
	}
	for _, v := range list {
		add(v)
	}
	root.SetHelpCommand(helpCommand())
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	completion.RunE = func(*cobra.Command, []string) error { // without this, help and success for an unknown shell
		return errors.New("no shell given (known: bash, zsh, fish, powershell)")
	}
	return root
}

// helpCommand replaces that of cobra, which succeeds for an unknown verb.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, _ := cmd.Root().Find(args)
			if len(rest) > 0 && about.HasSubCommands() {
				return unknownCommand(about, rest[0])
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// keep keeps the first error of writing to standard output. What follows need not stop: out
// writes nothing after an error.
func (s *streams) keep(err error) {
	s.failed = cmp.Or(s.failed, err)
}

// complain writes a sentence on standard error; one for each of joined errors.
func (s *streams) complain(err error) {
	if list, joined := err.(interface{ Unwrap() []error }); joined {
		for _, err := range list.Unwrap() {
			s.complain(err)
		}
		return
	}
	fmt.Fprintf(s.err, "%s: %s\n", s.name, robots.Printable(strings.ReplaceAll(err.Error(), "\n", "; ")))
}

// warn writes a warning on standard error.
func (s *streams) warn(format string, args ...any) {
	s.complain(fmt.Errorf("warning: "+format, args...))
}

// warnOnce is warn for the first time that something is noticed.
func (s *streams) warnOnce(what, format string, args ...any) {
	if _, before := s.warned.LoadOrStore(what, true); !before {
		s.warn(format, args...)
	}
}

// cause returns an error of the file system without operation and path, as the sentence around
// it names the path.
func cause(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}
