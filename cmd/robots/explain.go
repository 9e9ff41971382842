package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/spf13/cobra"
)

func explainCommand(std *screen.Streams) *cobra.Command {
	f := newJudgeFlags(std)
	cmd := &cobra.Command{Use: "explain"}
	f.register(cmd)
	cmd.RunE = f.run(func(ctx context.Context) (int, error) {
		return f.write(ctx, (*judge).writeExplanation, (*judge).writeExplanationJSON)
	})
	return cmd
}

// explain returns the explanation of the verdict on a URL for the crawler with an index.
func (j *judge) explain(i int, t *urlTarget) answer.Explanation {
	c := &j.crawlers[i]
	return answer.Explain(j.rules[i].Rules, &c.Crawler, t.pathFor(c.Dialect), t.url, c.Echo(), answer.ExplainLimits{})
}

// writeExplanation writes how the verdicts on a URL are derived.
func (j *judge) writeExplanation(t *urlTarget) {
	w := j.std.Out
	for i, v := range j.verdicts {
		e := j.explain(i, t)
		if i+j.judged > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  %s\n", j.palette.verdict(v), j.palette.paint(bold, robots.Printable(t.url)))
		reason := because(j.palette, v, true)
		switch {
		case j.decisive >= 0:
			reason = v.Dialect + ": " + because(j.palette, v, false)
		case len(j.rules) > 1:
			reason = robots.Printable(j.crawlers[i].Name) + ": " + reason
		}
		fmt.Fprintf(w, "%s%s\n", stateIndent, reason)
		j.writeFallback(stateIndent, i)
		if i == 0 {
			j.writeState(stateIndent, (*robots.State).Text)
		}
		printDerivation(w, j.palette, &e.Derivation)
		if len(e.Signals) > 0 {
			heading(w, j.palette, "Signals")
			align(w, signalRows(j.palette, e.Signals))
		}
	}
}

// writeExplanationJSON writes an object for each crawler.
func (j *judge) writeExplanationJSON(t *urlTarget) {
	for i := range j.rules {
		j.std.EncodeAnswer(j.explain(i, t))
	}
}

// printDerivation writes how a verdict came to be.
func printDerivation(w io.Writer, colors palette, d *answer.Derivation) {
	heading(w, colors, "Steps")
	var steps, matches [][]string
	number := len(strconv.Itoa(len(d.Steps)))
	for i, s := range d.Steps {
		steps = append(steps, []string{fmt.Sprintf("  %*d", number, i+1), colors.paint(faint, colors.link(s.Clause)), s.Text})
	}
	alignWrapped(w, steps)

	for _, m := range d.Matches {
		result, style := "lost", faint
		if m.Won {
			result, style = "won ", green
			if m.Directive != robots.FieldAllow.String() {
				style = red
			}
		}
		if len(matches) == 0 {
			heading(w, colors, "Rules that match")
			matches = [][]string{{colors.paint(faint, "  line"), colors.paint(faint, "rule"), colors.paint(faint, "bytes"), colors.paint(faint, "result")}}
		}
		matches = append(matches, []string{fmt.Sprintf("  %4d", m.Line), m.String(), fmt.Sprintf("%5d", m.Bytes), colors.paint(style, result), m.Why + " (" + colors.link(m.Clause) + ")"})
	}
	alignWrapped(w, matches)

	printNotes(w, colors, d.Notes, d.Dropped)
}

func printNotes(w io.Writer, colors palette, notes []answer.Note, dropped int) {
	if len(notes) == 0 {
		return
	}
	heading(w, colors, "Notes")
	var rows [][]string
	for _, n := range notes {
		place := "  file"
		if n.Line > 0 {
			place = "  line " + strconv.Itoa(n.Line)
		}
		rows = append(rows, []string{place, colors.paint(faint, colors.link(n.Clause)), n.Text})
	}
	alignWrapped(w, rows)
	if dropped > 0 {
		fmt.Fprintf(w, "  and %d more\n", dropped)
	}
}

// signalRows returns the columns of each value.
func signalRows(colors palette, list []answer.Signal) (rows [][]string) {
	for _, s := range list {
		rows = append(rows, []string{"  " + lineList([]int{s.Line}), s.Title(), robots.Printable(s.Text()), s.Scope, colors.paint(faint, s.Source.Document+", "+s.Source.Date)})
	}
	return rows
}
