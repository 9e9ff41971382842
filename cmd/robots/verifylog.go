package main

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/guard"
	"golang.org/x/sync/errgroup"
)

// logProgress counts the lines that are read, and the addresses that are verified.
type logProgress struct{ read, verified, verifying atomic.Int64 }

// line describes the progress of a long log, else it is "".
func (p *logProgress) line(name string) string {
	read := p.read.Load()
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
	traffic := &answer.Traffic{
		As:     o.claimed.Name,
		Owners: o.verifier.Resolver != nil || len(o.verifier.Lists) > 0 || o.fetchLists,
	}
	if o.flags.Changed("file") {
		file, err := o.robotsFile(ctx)
		if err != nil {
			return exitBad, err
		}
		if traffic.Disallows, err = guardOf(file); err != nil {
			return exitBad, err
		}
	}
	var progress logProgress
	defer o.std.Screen.Report(source.ProgressInterval, func() string { return progress.line(o.std.Name) })()
	done := make(chan error, 1)
	go func() { done <- o.readLogs(ctx, traffic, &progress) }() // possibly waits for standard input
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
	}
	lines := render.Count(int(progress.read.Load()), "line")
	if ctx.Err() != nil {
		return exitBad, fmt.Errorf("%w: %s read", screen.ErrInterrupted, lines)
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
func guardOf(file *robots.File) (func(answer.LogRequest) (robots.Rule, bool), error) {
	site := guard.NewSite(file.Bytes())
	g, err := guard.New(guard.Options{Site: func(string) *guard.Site { return site }})
	if err != nil {
		return nil, err
	}
	return func(r answer.LogRequest) (rule robots.Rule, valid bool) {
		d := g.Decide(guard.Request{UserAgent: r.UserAgent, Target: r.Target})
		if d.Action == guard.Block {
			rule = d.Verdict.Rule
		}
		return rule, !d.Refused || !rule.IsZero()
	}, nil
}

// readLogs reads all logs and verifies their addresses. It returns the first error, after which other
// logs are read too.
func (o *verifyOptions) readLogs(ctx context.Context, traffic *answer.Traffic, progress *logProgress) error {
	var failed error
	for _, name := range o.logs {
		err := source.ReadLog(ctx, o.std, name, &progress.read, func(r answer.LogRequest) {
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
	found := make([]answer.Identities, len(claims))
	progress.verifying.Add(int64(len(claims)))
	concurrently(len(claims), func(i int) {
		c := &claims[i]
		found[i].Crawlers = o.verifier.Verify(ctx, c.Address, c.Crawlers...)
		if c.NoName {
			found[i].Owner = o.identify(ctx, c.Address)
		}
		progress.verified.Add(1)
	})
	if ctx.Err() == nil {
		traffic.Settle(claims, found)
	}
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
	case t.NoUserAgent > 0 && t.Disallows != nil:
		o.std.Warn("%s of %s without a User-Agent (common format): not checked with -f", common, render.Count(t.Lines, "line"))
	}
	if t.Unreadable > 0 {
		o.std.Warn("%s without a readable path: not checked with -f", render.Count(t.Unreadable, "request"))
	}
	if t.Anonymized() {
		o.std.Warn("all addresses end in .0; if the log is anonymized, no crawler can be verified and \"faked\" means nothing")
	}
}

// writeTraffic writes the requests of the crawlers, and returns the exit status.
func (o *verifyOptions) writeTraffic(t *answer.Traffic, lines string) int {
	list := t.Crawlers()
	status := exitAllowed
	for i := range list {
		list[i].Advice = o.advice(list[i].Unknown)
		list[i].Remark = render.CrawlerRemark(list[i].Crawler, false)
		if list[i].Misbehaves() {
			status = exitDisallowed
		}
	}
	switch o.output.format {
	case formatJSON:
		for i := range list {
			o.std.EncodeAnswer(&list[i])
		}
	case formatCSV:
		o.std.WriteCSV(render.TrafficRows(list, t.Disallows != nil)...)
	default:
		title := (&source.Text{Name: o.logs[0]}).Title()
		if len(o.logs) > 1 {
			title = render.Count(len(o.logs), "log")
		}
		file := ""
		if t.Disallows != nil {
			file = (&source.Text{Name: o.fileName}).Title()
		}
		render.Traffic(o.std.Out, o.output.palette(o.std), list, title+": "+lines, file)
	}
	return status
}

// fetchListsOf fetches the published lists of some crawlers for --fetch-lists.
func (o *verifyOptions) fetchListsOf(ctx context.Context, wanted func(crawlers.Crawler) bool) {
	for _, e := range crawlers.All() {
		if o.fetchLists && e.Addresses != crawlers.Unknown && o.verifier.Lists[e.Name] == nil && wanted(e) {
			_ = o.addList(ctx, e.Name, e.Addresses) // an unavailable URL is no error
		}
	}
}

// identify verifies an address that names no crawler.
func (o *verifyOptions) identify(ctx context.Context, address netip.Addr) crawlers.Identity {
	if o.claimed.Name != "" {
		return o.verifier.Verify(ctx, address, o.claimed)[0]
	}
	return o.verifier.Identify(ctx, address)
}

// maxLookups limits concurrent DNS lookups.
const maxLookups = 32

// concurrently calls fn for 0 to n-1.
func concurrently(n int, fn func(i int)) {
	var all errgroup.Group
	all.SetLimit(maxLookups)
	for i := range n {
		all.Go(func() error {
			fn(i)
			return nil
		})
	}
	_ = all.Wait() // there are no errors
}

// advice names the flag that would help, "" if none would.
func (o *verifyOptions) advice(id crawlers.Identity) string {
	if id.Result != crawlers.Unknown || id.Failed {
		return ""
	}
	names := true
	listed := true
	if len(id.Crawlers) > 0 {
		names = id.Crawlers[0].ReverseDNS != crawlers.Unknown
		listed = id.Crawlers[0].Addresses != crawlers.Unknown
	}
	switch {
	case names && o.verifier.Resolver == nil && o.offline:
		return " (remove --offline)"
	case names && o.verifier.Resolver == nil:
		return " (use --dns)"
	case listed && !o.fetchLists && !o.offline:
		return " (use --fetch-lists)"
	}
	return ""
}
