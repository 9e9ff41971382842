package main

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/lines"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/crawlers"
)

const (
	// maxVisits limits what is counted before its addresses are verified: some 10 MB.
	// An address that returns later is verified and counted again.
	maxVisits = 1 << 16
	// maxFakes limits the addresses that are listed per crawler.
	maxFakes = 5
	// maxBadLines limits how many malformed lines of a log are reported.
	maxBadLines = 3
	// maxSample is how much of a request target is shown, in characters.
	maxSample = 120
)

// A visit is what requests have in common that are counted together.
type visit struct {
	address netip.Addr
	by      *visitor // nil without a User-Agent
	line    int      // of robots.txt, which disallows them; 0 counts all
}

// A visitor is a crawler with its requests.
type visitor struct {
	crawlers.Crawler
	rules     *robots.Rules // nil without -f
	all       requestCounts
	addresses int
	lines     map[int]*forbiddenRequests // by line of robots.txt
	unknown   crawlers.Identity          // the first one that is unknown
	fakes     []fakeAddress
}

// A logReader reads access logs once, whatever their length.
type logReader struct {
	call       *verifyCall
	file       *robots.File // of -f, nil without
	identifies bool         // addresses without a User-Agent can be identified
	visits     map[visit]int
	visitors   map[string]*visitor // by name

	good, common, unread int // valid lines; those without User-Agent; requests without a readable target
	ipv4, round          int // addresses, and those that end in .0

	read, verified, verifying atomic.Int64 // lines and addresses, for the progress
}

// verifyLogs reads the logs and reports on them.
func (c *verifyCall) verifyLogs(ctx context.Context) (int, error) {
	l := &logReader{
		call: c, visits: map[visit]int{}, visitors: map[string]*visitor{},
		identifies: c.verifier.Resolver != nil || len(c.verifier.Lists) > 0 || c.fetchLists,
	}
	if c.given("file") {
		var err error
		if l.file, err = c.robotsFile(ctx); err != nil {
			return exitBad, err
		}
	}
	defer c.std.Screen.Report(source.ProgressInterval, l.progress)()
	done := make(chan error, 1)
	go func() { // which possibly waits for standard input
		var failed error
		for _, name := range c.logs {
			failed = cmp.Or(failed, l.readLog(ctx, name))
		}
		l.verify(ctx)
		done <- failed
	}()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return exitBad, fmt.Errorf("%w: %s read", screen.ErrInterrupted, render.Count(int(l.read.Load()), "line"))
	}
	l.warn()
	l.write(l.report())
	if err != nil {
		return exitBad, err
	}
	if c.failed {
		c.status = worse(c.status, exitUndecided)
	}
	return c.status, nil
}

// robotsFile returns the robots.txt of -f. That of a site which has none is empty.
func (c *verifyCall) robotsFile(ctx context.Context) (*robots.File, error) {
	if !ask.NamesSite(c.fileName) {
		return c.reader().Robots(c.fileName)
	}
	files, err := c.known(ctx, &c.site, robots.Dialects(), c.fileName)
	if err != nil {
		return nil, err
	}
	return robots.Parse(files[0].Body), nil
}

// progress describes the progress of a long log, else it is "".
func (l *logReader) progress() string {
	read, verifying := l.read.Load(), l.verifying.Load()
	if read < 100_000 && verifying < maxLookups {
		return ""
	}
	line := l.call.std.Name + ": " + render.Count(int(read), "line") + " read"
	if verifying > 0 {
		line += fmt.Sprintf(", %s of %s addresses verified", screen.Thousands(l.verified.Load()), screen.Thousands(verifying))
	}
	return line
}

// readLog reads a log. With a read error it counts as far as it was read.
func (l *logReader) readLog(ctx context.Context, name string) error {
	from, title, err := source.OpenNamed(l.call.std, name)
	if err != nil {
		return err
	}
	defer from.Close()
	r := lines.NewReader(from, source.MaxLogLine)
	if err := r.Unzip(); err != nil {
		return fmt.Errorf("cannot read %s: %w", title, screen.Cause(err))
	}
	var line []byte
	bad := 0
	for ctx.Err() == nil {
		problem := ""
		if line, err = r.Next(line); errors.Is(err, lines.ErrLong) {
			problem = "longer than 64 KiB"
		} else if err != nil {
			break
		} else if text := strings.TrimSuffix(string(line), "\r"); text != "" {
			problem = l.line(ctx, text)
		}
		l.read.Add(1)
		if problem == "" {
			continue
		}
		if bad++; bad <= maxBadLines {
			l.call.warn("%s:%d: not a line of an access log: %s", title, r.Number, problem)
		}
	}
	if bad > maxBadLines {
		l.call.warn("%s: %s of %s ignored", title, render.Count(bad, "malformed line"), screen.Thousands(r.Number))
	}
	switch {
	case ctx.Err() != nil || errors.Is(err, io.EOF):
		return ctx.Err()
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader):
		err = errors.New("damaged or truncated gzip")
	}
	return fmt.Errorf("cannot read %s after line %d: %w", title, r.Number, screen.Cause(err))
}

// line counts a line of a log, and returns its problem if it is not one.
func (l *logReader) line(ctx context.Context, text string) (problem string) {
	line, problem := source.ParseLogLine(text)
	if problem != "" {
		return problem
	}
	l.good++
	var v visit
	if line.Common {
		l.common++
		if !l.identifies {
			return ""
		}
	} else {
		e, ok := crawlers.Sender(line.UserAgent)
		if !ok || l.call.claimed.Name != "" && !l.call.isCandidate(e) {
			return ""
		}
		v.by = l.visitor(e)
	}
	v.address, _ = parseAddress(line.Host) // the zero one for a name
	l.visits[v]++
	if v.by != nil && v.by.rules != nil {
		if v.line = l.disallowed(v.by, line.Request); v.line > 0 {
			l.visits[v]++
		}
	}
	if len(l.visits) >= maxVisits {
		l.verify(ctx)
	}
	return ""
}

func (l *logReader) visitor(e crawlers.Crawler) *visitor {
	v := l.visitors[e.Name]
	if v == nil {
		v = &visitor{Crawler: e, lines: map[int]*forbiddenRequests{}, fakes: []fakeAddress{}}
		if l.file != nil {
			v.rules = l.file.Rules(e.ReadAs(), e.Tokens...)
		}
		l.visitors[e.Name] = v
	}
	return v
}

// disallowed returns the line of robots.txt that disallows a request, 0 if none does or the
// request has no readable target.
func (l *logReader) disallowed(by *visitor, request string) int {
	url := source.Target(request)
	_, path, err := ask.URL(by.rules.Dialect(), source.AsURL(url), false)
	if url == "" || err != nil {
		l.unread++
		return 0
	}
	v := by.rules.Match(path)
	if v.Allowed {
		return 0
	}
	line := v.Rule.Line()
	if by.lines[line] == nil {
		by.lines[line] = &forbiddenRequests{Line: line, Rule: v.Rule.String(), Sample: strings.Clone(cutText(url, maxSample))}
	}
	return line
}

// verify verifies the addresses of all visits, each once for all its crawlers, and counts
// the visits for their crawlers.
func (l *logReader) verify(ctx context.Context) {
	l.call.wantLists(ctx, func(e crawlers.Crawler) bool {
		return l.visitors[e.Name] != nil || l.common > 0 && l.call.isCandidate(e)
	})
	visits := map[netip.Addr][]visit{}
	for v := range l.visits {
		visits[v.address] = append(visits[v.address], v)
	}
	addresses := slices.SortedFunc(maps.Keys(visits), netip.Addr.Compare)
	found := make([][]crawlers.Identity, len(addresses))
	l.verifying.Add(int64(len(addresses)))
	each(len(addresses), func(i int) {
		found[i] = l.identify(ctx, visits[addresses[i]])
		l.verified.Add(1)
	})
	if ctx.Err() != nil {
		return
	}
	for i, a := range addresses {
		for k, v := range visits[a] {
			l.count(v, found[i][k])
		}
		if a.Is4() {
			l.ipv4++
			if a.As4()[3] == 0 {
				l.round++
			}
		}
	}
	clear(l.visits)
}

// identify verifies the address of some visits for the crawler that each names.
func (l *logReader) identify(ctx context.Context, visits []visit) []crawlers.Identity {
	var named []crawlers.Crawler
	for _, v := range visits {
		if v.by != nil {
			named = append(named, v.by.Crawler)
		}
	}
	found := l.call.verifier.Verify(ctx, visits[0].address, named...)
	if i := slices.IndexFunc(visits, func(v visit) bool { return v.by == nil }); i >= 0 {
		found = slices.Insert(found, i, l.call.identify(ctx, visits[0].address))
	}
	return found
}

// count counts a visit. A request without a User-Agent claims nothing, so it counts only if its
// address is verified.
func (l *logReader) count(v visit, id crawlers.Identity) {
	l.call.failed = l.call.failed || id.Failed
	n := l.visits[v]
	if v.by == nil {
		if id.Result != crawlers.Verified {
			return
		}
		v.by = l.visitor(id.Crawlers[0])
	}
	if v.line > 0 {
		v.by.lines[v.line].add(n, id.Result)
		l.call.status = exitDisallowed
		return
	}
	v.by.all.add(n, id.Result)
	v.by.addresses++
	switch {
	case id.Result == crawlers.Faked:
		l.call.status = exitDisallowed
		v.by.addFake(fakeAddress{v.address.String(), n, id.Why})
	case id.Result == crawlers.Unknown && v.by.unknown.Why == "":
		v.by.unknown = id
	}
}

// addFake keeps the fake addresses with most requests.
func (v *visitor) addFake(f fakeAddress) {
	if i := slices.IndexFunc(v.fakes, func(k fakeAddress) bool { return k.Address == f.Address }); i >= 0 {
		v.fakes[i].Requests += f.Requests
	} else {
		v.fakes = append(v.fakes, f)
	}
	slices.SortStableFunc(v.fakes, func(a, b fakeAddress) int { return b.Requests - a.Requests })
	v.fakes = v.fakes[:min(len(v.fakes), maxFakes)]
}

// report returns the requests of the crawler.
func (v *visitor) report(advice string) crawlerRequests {
	r := crawlerRequests{
		Name: v.Name, Operator: v.Operator, Purpose: v.Purpose, requestCounts: v.all, Addresses: v.addresses,
		Why: notEmpty(v.unknown.Why), Fakes: v.fakes, crawler: v.Crawler, advice: advice,
	}
	if v.rules != nil {
		r.Forbidden = []forbiddenRequests{}
	}
	for _, line := range v.lines {
		r.Forbidden = append(r.Forbidden, *line)
	}
	slices.SortFunc(r.Forbidden, func(a, b forbiddenRequests) int {
		return cmp.Or(b.Requests-a.Requests, a.Line-b.Line)
	})
	return r
}

// report returns the requests of all crawlers, those with most requests first.
func (l *logReader) report() []crawlerRequests {
	list := []crawlerRequests{}
	for _, v := range l.visitors {
		list = append(list, v.report(l.call.advice(v.unknown)))
	}
	slices.SortFunc(list, func(a, b crawlerRequests) int {
		return cmp.Or(b.Requests-a.Requests, strings.Compare(a.Name, b.Name))
	})
	return list
}

// warn warns of what the logs do not have.
func (l *logReader) warn() {
	switch {
	case l.common > 0 && !l.identifies:
		l.call.warn("%s of %s without a User-Agent (common format) ignored; use the combined format, or identify crawlers with --list, --fetch-lists or --dns",
			screen.Thousands(l.common), render.Count(l.good, "line"))
	case l.common > 0 && l.file != nil:
		l.call.warn("%s of %s without a User-Agent (common format): not checked with -f", screen.Thousands(l.common), render.Count(l.good, "line"))
	}
	if l.unread > 0 {
		l.call.warn("%s without a readable path: not checked with -f", render.Count(l.unread, "request"))
	}
	if l.ipv4 >= 3 && l.round == l.ipv4 {
		l.call.warn("all addresses end in .0; if the log is anonymized, no crawler can be verified and \"faked\" means nothing")
	}
}
