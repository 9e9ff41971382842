package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/lint"
	"github.com/spf13/cobra"
)

// blockOptions are those of robots block.
type blockOptions struct {
	std       *screen.Streams
	args      []string
	output    outputFlags
	site      siteFlags
	purposes  []string
	names     []string
	operators []string
	except    []string
	confirmed bool
	write     bool
	list      bool
	diff      bool
}

func newBlockCommand(std *screen.Streams) *cobra.Command {
	o := &blockOptions{std: std}
	cmd := &cobra.Command{Use: "block"}
	flags := cmd.Flags()
	flags.StringSliceVar(
		&o.purposes, "purpose", nil, "`PURPOSE` block the crawlers in use for a purpose, such as ai-training; ai for all of ai-*",
	)
	complete(cmd, "purpose", ask.PurposeWords())
	flags.StringSliceVar(&o.names, "crawler", nil, "`NAME` block a crawler")
	flags.StringSliceVar(&o.operators, "operator", nil, "`NAME` block the crawlers in use of an operator")
	flags.StringSliceVar(&o.except, "except", nil, "`NAME` leave out a crawler")
	flags.BoolVar(&o.confirmed, "confirmed", false, "only crawlers whose operator states that they obey robots.txt")
	flags.BoolVarP(&o.write, "write", "w", false, "write the file in place")
	flags.BoolVarP(&o.list, "list", "l", false, "print the name of the file and exit 1 if it is not up to date")
	flags.BoolVar(&o.diff, "diff", false, "print the difference alone, for patch")
	cmd.MarkFlagsMutuallyExclusive("write", "list", "diff")
	o.output.registerFormat(cmd)
	o.output.registerColor(cmd)
	o.site.register(cmd)
	cmd.RunE = runE(std, &o.args, o.run)
	return cmd
}

func (o *blockOptions) run(ctx context.Context) (int, error) {
	chosen, err := o.chosen()
	if err != nil {
		return exitBad, err
	}
	text, err := o.read(ctx)
	if err != nil {
		return exitBad, err
	}
	file := robots.Parse(text.Body)
	result := answer.Block(file, chosen, answer.Named(file), answer.AccessSteps)
	if err := o.print(text, result); err != nil {
		return exitBad, err
	}
	switch {
	case !result.Possible, o.list && result.Changed:
		return exitDisallowed, nil
	case !result.Complete:
		return exitUndecided, nil
	}
	return exitAllowed, nil
}

// read returns the file of the arguments.
func (o *blockOptions) read(ctx context.Context) (*source.Text, error) {
	if len(o.args) != 1 {
		return nil, errors.New("one robots.txt required; name a file, - for standard input, or the URL of a site")
	}
	texts, err := o.site.completeFiles(ctx, o.output.reader(o.std), o.args)
	if err != nil {
		return nil, err
	}
	text := &texts[0]
	switch kind := lint.Kind(robots.Parse(text.Body)); {
	case kind != "":
		return nil, fmt.Errorf("%s: it looks like %s, not a robots.txt", text.Title(), kind)
	case o.write && !text.InPlace():
		return nil, fmt.Errorf("-w cannot write %s; remove it", text.Title())
	}
	return text, nil
}

// chosen returns the crawlers to block, each once, in the order of the flags and the directory.
func (o *blockOptions) chosen() (list []answer.Crawler, err error) {
	if len(o.purposes)+len(o.names)+len(o.operators) == 0 {
		return nil, errors.New("no crawlers given; choose them with --purpose, --crawler or --operator")
	}
	var entries []crawlers.Crawler
	if len(o.purposes) > 0 {
		if entries, _, err = ask.ChooseCrawlers(o.purposes, "", false); err != nil {
			return nil, err
		}
	}
	for _, operator := range o.operators {
		more, _, err := ask.ChooseCrawlers(nil, operator, false)
		if err != nil {
			return nil, err
		}
		entries = append(entries, more...)
	}
	for _, e := range entries {
		if !o.confirmed || e.Obeys == crawlers.ObeysYes {
			list = append(list, answer.Auto(e.Name, e.Name))
		}
	}
	for _, name := range o.names {
		c, err := o.named(name)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	for _, name := range o.except {
		before := len(list)
		list = slices.DeleteFunc(list, func(c answer.Crawler) bool { return strings.EqualFold(c.Name, name) })
		if len(list) == before {
			return nil, fmt.Errorf(
				"--except %s: no chosen crawler has this name%s", strconv.Quote(clip(name)), ask.SimilarCrawler(name, crawlers.Names()),
			)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("no crawler is left of those that the flags choose")
	}
	return list, nil
}

// named returns a crawler for its name.
func (o *blockOptions) named(name string) (answer.Crawler, error) {
	if e, known := crawlers.Find(name); known && strings.EqualFold(e.Name, name) {
		return answer.Auto(e.Name, e.Name), nil
	}
	if tokens := robots.ProductTokens(name); len(tokens) != 1 || tokens[0] != name {
		return answer.Crawler{}, fmt.Errorf("--crawler %s is not a product token", strconv.Quote(clip(name)))
	}
	o.std.Warn("--crawler %s is not a known crawler%s", strconv.Quote(clip(name)), ask.SimilarCrawler(name, crawlers.Names()))
	return answer.Auto(name, name), nil
}

// print writes the result, and the file with -w.
func (o *blockOptions) print(text *source.Text, result *answer.Blocking) error {
	writable := result.Possible && result.Complete
	switch {
	case o.output.json():
		o.std.EncodeAnswer(result)
	case o.list && (result.Changed || !writable):
		fmt.Fprintln(o.std.Out, text.Title())
	}
	if writable && result.Changed {
		switch {
		case o.write:
			if err := source.ReplaceFile(text.Name, result.Body); err != nil {
				return err
			}
		case !o.list && !o.output.json():
			render.FileDiff(o.std, text.Title(), text.Body, result.Body)
		}
	}
	switch {
	case o.output.json():
	case o.list, o.diff:
		o.printProblems(o.std.Err, result)
	default:
		o.printSummary(result)
		o.printProblems(o.std.Out, result)
	}
	return nil
}

// printSummary writes what is proved.
func (o *blockOptions) printSummary(result *answer.Blocking) {
	w := o.std.Out
	newly := result.Count(answer.BlockedNewly)
	already := result.Count(answer.BlockedAlready)
	switch {
	case !result.Possible || !result.Complete:
		fmt.Fprintf(
			w, "nothing is written: %s chosen, not all of them can be blocked without other changes\n",
			render.Count(len(result.Crawlers), "crawler"),
		)
	case newly == 0:
		fmt.Fprintf(w, "%s, %d of them already blocked (proved)\n", render.Count(len(result.Crawlers), "crawler"), already)
	default:
		fmt.Fprintf(w, "%d newly blocked (proved)", newly)
		if already > 0 {
			fmt.Fprintf(w, ", %d already blocked (proved)", already)
		}
		others := fmt.Sprintf("%d of %d others", result.Unchanged, result.Others)
		if result.Star {
			others += ", and *,"
		}
		fmt.Fprintf(w, "; %s unchanged for all URLs (proved)\n", others)
	}
}

// printProblems writes what keeps crawlers open, and what changes for others.
func (o *blockOptions) printProblems(w io.Writer, result *answer.Blocking) {
	colors := o.output.palette(o.std)
	problem := func(severity lint.Severity, format string, args ...any) {
		style := render.Faint
		if severity == lint.Error {
			style = render.Red
		}
		fmt.Fprintf(w, "%s  %s\n", colors.Paint(style, severity.String()), robots.Printable(fmt.Sprintf(format, args...)))
	}
	for _, c := range result.Crawlers {
		switch c.Result {
		case answer.BlockedOpen:
			problem(lint.Error, "%s may still fetch %s: %s", c.Name, c.Path, ruleLine(c.Rule))
		case answer.BlockedUndecided:
			problem(lint.Error, "%s: the proof exceeded its budget", c.Name)
		}
	}
	for _, e := range result.Effects {
		severity := lint.Note
		if e.Severe {
			severity = lint.Error
		}
		switch e.Path {
		case "":
			problem(severity, "%s: whether it changes is not decided within the budget", e.Name)
		default:
			problem(severity, "also changes %s: %s %s by %s", e.Name, e.Result, e.Path, ruleLine(e.Rule))
		}
	}
}

// ruleLine returns a rule with its line.
func ruleLine(r *answer.Rule) string {
	if r == nil {
		return "no rule that matches"
	}
	return "line " + strconv.Itoa(r.Line) + ": " + r.String()
}
