package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/shapes"
	"github.com/robotskit/robots/lint"
	"github.com/spf13/cobra"
)

func explainCommand(std *streams, status *int) *cobra.Command {
	c := newCall(std)
	cmd := &cobra.Command{
		Use:   "explain [-f FILE] [-a TOKEN]... [-d DIALECT] URL...",
		Short: "Say why a URL may be fetched or not, step by step",
		Long: `Explain says of each URL what check says, and then how it came to it: the
group that holds, every rule that matches and why it won or lost, and what in
the file nearly mattered. Each step names the statement that it follows. At its
end stand the signals that hold for the URL (robots signals), which change no
verdict.

` + urlHelp + `

` + statusHelp,
		Example: `  robots explain -a Googlebot https://example.com/list?sort=price
  robots explain -f robots.txt -a Googlebot-Image -a Googlebot /img/logo.png
  robots explain -f robots.txt --format json https://example.com/list?sort=price`,
		DisableFlagsInUseLine: true,
		RunE:                  c.run(status, func(ctx context.Context) (int, error) { return explain(ctx, c) }),
	}
	c.judgingFlags(cmd)
	return cmd
}

// explain answers URLs, each with the whole derivation.
func explain(ctx context.Context, c *call) (int, error) {
	if err := c.open(); err != nil {
		return exitBad, err
	}
	first := true
	return c.answer(ctx, func(p *page) error {
		for i, rules := range c.rules {
			e := lint.Explain(rules.Rules, p.paths[i])
			if c.format == formatJSON {
				if err := c.printExplanationJSON(rules, p.url, p.paths[i], &e); err != nil {
					return err
				}
				continue
			}
			if !first {
				fmt.Fprintln(c.std.out)
			}
			first = false
			c.printExplanation(rules, p, &e)
			if list, _ := signalsOf(rules.Rules, &p.paths[i]); len(list) > 0 {
				heading(c.std.out, c.palette, "Signals")
				printSignals(c.std.out, c.palette, list)
			}
		}
		return nil
	})
}

// textWidth is the width that explanations keep to where words allow it.
const textWidth = 100

func (c *call) printExplanation(rules *ruleSet, p *page, e *robots.Explanation) {
	w, colours := c.std.out, c.palette
	fmt.Fprintf(w, "%s  %s\n", colours.verdict(e.Verdict), colours.paint(bold, p.shown))
	reason := string(rules.appendBecause(nil, colours, &e.Verdict))
	if len(c.rules) > 1 {
		reason = e.Verdict.Dialect + ": " + reason
	}
	fmt.Fprintf(w, "%s%s\n", stateIndent, reason)
	c.printState(stateIndent, c.state(p, (*robots.State).Text))
	printDerivation(w, colours, e)
}

// printDerivation writes how a verdict came to be.
func printDerivation(w io.Writer, colours palette, e *robots.Explanation) {
	heading(w, colours, "Steps")
	clause := 0
	for _, s := range e.Steps {
		clause = max(clause, len(s.Clause))
	}
	number := len(strconv.Itoa(len(e.Steps)))
	for i, s := range e.Steps {
		wrap(w, textWidth, fmt.Sprintf("  %*d  %s  ", number, i+1, colours.paint(faint, colours.link(s.Clause, clause))), s.Text)
	}
	printMatches(w, colours, e.Matches)
	printNotes(w, colours, e)
}

// printMatches writes the rules that match, the deciding one first.
func printMatches(w io.Writer, colours palette, matches []robots.Match) {
	if len(matches) == 0 {
		return
	}
	heading(w, colours, "Rules that match")
	line, rule, byteCount := len("line"), len("rule"), len("bytes")
	for _, m := range matches {
		line = max(line, len(strconv.Itoa(m.Rule.Line())))
		rule = max(rule, min(utf8.RuneCountInString(m.Rule.String()), maxRuleColumn))
	}
	fmt.Fprintf(w, "  %s\n", colours.paint(faint, fmt.Sprintf("%*s  %s  bytes  result", line, "line", fill("rule", rule))))
	for _, m := range matches {
		result, style := "lost", faint
		if m.Won {
			result, style = "won ", green
			if !m.Rule.Allows() {
				style = red
			}
		}
		lead := fmt.Sprintf("  %*d  %s  %*d  %s  ", line, m.Rule.Line(), fill(m.Rule.String(), rule), byteCount, m.Rule.Weight(), colours.paint(style, result))
		wrap(w, textWidth, lead, m.Why+" ("+colours.link(m.Clause, 0)+")")
	}
}

// maxRuleColumn is the widest column of rules: a longer one pushes only its own
// line to the right.
const maxRuleColumn = 40

func printNotes(w io.Writer, colours palette, e *robots.Explanation) {
	if len(e.Notes) == 0 {
		return
	}
	heading(w, colours, "Notes")
	place := make([]string, len(e.Notes))
	line, clause := 0, 0
	for i, n := range e.Notes {
		place[i] = "file"
		if n.Line > 0 {
			place[i] = "line " + strconv.Itoa(n.Line)
		}
		line, clause = max(line, len(place[i])), max(clause, len(n.Clause))
	}
	for i, n := range e.Notes {
		lead := fmt.Sprintf("  %s  %s  ", fill(place[i], line), colours.paint(faint, colours.link(n.Clause, clause)))
		wrap(w, textWidth, lead, n.Text)
	}
	if e.Dropped > 0 {
		fmt.Fprintf(w, "  and %d more\n", e.Dropped)
	}
}

// jsonDerivation is the JSON of explain: behind the members of a check answer how it came
// to be. A note about the file as a whole has line 0.
type jsonDerivation struct {
	shapes.Derivation
	Signals []siteSignal `json:"signals"`
}

// printExplanationJSON writes an explanation as one object.
func (c *call) printExplanationJSON(rules *ruleSet, url string, path robots.Path, e *robots.Explanation) error {
	list, _ := signalsOf(rules.Rules, &path)
	j := jsonDerivation{shapes.NewDerivation(e), append([]siteSignal{}, list...)}
	j.Notes = jsonNotes(e)
	var derivation bytes.Buffer
	if err := encode(&derivation, j); err != nil {
		return err
	}
	dst := robots.AppendQuoted([]byte(`{"schema":1,"url":`), url)
	dst = rules.AppendVerdict(append(dst, ','), e.Verdict)
	dst = append(dst, `,"agent":`...)
	dst = rules.appendAsked(dst)
	c.std.out.Write(append(dst, ','))
	c.std.out.Write(derivation.Bytes()[1:]) // its members, without the brace before them
	return nil
}

// jsonNotes returns the notes, with one on how many are left out.
func jsonNotes(e *robots.Explanation) []shapes.Note {
	notes := shapes.NewNotes(e)
	if e.Dropped > 0 {
		notes = append(notes, shapes.Note{Text: "and " + strconv.Itoa(e.Dropped) + " more"})
	}
	return notes
}
