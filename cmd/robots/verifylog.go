package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/lines"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/crawlers"
)

const (
	// maxVisits limits what is counted before its addresses are verified: some 10 MB.
	// An address that returns later is verified and counted again.
	maxVisits = 1 << 16
	// maxHeaders is how many User-Agent headers are kept with their crawler, and maxHeader how
	// many bytes of a header are read.
	maxHeaders = 2048
	maxHeader  = 8 << 10
	// maxImpostors limits the addresses that are listed per crawler.
	maxImpostors = 5
	// maxBadLines limits how many malformed lines of a log are reported.
	maxBadLines = 3
	// maxSample is how much of a request target is shown, in characters.
	maxSample = 120
)

// unnamed stands for the crawler of a request without a User-Agent.
const unnamed = -1

// A visit is what requests have in common that are counted together.
type visit struct {
	address netip.Addr
	crawler int // its index in the directory, or unnamed
	line    int // of robots.txt, which disallows them; 0 counts all
}

// visitCounts are numbers of requests.
type visitCounts struct {
	Requests int `json:"requests"`
	Verified int `json:"verified"`
	Faked    int `json:"faked"`
	Unknown  int `json:"unknown"`
}

// of returns where the requests with a result are counted.
func (n *visitCounts) of(r crawlers.Result) *int {
	switch r {
	case crawlers.Verified:
		return &n.Verified
	case crawlers.Faked:
		return &n.Faked
	}
	return &n.Unknown
}

func (n *visitCounts) add(r crawlers.Result, requests int) {
	n.Requests += requests
	*n.of(r) += requests
}

// String lists the counts that are not 0.
func (n *visitCounts) String() string {
	var parts []string
	for _, word := range []crawlers.Result{crawlers.Verified, crawlers.Faked, crawlers.Unknown} {
		if k := *n.of(word); k > 0 {
			parts = append(parts, screen.Thousands(k)+" "+string(word))
		}
	}
	return strings.Join(parts, ", ")
}

func (n *visitCounts) cells() []string {
	return []string{strconv.Itoa(n.Requests), strconv.Itoa(n.Verified), strconv.Itoa(n.Faked), strconv.Itoa(n.Unknown)}
}

// An impostor is an address that does not belong to the crawler it names.
type impostor struct {
	Address  string `json:"address"`
	Requests int    `json:"requests"`
	Why      string `json:"why"`
}

// A forbidden line of robots.txt was not obeyed.
type forbidden struct {
	Line int    `json:"line"`
	Rule string `json:"rule"`
	visitCounts
	Sample string `json:"sample"` // the first request target
}

// A visitor is the requests of a crawler, as they are written in JSON too.
type visitor struct {
	Schema   int              `json:"schema"`
	Name     string           `json:"name"`
	Operator string           `json:"operator"`
	Purpose  crawlers.Purpose `json:"purpose"`
	visitCounts
	Addresses int          `json:"addresses"`
	Why       *string      `json:"why"` // the first reason of unknown
	Fakes     []impostor   `json:"fakes"`
	Forbidden []*forbidden `json:"forbidden"` // nil without -f

	crawler crawlers.Crawler
	advice  string
	lines   map[int]*forbidden
}

// A logReader reads access logs once, whatever their length.
type logReader struct {
	call     *verifyCall
	all      []crawlers.Crawler
	byName   map[string]int
	rules    []*robots.Rules // of each crawler, nil without -f
	headers  map[string]int  // the crawlers of User-Agent headers
	visits   map[visit]int   // requests that are not verified yet
	visitors map[int]*visitor

	lines, good, common, unread int // lines; valid ones; those without User-Agent; requests without a readable target
	ipv4, round                 int // addresses, and those that end in .0

	read, verified, verifying atomic.Int64 // lines and addresses, for the progress
}

// verifyLogs reads the logs and reports on them.
func (c *verifyCall) verifyLogs(ctx context.Context) (int, error) {
	l := &logReader{call: c, all: crawlers.All(), byName: map[string]int{}, headers: map[string]int{}, visits: map[visit]int{}, visitors: map[int]*visitor{}}
	for i, e := range l.all {
		l.byName[e.Name] = i
	}
	if c.given("file") {
		f, err := c.robotsFile(ctx)
		if err != nil {
			return exitBad, err
		}
		l.rules = crawlers.Callers(l.all).Rules(f)
	}
	defer c.std.screen.Report(progressInterval, l.progress)()
	done := make(chan error, 1)
	go func() { done <- l.readAll(ctx) }() // which possibly waits for standard input
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return exitBad, fmt.Errorf("%w: %s read", errInterrupted, count(int(l.read.Load()), "line"))
	}
	if l.print(); err != nil {
		return exitBad, err
	}
	status := exitAllowed
	if c.failed {
		status = exitUndecided
	}
	for _, v := range l.visitors {
		if v.Faked > 0 || len(v.lines) > 0 {
			status = exitDisallowed
		}
	}
	return status, nil
}

// robotsFile returns the robots.txt of -f. That of a site which has none is empty.
func (c *verifyCall) robotsFile(ctx context.Context) (*robots.File, error) {
	if !isURL(c.fileName) {
		return c.readRobots(c.fileName)
	}
	files, err := c.known(ctx, &c.site, robots.Dialects(), c.fileName)
	if err != nil {
		return nil, err
	}
	return robots.Parse(files[0].body), nil
}

// progress describes the progress of a long log, else it is "".
func (l *logReader) progress() string {
	read, verifying := l.read.Load(), l.verifying.Load()
	line := l.call.std.name + ": " + count(int(read), "line") + " read"
	switch {
	case verifying > 0 && (read >= 100_000 || verifying >= maxLookups):
		return line + fmt.Sprintf(", %s of %s addresses verified", screen.Thousands(int(l.verified.Load())), screen.Thousands(int(verifying)))
	case read >= 100_000:
		return line
	}
	return ""
}

// readAll reads all logs. A log with a read error counts as far as it was read.
func (l *logReader) readAll(ctx context.Context) (failed error) {
	for _, name := range l.call.logs {
		if err := l.readLog(ctx, name); err != nil && failed == nil {
			failed = err
		}
	}
	l.verify(ctx)
	return failed
}

func (l *logReader) readLog(ctx context.Context, name string) error {
	from, title, err := l.call.std.open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	r := lines.NewReader(from, maxLogLine)
	if err := r.Unzip(); err != nil {
		return fmt.Errorf("cannot read %s: %w", title, cause(err))
	}
	var line []byte
	bad := 0
	for ctx.Err() == nil {
		problem := ""
		if line, err = r.Next(line); errors.Is(err, lines.ErrLong) {
			problem = "longer than 64 KiB"
		} else if err != nil {
			break
		} else if text := bytes.TrimSuffix(line, []byte("\r")); len(text) > 0 {
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
		l.call.warn("%s: %s of %s ignored", title, count(bad, "malformed line"), screen.Thousands(r.Number))
	}
	l.lines += r.Number
	switch {
	case ctx.Err() != nil || errors.Is(err, io.EOF):
		return ctx.Err()
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader):
		return fmt.Errorf("cannot read %s after line %d: damaged or truncated gzip", title, r.Number)
	}
	return fmt.Errorf("cannot read %s after line %d: %w", title, r.Number, cause(err))
}

// line counts a line of a log, and returns its problem if it is not one.
func (l *logReader) line(ctx context.Context, text []byte) (problem string) {
	line, problem := parseLogLine(string(text))
	if problem != "" {
		return problem
	}
	l.good++
	crawler := unnamed
	if line.common {
		l.common++
		if !l.identifies() {
			return ""
		}
	} else if crawler = l.crawlerOf([]byte(line.userAgent)); crawler == unnamed || l.call.claimed != nil && l.all[crawler].Name != l.call.claimed.Name {
		return ""
	}
	address, _ := parseAddress(line.host) // the zero one for a name
	v := visit{address: address, crawler: crawler}
	l.visits[v]++
	if crawler != unnamed && l.rules != nil {
		if v.line = l.disallowedBy(crawler, []byte(line.request)); v.line > 0 {
			l.visits[v]++
		}
	}
	if len(l.visits) >= maxVisits {
		l.verify(ctx)
	}
	return ""
}

// identifies reports whether addresses without a User-Agent can be identified.
func (l *logReader) identifies() bool {
	c := l.call
	return c.verifier.Resolver != nil || len(c.verifier.Lists) > 0 || c.fetchLists
}

// crawlerOf returns the crawler that a User-Agent header names, or unnamed.
func (l *logReader) crawlerOf(header []byte) int {
	header = header[:min(len(header), maxHeader)]
	if i, ok := l.headers[string(header)]; ok {
		return i
	}
	i := unnamed
	if e, ok := crawlers.Sender(string(header)); ok {
		i = l.byName[e.Name]
	}
	if len(l.headers) >= maxHeaders {
		clear(l.headers)
	}
	l.headers[string(header)] = i
	return i
}

func (l *logReader) visitorOf(crawler int) *visitor {
	v := l.visitors[crawler]
	if v == nil {
		e := l.all[crawler]
		v = &visitor{Schema: 1, Name: e.Name, Operator: e.Operator, Purpose: e.Purpose, Fakes: []impostor{}, crawler: e, lines: map[int]*forbidden{}}
		l.visitors[crawler] = v
	}
	return v
}

// disallowedBy returns the line of robots.txt that disallows a request to a crawler, 0 if
// none does or the request has no readable target.
func (l *logReader) disallowedBy(crawler int, request []byte) int {
	rules := l.rules[crawler]
	url := target(string(request))
	if url == "" {
		l.unread++
		return 0
	}
	_, path, err := ask.URL(rules.Dialect(), asURL(url), false)
	if err != nil {
		l.unread++
		return 0
	}
	v := rules.Match(path)
	if v.Allowed {
		return 0
	}
	line, visitor := v.Rule.Line(), l.visitorOf(crawler)
	if visitor.lines[line] == nil {
		visitor.lines[line] = &forbidden{Line: line, Rule: v.Rule.String(), Sample: strings.Clone(cutText(url, maxSample))}
	}
	return line
}

// verify verifies the addresses of all visits, each once for all its crawlers, and counts
// the visits for their crawlers.
func (l *logReader) verify(ctx context.Context) {
	seen, found := map[int]bool{}, map[netip.Addr]map[int]crawlers.Identity{}
	for v := range l.visits {
		if seen[v.crawler] = true; found[v.address] == nil {
			found[v.address] = map[int]crawlers.Identity{}
		}
		found[v.address][v.crawler] = crawlers.Identity{}
	}
	l.call.wantLists(ctx, func(e crawlers.Crawler) bool {
		return seen[l.byName[e.Name]] || seen[unnamed] && l.call.isCandidate(e)
	})
	addresses := slices.SortedFunc(maps.Keys(found), netip.Addr.Compare)
	l.verifying.Add(int64(len(addresses)))
	each(len(addresses), func(i int) {
		l.identify(ctx, addresses[i], found[addresses[i]])
		l.verified.Add(1)
	})
	if ctx.Err() != nil {
		return
	}
	for _, a := range addresses {
		for crawler, id := range found[a] {
			l.count(a, crawler, id)
		}
		if a.Is4() {
			l.ipv4++
			if a.As4()[3] == 0 {
				l.round++
			}
		}
	}
	for v, n := range l.visits {
		if v.line > 0 {
			l.visitors[v.crawler].lines[v.line].add(found[v.address][v.crawler].Result, n)
		}
	}
	clear(l.visits)
}

// identify verifies an address for each crawler that its visits name, the keys of found.
func (l *logReader) identify(ctx context.Context, address netip.Addr, found map[int]crawlers.Identity) {
	var named []crawlers.Crawler
	for crawler := range found {
		if crawler == unnamed {
			found[unnamed] = l.call.identify(ctx, address)
		} else {
			named = append(named, l.all[crawler])
		}
	}
	if len(named) > 0 {
		for i, id := range l.call.verifier.Verify(ctx, address, named...) {
			found[l.byName[named[i].Name]] = id
		}
	}
}

// count adds the visits from an address that name a crawler. A request without a User-Agent
// claims nothing, so it counts only if its address is verified.
func (l *logReader) count(address netip.Addr, crawler int, id crawlers.Identity) {
	l.call.failed = l.call.failed || id.Failed
	requests := l.visits[visit{address: address, crawler: crawler}]
	if crawler == unnamed {
		if id.Result != crawlers.Verified {
			return
		}
		crawler = l.byName[id.Crawlers[0].Name]
	}
	v := l.visitorOf(crawler)
	v.Addresses++
	v.add(id.Result, requests)
	switch {
	case id.Result == crawlers.Faked:
		v.addImpostor(impostor{address.String(), requests, id.Why})
	case id.Result == crawlers.Unknown && v.Why == nil:
		v.Why, v.advice = &id.Why, l.call.advice(id)
	}
}

// addImpostor keeps the impostors with most requests.
func (v *visitor) addImpostor(f impostor) {
	if i := slices.IndexFunc(v.Fakes, func(k impostor) bool { return k.Address == f.Address }); i >= 0 {
		v.Fakes[i].Requests += f.Requests
	} else {
		v.Fakes = append(v.Fakes, f)
	}
	slices.SortStableFunc(v.Fakes, func(a, b impostor) int { return b.Requests - a.Requests })
	v.Fakes = v.Fakes[:min(len(v.Fakes), maxImpostors)]
}

// print writes the report, crawlers and lines with most requests first.
func (l *logReader) print() {
	l.warn()
	list := slices.SortedFunc(maps.Values(l.visitors), func(a, b *visitor) int {
		return cmp.Or(b.Requests-a.Requests, strings.Compare(a.Name, b.Name))
	})
	for _, v := range list {
		if l.rules != nil {
			v.Forbidden = slices.AppendSeq([]*forbidden{}, maps.Values(v.lines))
		}
		slices.SortFunc(v.Forbidden, func(a, b *forbidden) int { return cmp.Or(b.Requests-a.Requests, a.Line-b.Line) })
	}
	switch l.call.format {
	case formatJSON:
		for _, v := range list {
			l.call.std.encode(v)
		}
	case formatCSV:
		l.call.std.writeCSV(l.rows(list)...)
	default:
		l.printText(list)
	}
}

// warn warns of what the logs do not have.
func (l *logReader) warn() {
	switch {
	case l.common > 0 && !l.identifies():
		l.call.warn("%s of %s without a User-Agent (common format) ignored; use the combined format, or identify crawlers with --list, --fetch-lists or --dns",
			screen.Thousands(l.common), count(l.good, "line"))
	case l.common > 0 && l.rules != nil:
		l.call.warn("%s of %s without a User-Agent (common format): not checked with -f", screen.Thousands(l.common), count(l.good, "line"))
	}
	if l.unread > 0 {
		l.call.warn("%s without a readable path: not checked with -f", count(l.unread, "request"))
	}
	if l.ipv4 >= 3 && l.round == l.ipv4 {
		l.call.warn("all addresses end in .0; if the log is anonymized, no crawler can be verified and \"faked\" means nothing")
	}
}

// rows returns the table for CSV.
func (l *logReader) rows(list []*visitor) [][]string {
	head := []string{"name", "operator", "purpose", "requests", "verified", "faked", "unknown", "addresses"}
	var empty []string
	if l.rules != nil {
		head, empty = append(head, "line", "rule", "sample"), []string{"", "", ""}
	}
	rows := [][]string{head}
	for _, v := range list {
		who := []string{v.Name, v.Operator, string(v.Purpose)}
		rows = append(rows, slices.Concat(who, v.cells(), []string{strconv.Itoa(v.Addresses)}, empty))
		for _, f := range v.Forbidden {
			rows = append(rows, slices.Concat(who, f.cells(), []string{"", strconv.Itoa(f.Line), robots.Printable(f.Rule), robots.Printable(f.Sample)}))
		}
	}
	return rows
}

// printText writes the report for people.
func (l *logReader) printText(list []*visitor) {
	w, p := l.call.std.out, l.call.palette
	requests := 0
	for _, v := range list {
		requests += v.Requests
	}
	title := (&textFile{name: l.call.logs[0]}).title()
	if len(l.call.logs) > 1 {
		title = count(len(l.call.logs), "log")
	}
	fmt.Fprintln(w, p.paint(bold, robots.Printable(title+": "+count(l.lines, "line")+", "+count(requests, "request")+" by "+count(len(list), "crawler"))))
	if len(list) == 0 {
		return
	}
	var impostors, disallowed [][]string
	table := [][]string{{"  crawler", " requests", " verified", "    faked", "  unknown", "addresses", ""}}
	for _, v := range list {
		row := []string{"  " + v.Name}
		for _, n := range []int{v.Requests, v.Verified, v.Faked, v.Unknown, v.Addresses} {
			row = append(row, fmt.Sprintf("%9s", screen.Thousands(n)))
		}
		if v.Faked > 0 {
			row[3] = p.paint(red, row[3])
		}
		table = append(table, append(row, p.paint(faint, robots.Printable(orEmpty(v.Why)+v.advice))))
		for _, f := range v.Fakes {
			impostors = append(impostors, []string{row[0], fill(f.Address, 15), robots.Printable(count(f.Requests, "request") + ": " + f.Why)})
		}
		for _, f := range v.Forbidden {
			text := fmt.Sprintf("line %d: %s  %s (%s), such as %s", f.Line, f.Rule, count(f.Requests, "request"), &f.visitCounts, f.Sample)
			if r := remark(v.crawler, false); r != "" {
				text += "  [" + r + "]"
			}
			disallowed = append(disallowed, []string{row[0], robots.Printable(text)})
		}
	}
	align(w, table)
	if len(impostors) > 0 {
		heading(w, p, "Faked")
		align(w, impostors)
	}
	if file := robots.Printable((&textFile{name: l.call.fileName}).title()); len(disallowed) > 0 {
		heading(w, p, "Fetched although disallowed by "+file)
		align(w, disallowed)
	} else if l.rules != nil {
		fmt.Fprintln(w, "\nNo request was disallowed by "+file)
	}
}
