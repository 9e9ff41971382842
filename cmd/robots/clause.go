package main

import (
	"fmt"
	"strings"

	"github.com/robotskit/robots/docs"
	"github.com/spf13/cobra"
)

// A clause is a statement of docs/clauses.md.
type clause struct {
	Schema    int    `json:"schema"`
	ID        string `json:"id"`
	Section   string `json:"section"`
	Statement string `json:"statement"`
	Source    string `json:"source,omitempty"` // of a section that names them
}

// clauses reads the page: its statements are the rows of the tables that begin
// with id.
func clauses() (list []clause) {
	section, inside := "", false
	for line := range strings.Lines(docs.Clauses) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.TrimSpace(title)
		}
		row, ok := strings.CutPrefix(strings.TrimSpace(line), "| ")
		cells := strings.Split(strings.TrimSuffix(row, " |"), " | ")
		switch {
		case !ok || len(cells) < 2:
			inside = false
		case cells[0] == "id":
			inside = true
		case inside && cells[0] != "---":
			c := clause{Schema: 1, ID: cells[0], Section: section, Statement: cells[1]}
			if len(cells) > 2 {
				c.Source = cells[2]
			}
			list = append(list, c)
		}
	}
	return list
}

func clauseCommand(std *streams) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "clause [ID...]",
		Short: "Print the statements that explain and the code cite",
		Long: `Clause prints the statement behind an id such as D-09, which explain names
behind every step and warnings in parentheses. Without an id it lists them all.

Exit status: 0, or 2 for an id that there is not.`,
		Example: `  robots clause D-09
  robots clause PREC-01 "SPEC 3.5" --format json
  robots clause`,
		DisableFlagsInUseLine: true,
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
	registerFormat(cmd, &format)
	return cmd
}

// printClauses prints the statements with these ids, of all the beginnings.
func printClauses(std *streams, ids []string, format string) error {
	if err := checkFormat(format); err != nil {
		return err
	}
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
			return fmt.Errorf("there is no statement %q: robots clause lists them", clip(id))
		}
	}
	section := ""
	for _, c := range chosen {
		switch {
		case format == formatJSON:
			if err := encode(std.out, c); err != nil {
				return err
			}
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
			wrap(std.out, textWidth, c.ID+"  ", c.Statement)
		}
	}
	return nil
}

// beginning returns as many words of a statement as its line has room for.
func beginning(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return s[:strings.LastIndexByte(s[:most], ' ')] + " ..."
}
