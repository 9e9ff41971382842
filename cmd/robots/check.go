package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/crawlers"
	"github.com/spf13/cobra"
)

const judgedURLs = `Without -f, robots.txt is fetched once per site, and URLs are absolute; with -f
they can be /path too. The argument - reads URLs from standard input, and checks
them as they arrive; --urls reads a file. A list ends with counts on standard
error. The dialect is the one documented for the crawler, else RFC 9309 (-d).`

const judgedStatus = `Exit status: 0 all allowed, 1 some disallowed, 2 invalid usage or input (a line
of a list that is not a URL is reported, and all others are checked), 3 undecided:
robots.txt is unreachable, so do not crawl and retry later.`

func checkCommand(std *streams) *cobra.Command {
	f := newJudgeFlags(std)
	inBatch, headers := false, false
	cmd := &cobra.Command{
		Use: "check [-a TOKEN[,TOKEN]]... [-f FILE] URL...",
		Long: `Check whether a crawler may fetch each URL, and print the deciding line.

` + judgedURLs + `

With --batch it reads one JSON object per line from standard input, with the
members url, robots (or robots_b64), agent, dialect, max_bytes, at,
user_initiated and id, and answers each with one line (docs/batch.md). Flags give
the defaults; the default dialect is rfc9309.

` + judgedStatus,
		Example: `  robots check -a Googlebot https://example.com/list?sort=price
  robots check -f robots.txt -a Googlebot-Image,Googlebot /img/logo.png
  robots check -f robots.txt -a Googlebot -a GPTBot /list?sort=price
  robots check -f robots.txt -d all /list?sort=price
  robots check --cache robots.cache - < urls.txt
  robots check -f robots.txt --urls sitemap.xml --format json
  robots check --batch < questions.jsonl > answers.jsonl`,
	}
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
		j, urls, err := f.open(ctx)
		if err != nil {
			return exitBad, err
		}
		defer j.live.close()
		write := j.writeLine
		switch {
		case f.format == formatJSON:
			write = j.writeJSON
		case len(j.crawlers) > 1:
			write = j.tableWriter()
		}
		return j.each(ctx, urls, write)
	})
	return cmd
}

// writeLine writes the verdict on a URL for one crawler.
func (j *judge) writeLine(t *urlTarget) error {
	v := j.verdicts[0]
	fmt.Fprintf(j.std.out, "%s  %s  %s\n", j.palette.verdict(v), fill(robots.Printable(t.url), j.width), because(j.palette, v, true))
	j.writeState(stateIndent, (*robots.State).Text)
	return nil
}

// stateIndent aligns the state of a robots.txt with the URL above it.
const stateIndent = "           "

// writeState writes the state of the robots.txt, once for each site.
func (j *judge) writeState(indent string, note func(*robots.State) string) {
	if state := j.stateOf(note); state != "" {
		fmt.Fprintf(j.std.out, "%s%s\n", indent, j.palette.paint(faint, robots.Printable(state)))
	}
}

// writeJSON writes an object for each crawler: the members of a batch answer without its id,
// after the version of this format.
func (j *judge) writeJSON(t *urlTarget) error {
	for i, rules := range j.rules {
		dst := append(j.std.out.AvailableBuffer(), `{"schema":1,`...)
		dst = append(rules.AppendVerdict(dst, j.verdicts[i]), `,"url":`...)
		dst = append(robots.AppendQuoted(dst, t.url), `,"agent":`...)
		_, _ = j.std.out.Write(append(appendAgent(dst, rules, j.crawlers[i]), "}\n"...))
	}
	return nil
}

// appendAgent appends the tokens of a crawler as the dialect reads them, as a JSON list; a
// name without a product token as it is given.
func appendAgent(dst []byte, r *ask.RuleSet, c Crawler) []byte {
	if tokens := r.Tokens(); len(tokens) > 0 {
		return ask.AppendStrings(dst, tokens)
	}
	return ask.AppendStrings(dst, c.Tokens)
}

// tableWriter returns a function that writes a table of the verdicts on a URL: a row for each
// crawler, or for each dialect.
func (j *judge) tableWriter() func(*urlTarget) error {
	first := true
	return func(t *urlTarget) error {
		if !first {
			fmt.Fprintln(j.std.out)
		}
		first = false
		fmt.Fprintln(j.std.out, j.palette.paint(bold, robots.Printable(t.url)))
		var rows [][]string
		for i, v := range j.verdicts {
			why := because(j.palette, v, false)
			if j.decisive >= 0 {
				if s := v.State; s != nil && s.Note != "" {
					why += "  " + j.palette.paint(faint, "("+robots.Printable(s.Note)+")")
				}
				rows = append(rows, []string{"  " + v.Dialect, j.palette.verdict(v), why})
				continue
			}
			name := j.crawlers[i].Name
			if e, ok := crawlers.Find(name); ok && remark(e, false) != "" {
				why += "  " + j.palette.paint(yellow, "["+remark(e, false)+"]")
			}
			rows = append(rows, []string{"  " + robots.Printable(name), v.Dialect, j.palette.verdict(v), why})
		}
		align(j.std.out, rows)
		j.writeState("  ", factOf)
		return nil
	}
}

// because returns in one line why a verdict is what it is: the reason, the group and, if asked
// for, a dialect other than RFC 9309.
func because(colors palette, v robots.Verdict, dialect bool) string {
	return reasonOf(v) + inGroup(colors, v, dialect)
}

// inGroup names the group of a verdict and, if asked for, a dialect other than RFC 9309.
func inGroup(colors palette, v robots.Verdict, dialect bool) string {
	var parts []string
	if dialect && v.Dialect != robots.RFC9309.Name && v.Dialect != "" {
		parts = append(parts, v.Dialect)
	}
	if !v.Group.IsZero() {
		parts = append(parts, "group "+cmp.Or(v.Group.Token(), `""`), lineList(v.Group.Lines()))
	}
	if len(parts) == 0 {
		return ""
	}
	return "  " + colors.paint(faint, "("+strings.Join(parts, ", ")+")")
}

// reasonOf returns the rule with its line, or the reason without a rule.
func reasonOf(v robots.Verdict) string {
	if v.Reason == robots.ReasonUndefined {
		return "robots.txt is unreachable, for which " + v.Dialect + " defines no verdict"
	}
	reason := v.Reason.Sentence()
	if !v.Rule.IsZero() {
		reason = "line " + strconv.Itoa(v.Rule.Line()) + ": " + v.Rule.String()
	}
	if v.Undefined && v.Allowed {
		return v.Dialect + " defines no verdict; by length allow, " + reason
	} else if v.Undefined {
		return v.Dialect + " defines no verdict; by length disallow, " + reason
	}
	return reason
}
