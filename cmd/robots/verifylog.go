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
	"github.com/robotskit/robots/crawlers"
)

// This file reads access logs for verify: who came, were they those they said, and what
// did they fetch that robots.txt forbids. A log is read once, whatever its length: what
// it says is counted by crawler, address and line of robots.txt until there are maxVisits
// of these; then their addresses are verified, and the counts go into one tally for each
// crawler.

const (
	// maxVisits bounds what is counted before its addresses are verified: some 10 MB.
	// An address that comes again later is asked about again, and counts again.
	maxVisits = 1 << 16
	// maxHeaders is how many User-Agent headers are remembered with their crawler, and
	// maxHeader how long they may be in bytes. Of a longer one maxLongHeader bytes are
	// looked at.
	maxHeaders    = 4096
	maxHeader     = 1 << 10
	maxLongHeader = 8 << 10
	// mostFakes is how many addresses of fakes are named for a crawler.
	mostFakes = 5
	// mostBadLines is how many lines of a log that cannot be read are named.
	mostBadLines = 3
	// maxSample is how much of a target is shown, in characters.
	maxSample = 120
)

// nobody stands for the crawler of a request without a User-Agent.
const nobody = -1

// A visit is requests that are verified together, as they have the crawler, the address
// and the line of robots.txt that forbids them in common, 0 if none does.
type visit struct {
	crawler int // in logReader.all, or nobody
	address netip.Addr
	line    int
}

// counts are numbers of requests.
type counts struct {
	Requests int `json:"requests"`
	Verified int `json:"verified"`
	Faked    int `json:"faked"`
	Unknown  int `json:"unknown"`
}

func (n *counts) add(r crawlers.Result, requests int) {
	n.Requests += requests
	switch r {
	case crawlers.Verified:
		n.Verified += requests
	case crawlers.Faked:
		n.Faked += requests
	default:
		n.Unknown += requests
	}
}

// A fake is an address that is not the crawler's.
type fake struct {
	Address  string `json:"address"`
	Requests int    `json:"requests"`
	Why      string `json:"why"`
}

// A forbidden is what a line of robots.txt forbids and was fetched all the same.
type forbidden struct {
	Line int    `json:"line"`
	Rule string `json:"rule"`
	counts
	Sample string `json:"sample"` // the first target
}

// A visitor is what a log says of a crawler.
type visitor struct {
	crawler crawlers.Crawler
	counts
	addresses int
	why       string // the first reason of unknown
	advice    string
	fakes     []fake
	forbidden map[int]*forbidden // by line
}

// A logReader reads logs.
type logReader struct {
	call     *verifyCall
	all      []crawlers.Crawler
	byName   map[string]int
	rules    []*robots.Rules // of each, nil without -f
	headers  map[string]int  // of which crawler, nobody for none
	visits   map[visit]int
	visitors map[int]*visitor

	lines, good, common, named, unread int // of these: read; lines of a log; without User-Agent; of crawlers; without a target
	ipv4, round                        int // addresses that were verified, and those of them that end in .0

	read, asked, asking atomic.Int64 // for the progress
}

// answerLogs reads the logs and answers.
func (c *verifyCall) answerLogs(ctx context.Context) (int, error) {
	l := &logReader{
		call: c, all: crawlers.All(), byName: map[string]int{}, headers: map[string]int{}, visits: map[visit]int{}, visitors: map[int]*visitor{},
	}
	for i, e := range l.all {
		l.byName[e.Name] = i
	}
	if c.given("file") {
		c.dialects = []robots.Dialect{robots.RFC9309}
		f, err := c.readFile()
		if err != nil {
			return exitBad, err
		}
		l.rules = crawlers.Callers(l.all).Rules(f)
	}
	defer c.std.screen.report(progressSaid, l.say)()
	done := make(chan error, 1)
	go func() { done <- l.readAll(ctx) }() // which may wait for standard input
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		return exitBad, fmt.Errorf("%w: %s read", errInterrupted, count(int(l.read.Load()), "line"))
	}
	if ctx.Err() != nil {
		return exitBad, errInterrupted
	}
	if failed := l.print(); failed != nil || err != nil {
		return exitBad, cmp.Or(failed, err)
	}
	status := exitAllowed
	if c.failed {
		status = exitUndecided
	}
	for _, t := range l.visitors {
		if t.Faked > 0 || len(t.forbidden) > 0 {
			status = exitDisallowed
		}
	}
	return status, nil
}

// say says how far it has come, once there is much.
func (l *logReader) say() {
	const least = 100_000 // lines
	read, asking := l.read.Load(), l.asking.Load()
	if read < least && asking < abreast {
		return
	}
	line := l.call.name + ": " + count(int(read), "line") + " read"
	if asking > 0 {
		line += fmt.Sprintf(", %s of %s addresses looked at", thousands(int(l.asked.Load())), thousands(int(asking)))
	}
	l.call.std.screen.show(line)
}

// readAll reads all logs. A log that cannot be read to its end counts as far as it was
// read.
func (l *logReader) readAll(ctx context.Context) error {
	var failed error
	for _, name := range l.call.logs {
		if err := l.readLog(ctx, name); err != nil && failed == nil {
			failed = err
		}
	}
	l.settle(ctx)
	return failed
}

func (l *logReader) readLog(ctx context.Context, name string) error {
	from, title, err := l.call.std.open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	plain, err := plainLog(from)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", title, cause(err))
	}
	r := newLineReader(plain, maxLogLine)
	number, bad := 0, 0
	wrong := func(why string) {
		if bad++; bad <= mostBadLines {
			l.call.warn("%s line %d is no line of an access log: %s", title, number, why)
		}
	}
	var c chunk
	for ctx.Err() == nil {
		err := r.chunk(&c)
		for _, line := range c.lines {
			number++
			text := bytes.TrimSuffix(c.text(line), []byte("\r"))
			switch {
			case line.over:
				wrong("it is longer than 64 KiB")
			case len(text) > 0:
				if why := l.line(ctx, text); why != "" {
					wrong(why)
				}
			}
		}
		l.read.Add(int64(len(c.lines)))
		if err == nil {
			continue
		}
		if bad > mostBadLines {
			l.call.warn("%s: %s in all, of %s, could not be read and count for nothing", title, count(bad, "line"), thousands(number))
		}
		l.lines += number
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader):
			return fmt.Errorf("cannot read %s to its end: after line %d its gzip is damaged or cut off", title, number)
		}
		return fmt.Errorf("cannot read %s to its end, it ends after line %d: %w", title, number, cause(err))
	}
	return ctx.Err()
}

// line counts a line of a log. What makes it none is returned.
func (l *logReader) line(ctx context.Context, text []byte) (why string) {
	line, why := parseLogLine(text)
	if why != "" {
		return why
	}
	l.good++
	v := visit{crawler: nobody}
	if line.common {
		l.common++
		if l.call.verifier.Resolver == nil && len(l.call.verifier.Lists) == 0 && !l.call.fetchLists {
			return ""
		}
	} else if v.crawler = l.crawlerOf(line.userAgent); v.crawler == nobody {
		return ""
	}
	if c := l.call.claimed; c != nil && v.crawler != nobody && l.all[v.crawler].Name != c.Name {
		return ""
	}
	if a, err := netip.ParseAddr(string(line.host)); err == nil && a.Zone() == "" {
		v.address = a.Unmap()
	}
	if v.crawler != nobody {
		l.named++
		if l.rules != nil {
			v.line = l.forbids(v.crawler, line.request)
		}
	}
	if l.visits[v]++; len(l.visits) >= maxVisits {
		l.settle(ctx)
	}
	return ""
}

// crawlerOf returns the crawler that a header names, or nobody.
func (l *logReader) crawlerOf(header []byte) int {
	if i, ok := l.headers[string(header)]; ok {
		return i
	}
	i := nobody
	if e, ok := crawlers.Sender(unescape(header[:min(len(header), maxLongHeader)])); ok {
		i = l.byName[e.Name]
	}
	if len(header) <= maxHeader {
		if len(l.headers) >= maxHeaders {
			clear(l.headers)
		}
		l.headers[string(header)] = i
	}
	return i
}

// visitorOf returns what is counted of a crawler.
func (l *logReader) visitorOf(crawler int) *visitor {
	t := l.visitors[crawler]
	if t == nil {
		t = &visitor{crawler: l.all[crawler], forbidden: map[int]*forbidden{}}
		l.visitors[crawler] = t
	}
	return t
}

// forbids returns the line of robots.txt that forbids a crawler what it asked for, 0 if
// none does or what it asked for cannot be read.
func (l *logReader) forbids(crawler int, request []byte) int {
	rules := l.rules[crawler]
	url := target(unescape(request))
	if url == "" {
		l.unread++
		return 0
	}
	_, path, err := split(rules.Dialect(), url, false)
	if err != nil {
		l.unread++
		return 0
	}
	v := rules.Match(path)
	if v.Allowed {
		return 0
	}
	line := v.Rule.Line()
	if t := l.visitorOf(crawler); t.forbidden[line] == nil {
		t.forbidden[line] = &forbidden{Line: line, Rule: v.Rule.String(), Sample: strings.Clone(cutText(url, maxSample))}
	}
	return line
}

// settle verifies the addresses of all visits, each once, and counts the visits for
// their crawlers.
func (l *logReader) settle(ctx context.Context) {
	c := l.call
	visits := slices.SortedFunc(maps.Keys(l.visits), func(a, b visit) int {
		return cmp.Or(a.address.Compare(b.address), cmp.Compare(a.crawler, b.crawler), cmp.Compare(a.line, b.line))
	})
	seen := map[int]bool{}
	var runs [][]visit // of one address
	var who []crawlers.Crawler
	for from := 0; from < len(visits); {
		to := from
		for to < len(visits) && visits[to].address == visits[from].address {
			if i := visits[to].crawler; i != nobody && !seen[i] {
				seen[i] = true
				who = append(who, l.all[i])
			} else if i == nobody && !seen[i] {
				seen[i] = true
				if who = append(who, l.all...); c.claimed != nil {
					who = []crawlers.Crawler{*c.claimed}
				}
			}
			to++
		}
		runs = append(runs, visits[from:to])
		from = to
	}
	c.wantLists(ctx, who)
	l.asking.Add(int64(len(runs)))
	found := make([]map[int]crawlers.Identity, len(runs))
	each(ctx, len(runs), func(i int) {
		found[i] = l.verify(ctx, runs[i])
		l.asked.Add(1)
	})
	if ctx.Err() != nil {
		return
	}
	for i, run := range runs {
		if a := run[0].address; a.Is4() {
			l.ipv4++
			if a.As4()[3] == 0 {
				l.round++
			}
		}
		for from := 0; from < len(run); {
			to := from
			for to < len(run) && run[to].crawler == run[from].crawler {
				to++
			}
			l.add(run[from:to], found[i][run[from].crawler])
			from = to
		}
	}
	clear(l.visits)
}

// verify says of the crawlers of one address whether it is theirs.
func (l *logReader) verify(ctx context.Context, run []visit) map[int]crawlers.Identity {
	found := map[int]crawlers.Identity{}
	var at []int
	var as []crawlers.Crawler
	for _, v := range run {
		switch {
		case v.crawler == nobody && l.call.claimed != nil:
			found[nobody] = l.call.verifier.Verify(ctx, v.address, *l.call.claimed)[0]
		case v.crawler == nobody:
			found[nobody] = l.call.verifier.Identify(ctx, v.address)
		case len(at) == 0 || at[len(at)-1] != v.crawler:
			at, as = append(at, v.crawler), append(as, l.all[v.crawler])
		}
	}
	if len(as) > 0 {
		for i, id := range l.call.verifier.Verify(ctx, run[0].address, as...) {
			found[at[i]] = id
		}
	}
	return found
}

// add adds the visits of a crawler from one address to what is counted of it.
func (l *logReader) add(visits []visit, id crawlers.Identity) {
	l.call.failed = l.call.failed || id.Failed
	crawler, address := visits[0].crawler, visits[0].address
	if crawler == nobody {
		// Who names no crawler claims nothing, so that only a proof makes him one.
		if id.Result != crawlers.Verified {
			return
		}
		crawler = l.byName[id.Crawlers[0].Name]
	}
	t := l.visitorOf(crawler)
	t.addresses++
	requests := 0
	for _, v := range visits {
		requests += l.visits[v]
		if v.line > 0 {
			t.forbidden[v.line].counts.add(id.Result, l.visits[v])
		}
	}
	t.counts.add(id.Result, requests)
	switch id.Result {
	case crawlers.Faked:
		t.addFake(fake{address.String(), requests, id.Why})
	case crawlers.Unknown:
		if t.why == "" {
			t.why, t.advice = id.Why, l.call.advice(id)
		}
	}
}

// addFake keeps the fakes with most requests, in the order of these.
func (t *visitor) addFake(f fake) {
	if i := slices.IndexFunc(t.fakes, func(k fake) bool { return k.Address == f.Address }); i >= 0 {
		t.fakes[i].Requests += f.Requests
	} else {
		t.fakes = append(t.fakes, f)
	}
	slices.SortStableFunc(t.fakes, func(a, b fake) int { return b.Requests - a.Requests })
	t.fakes = t.fakes[:min(len(t.fakes), mostFakes)]
}

// jsonVisitor is the line of JSON for a crawler of a log.
type jsonVisitor struct {
	Schema   int              `json:"schema"`
	Name     string           `json:"name"`
	Operator string           `json:"operator"`
	Purpose  crawlers.Purpose `json:"purpose"`
	counts
	Addresses int          `json:"addresses"`
	Why       *string      `json:"why"`
	Fakes     []fake       `json:"fakes"`
	Forbidden []*forbidden `json:"forbidden"`
}

// print writes the answer.
func (l *logReader) print() error {
	c := l.call
	list := slices.SortedFunc(maps.Values(l.visitors), func(a, b *visitor) int {
		return cmp.Or(b.Requests-a.Requests, strings.Compare(a.crawler.Name, b.crawler.Name))
	})
	l.warn()
	switch c.format {
	case formatJSON:
		for _, t := range list {
			e := t.crawler
			line := jsonVisitor{1, e.Name, e.Operator, e.Purpose, t.counts, t.addresses, notEmpty(t.why), append([]fake{}, t.fakes...), nil}
			if l.rules != nil {
				line.Forbidden = append([]*forbidden{}, t.lines()...)
			}
			if err := encode(c.std.out, line); err != nil {
				return err
			}
		}
		return nil
	case formatCSV:
		return writeCSV(c.std.out, l.rows(list))
	case formatMarkdown:
		writeMarkdown(c.std.out, l.rows(list))
		return nil
	}
	l.table(list)
	return nil
}

// lines are what is forbidden, what was fetched most first.
func (t *visitor) lines() []*forbidden {
	return slices.SortedFunc(maps.Values(t.forbidden), func(a, b *forbidden) int {
		return cmp.Or(b.Requests-a.Requests, a.Line-b.Line)
	})
}

// warn says what the reader of the answer must know of the log.
func (l *logReader) warn() {
	told := l.call.verifier.Resolver != nil || len(l.call.verifier.Lists) > 0
	switch {
	case l.common == 0:
	case !told:
		l.call.warn("%s of %s have no User-Agent (common format) and name no crawler: have the server log in combined format, or tell crawlers by their addresses with --list, --fetch-lists or --dns",
			thousands(l.common), count(l.good, "line"))
	case l.rules != nil:
		l.call.warn("%s of %s have no User-Agent (common format): -f says nothing of them", thousands(l.common), count(l.good, "line"))
	}
	if l.unread > 0 {
		l.call.warn("%s of crawlers: no path can be read there, and -f says nothing of it", count(l.unread, "request"))
	}
	const few = 3
	if l.ipv4 >= few && l.round == l.ipv4 {
		l.call.warn("all addresses end in .0: if the log was made anonymous, nobody in it can be verified, and faked means nothing")
	}
}

// rows are the cells of the table for programs and documents.
func (l *logReader) rows(list []*visitor) [][]string {
	head := []string{"name", "operator", "purpose", "requests", "verified", "faked", "unknown", "addresses"}
	if l.rules != nil {
		head = append(head, "line", "rule", "sample")
	}
	rows := [][]string{head}
	numbers := func(n counts) []string {
		return []string{strconv.Itoa(n.Requests), strconv.Itoa(n.Verified), strconv.Itoa(n.Faked), strconv.Itoa(n.Unknown)}
	}
	for _, t := range list {
		who := []string{t.crawler.Name, t.crawler.Operator, string(t.crawler.Purpose)}
		row := append(slices.Concat(who, numbers(t.counts)), strconv.Itoa(t.addresses))
		if l.rules != nil {
			row = append(row, "", "", "")
		}
		rows = append(rows, row)
		for _, f := range t.lines() {
			rows = append(rows, append(slices.Concat(who, numbers(f.counts)), "", strconv.Itoa(f.Line), robots.Printable(f.Rule), robots.Printable(f.Sample)))
		}
	}
	return rows
}

// table writes the answer for people.
func (l *logReader) table(list []*visitor) {
	w, colours := l.call.std.out, l.call.palette
	name, requests := len("crawler"), 0
	for _, t := range list {
		name, requests = max(name, columns(t.crawler.Name)), requests+t.Requests
	}
	title := "standard input"
	if len(l.call.logs) > 1 {
		title = count(len(l.call.logs), "log")
	} else if l.call.logs[0] != "-" {
		title = l.call.logs[0]
	}
	of := "of no crawler"
	if len(list) > 0 {
		of = "of " + count(len(list), "crawler")
	}
	fmt.Fprintln(w, colours.paint(bold, robots.Printable(title+": "+count(l.lines, "line")+", "+count(requests, "request")+" "+of)))
	if len(list) == 0 {
		return
	}
	const cells = "  %s  %9s  %9s  %9s  %9s  %9s  %s"
	line := func(text string) { fmt.Fprintln(w, strings.TrimRight(text, " ")) }
	line(fmt.Sprintf(cells, fill("crawler", name), "requests", "verified", "faked", "unknown", "addresses", ""))
	for _, t := range list {
		faked := fmt.Sprintf("%9s", thousands(t.Faked))
		if t.Faked > 0 {
			faked = colours.paint(red, faked)
		}
		line(fmt.Sprintf(cells, fill(t.crawler.Name, name), thousands(t.Requests), thousands(t.Verified), faked, thousands(t.Unknown), thousands(t.addresses),
			colours.paint(faint, robots.Printable(t.why+t.advice))))
	}
	first := true
	for _, t := range list {
		for _, f := range t.fakes {
			if first {
				line("\n" + colours.paint(bold, "Faked"))
				first = false
			}
			line(robots.Printable(fmt.Sprintf("  %s  %s  %s: %s", fill(t.crawler.Name, name), fill(f.Address, len("255.255.255.255")), count(f.Requests, "request"), f.Why)))
		}
	}
	if l.rules == nil {
		return
	}
	file := l.call.fileName
	if file == "-" {
		file = "standard input"
	}
	none := true
	for _, t := range list {
		for _, f := range t.lines() {
			if none {
				line("\n" + colours.paint(bold, "Fetched though "+robots.Printable(file)+" forbids it"))
				none = false
			}
			text := fmt.Sprintf("line %d: %s  %s (%s), as %s", f.Line, f.Rule, count(f.Requests, "request"), f.counts.words(), f.Sample)
			if r := remark(t.crawler, false); r != "" {
				text += "  [" + r + "]"
			}
			line("  " + fill(t.crawler.Name, name) + "  " + robots.Printable(text))
		}
	}
	if none {
		line("\nNothing of it is forbidden by " + robots.Printable(file))
	}
}

// words says how many of some requests are which.
func (n counts) words() string {
	var parts []string
	for _, p := range []struct {
		n    int
		word crawlers.Result
	}{{n.Verified, crawlers.Verified}, {n.Faked, crawlers.Faked}, {n.Unknown, crawlers.Unknown}} {
		if p.n > 0 {
			parts = append(parts, thousands(p.n)+" "+string(p.word))
		}
	}
	return strings.Join(parts, ", ")
}
