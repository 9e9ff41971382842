package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/indexing"
	"github.com/spf13/cobra"
)

// pageOptions are one run of robots page.
type pageOptions struct {
	std     *screen.Streams
	args    []string // URLs
	urls    urlFlags
	output  outputFlags
	html    string
	headers []string
	noURL   bool // the page is given, and has no URL
}

func newPageCommand(std *screen.Streams) *cobra.Command {
	o := &pageOptions{std: std}
	cmd := &cobra.Command{Use: "page", RunE: runE(std, &o.args, o.run)}
	f := cmd.Flags()
	o.urls.crawlers.register(cmd, true)
	o.urls.crawlers.registerPurpose(cmd)
	f.StringVar(&o.html, "html", "", "`FILE` HTML of the page, - for standard input")
	f.StringArrayVar(&o.headers, "header", nil, "`LINE` header of the page, such as 'X-Robots-Tag: noindex' (repeat for more)")
	o.urls.registerSources(cmd)
	o.output.registerFormat(cmd)
	o.urls.site.register(cmd)
	o.urls.site.pages = true
	registerMaxBytes(cmd, &o.urls.rules.maxBytes)
	timeFlag(cmd, &o.urls.rules.at, "`TIME` time to judge at, such as 2026-01-31T18:00:00Z, for unavailable_after and outages")
	o.output.registerColor(cmd)
	return cmd
}

func (o *pageOptions) run(ctx context.Context) (int, error) {
	local, err := o.readPage()
	if err != nil {
		return exitBad, err
	}
	chosen, urls, err := o.urls.open(ctx, o.std, &o.output, o.args)
	if err != nil {
		return exitBad, err
	}
	defer urls.Close()
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	verdicts := answer.Verdicts{Crawlers: chosen.list}
	tally := urlTally{std: o.std}
	status := exitAllowed
	for checked, err := range urls.All(ctx) {
		if err != nil {
			tally.addBadLine(err)
			continue
		}
		verdicts.Judge(checked.URL, &checked.Target, checked.Rules)
		checks := o.check(ctx, urls, checked, &verdicts, local)
		if local == nil && ctx.Err() != nil {
			break
		}
		status = max(status, statusOfPage(checks))
		o.write(checked, checks, local != nil)
		tally.add(chosen.status(verdicts.List))
	}
	if robotsStatus, err := tally.status(urls); robotsStatus == exitBad {
		return exitBad, err
	}
	return status, nil // of the pages; the other is that of robots.txt alone
}

// check returns the results for each crawler. It fetches the page unless it is given as local.
func (o *pageOptions) check(
	ctx context.Context, urls *source.CheckedURLs, checked *source.CheckedURL, v *answer.Verdicts, local *indexing.Page,
) (checks []answer.PageCheck) {
	verdicts := make([]answer.PageVerdict, len(v.List))
	for i, verdict := range v.List {
		if !o.urls.noRobots {
			verdicts[i].Verdict = new(verdict)
		}
	}
	page := source.Page{Page: local}
	if local == nil {
		_ = o.std.Out.Flush() // show earlier results during the wait; the last flush reports its error
		page = urls.FetchPage(ctx, checked.Target.Raw, verdicts)
	}
	url := checked.URL
	if o.noURL {
		url = ""
	}
	at := cmp.Or(o.urls.rules.at, o.std.Now())
	outcome := source.SiteOutcome(checked.Robots.Record, checked.Rules[0].State().Text())
	for i := range verdicts {
		c := v.Crawlers[i]
		checks = append(checks, answer.PageCheck{
			Outlook:     answer.Page(checked.Rules[i].Rules, &c, url, verdicts[i].Verdict, page.Page, at),
			Page:        page.Fetch(),
			Truncated:   local != nil && local.Cut,
			SiteOutcome: outcome,
			Crawler:     c,
			BlockedAt:   verdicts[i].BlockedAt,
		})
	}
	return checks
}

// write writes the results as JSON or text.
func (o *pageOptions) write(checked *source.CheckedURL, checks []answer.PageCheck, local bool) {
	if o.output.json() {
		for i := range checks {
			o.std.EncodeAnswer(&checks[i])
		}
		return
	}
	if checked.Number > 0 {
		fmt.Fprintln(o.std.Out)
	}
	render.Page(o.std.Out, o.output.palette(o.std), checks, local, checked.State(source.FactOf))
}

// statusOfPage returns the exit status of the results.
func statusOfPage(checks []answer.PageCheck) (status int) {
	for i := range checks {
		switch checks[i].Index.Answer {
		case indexing.Yes:
		case indexing.Unsure:
			status = max(status, exitUndecided)
		default:
			status = max(status, exitDisallowed)
		}
	}
	return status
}

// readPage returns the page of --html and --header, nil if it is to be fetched.
func (o *pageOptions) readPage() (*indexing.Page, error) {
	if !o.urls.set.Changed("html") && len(o.headers) == 0 {
		if o.urls.hasFile() {
			return nil, errors.New("-f requires a page; add --html FILE or --header LINE")
		}
		return nil, nil
	}
	o.urls.noRobots = !o.urls.hasFile()
	if err := o.checkLocal(); err != nil {
		return nil, err
	}
	if len(o.args) == 0 {
		o.args = []string{"/"}
		o.noURL = true
	}
	header, err := parseHeaders(o.headers)
	if err != nil {
		return nil, err
	}
	var body []byte
	if o.html != "" {
		if body, _, err = o.output.reader(o.std).Text(o.html); err != nil {
			return nil, err
		}
	}
	page := indexing.Parse(header, body)
	if len(body) > 0 && !page.HTML {
		o.std.Warn("%s is ignored: Content-Type %q is not HTML", o.html, clip(header.Get("Content-Type")))
	}
	return page, nil
}

// checkLocal checks the arguments and flags for a page of --html and --header.
func (o *pageOptions) checkLocal() error {
	if err := source.StdinOnce(o.html, o.urls.file); err != nil {
		return err
	}
	if !ask.NamesSite(o.urls.file) {
		if err := o.urls.site.unused("with --html or --header"); err != nil {
			return err
		}
	}
	switch set := o.urls.set; {
	case set.Changed("html") && o.html == "":
		return errors.New("empty file name")
	case len(o.args) > 1 || set.Changed("urls"):
		return errors.New("--html and --header describe one page; name one URL")
	case len(o.args) == 1 && o.args[0] == "-":
		return errors.New("--html and --header describe one page; name its URL, or omit it")
	case len(o.args) == 0 && !o.urls.noRobots:
		return errors.New("no URL given; name the page to check against robots.txt")
	}
	return nil
}

// parseHeaders returns the headers of some lines.
func parseHeaders(lines []string) (http.Header, error) {
	header := http.Header{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return nil, fmt.Errorf("--header %q is not a header such as 'X-Robots-Tag: noindex'", clip(line))
		}
		header.Add(name, strings.TrimSpace(value))
	}
	return header, nil
}
