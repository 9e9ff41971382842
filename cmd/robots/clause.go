package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

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
	section := ""
	id := ""
	for line := range strings.Lines(docs.Clauses) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "## "):
			section = line[len("## "):]
		case strings.HasPrefix(line, "#### "):
			id = line[len("#### "):]
		case id != "":
			c := clause{ID: id, Section: section, Statement: links().ReplaceAllString(line, "$1")} //nolint:forbidigo // not a pattern of a rule
			if s, ok := strings.CutSuffix(c.Statement, "*"); ok {
				i := strings.LastIndex(s, " *")
				c.Statement = s[:i]
				c.Source = s[i+len(" *"):]
			}
			list = append(list, c)
			id = ""
		}
	}
	return list
}

// links are those of Markdown: [text](address).
var links = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`) //nolint:forbidigo // not a pattern of a rule
})

// clauseOptions are one run of robots clause.
type clauseOptions struct {
	std    *screen.Streams
	args   []string // ids
	output outputFlags
}

func newClauseCommand(std *screen.Streams) *cobra.Command {
	o := &clauseOptions{std: std}
	cmd := &cobra.Command{
		Use:  "clause",
		RunE: runE(std, &o.args, o.run),
		ValidArgsFunction: func(*cobra.Command, []string, string) (ids []string, _ cobra.ShellCompDirective) {
			for _, c := range clauses() {
				ids = append(ids, c.ID)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
	}
	o.output.registerFormat(cmd)
	return cmd
}

func (o *clauseOptions) run(context.Context) (int, error) {
	list, err := clausesByID(o.args)
	if err != nil {
		return exitBad, err
	}
	switch {
	case o.output.json():
		for _, c := range list {
			o.std.EncodeAnswer(c)
		}
	case len(o.args) > 0:
		printClauses(o.std.Out, list)
	default:
		printContents(o.std.Out, list)
	}
	return exitAllowed, nil
}

// clausesByID returns the clauses with some ids, all for none.
func clausesByID(ids []string) (list []clause, err error) {
	all := clauses()
	if len(ids) == 0 {
		return all, nil
	}
	for _, id := range ids {
		i := slices.IndexFunc(all, func(c clause) bool { return strings.EqualFold(c.ID, id) })
		if i < 0 {
			return nil, fmt.Errorf("unknown clause %q; robots clause lists them", clip(id))
		}
		list = append(list, all[i])
	}
	return list, nil
}

// printClauses writes clauses with their sources.
func printClauses(w io.Writer, list []clause) {
	for _, c := range list {
		text := c.Statement
		if c.Source != "" {
			text += " (" + c.Source + ")"
		}
		render.Wrap(w, c.ID+"  ", text)
	}
}

// printContents writes the beginning of each clause below the heading of its section.
func printContents(w io.Writer, list []clause) {
	section := ""
	for i, c := range list {
		if c.Section != section {
			section = c.Section
			fmt.Fprint(w, strings.Repeat("\n", min(i, 1)), section, "\n")
		}
		fmt.Fprintf(w, "  %s  %s\n", render.Fill(c.ID, 8), beginning(c.Statement))
	}
}

// beginning returns the words of a clause that fit its line.
func beginning(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return s[:strings.LastIndexByte(s[:most], ' ')] + " ..."
}
