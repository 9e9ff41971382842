package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/docs"
	"github.com/spf13/cobra"
)

// A clause is a numbered clause of docs/clauses.md.
type clause struct {
	ID        string `json:"id"`               // a heading of [clauses.md](clauses.md)
	Section   string `json:"section"`          // its heading
	Statement string `json:"statement"`        // in Markdown, without links
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
			c := clause{ID: id, Section: section, Statement: links.ReplaceAllString(line, "$1")} //nolint:forbidigo // not a pattern of a rule
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

func clauseCommand(std *screen.Streams) *cobra.Command {
	c := newCommand(std)
	cmd := &cobra.Command{
		Use:  "clause",
		RunE: c.run(c.clauses),
		ValidArgsFunction: func(*cobra.Command, []string, string) (ids []string, _ cobra.ShellCompDirective) {
			for _, c := range clauses() {
				ids = append(ids, c.ID)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.formatFlag(cmd)
	return cmd
}

// clauses prints the clauses with the ids of the arguments; without, the beginning of all.
func (c *command) clauses(context.Context) (int, error) {
	all := clauses()
	var chosen []clause
	for _, id := range c.args {
		i := slices.IndexFunc(all, func(one clause) bool { return strings.EqualFold(one.ID, id) })
		if i < 0 {
			return exitBad, fmt.Errorf("unknown clause %q; robots clause lists them", clip(id))
		}
		chosen = append(chosen, all[i])
	}
	if len(c.args) == 0 {
		chosen = all
	}
	section := ""
	for i, one := range chosen {
		switch {
		case c.format == formatJSON:
			c.std.EncodeAnswer(one)
		case len(c.args) > 0:
			if one.Source != "" {
				one.Statement += " (" + one.Source + ")"
			}
			render.Wrap(c.std.Out, one.ID+"  ", one.Statement)
		default:
			if one.Section != section {
				section = one.Section
				fmt.Fprint(c.std.Out, strings.Repeat("\n", min(i, 1)), section, "\n")
			}
			fmt.Fprintf(c.std.Out, "  %s  %s\n", render.Fill(one.ID, 8), beginning(one.Statement))
		}
	}
	return exitAllowed, nil
}

// beginning returns the words of a clause that fit its line.
func beginning(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return s[:strings.LastIndexByte(s[:most], ' ')] + " ..."
}
