package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/spf13/cobra"
)

const statusHelp = `Exit status: 0 all allowed, 1 some disallowed, 2 bad use or unreadable input
(nothing is answered then), a line of - that is no URL (it is named, and the
others are answered) or interrupted (what is known is answered), 3 undecided:
some robots.txt cannot be had: treat its site as blocked and try again later.`

const urlHelp = `Without -f the robots.txt is fetched from the site of each URL, once for all
URLs of a site, and the answer says what came of it. A URL is then absolute;
with -f it may also be //host/path or just /path. The argument - stands for
URLs on standard input, one per line.`

func checkCommand(std *streams, status *int) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "check [-f FILE] [-a TOKEN]... [-d DIALECT] URL...",
		Short: "Say whether URLs may be fetched",
		Long: `Check says of each URL whether the crawler may fetch it, and which line of the
robots.txt decides.

` + urlHelp + `

With --batch it reads questions from standard input, one JSON object per line with
the members url, robots (or robots_b64), agent, dialect, max_bytes, at and id,
and answers each with one line; flags give the defaults. Without robots and -f
the file is fetched.

` + statusHelp,
		Example: `  robots check -a Googlebot https://example.com/list?sort=price
  robots check --cache robots.cache - < urls.txt
  robots check -f robots.txt https://example.com/list?sort=price
  robots check -f robots.txt -a Googlebot-Image -a Googlebot /img/logo.png
  robots check -f robots.txt -d all /list?sort=price
  robots check -f robots.txt --format json - < urls.txt
  robots check --batch < questions.jsonl > answers.jsonl`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.urls = args
			if o.batch {
				if cmd.Flags().Changed("format") && o.format == formatText {
					return errors.New("--batch answers in JSON only")
				}
				*status, err = batch(cmd.Context(), &o, std)
			} else {
				*status, err = check(cmd.Context(), &o, std)
			}
			return err
		},
	}
	o.register(cmd)
	o.live.registerProbe(cmd)
	cmd.Flags().BoolVar(&o.batch, "batch", false, "answer JSON Lines from standard input")
	return cmd
}

// check answers URLs, each by one line or, of several dialects, by a table.
func check(ctx context.Context, o *options, std *streams) (int, error) {
	j, err := prepare(std, "robots check", o)
	if err != nil {
		return exitBad, err
	}
	width := 0
	for i := range j.pages {
		width = max(width, min(columns(j.pages[i].url), maxURLColumn))
	}
	first := true
	return j.answer(ctx, func(p *page) {
		switch {
		case o.format == formatJSON:
			for _, q := range p.asked {
				std.out.Write(append(q.appendJSON(nil), '\n'))
			}
			return
		case len(p.asked) > 1:
			if !first {
				fmt.Fprintln(std.out)
			}
			first = false
			table(std, j.colours, p.asked)
			if line := j.fact(p); line != "" {
				fmt.Fprintf(std.out, "  %s\n", j.colours.paint(faint, robots.Printable(line)))
			}
			return
		default:
			q := p.asked[0]
			v := q.rules.Match(q.path)
			fmt.Fprintf(std.out, "%s  %s  %s\n", j.colours.verdict(v), fill(robots.Printable(q.url), width), because(j.colours, v))
		}
		if line := j.state(p); line != "" {
			fmt.Fprintf(std.out, "%s%s\n", stateIndent, j.colours.paint(faint, robots.Printable(line)))
		}
	})
}

// stateIndent puts the state of a robots.txt under the URL it is told with.
const stateIndent = "           "

// table writes what each dialect says of one URL.
func table(std *streams, colours palette, asked []question) {
	fmt.Fprintln(std.out, colours.paint(bold, robots.Printable(asked[0].url)))
	for _, q := range asked {
		v := q.rules.Match(q.path)
		why := because(colours, v)
		if s := v.State; s != nil && s.Note != "" {
			why += "  " + colours.paint(faint, "("+robots.Printable(s.Note)+")")
		}
		fmt.Fprintf(std.out, "  %-13s  %s  %s\n", v.Dialect, colours.verdict(v), why)
	}
}

// because says in one line why a verdict is what it is: the rule with its line
// or the reason without a rule, and the group in which it was looked for.
func because(colours palette, v robots.Verdict) string {
	s := v.Reason.Sentence()
	if !v.Rule.IsZero() {
		s = "line " + strconv.Itoa(v.Rule.Line()) + ": " + v.Rule.String()
	}
	switch {
	case v.Reason == robots.ReasonUndefined:
		s = "robots.txt cannot be reached, which " + v.Dialect + " leaves undefined"
	case v.Undefined:
		weighs := "disallow"
		if v.Allowed {
			weighs = "allow"
		}
		s = v.Dialect + " leaves this open, by weight " + weighs + ", " + s
	}
	if v.Group.IsZero() {
		return s
	}
	return s + "  " + colours.paint(faint, "(group "+cmp.Or(v.Group.Token(), `""`)+", "+lineList(v.Group.Lines())+")")
}

// lineList names lines, of many only the first.
func lineList(lines []int) string {
	const most = 5
	word, rest := "line ", ""
	if len(lines) > 1 {
		word = "lines "
	}
	if len(lines) > most+1 {
		rest = " and " + strconv.Itoa(len(lines)-most) + " more"
		lines = lines[:most]
	}
	numbers := make([]string, len(lines))
	for i, n := range lines {
		numbers[i] = strconv.Itoa(n)
	}
	return word + strings.Join(numbers, ", ") + rest
}

// maxURLColumn is the widest column of URLs: a longer one pushes only its own
// reason to the right.
const maxURLColumn = 60

func columns(s string) int { return utf8.RuneCountInString(robots.Printable(s)) }

// fill appends blanks up to a width.
func fill(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// appendJSON appends the answer as one object: the members of a batch answer
// without its id, after the version of this format, and as agent the tokens asked
// for, as the dialect reads them.
func (q question) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"schema":1,`...)
	dst = q.rules.AppendJSON(dst, q.path)
	dst = append(dst, `,"url":`...)
	dst = robots.AppendQuoted(dst, q.url)
	dst = append(dst, `,"agent":`...)
	dst = appendStrings(dst, q.rules.Tokens())
	return append(dst, '}')
}

func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = robots.AppendQuoted(dst, s)
	}
	return append(dst, ']')
}
