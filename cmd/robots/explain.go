package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
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
	e := answer.Explain(j.rules[i].Rules, c, t.pathFor(c.Dialect), t.url, c.Echo(), answer.ExplainLimits{})
	e.Notes = append(e.Notes, source.Evidence(j.from.Record)...)
	return e
}

// writeExplanation writes how the verdicts on a URL are derived.
func (j *judge) writeExplanation(t *urlTarget) {
	w := j.std.Out
	for i, v := range j.verdicts {
		e := j.explain(i, t)
		if i+j.judged > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  %s\n", j.palette.Verdict(v), j.palette.Paint(render.Bold, robots.Printable(t.url)))
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
			render.Heading(w, j.palette, "Signals")
			render.Align(w, signalRows(j.palette, e.Signals))
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
func printDerivation(w io.Writer, colors render.Palette, d *answer.Derivation) {
	render.Heading(w, colors, "Steps")
	var steps, matches [][]string
	number := len(strconv.Itoa(len(d.Steps)))
	for i, s := range d.Steps {
		steps = append(steps, []string{fmt.Sprintf("  %*d", number, i+1), colors.Paint(render.Faint, colors.Link(s.Clause)), s.Text})
	}
	render.AlignWrapped(w, steps)

	for _, m := range d.Matches {
		result, style := "lost", render.Faint
		if m.Won {
			result, style = "won ", render.Green
			if m.Directive != robots.FieldAllow.String() {
				style = render.Red
			}
		}
		if len(matches) == 0 {
			render.Heading(w, colors, "Rules that match")
			matches = [][]string{{colors.Paint(render.Faint, "  line"), colors.Paint(render.Faint, "rule"), colors.Paint(render.Faint, "bytes"), colors.Paint(render.Faint, "result")}}
		}
		matches = append(matches, []string{fmt.Sprintf("  %4d", m.Line), m.String(), fmt.Sprintf("%5d", m.Bytes), colors.Paint(style, result), m.Why + " (" + colors.Link(m.Clause) + ")"})
	}
	render.AlignWrapped(w, matches)

	printNotes(w, colors, d.Notes, d.Dropped)
}

func printNotes(w io.Writer, colors render.Palette, notes []answer.Note, dropped int) {
	if len(notes) == 0 {
		return
	}
	render.Heading(w, colors, "Notes")
	var rows [][]string
	for _, n := range notes {
		place := "  file"
		if n.Line > 0 {
			place = "  line " + strconv.Itoa(n.Line)
		}
		rows = append(rows, []string{place, colors.Paint(render.Faint, colors.Link(n.Clause)), n.Text})
	}
	render.AlignWrapped(w, rows)
	if dropped > 0 {
		fmt.Fprintf(w, "  and %d more\n", dropped)
	}
}

// signalRows returns the columns of each value.
func signalRows(colors render.Palette, list []answer.Signal) (rows [][]string) {
	for _, s := range list {
		rows = append(rows, []string{"  " + render.LineList([]int{s.Line}), s.Title(), robots.Printable(s.Text()), s.Scope, colors.Paint(render.Faint, s.Source.Document+", "+s.Source.Date)})
	}
	return rows
}
