package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/robotskit/robots/cmd/internal/help"
	"github.com/robotskit/robots/docs"
	"github.com/spf13/cobra"
)

// A clause is a numbered clause of docs/clauses.md.
type clause struct {
	Schema    int    `json:"schema"`
	ID        string `json:"id"`
	Section   string `json:"section"`
	Statement string `json:"statement"`
	Source    string `json:"source,omitempty"` // only in sections that name sources
}

// clauses reads the page: a second-level heading is a section, a fourth-level heading the id of
// the clause in the line below. Italics at the end of that line name the sources.
func clauses() (list []clause) {
	section, id := "", ""
	for line := range strings.Lines(docs.Clauses) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "## "):
			section = line[len("## "):]
		case strings.HasPrefix(line, "#### "):
			id = line[len("#### "):]
		case id != "":
			c := clause{Schema: 1, ID: id, Section: section, Statement: links.ReplaceAllString(line, "$1")} //nolint:forbidigo // not a pattern of a rule
			if s, ok := strings.CutSuffix(c.Statement, "*"); ok {
				i := strings.LastIndex(s, " *")
				c.Statement, c.Source = s[:i], s[i+len(" *"):]
			}
			list = append(list, c)
			id = ""
		}
	}
	return list
}

// links are those of Markdown: [text](address).
var links = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`) //nolint:forbidigo // not a pattern of a rule

func clauseCommand(std *streams) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "clause",
		ValidArgsFunction: func(*cobra.Command, []string, string) (ids []string, _ cobra.ShellCompDirective) {
			for _, c := range clauses() {
				ids = append(ids, c.ID)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return printClauses(std, args, format)
		},
	}
	formatFlag(cmd, &format)
	return cmd
}

// printClauses prints the clauses with these ids; without ids, the beginning of all.
func printClauses(std *streams, ids []string, format string) error {
	all := clauses()
	chosen := all
	if len(ids) > 0 {
		chosen = nil
	}
	for _, id := range ids {
		before := len(chosen)
		for _, c := range all {
			if strings.EqualFold(c.ID, id) {
				chosen = append(chosen, c)
			}
		}
		if len(chosen) == before {
			return fmt.Errorf("unknown clause %q; robots clause lists them", clip(id))
		}
	}
	section := ""
	for _, c := range chosen {
		switch {
		case format == formatJSON:
			std.encode(c)
		case len(ids) == 0:
			if c.Section != section {
				if section != "" {
					fmt.Fprintln(std.out)
				}
				section = c.Section
				fmt.Fprintln(std.out, section)
			}
			fmt.Fprintf(std.out, "  %s  %s\n", fill(c.ID, 8), beginning(c.Statement))
		default:
			if c.Source != "" {
				c.Statement += " (" + c.Source + ")"
			}
			help.Wrap(std.out, c.ID+"  ", c.Statement)
		}
	}
	return nil
}

// beginning returns the words of a clause that fit its line.
func beginning(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return s[:strings.LastIndexByte(s[:most], ' ')] + " ..."
}
