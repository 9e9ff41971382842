package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/spf13/cobra"
)

const statusHelp = `Exit status: 0 all allowed, 1 some disallowed, 2 bad use or unreadable input
(nothing is answered then), a line of - that is no URL (it is named, and the
others are answered) or interrupted (what is known is answered), 3 undecided:
some robots.txt cannot be had: treat its site as blocked and try again later.`

const urlHelp = `Without -f the robots.txt is fetched from the site of each URL, once for all
URLs of a site, and the answer says what came of it. A URL is then absolute;
with -f it may also be //host/path or just /path. The argument - stands for
URLs on standard input, one per line, which are answered as they are read.`

func checkCommand(std *streams, status *int) *cobra.Command {
	c := newCall(std)
	inBatch, headers := false, false
	c.formats = []string{formatTSV}
	cmd := &cobra.Command{
		Use:   "check [-f FILE] [-a TOKEN]... [-d DIALECT] URL...",
		Short: "Say whether URLs may be fetched",
		Long: `Check says of each URL whether the crawler may fetch it, and which line of the
robots.txt decides. Names given with -a are those of one crawler, the most wanted
first; with --each each is a crawler of its own.

` + urlHelp + `

With --batch it reads questions from standard input, one JSON object per line with
the members url, robots (or robots_b64), agent, dialect, max_bytes, at,
user_initiated and id, and answers each with one line; flags give the defaults.
Without robots and -f the file is fetched. With --format tsv questions and answers
are rows of columns.

` + statusHelp,
		Example: `  robots check -a Googlebot https://example.com/list?sort=price
  robots check --cache robots.cache - < urls.txt
  robots check -f robots.txt https://example.com/list?sort=price
  robots check -f robots.txt -a Googlebot-Image -a Googlebot /img/logo.png
  robots check -f robots.txt -d all /list?sort=price
  robots check --as Googlebot-News https://example.com/news/
  robots check --each -a Googlebot -a GPTBot https://example.com/page
  robots check -f robots.txt --format json - < urls.txt
  robots check --batch < questions.jsonl > answers.jsonl
  robots check --batch --format tsv -f /dev/null < rows.tsv > answers.tsv`,
		DisableFlagsInUseLine: true,
		RunE: c.run(status, func(ctx context.Context) (int, error) {
			if inBatch {
				return runBatch(ctx, c, headers)
			}
			if c.format == formatTSV || headers {
				return exitBad, errors.New("--format tsv and --chunk-header are for --batch")
			}
			return check(ctx, c)
		}),
	}
	c.judgingFlags(cmd)
	c.eachFlags(cmd)
	cmd.Flags().BoolVar(&inBatch, "batch", false, "answer JSON Lines from standard input; with --format tsv, rows of\nrobots_b64, agent, dialect and url by rows of verdict, reason, line\nand error, as ClickHouse writes and reads them")
	cmd.Flags().BoolVar(&headers, "chunk-header", false, "with --batch --format tsv: before each chunk of rows stands a line with\ntheir number, as ClickHouse sends it, and before their answers, too")
	return cmd
}

// check answers URLs, each by one line or, of several dialects, by a table.
func check(ctx context.Context, c *call) (int, error) {
	if err := c.open(); err != nil {
		return exitBad, err
	}
	first := true
	return c.answer(ctx, func(p *page) error {
		switch {
		case c.format == formatJSON && c.askers != nil:
			for i, rules := range c.askers.rules {
				c.std.out.Write(appendCheck(c.std.out.AvailableBuffer(), rules, p.url, rules.Match(c.pathFor(p.paths, i)), c.askers.list[i].Tokens))
			}
		case c.format == formatJSON:
			for i, rules := range c.rules {
				c.std.out.Write(appendCheck(c.std.out.AvailableBuffer(), rules, p.url, c.verdictOf(i, p), nil))
			}
		case len(c.rules) > 1 || c.askers != nil:
			if !first {
				fmt.Fprintln(c.std.out)
			}
			first = false
			if c.askers != nil {
				c.eachTable(p)
			} else {
				c.table(p)
			}
			c.printState("  ", c.state(p, factOf))
		default:
			c.std.out.Write(c.appendLine(c.std.out.AvailableBuffer(), p))
			c.printState(stateIndent, c.state(p, (*robots.State).Text))
		}
		return nil
	})
}

// verdictOf returns what the rules of a dialect say of the page under way.
func (c *call) verdictOf(dialect int, p *page) robots.Verdict {
	if dialect == 0 {
		return c.verdict
	}
	return c.rules[dialect].Match(p.paths[dialect])
}

// appendLine appends the answer to the page under way as a line of text.
func (c *call) appendLine(dst []byte, p *page) []byte {
	dst = append(c.palette.appendVerdict(dst, &c.verdict), "  "...)
	dst = append(appendFilled(dst, p.shown, p.columns, c.width), "  "...)
	return append(c.rules[0].appendBecause(dst, c.palette, &c.verdict), '\n')
}

// stateIndent puts the state of a robots.txt under the URL it is told with.
const stateIndent = "           "

func (c *call) printState(indent, state string) {
	if state != "" {
		fmt.Fprintf(c.std.out, "%s%s\n", indent, c.palette.paint(faint, robots.Printable(state)))
	}
}

// table writes what each dialect says of one URL.
func (c *call) table(p *page) {
	fmt.Fprintln(c.std.out, c.palette.paint(bold, p.shown))
	for i, rules := range c.rules {
		v := c.verdictOf(i, p)
		why := string(rules.appendBecause(nil, c.palette, &v))
		if s := v.State; s != nil && s.Note != "" {
			why += "  " + c.palette.paint(faint, "("+robots.Printable(s.Note)+")")
		}
		fmt.Fprintf(c.std.out, "  %-13s  %s  %s\n", v.Dialect, c.palette.verdict(v), why)
	}
}

// appendCheck appends the answer as one line: the members of a batch answer
// without its id, after the version of this format, and as agent the tokens asked
// for, nil for those of the rules, as the dialect reads them.
func appendCheck(dst []byte, rules *ruleSet, url string, v robots.Verdict, agent []string) []byte {
	dst = rules.AppendVerdict(append(dst, `{"schema":1,`...), v)
	dst = append(dst, `,"url":`...)
	dst = robots.AppendQuoted(dst, url)
	dst = append(dst, `,"agent":`...)
	if agent == nil {
		dst = rules.appendAsked(dst)
	} else {
		dst = ask.AppendStrings(dst, agent)
	}
	return append(dst, "}\n"...)
}

// appendBecause appends in one line why a verdict is what it is: the rule with its
// line or the reason without a rule, and the group in which it was looked for.
func (r *ruleSet) appendBecause(dst []byte, colours palette, v *robots.Verdict) []byte {
	if r.group == nil {
		r.group = append([]byte{}, inGroup(colours, *v)...)
	}
	return append(appendReason(dst, v), r.group...)
}

// because is the same for a single verdict.
func because(colours palette, v robots.Verdict) string { return reasonOf(v) + inGroup(colours, v) }

func reasonOf(v robots.Verdict) string { return string(appendReason(nil, &v)) }

func appendReason(dst []byte, v *robots.Verdict) []byte {
	switch {
	case v.Reason == robots.ReasonUndefined:
		return append(dst, "robots.txt cannot be reached, which "+v.Dialect+" leaves undefined"...)
	case v.Undefined && v.Allowed:
		dst = append(dst, v.Dialect+" leaves this open, by weight allow, "...)
	case v.Undefined:
		dst = append(dst, v.Dialect+" leaves this open, by weight disallow, "...)
	}
	if v.Rule.IsZero() {
		return append(dst, v.Reason.Sentence()...)
	}
	dst = strconv.AppendInt(append(dst, "line "...), int64(v.Rule.Line()), 10)
	return v.Rule.AppendTo(append(dst, ": "...))
}

func inGroup(colours palette, v robots.Verdict) string {
	if v.Group.IsZero() {
		return ""
	}
	return "  " + colours.paint(faint, "(group "+cmp.Or(v.Group.Token(), `""`)+", "+lineList(v.Group.Lines())+")")
}
