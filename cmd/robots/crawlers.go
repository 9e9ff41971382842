package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/crawlers"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// crawlersOptions are one run of robots crawlers.
type crawlersOptions struct {
	std      *screen.Streams
	args     []string // a robots.txt, or the name of a crawler
	set      *pflag.FlagSet
	purposes []string
	operator string
	path     string
	all      bool
	file     string
	output   outputFlags
	site     siteFlags
	at       time.Time // zero for now
}

func newCrawlersCommand(std *screen.Streams) *cobra.Command {
	o := &crawlersOptions{std: std}
	cmd := &cobra.Command{
		Use: "crawlers",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return slices.Collect(crawlers.Names()), cobra.ShellCompDirectiveDefault
		},
		RunE: runE(std, &o.args, o.run),
	}
	o.set = cmd.Flags()
	o.set.StringSliceVar(&o.purposes, "purpose", nil, "`PURPOSE` purposes of the crawlers to list, separated by commas (see above)")
	complete(cmd, "purpose", ask.PurposeWords())
	o.set.StringVar(&o.operator, "operator", "", "`NAME` operator of the crawlers to list, or a word of its name")
	o.set.StringVar(&o.path, "path", "", "`PATH` path or URL of a page, to list which crawlers may fetch it")
	o.set.BoolVar(&o.all, "all", false, "include crawlers that are not in use")
	registerFile(cmd, &o.file)
	o.output.registerFormat(cmd, append([]string{formatCSV}, render.ServerConfigs...)...)
	o.site.register(cmd)
	timeFlag(cmd, &o.at, judgedAt)
	o.output.registerColor(cmd)
	return cmd
}

// crawlersSelection is what the arguments and flags of a run select.
type crawlersSelection struct {
	robots  string // name of a robots.txt, "" for none
	list    []crawlers.Crawler
	omitted int  // crawlers that --all adds
	entry   bool // the list is one crawler that is named
}

func (o *crawlersOptions) run(ctx context.Context) (int, error) {
	selected, err := o.choose()
	if err != nil {
		return exitBad, err
	}
	if selected.robots != "" || o.set.Changed("file") {
		return o.runAccess(ctx, selected)
	}
	switch {
	case o.path != "":
		return exitBad, errors.New("--path requires a robots.txt; name a file, or the URL of a site")
	case o.isServerConfig():
		return exitBad, fmt.Errorf("--format %s requires a robots.txt; name a file, or the URL of a site", o.output.format)
	}
	if err := o.site.unused("without a URL"); err != nil {
		return exitBad, err
	}
	colors := o.output.palette(o.std)
	switch {
	case o.output.json():
		for _, e := range selected.list {
			o.std.EncodeAnswer(answer.NewCrawlerEntry(e))
		}
	case o.output.format == formatCSV:
		o.std.WriteCSV(render.CrawlerListCSV(selected.list)...)
	case selected.entry:
		render.CrawlerEntry(o.std.Out, colors, selected.list[0])
	default:
		render.CrawlerList(o.std.Out, colors, selected.list, selected.omitted)
	}
	return exitAllowed, nil
}

// runAccess writes the access of each crawler by a robots.txt.
func (o *crawlersOptions) runAccess(ctx context.Context, selected *crawlersSelection) (int, error) {
	if o.path != "" && o.isServerConfig() {
		return exitBad, fmt.Errorf("--path has no use with --format %s, which refuses crawlers everywhere", o.output.format)
	}
	path, err := o.parsePath(selected.robots)
	if err != nil {
		return exitBad, err
	}
	var dialects []robots.Dialect
	for _, e := range selected.list {
		dialects = append(dialects, e.ReadAs())
	}
	files, live, err := o.site.named(ctx, o.output.reader(o.std), dialects, 0, selected.robots)
	if err != nil {
		return exitBad, err
	}
	defer live.Close()
	at := cmp.Or(o.at, o.std.Now())
	table, _ := answer.AccessTable(files[0].At(at), selected.list, path, answer.AccessSteps)
	state := ""
	if r := files[0].Record; r != nil {
		s := r.Rules(dialects[0], at).State()
		state = live.StateLine(r, s, source.FactOf(s))
	}
	if slices.ContainsFunc(table, func(r answer.CrawlerAccess) bool { return r.Access == answer.AccessUnknown }) {
		o.std.Warn("%s", state)
		state = ""
		if o.isServerConfig() {
			return exitUndecided, nil
		}
	}
	switch {
	case o.isServerConfig():
		refusals := answer.NewRefusals(selected.list, table)
		render.ServerConfig(o.std.Out, o.output.format, refusals)
		o.warnRefusals(refusals)
	case o.output.json():
		for _, r := range table {
			o.std.EncodeAnswer(r)
		}
	case o.output.format == formatCSV:
		o.std.WriteCSV(render.CrawlerAccessCSV(table)...)
	default:
		render.CrawlerAccess(o.std.Out, o.output.palette(o.std), table, o.path, selected.omitted, state)
	}
	return exitAllowed, nil
}

// isServerConfig reports whether the output is the configuration of a web server.
func (o *crawlersOptions) isServerConfig() bool {
	return slices.Contains(render.ServerConfigs, o.output.format)
}

// warnRefusals names the crawlers that are not in the configuration.
func (o *crawlersOptions) warnRefusals(r *answer.Refusals) {
	if len(r.Names) == 0 {
		o.std.Warn("the file blocks no crawler everywhere, so the configuration refuses none")
	}
	if len(r.Named) > 0 {
		o.std.Warn("not refused, as they may fetch a part: %s", strings.Join(r.Named, ", "))
	}
	if r.Others > 0 {
		o.std.Warn("not refused, as they may fetch a part by the group of *: %s", render.Count(r.Others, "other crawler"))
	}
	if len(r.Undecided) > 0 {
		o.std.Warn("not refused, as the proof exceeded its budget: %s", strings.Join(r.Undecided, ", "))
	}
}

// choose reads the argument and the flags that select crawlers.
func (o *crawlersOptions) choose() (*crawlersSelection, error) {
	if len(o.args) > 1 {
		return nil, fmt.Errorf("unexpected argument %q: one file, URL or name at a time", clip(o.args[1]))
	}
	list, omitted, err := ask.ChooseCrawlers(o.purposes, o.operator, o.all)
	if err != nil {
		return nil, err
	}
	selected := &crawlersSelection{robots: o.file, list: list, omitted: omitted}
	for _, arg := range o.args {
		entry, known := crawlers.Find(arg)
		switch {
		case isRobots(arg) && o.set.Changed("file"):
			return nil, fmt.Errorf("unexpected argument %q: the robots.txt is given with -f", clip(arg))
		case isRobots(arg):
			selected.robots = arg
		case known:
			selected.list = []crawlers.Crawler{entry}
			selected.omitted = 0
			selected.entry = true
		default:
			return nil, fmt.Errorf("%q is not a file, a URL or a known crawler%s", clip(arg), didYouMean(arg))
		}
	}
	return selected, nil
}

// parsePath returns the path of --path, nil without. It must be on the site that is fetched.
func (o *crawlersOptions) parsePath(name string) (*robots.Path, error) {
	if !o.set.Changed("path") {
		return nil, nil
	}
	if ask.NamesSite(name) && !strings.HasPrefix(o.path, "/") {
		origin, _, err := robots.ParseURL(o.path)
		if site, _, _ := robots.ParseURL(name); err == nil && origin != site {
			return nil, fmt.Errorf("--path %s is not a page of %s", strconv.Quote(clip(o.path)), site)
		}
	}
	path, err := robots.ParsePath(o.path)
	if err != nil {
		return nil, fmt.Errorf("--path: %w", err)
	}
	return &path, nil
}

// isRobots reports whether an argument names a robots.txt: standard input, a file or a URL, which
// a User-Agent header only contains.
func isRobots(arg string) bool {
	_, err := os.Stat(arg)
	scheme, _, url := strings.Cut(arg, "://")
	return arg == "-" || err == nil || url && !strings.ContainsAny(scheme, " /")
}

// didYouMean ends a message on the name of an unknown crawler.
func didYouMean(name string) string {
	return cmp.Or(ask.SimilarCrawler(name, crawlers.Names()), "; robots crawlers lists them")
}
