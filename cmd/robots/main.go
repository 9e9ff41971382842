// Robots answers whether a crawler may fetch a URL, and why, from a robots.txt.
//
// Every verb has a file of its name: its cobra command, and a function that takes
// a context and the call (call.go) and returns an exit status.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/robotskit/robots"
	"github.com/spf13/cobra"
)

// Exit statuses, the same for all verbs (ARCHITECTURE.md, Contracts).
const (
	exitAllowed    = 0 // all allowed; asked for something else than verdicts: done
	exitDisallowed = 1 // some disallowed
	exitBad        = 2 // bad use or unreadable input: nothing is answered; a bad line of a list; interrupted
	exitUndecided  = 3 // some undecided, because robots.txt cannot be reached
)

// streams are the standard streams of one run. Output is buffered, and flushed
// when the verb is done; lists and batch flush it before they wait.
type streams struct {
	in       io.Reader
	out      *bufio.Writer
	err      io.Writer
	screen   *screen // of err
	terminal bool    // out is a terminal
	now      func() time.Time
	name     string // of the command: "robots check"
}

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program: it reads the command line, runs the verb and
// returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	std := &streams{
		in: stdin, terminal: isTerminal(stdout),
		screen: &screen{err: stderr, terminal: isTerminal(stderr)},
		now:    time.Now, //nolint:forbidigo // the one clock of the program
	}
	std.err = screenWriter{std.screen, stderr}
	if std.screen.terminal {
		stdout = screenWriter{std.screen, stdout}
	}
	std.out = bufio.NewWriterSize(stdout, 64<<10)
	status := exitAllowed
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	root := newRoot(std, &status, verb)
	root.SetArgs(append([]string{}, args...))
	if len(args) == 0 || args[0] != cobra.ShellCompRequestCmd && args[0] != cobra.ShellCompNoDescRequestCmd {
		strict(root) // whose second reading of a line, for the shell, is no second value
	}
	cmd, err := oneDash(root, args)
	if err == nil {
		cmd, err = root.ExecuteContextC(ctx)
	}
	name := cmd.CommandPath()
	if err != nil {
		complain(std, name, suggest(root, args, err))
		status = exitBad
	}
	if err := std.out.Flush(); err != nil && !errors.Is(err, syscall.EPIPE) {
		// A closed pipe is a reader who has seen enough, a full disk is not.
		complain(std, name, fmt.Errorf("cannot write standard output: %w", cause(err)))
		status = exitBad
	}
	return status
}

// newRoot builds the command line: of all verbs, or if only names one of that alone,
// as most of the time of a short run goes into building. The verb that runs leaves its
// exit status in status; its error is a bad call and becomes one sentence on standard
// error.
func newRoot(std *streams, status *int, only string) *cobra.Command {
	var showVersion bool
	var versionFormat string
	root := &cobra.Command{
		Use: "robots",
		// The line "robots [command]" says it all.
		DisableFlagsInUseLine: true,
		Short:                 "May this crawler fetch this URL, and why",
		Long: `Robots answers one question from a robots.txt: may this crawler fetch this URL,
and why? It fetches the file from the site or takes yours (-f), and reads it as
RFC 9309 says, or as Google, Seznam, Bing and Yandex do (--dialect).`,
		Example: `  robots check -a Googlebot https://example.com/list?sort=price
  robots fetch https://example.com/
  robots check -f robots.txt https://example.com/list?sort=price
  robots explain -f robots.txt -a Googlebot /list?sort=price
  robots check --batch < questions.jsonl > answers.jsonl`,
		SilenceErrors:              true,
		SilenceUsage:               true,
		DisableSuggestions:         true, // suggest says it in one sentence
		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return version(std, versionFormat)
			}
			*status = exitBad
			cmd.SetOut(std.err)
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&showVersion, "version", false, "print the version and stop")
	root.Flags().StringVar(&versionFormat, "format", formatText, "with --version: text or json")
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	verbs := []struct {
		name string
		make func() *cobra.Command
	}{
		{"check", func() *cobra.Command { return checkCommand(std, status) }},
		{"clause", func() *cobra.Command { return clauseCommand(std) }},
		{"config", func() *cobra.Command { return configCommand(std) }},
		{"crawlers", func() *cobra.Command { return newCrawlers(std, status) }},
		{"diff", func() *cobra.Command { return diffCommand(std, status) }},
		{"explain", func() *cobra.Command { return explainCommand(std, status) }},
		{"fetch", func() *cobra.Command { return fetchCommand(std, status) }},
		{"fleet", func() *cobra.Command { return fleetCommand(std, status) }},
		{"fmt", func() *cobra.Command { return fmtCommand(std, status) }},
		{"lint", func() *cobra.Command { return lintCommand(std, status) }},
		{"lsp", func() *cobra.Command { return lspCommand(std) }},
		{"page", func() *cobra.Command { return pageCommand(std, status) }},
		{"serve", func() *cobra.Command { return serveCommand(std) }},
		{"show", func() *cobra.Command { return newShow(std, status) }},
		{"test", func() *cobra.Command { return testCommand(std, status) }},
		{"verify", func() *cobra.Command { return verifyCommand(std, status) }},
		{"watch", func() *cobra.Command { return watchCommand(std, status) }},
	}
	for _, v := range verbs {
		if v.name == only {
			root.CompletionOptions.DisableDefaultCmd = true
			root.AddCommand(v.make())
			return root
		}
	}
	for _, v := range verbs {
		root.AddCommand(v.make())
	}
	root.SetHelpCommand(helpCommand())
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			// Without this an unknown shell prints the help and succeeds.
			cmd.RunE = func(*cobra.Command, []string) error {
				return errors.New("no shell given: it is one of bash, zsh, fish and powershell")
			}
		}
	}
	return root
}

// helpCommand replaces cobra's own, which answers an unknown verb with success.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Say how a command is used",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, _, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// complain writes one sentence on standard error.
func complain(std *streams, name string, err error) {
	fmt.Fprintf(std.err, "%s: %s\n", name, robots.Printable(err.Error()))
}

// warn writes one sentence on standard error that does not stop the verb.
func warn(std *streams, name, format string, args ...any) {
	complain(std, name, fmt.Errorf("warning: "+format, args...))
}

// cause returns the system's own words for an error of the file system, without
// the operation and the path: the sentence around it names the path.
func cause(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}
