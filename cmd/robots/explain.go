package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/spf13/cobra"
)

func explainCommand(std *streams, status *int) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "explain [-f FILE] [-a TOKEN]... [-d DIALECT] URL...",
		Short: "Say why a URL may be fetched or not, step by step",
		Long: `Explain says of each URL what check says, and then how it came to it: the
group that holds, every rule that matches and why it won or lost, and what in
the file nearly mattered. Each step names the statement that it follows.

` + urlHelp + `

` + statusHelp,
		Example: `  robots explain -a Googlebot https://example.com/list?sort=price
  robots explain -f robots.txt -a Googlebot-Image -a Googlebot /img/logo.png
  robots explain -f robots.txt --format json https://example.com/list?sort=price`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.urls = args
			*status, err = explain(cmd.Context(), &o, std)
			return err
		},
	}
	o.register(cmd)
	o.live.registerProbe(cmd)
	return cmd
}

// explain answers URLs, each with the whole derivation.
func explain(ctx context.Context, o *options, std *streams) (int, error) {
	j, err := prepare(std, "robots explain", o)
	if err != nil {
		return exitBad, err
	}
	first := true
	var failed error
	status, err := j.answer(ctx, func(p *page) {
		told := j.state(p)
		for _, q := range p.asked {
			e := q.rules.Explain(q.path)
			if o.format == formatJSON {
				line, err := appendExplanation(nil, q, &e)
				failed = errors.Join(failed, err)
				std.out.Write(append(line, '\n'))
				continue
			}
			if !first {
				fmt.Fprintln(std.out)
			}
			first = false
			printExplanation(std.out, j.colours, q, &e, len(p.asked) > 1, told)
			told = ""
		}
	})
	return status, cmp.Or(err, failed)
}

// textWidth is the width that explanations keep to where words allow it.
const textWidth = 100

func printExplanation(w io.Writer, colours palette, q question, e *robots.Explanation, named bool, state string) {
	fmt.Fprintf(w, "%s  %s\n", colours.verdict(e.Verdict), colours.paint(bold, robots.Printable(q.url)))
	reason := because(colours, e.Verdict)
	if named {
		reason = e.Verdict.Dialect + ": " + reason
	}
	fmt.Fprintf(w, "%s%s\n", stateIndent, reason)
	if state != "" {
		fmt.Fprintf(w, "%s%s\n", stateIndent, colours.paint(faint, robots.Printable(state)))
	}

	heading(w, colours, "Steps")
	clause := 0
	for _, s := range e.Steps {
		clause = max(clause, len(s.Clause))
	}
	number := len(strconv.Itoa(len(e.Steps)))
	for i, s := range e.Steps {
		lead := fmt.Sprintf("  %*d  %s  ", number, i+1, colours.paint(faint, colours.link(s.Clause, clause)))
		wrap(w, lead, 2+number+2+clause+2, s.Text)
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
		wrapAt(w, lead, 2+line+2+rule+2+byteCount+2+4+2, textWidth, m.Why+" ("+m.Clause+")", func(s string) string {
			return strings.Replace(s, "("+m.Clause+")", "("+colours.link(m.Clause, 0)+")", 1)
		})
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
		wrap(w, lead, 2+line+2+clause+2, n.Text)
	}
	if e.Dropped > 0 {
		fmt.Fprintf(w, "  and %d more\n", e.Dropped)
	}
}

func heading(w io.Writer, colours palette, s string) {
	fmt.Fprintf(w, "\n%s\n", colours.paint(bold, s))
}

// wrap writes text after lead and breaks it between words at textWidth; what
// follows is indented to the width of lead, whose colours count nothing.
func wrap(w io.Writer, lead string, indent int, text string) {
	wrapAt(w, lead, indent, textWidth, text)
}

// The JSON of explain: behind the members of a check answer how it came to be. A
// note about the file as a whole has line 0.
type (
	jsonDerivation struct {
		Path    quoted      `json:"path"`
		Normal  quoted      `json:"normal"`
		Steps   []jsonStep  `json:"steps"`
		Matches []jsonMatch `json:"matches"`
		Notes   []jsonNote  `json:"notes"`
	}
	jsonStep struct {
		Clause string `json:"clause"`
		Text   quoted `json:"text"`
	}
	jsonMatch struct {
		Line       int    `json:"line"`
		Directive  string `json:"directive"`
		Pattern    quoted `json:"pattern"`
		PatternB64 []byte `json:"pattern_b64,omitempty"` // of one that is no UTF-8
		Bytes      int    `json:"bytes"`
		Won        bool   `json:"won"`
		Clause     string `json:"clause"`
		Why        quoted `json:"why"`
	}
	jsonNote struct {
		Line   int    `json:"line"`
		Clause string `json:"clause"`
		Text   quoted `json:"text"`
	}
)

// appendExplanation appends an explanation as one object.
func appendExplanation(dst []byte, q question, e *robots.Explanation) ([]byte, error) {
	j := jsonDerivation{quoted(e.Path), quoted(e.Normal), []jsonStep{}, []jsonMatch{}, []jsonNote{}}
	for _, s := range e.Steps {
		j.Steps = append(j.Steps, jsonStep{s.Clause, quoted(s.Text)})
	}
	for _, m := range e.Matches {
		path := m.Rule.Path()
		k := jsonMatch{m.Rule.Line(), m.Rule.Directive(), quoted(path), nil, m.Rule.Weight(), m.Won, m.Clause, quoted(m.Why)}
		if !utf8.ValidString(path) {
			k.PatternB64 = []byte(path)
		}
		j.Matches = append(j.Matches, k)
	}
	for _, n := range e.Notes {
		j.Notes = append(j.Notes, jsonNote{n.Line, n.Clause, quoted(n.Text)})
	}
	if e.Dropped > 0 {
		j.Notes = append(j.Notes, jsonNote{Text: quoted("and " + strconv.Itoa(e.Dropped) + " more")})
	}
	dst = append(dst, `{"schema":1,"url":`...)
	dst = robots.AppendQuoted(dst, q.url)
	dst = append(dst, ',')
	dst = q.rules.AppendJSON(dst, q.path)
	dst = append(dst, `,"agent":`...)
	dst = appendStrings(dst, q.rules.Tokens())
	return appendMembers(dst, j)
}
