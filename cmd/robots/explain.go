package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/lint"
	"github.com/spf13/cobra"
)

func explainCommand(std *streams) *cobra.Command {
	f := newJudgeFlags(std)
	cmd := &cobra.Command{Use: "explain"}
	f.register(cmd)
	cmd.RunE = f.run(func(ctx context.Context) (int, error) {
		return f.write(ctx, (*judge).writeExplanation, (*judge).writeExplanationJSON)
	})
	return cmd
}

// writeExplanation writes how the verdicts on a URL are derived.
func (j *judge) writeExplanation(t *urlTarget) {
	w := j.std.out
	for i, rules := range j.rules {
		path := t.pathFor(j.crawlers[i].Dialect)
		e := lint.Explain(rules.Rules, path)
		if i+j.judged > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  %s\n", j.palette.verdict(e.Verdict), j.palette.paint(bold, robots.Printable(t.url)))
		reason := because(j.palette, e.Verdict, true)
		switch {
		case j.decisive >= 0:
			reason = e.Verdict.Dialect + ": " + because(j.palette, e.Verdict, false)
		case len(j.rules) > 1:
			reason = robots.Printable(j.crawlers[i].Name) + ": " + reason
		}
		fmt.Fprintf(w, "%s%s\n", stateIndent, reason)
		if i == 0 {
			j.writeState(stateIndent, (*robots.State).Text)
		}
		printDerivation(w, j.palette, &e)
		if list := signalsOf(rules.Rules, &path); len(list) > 0 {
			heading(w, j.palette, "Signals")
			align(w, signalRows(j.palette, list))
		}
	}
}

// printDerivation writes how a verdict came to be.
func printDerivation(w io.Writer, colors palette, e *robots.Explanation) {
	heading(w, colors, "Steps")
	var steps, matches [][]string
	number := len(strconv.Itoa(len(e.Steps)))
	for i, s := range e.Steps {
		steps = append(steps, []string{fmt.Sprintf("  %*d", number, i+1), colors.paint(faint, colors.link(s.Clause)), s.Text})
	}
	alignWrapped(w, steps)

	for _, m := range e.Matches {
		result, style := "lost", faint
		if m.Rule == e.Verdict.Rule {
			result, style = "won ", green
			if !m.Rule.Allows() {
				style = red
			}
		}
		if len(matches) == 0 {
			heading(w, colors, "Rules that match")
			matches = [][]string{{colors.paint(faint, "  line"), colors.paint(faint, "rule"), colors.paint(faint, "bytes"), colors.paint(faint, "result")}}
		}
		matches = append(matches, []string{fmt.Sprintf("  %4d", m.Line), m.Rule.String(), fmt.Sprintf("%5d", m.Rule.Weight()), colors.paint(style, result), m.Text + " (" + colors.link(m.Clause) + ")"})
	}
	alignWrapped(w, matches)

	printNotes(w, colors, e)
}

func printNotes(w io.Writer, colors palette, e *robots.Explanation) {
	if len(e.Notes) == 0 {
		return
	}
	heading(w, colors, "Notes")
	var rows [][]string
	for _, n := range e.Notes {
		place := "  file"
		if n.Line > 0 {
			place = "  line " + strconv.Itoa(n.Line)
		}
		rows = append(rows, []string{place, colors.paint(faint, colors.link(n.Clause)), n.Text})
	}
	alignWrapped(w, rows)
	if e.Dropped > 0 {
		fmt.Fprintf(w, "  and %d more\n", e.Dropped)
	}
}

// jsonDerivation is the JSON of explain: behind the members of a check answer how it came
// to be. A note about the file as a whole has line 0.
type jsonDerivation struct {
	answer.Derivation
	Signals []siteSignal `json:"signals"`
}

// writeExplanationJSON writes an object for each crawler: the members of check, then the
// derivation.
func (j *judge) writeExplanationJSON(t *urlTarget) {
	for i, rules := range j.rules {
		path := t.pathFor(j.crawlers[i].Dialect)
		e := lint.Explain(rules.Rules, path)
		d := jsonDerivation{answer.NewDerivation(&e), signalsOf(rules.Rules, &path)}
		d.Notes = jsonNotes(&e)
		var derivation bytes.Buffer
		_ = encode(&derivation, d) // only a value without JSON is an error
		dst := robots.AppendQuoted([]byte(`{"schema":1,"url":`), t.url)
		dst = rules.AppendVerdict(append(dst, ','), e.Verdict)
		dst = appendAgent(append(dst, `,"agent":`...), rules, j.crawlers[i])
		_, _ = j.std.out.Write(append(dst, ','))
		_, _ = j.std.out.Write(derivation.Bytes()[1:]) // its members, without the brace before them
	}
}

// jsonNotes returns the notes, with one on how many are left out.
func jsonNotes(e *robots.Explanation) []answer.Note {
	notes := answer.NewNotes(e.Notes)
	if e.Dropped > 0 {
		notes = append(notes, answer.Note{Text: "and " + strconv.Itoa(e.Dropped) + " more"})
	}
	return notes
}
