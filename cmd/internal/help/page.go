package help

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	// flagTable begins the flags of a command in docs/commands.md, which end its section.
	flagTable = "| flag | meaning |\n| --- | --- |\n"
	// fetchHeading is the section of docs/commands.md with the flags of all commands that fetch from sites.
	fetchHeading = "Flags for fetching"
)

// fetchFlags are those in that section. A command whose flag has another meaning lists it.
var fetchFlags = []string{"cache", "redis", "allow-eviction", "user-agent", "timeout", "proxy", "allow-private", "address-pace"}

// WithFlags returns docs/commands.md with the current flags of all commands of a program.
func WithFlags(page string, root *cobra.Command) string {
	var shared []string
	if fetch, _, err := root.Find([]string{"fetch"}); err == nil && fetch != root {
		fetch.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if slices.Contains(fetchFlags, f.Name) {
				shared = append(shared, flagRow(f))
			}
		})
		page = withTable(page, fetchHeading, strings.Join(shared, ""))
	}
	return withCommand(page, root, shared)
}

// withCommand returns the page with the flags of a command and of those below it.
func withCommand(page string, cmd *cobra.Command, shared []string) string {
	rows := ""
	var fetching []string
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		row := flagRow(f)
		switch {
		case f.Name == "help", f.Name == "help-all":
		case slices.Contains(shared, row):
			fetching = append(fetching, "`--"+f.Name+"`")
		default:
			rows += row
		}
	})
	if fetching != nil {
		rows += "| [" + fetchHeading + "](#flags-for-fetching) | " + strings.Join(fetching, ", ") + " |\n"
	}
	page = withTable(page, cmd.CommandPath(), rows)
	for _, sub := range cmd.Commands() {
		page = withCommand(page, sub, shared)
	}
	return page
}

// withTable returns the page with other rows at the end of a section, if it has that section.
func withTable(page, title, rows string) string {
	heading := "\n## " + title + "\n"
	before, section, found := strings.Cut(page, heading)
	if !found || rows == "" {
		return page
	}
	section, after, more := strings.Cut(section, "\n## ")
	section, _, _ = strings.Cut(section, flagTable)
	page = before + heading + strings.TrimRight(section, "\n") + "\n\n" + flagTable + rows
	if more {
		page += "\n## " + after
	}
	return page
}

func flagRow(f *pflag.Flag) string {
	cell := strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`)
	name := strings.ReplaceAll(strings.TrimSpace(flagName(f)), "|", `\|`)
	return fmt.Sprintf("| `%s` | %s |\n", name, cell.Replace(flagMeaning(f)))
}
