// Robots answers whether a crawler may fetch a URL, and why, from a robots.txt.
//
// Each command is in the file of its name (help.go lists them), in the scheme of options.go: package source opens what it reads,
// package answer answers one question, and package render writes the answer.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"

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

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program: it reads the command line, runs the verb and
// returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	std := screen.NewStreams(stdin, stdout, stderr)
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
	std.Name = cmd.CommandPath()
	if err != nil {
		std.Complain(err)
		std.Status = exitBad
	}
	if err := std.Finish(); err != nil {
		std.Complain(err)
		std.Status = exitBad
	}
	return std.Status
}

// newRoot builds the command line: all verbs, or only the named one, as most of the time of
// a short run goes into building. The verb sets the status; its error is invalid usage and becomes
// one sentence on standard error.
func newRoot(std *screen.Streams, only string) *cobra.Command {
	var showVersion bool
	var versionFormat string
	root := &cobra.Command{
		Use:   "robots",
		Short: "Check, explain and test robots.txt rules",
		Long: "Check, explain and test robots.txt rules.\n\n" +
			"Exit status: 0 done or all allowed, 1 some disallowed or found, 2 invalid usage\nor input, 3 undecided.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return unknownCommand(cmd, args[0])
			case showVersion:
				writeVersion(std, versionFormat)
			default:
				std.Status = exitBad
				rootHelp(std.Err)
			}
			return nil
		},
	}
	root.Flags().BoolVar(&showVersion, "version", false, "print the version and stop")
	choiceFlag(root, &versionFormat, "format", formatText, "`FORMAT` with --version: text or json", formatText, formatJSON)
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.SetHelpFunc(func(*cobra.Command, []string) { rootHelp(std.Out) })
	addCommands(root, std, only)
	return root
}

// addCommands adds all commands, or only the named one.
func addCommands(root *cobra.Command, std *screen.Streams, only string) {
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
		return
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
