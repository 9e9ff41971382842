package main

import (
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
(then nothing is answered), 3 undecided.`

const urlHelp = `A URL is absolute, or //host/path, or just /path; - reads URLs from standard
input, one a line.`

func checkCommand(std *streams, status *int) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "check -f FILE [-a TOKEN]... [-d DIALECT] URL...",
		Short: "Say whether URLs may be fetched",
		Long: `Check says of each URL whether the crawler may fetch it, and which line of the
robots.txt decides.

` + urlHelp + `

With --batch it reads questions from standard input, one JSON object a line with
the members url, robots (or robots_b64), agent, dialect, max_bytes, at and id,
and answers each with one line; flags give the defaults.

` + statusHelp,
		Example: `  robots check -f robots.txt https://example.com/list?sort=price
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
	cmd.Flags().BoolVar(&o.batch, "batch", false, "answer JSON Lines from standard input")
	return cmd
}

// A question is one URL under one dialect.
type question struct {
	url   string
	path  robots.Path
	rules *robots.Rules
}

// prepare reads everything the call names and checks all of it: whatever is bad
// about a call is found before anything is answered. It returns a question for
// every URL and, within it, for every dialect asked for.
func prepare(std *streams, name string, o *options) ([][]question, palette, error) {
	var colours palette
	ds, err := dialects(o.dialect)
	if err != nil {
		return nil, colours, err
	}
	if err := checkFormat(o.format); err != nil {
		return nil, colours, err
	}
	if colours, err = newPalette(o.colour, std.terminal); err != nil {
		return nil, colours, err
	}
	if o.at.given {
		if err := checkTime(o.at.text); err != nil {
			return nil, colours, fmt.Errorf("--at %w", err)
		}
	}
	maxBytes := noLimit
	if o.maxBytes.given {
		if maxBytes, err = parseMaxBytes(o.maxBytes.text); err != nil {
			return nil, colours, fmt.Errorf("--max-bytes %w", err)
		}
	}
	if !o.file.given {
		return nil, colours, errNoFile
	}
	urls, err := readURLs(std, o)
	if err != nil {
		return nil, colours, err
	}
	asked := make([][]question, len(urls))
	for i, url := range urls {
		for _, d := range ds {
			p, err := parsePath(d, url)
			if err != nil {
				return nil, colours, err
			}
			asked[i] = append(asked[i], question{url: url, path: p})
		}
	}
	file, err := readFile(std, name, o.file)
	if err != nil {
		return nil, colours, err
	}
	warnHeaders(std, name, o.agents, ds)
	for j, d := range ds {
		f, d := limited(file, d, maxBytes)
		rules := f.Rules(d, callers(o.agents, d)...)
		if o.userInitiated {
			rules = rules.UserInitiated()
		}
		for i := range asked {
			asked[i][j].rules = rules
		}
	}
	return asked, colours, nil
}

// parsePath takes the path out of a URL as the dialect does: google-cpp is
// given raw strings, of which none is an error (C-17).
func parsePath(d robots.Dialect, url string) (robots.Path, error) {
	if d.Escapes == robots.EscapesRaw {
		return robots.RawPath(url), nil
	}
	return robots.ParsePath(url)
}

// statusOf returns the exit status of all answers: undecided outranks
// disallowed, which outranks allowed. Of several dialects the default one
// counts, which is the first; an undefined verdict counts by its boolean.
func statusOf(asked [][]question) int {
	status := exitAllowed
	for _, q := range asked {
		switch v := q[0].rules.Match(q[0].path); {
		case v.Allowed:
		case v.Reason == robots.ReasonUnreachable:
			status = max(status, exitUndecided)
		default:
			status = max(status, exitDisallowed)
		}
	}
	return status
}

// check answers URLs, each by one line or, of several dialects, by a table.
func check(ctx context.Context, o *options, std *streams) (int, error) {
	asked, colours, err := prepare(std, "robots check", o)
	if err != nil {
		return exitBad, err
	}
	width := 0
	for _, q := range asked {
		width = max(width, min(columns(q[0].url), maxURLColumn))
	}
	for i, q := range asked {
		if ctx.Err() != nil {
			return exitBad, ctx.Err()
		}
		switch {
		case o.format == formatJSON:
			for _, q := range q {
				std.out.Write(append(q.appendJSON(nil), '\n'))
			}
		case len(q) > 1:
			if i > 0 {
				fmt.Fprintln(std.out)
			}
			table(std, colours, q)
		default:
			v := q[0].rules.Match(q[0].path)
			fmt.Fprintf(std.out, "%s  %s  %s\n", colours.verdict(v), fill(robots.Printable(q[0].url), width), because(colours, v))
		}
	}
	return statusOf(asked), nil
}

// table writes what each dialect says of one URL.
func table(std *streams, colours palette, asked []question) {
	fmt.Fprintln(std.out, colours.paint(bold, robots.Printable(asked[0].url)))
	for _, q := range asked {
		v := q.rules.Match(q.path)
		fmt.Fprintf(std.out, "  %-13s  %s  %s\n", v.Dialect, colours.verdict(v), because(colours, v))
	}
}

// because says in one line why a verdict is what it is: the rule with its line
// or the reason without a rule, and the group in which it was looked for.
func because(colours palette, v robots.Verdict) string {
	s := v.Reason.Sentence()
	if !v.Rule.IsZero() {
		s = "line " + strconv.Itoa(v.Rule.Line()) + ": " + v.Rule.String()
	}
	if v.Undefined {
		weighs := "disallow"
		if v.Allowed {
			weighs = "allow"
		}
		s = v.Dialect + " leaves this open, by weight " + weighs + ", " + s
	}
	if v.Group.IsZero() {
		return s
	}
	return s + "  " + colours.paint(faint, "(group "+v.Group.Token()+", "+lineList(v.Group.Lines())+")")
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
// without its id, after the version of this format, and the tokens asked for.
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
