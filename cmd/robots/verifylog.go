package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/guard"
)

// logProgress counts the lines that are read, and the addresses that are verified.
type logProgress struct {
	reader              *source.LogReader
	verified, verifying atomic.Int64
}

// line describes the progress of a long log, else it is "".
func (p *logProgress) line(name string) string {
	read := p.reader.Read.Load()
	verifying := p.verifying.Load()
	if read < 100_000 && verifying < maxLookups {
		return ""
	}
	line := name + ": " + render.Count(int(read), "line") + " read"
	if verifying > 0 {
		line += fmt.Sprintf(", %s of %s addresses verified", screen.Thousands(p.verified.Load()), screen.Thousands(verifying))
	}
	return line
}

// verifyLogs reads the logs and reports on them.
func (o *verifyOptions) verifyLogs(ctx context.Context) (int, error) {
	traffic, err := o.newTraffic(ctx)
	if err != nil {
		return exitBad, err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(50)) // for logs of any length, 50 MB are enough
	reader := &source.LogReader{Std: o.std, Trusted: o.trusted}
	progress := logProgress{reader: reader}
	defer o.std.Screen.Report(source.ProgressInterval, func() string { return progress.line(o.std.Name) })()
	done := make(chan error, 1)
	go func() { done <- o.readLogs(ctx, traffic, &progress) }() // possibly waits for standard input
	select {
	case err = <-done:
	case <-ctx.Done():
	}
	lines := int(reader.Read.Load())
	if ctx.Err() != nil {
		return exitBad, fmt.Errorf("%w: %s read", screen.ErrInterrupted, render.Count(lines, "line"))
	}
	if err != nil && traffic.Lines == 0 {
		return exitBad, err
	}
	o.warnTraffic(traffic)
	status := o.writeTraffic(traffic, lines)
	if err != nil {
		return exitBad, err
	}
	if traffic.Failed || o.sources.Failed {
		status = worse(status, exitUndecided)
	}
	return status, nil
}

// newTraffic returns an empty count of requests, with the robots.txt of -f.
func (o *verifyOptions) newTraffic(ctx context.Context) (*answer.Traffic, error) {
	traffic := answer.NewTraffic()
	traffic.As = o.claimed.Name
	traffic.Owners = o.verifier.Resolver != nil || len(o.verifier.Lists) > 0 || o.fetchLists
	traffic.Unused = o.unused
	if !o.flags.Changed("file") {
		return traffic, nil
	}
	var err error
	if traffic.File, err = o.robotsFile(ctx); err != nil {
		return nil, err
	}
	traffic.Decide, err = guardOf(traffic.File)
	return traffic, err
}

// robotsFile returns the robots.txt of -f. That of a site which has none is empty.
func (o *verifyOptions) robotsFile(ctx context.Context) (*robots.File, error) {
	if !ask.NamesSite(o.fileName) {
		return o.output.reader(o.std).Robots(o.fileName)
	}
	files, err := o.site.known(ctx, o.output.reader(o.std), robots.Dialects(), o.fileName)
	if err != nil {
		return nil, err
	}
	return robots.Parse(files[0].Body), nil
}

// guardOf returns the decision of robots guard on a request of a crawler.
func guardOf(file *robots.File) (func(answer.LogRequest) answer.LogDecision, error) {
	site := guard.NewSite(file.Bytes())
	g, err := guard.New(guard.Options{Site: func(string) *guard.Site { return site }})
	if err != nil {
		return nil, err
	}
	return func(r answer.LogRequest) answer.LogDecision {
		d := g.Decide(guard.Request{UserAgent: r.UserAgent, Target: r.Target})
		rule := d.Verdict.Rule
		return answer.LogDecision{Rule: rule, Refused: d.Action == guard.Block && !rule.IsZero(), Valid: !d.Refused || !rule.IsZero()}
	}, nil
}

// readLogs reads all logs and verifies their addresses. It returns the first error, after which other
// logs are read too.
func (o *verifyOptions) readLogs(ctx context.Context, traffic *answer.Traffic, progress *logProgress) error {
	var failed error
	for _, name := range o.logs {
		err := progress.reader.Each(ctx, name, func(r answer.LogRequest) {
			traffic.Add(r)
			if traffic.Full() {
				o.settle(ctx, traffic, progress)
			}
		})
		failed = cmp.Or(failed, err)
	}
	o.settle(ctx, traffic, progress)
	return failed
}

// settle verifies the addresses of the requests so far, each once for all its crawlers.
func (o *verifyOptions) settle(ctx context.Context, traffic *answer.Traffic, progress *logProgress) {
	o.fetchListsOf(ctx, traffic.Concerns)
	claims := traffic.Claims()
	progress.verifying.Add(int64(len(claims)))
	for some := range slices.Chunk(claims, 1024) {
		found := make([]answer.Identities, len(some))
		concurrently(len(some), func(i int) {
			c := &some[i]
			found[i].Crawlers = o.verifier.Verify(ctx, c.Address, c.Crawlers()...)
			if c.NoName {
				found[i].Owner = o.identify(ctx, c.Address)
			}
			progress.verified.Add(1)
		})
		if ctx.Err() != nil {
			return
		}
		traffic.Settle(some, found)
	}
	traffic.Clear()
}

// warnTraffic warns of what the logs do not have.
func (o *verifyOptions) warnTraffic(t *answer.Traffic) {
	common := screen.Thousands(t.NoUserAgent)
	switch {
	case t.NoUserAgent > 0 && !t.Owners:
		o.std.Warn(
			"%s of %s without a User-Agent (common format) ignored; use the combined format, or identify crawlers with --list, --fetch-lists or --dns",
			common, render.Count(t.Lines, "line"),
		)
	case t.NoUserAgent > 0 && t.File != nil:
		o.std.Warn("%s of %s without a User-Agent (common format): not checked with -f", common, render.Count(t.Lines, "line"))
	}
	if t.Unreadable > 0 {
		o.std.Warn("%s without a readable path: not checked with -f", render.Count(t.Unreadable, "request"))
	}
	if t.Anonymized() {
		o.std.Warn("all addresses end in .0; if the log is anonymized, no crawler can be verified and \"faked\" means nothing")
	}
}

// writeTraffic writes the report on logs with so many lines, and returns the exit status.
func (o *verifyOptions) writeTraffic(t *answer.Traffic, lines int) int {
	var titles []string
	for _, name := range o.logs {
		titles = append(titles, (&source.Text{Name: name}).Title())
	}
	report := t.Report(titles, lines)
	status := exitAllowed
	for i := range report.Crawlers {
		c := &report.Crawlers[i]
		if c.Known {
			c.Advice = o.advice(c.Unknown)
			c.Remark = render.CrawlerRemark(c.Crawler, false)
		}
		if c.Misbehaves() {
			status = exitDisallowed
		}
	}
	view := render.TrafficView{Report: report, Title: titles[0], All: o.all}
	if len(titles) > 1 {
		view.Title = render.Count(len(titles), "log")
	}
	if t.File != nil {
		view.File = (&source.Text{Name: o.fileName}).Title()
	}
	switch o.output.format {
	case formatJSON:
		o.std.EncodeAnswer(report)
	case formatCSV:
		if o.unused {
			o.std.WriteCSV(render.RuleUseRows(report)...)
			break
		}
		o.std.WriteCSV(render.TrafficRows(report, t.File != nil)...)
	case formatMarkdown:
		view.Markdown(o.std.Out)
	default:
		view.Text(o.std.Out, o.output.palette(o.std))
	}
	return status
}
