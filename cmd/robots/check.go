package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

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

func checkCommand(std *streams, status *int) *cobra.Command {
	f := newJudgeFlags(std, formatTSV)
	inBatch, headers := false, false
	cmd := &cobra.Command{
		Use:   "check [-a TOKEN[,TOKEN]]... [-f FILE] URL...",
		Short: "Check whether crawlers may fetch URLs",
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
		DisableFlagsInUseLine: true,
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&inBatch, "batch", false, "answer JSON Lines from standard input (with --format tsv: rows)")
	cmd.Flags().BoolVar(&headers, "chunk-header", false, "with --batch --format tsv: the number of rows precedes each chunk")
	cmd.RunE = f.run(status, func(ctx context.Context) (int, error) {
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
		for _, name := range urls.names {
			j.widen(name.text)
		}
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

// widen makes room for a URL in the column of URLs.
func (j *judge) widen(url string) { j.width = max(j.width, min(columns(url), maxURLColumn)) }

// writeLine writes the verdict on a URL for one crawler.
func (j *judge) writeLine(t *urlTarget) error {
	out, v := j.std.out, &j.verdicts[0]
	shown, n := shown(t.url)
	j.line = append(j.palette.appendVerdict(j.line[:0], v), "  "...)
	j.line = append(appendFilled(j.line, shown, n, j.width), "  "...)
	j.line = append(j.rules[0].appendBecause(j.line, j.palette, v), '\n')
	_, _ = out.Write(j.line)
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
		_, _ = j.std.out.Write(append(rules.appendAgent(dst, j.crawlers[i]), "}\n"...))
	}
	return nil
}

// appendAgent appends the tokens of a crawler as the dialect reads them, as a JSON list.
func (r *ruleSet) appendAgent(dst []byte, c Crawler) []byte {
	if r.agent == nil {
		tokens := r.Tokens()
		if len(tokens) == 0 { // of rules shared by crawlers
			return ask.AppendStrings(dst, c.Tokens)
		}
		r.agent = ask.AppendStrings(nil, tokens)
	}
	return append(dst, r.agent...)
}

// tableWriter returns a function that writes a table of the verdicts on a URL: a row for each
// crawler, or for each dialect.
func (j *judge) tableWriter() func(*urlTarget) error {
	byDialect := j.decisive >= 0
	names, dialects, first := 0, 0, true
	remarks := make([]string, len(j.crawlers))
	for i, c := range j.crawlers {
		names, dialects = max(names, columns(c.Name)), max(dialects, len(c.Dialect.Name))
		if e, ok := crawlers.Find(c.Name); ok && !byDialect {
			remarks[i] = remark(e, false)
		}
	}
	return func(t *urlTarget) error {
		out := j.std.out
		if !first {
			fmt.Fprintln(out)
		}
		first = false
		fmt.Fprintln(out, j.palette.paint(bold, robots.Printable(t.url)))
		for i, v := range j.verdicts {
			name := fill(v.Dialect, dialects)
			if !byDialect {
				name = fill(robots.Printable(j.crawlers[i].Name), names) + "  " + name
			}
			why := reasonOf(v) + inGroup(j.palette, v)
			if s := v.State; byDialect && s != nil && s.Note != "" {
				why += "  " + j.palette.paint(faint, "("+robots.Printable(s.Note)+")")
			}
			if remarks[i] != "" {
				why += "  " + j.palette.paint(yellow, "["+remarks[i]+"]")
			}
			fmt.Fprintf(out, "  %s  %s  %s\n", name, j.palette.verdict(v), why)
		}
		j.writeState("  ", factOf)
		return nil
	}
}

// appendBecause appends in one line why a verdict is what it is: the rule with its line or
// the reason without a rule, the group, and the dialect if it is not RFC 9309.
func (r *ruleSet) appendBecause(dst []byte, colors palette, v *robots.Verdict) []byte {
	if r.group == nil {
		r.group = append([]byte{}, inGroupAndDialect(colors, *v)...)
	}
	return append(appendReason(dst, v), r.group...)
}

// because returns in one line why a verdict is what it is, without the dialect.
func because(colors palette, v robots.Verdict) string { return reasonOf(v) + inGroup(colors, v) }

func reasonOf(v robots.Verdict) string { return string(appendReason(nil, &v)) }

func appendReason(dst []byte, v *robots.Verdict) []byte {
	switch {
	case v.Reason == robots.ReasonUndefined:
		return append(dst, "robots.txt is unreachable, for which "+v.Dialect+" defines no verdict"...)
	case v.Undefined && v.Allowed:
		dst = append(dst, v.Dialect+" defines no verdict; by length allow, "...)
	case v.Undefined:
		dst = append(dst, v.Dialect+" defines no verdict; by length disallow, "...)
	}
	if v.Rule.IsZero() {
		return append(dst, v.Reason.Sentence()...)
	}
	dst = strconv.AppendInt(append(dst, "line "...), int64(v.Rule.Line()), 10)
	return v.Rule.AppendTo(append(dst, ": "...))
}

// inGroup names the group of a verdict, and nothing if there is none.
func inGroup(colors palette, v robots.Verdict) string {
	if v.Group.IsZero() {
		return ""
	}
	return "  " + colors.paint(faint, "("+groupText(v)+")")
}

func groupText(v robots.Verdict) string {
	return "group " + cmp.Or(v.Group.Token(), `""`) + ", " + lineList(v.Group.Lines())
}

// inGroupAndDialect is inGroup with the dialect if it is not RFC 9309.
func inGroupAndDialect(colors palette, v robots.Verdict) string {
	switch {
	case v.Dialect == robots.RFC9309.Name || v.Dialect == "":
		return inGroup(colors, v)
	case v.Group.IsZero():
		return "  " + colors.paint(faint, "("+v.Dialect+")")
	}
	return "  " + colors.paint(faint, "("+v.Dialect+", "+groupText(v)+")")
}
