package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/crawlers"
	"github.com/spf13/cobra"
)

func checkCommand(std *screen.Streams) *cobra.Command {
	f := newJudgeFlags(std)
	inBatch, headers := false, false
	cmd := &cobra.Command{Use: "check"}
	f.register(cmd, formatTSV)
	cmd.Flags().BoolVar(&inBatch, "batch", false, "answer JSON Lines from standard input (with --format tsv: rows)")
	cmd.Flags().BoolVar(&headers, "chunk-header", false, "with --batch --format tsv: the number of rows precedes each chunk")
	cmd.RunE = f.run(func(ctx context.Context) (int, error) {
		if inBatch {
			return runBatch(ctx, f, headers)
		}
		if f.format == formatTSV || headers {
			return exitBad, errors.New("--format tsv and --chunk-header require --batch")
		}
		return f.write(ctx, (*judge).writeVerdicts, (*judge).writeJSON)
	})
	return cmd
}

// writeVerdicts writes the verdict on a URL as a line for one crawler, or a table with a row for each
// crawler or each dialect.
func (j *judge) writeVerdicts(t *urlTarget) {
	if len(j.crawlers) > 1 {
		j.writeTable(t)
		return
	}
	v := j.verdicts[0]
	fmt.Fprintf(j.std.Out, "%s  %s  %s\n", j.palette.Verdict(v), render.Fill(robots.Printable(t.url), j.width), because(j.palette, v, true))
	j.writeFallback(stateIndent, 0)
	j.writeState(stateIndent, (*robots.State).Text)
}

// writeFallback writes which group a crawler follows that no group names, once for each site.
func (j *judge) writeFallback(indent string, crawler int) {
	if s := j.crawlers[crawler].FallbackSentence(j.rules[crawler].Rules); s != "" && !j.site.Answered {
		fmt.Fprintf(j.std.Out, "%s%s\n", indent, j.palette.Paint(render.Faint, robots.Printable(s)))
	}
}

// stateIndent aligns the state of a robots.txt with the URL above it.
const stateIndent = "           "

// writeState writes the state of the robots.txt, once for each site.
func (j *judge) writeState(indent string, note func(*robots.State) string) {
	if j.from.Record != nil && !j.site.Answered {
		s := j.rules[0].State()
		fmt.Fprintf(j.std.Out, "%s%s\n", indent, j.palette.Paint(render.Faint, robots.Printable(j.live.StateLine(j.from.Record, s, note(s)))))
	}
}

// writeJSON writes an object for each crawler: the members of a batch answer without its id,
// after the version of this format.
func (j *judge) writeJSON(t *urlTarget) {
	for i, rules := range j.rules {
		dst := append(j.std.Out.AvailableBuffer(), `{"schema":1,`...)
		dst = append(rules.AppendVerdict(dst, j.verdicts[i]), `,"url":`...)
		dst = append(robots.AppendQuoted(dst, t.url), j.about[i]...)
		_, _ = j.std.Out.Write(append(dst, "}\n"...))
	}
}

func (j *judge) writeTable(t *urlTarget) {
	if j.judged > 0 {
		fmt.Fprintln(j.std.Out)
	}
	fmt.Fprintln(j.std.Out, j.palette.Paint(render.Bold, robots.Printable(t.url)))
	var rows [][]string
	for i, v := range j.verdicts {
		why := because(j.palette, v, false)
		if j.decisive >= 0 {
			if s := v.State; s != nil && s.Note != "" {
				why += "  " + j.palette.Paint(render.Faint, "("+robots.Printable(s.Note)+")")
			}
			rows = append(rows, []string{"  " + v.Dialect, j.palette.Verdict(v), why})
			continue
		}
		name := j.crawlers[i].Name
		if e, ok := crawlers.Find(name); ok && remark(e, false) != "" {
			why += "  " + j.palette.Paint(render.Yellow, "["+remark(e, false)+"]")
		}
		if s := j.crawlers[i].FallbackSentence(j.rules[i].Rules); s != "" {
			why += "  " + j.palette.Paint(render.Faint, "("+robots.Printable(s)+")")
		}
		rows = append(rows, []string{"  " + robots.Printable(name), v.Dialect, j.palette.Verdict(v), why})
	}
	render.Align(j.std.Out, rows)
	j.writeState("  ", source.FactOf)
}

// because returns in one line why a verdict is what it is: the reason, the group and, if asked
// for, a dialect other than RFC 9309.
func because(colors render.Palette, v robots.Verdict, dialect bool) string {
	return answer.Reason(v) + inGroup(colors, v, dialect)
}

// inGroup names the group of a verdict and, if asked for, a dialect other than RFC 9309.
func inGroup(colors render.Palette, v robots.Verdict, dialect bool) string {
	var parts []string
	if dialect && v.Dialect != robots.RFC9309.Name && v.Dialect != "" {
		parts = append(parts, v.Dialect)
	}
	if !v.Group.IsZero() {
		parts = append(parts, "group "+cmp.Or(robots.Printable(v.Group.Token()), `""`), render.LineList(v.Group.Lines()))
	}
	if len(parts) == 0 {
		return ""
	}
	return "  " + colors.Paint(render.Faint, "("+strings.Join(parts, ", ")+")")
}
