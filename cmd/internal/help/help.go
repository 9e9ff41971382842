// Package help writes the help of commands, and other text for terminals, in 100 columns.
package help

import (
	"fmt"
	"strings"

	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/docs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxFlagColumn is the widest column of flags.
const maxFlagColumn = 32

// Describe gives a command and those below it the usage, the description and the examples that docs/commands.md has for
// them. The description is set as it stands there, without the marks of code; the flags in it are generated (WithFlags).
func Describe(cmd *cobra.Command) {
	_, section, _ := strings.Cut(docs.Commands, "\n## "+cmd.CommandPath()+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	section, _, _ = strings.Cut(section, flagTable)
	blocks := strings.Split(section, "```")
	for i, text := range blocks {
		_, code, _ := strings.Cut(strings.TrimSpace(text), "\n") // without its language
		code = "  " + strings.ReplaceAll(code, "\n", "\n  ")
		switch {
		case i%2 == 0:
			cmd.Long += strings.ReplaceAll(text, "`", "")
		case i == 1:
			cmd.Use = strings.TrimPrefix(code[2:], strings.TrimSuffix(cmd.CommandPath(), cmd.Name()))
		case i == len(blocks)-2:
			cmd.Example = code
		default:
			cmd.Long += code
		}
	}
	cmd.Long = strings.TrimSpace(cmd.Long)
	for _, sub := range cmd.Commands() {
		Describe(sub)
	}
}

// Usage writes how to use a command: its subcommands, examples and visible flags.
func Usage(cmd *cobra.Command) error {
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprint(w, "\nCommands:\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(w, "  %-11s %s\n", sub.Name(), sub.Short)
			}
		}
	}
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	fmt.Fprint(w, "\nFlags:\n")
	width := 0
	var flags []*pflag.Flag
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags = append(flags, f)
			width = max(width, min(len(flagName(f)), maxFlagColumn))
		}
	})
	for _, f := range flags {
		render.Wrap(w, fmt.Sprintf("  %-*s  ", width, flagName(f)), flagMeaning(f))
	}
	return nil
}

// flagName returns a flag as it is given, with its placeholder.
func flagName(f *pflag.Flag) string {
	name := "    --" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", --" + f.Name
	}
	if placeholder, _ := FlagText(f); f.NoOptDefVal == "" && placeholder != "" {
		name += " " + placeholder
	}
	return name
}

// flagMeaning returns the description of a flag with its default.
func flagMeaning(f *pflag.Flag) string {
	_, text := FlagText(f)
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" && f.DefValue != "[]" &&
		!strings.Contains(text, "default") {
		text += " (default " + f.DefValue + ")"
	}
	return text
}

// FlagText returns the placeholder of a flag and its description. A placeholder at the
// beginning of the usage is not part of the description.
func FlagText(f *pflag.Flag) (placeholder, text string) {
	placeholder, text = pflag.UnquoteUsage(f)
	if strings.HasPrefix(f.Usage, "`") {
		text = strings.TrimSpace(strings.TrimPrefix(text, placeholder))
	}
	return placeholder, text
}
