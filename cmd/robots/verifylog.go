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
	// maxImpostors limits the addresses that are listed per crawler.
	maxImpostors = 5
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

// countNames are the columns of numbers, in all formats. A line of robots.txt has no addresses.
var (
	countNames = []string{"requests", "verified", "faked", "unknown", "addresses"}
	lineCounts = countNames[:4]
)

// counts are numbers by the names of their columns.
type counts map[string]int

// cells formats the numbers with some names.
func (n counts) cells(names []string, format func(int) string) (cells []string) {
	for _, name := range names {
		cells = append(cells, format(n[name]))
	}
	return cells
}

// String lists the results that are not 0.
func (n counts) String() string {
	var parts []string
	for _, name := range lineCounts[1:] {
		if k := n[name]; k > 0 {
			parts = append(parts, screen.Thousands(k)+" "+name)
		}
	}
	return strings.Join(parts, ", ")
}

// members are the numbers with some names, in JSON.
func (n counts) members(names []string) (members jsonObject) {
	for _, name := range names {
		members = append(members, jsonMember{name, n[name]})
	}
	return members
}

// An impostor is an address that does not belong to the crawler it names.
type impostor struct {
	Address  string `json:"address"`
	Requests int    `json:"requests"`
	Why      string `json:"why"`
}

// A tally is all requests of a crawler, or those that a line of robots.txt disallows.
type tally struct {
	counts
	line   int // 0 for all
	rule   string
	sample string // the first request target
}

// A visitor is a crawler with its requests.
type visitor struct {
	crawlers.Crawler
	rules   *robots.Rules // nil without -f
	lines   map[int]*tally
	unknown crawlers.Identity // the first one that is unknown
	fakes   []impostor
}

// all are the requests of the crawler.
func (v *visitor) all() counts { return v.lines[0].counts }

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
	defer c.std.Screen.Report(progressInterval, l.progress)()
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
		return exitBad, fmt.Errorf("%w: %s read", screen.ErrInterrupted, count(int(l.read.Load()), "line"))
	}
	if l.print(); err != nil {
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
	if read < 100_000 && verifying < maxLookups {
		return ""
	}
	line := l.call.std.Name + ": " + count(int(read), "line") + " read"
	if verifying > 0 {
		line += fmt.Sprintf(", %s of %s addresses verified", screen.Thousands(l.verified.Load()), screen.Thousands(verifying))
	}
	return line
}

// readLog reads a log. With a read error it counts as far as it was read.
func (l *logReader) readLog(ctx context.Context, name string) error {
	from, title, err := openNamed(l.call.std, name)
	if err != nil {
		return err
	}
	defer from.Close()
	r := lines.NewReader(from, maxLogLine)
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
		l.call.warn("%s: %s of %s ignored", title, count(bad, "malformed line"), screen.Thousands(r.Number))
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
	line, problem := parseLogLine(text)
	if problem != "" {
		return problem
	}
	l.good++
	var v visit
	if line.common {
		l.common++
		if !l.identifies {
			return ""
		}
	} else {
		e, ok := crawlers.Sender(line.userAgent)
		if !ok || l.call.claimed.Name != "" && !l.call.isCandidate(e) {
			return ""
		}
		v.by = l.visitor(e)
	}
	v.address, _ = parseAddress(line.host) // the zero one for a name
	l.visits[v]++
	if v.by != nil && v.by.rules != nil {
		if v.line = l.disallowed(v.by, line.request); v.line > 0 {
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
		v = &visitor{Crawler: e, lines: map[int]*tally{0: {counts: counts{}}}, fakes: []impostor{}}
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
	url := target(request)
	_, path, err := ask.URL(by.rules.Dialect(), asURL(url), false)
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
		by.lines[line] = &tally{counts{}, line, v.Rule.String(), strings.Clone(cutText(url, maxSample))}
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
	counts := v.by.lines[v.line].counts
	counts["requests"] += n
	counts[string(id.Result)] += n
	counts["addresses"]++
	switch {
	case v.line > 0:
		l.call.status = exitDisallowed
	case id.Result == crawlers.Faked:
		l.call.status = exitDisallowed
		v.by.addImpostor(impostor{v.address.String(), n, id.Why})
	case id.Result == crawlers.Unknown && v.by.unknown.Why == "":
		v.by.unknown = id
	}
}

// addImpostor keeps the impostors with most requests.
func (v *visitor) addImpostor(f impostor) {
	if i := slices.IndexFunc(v.fakes, func(k impostor) bool { return k.Address == f.Address }); i >= 0 {
		v.fakes[i].Requests += f.Requests
	} else {
		v.fakes = append(v.fakes, f)
	}
	slices.SortStableFunc(v.fakes, func(a, b impostor) int { return b.Requests - a.Requests })
	v.fakes = v.fakes[:min(len(v.fakes), maxImpostors)]
}

// sorted returns all requests, and then the lines that were not obeyed, those with most requests first.
func (v *visitor) sorted() []*tally {
	return slices.SortedFunc(maps.Values(v.lines), func(a, b *tally) int {
		return cmp.Or(b.counts["requests"]-a.counts["requests"], a.line-b.line)
	})
}

// members are the requests of a crawler in JSON.
func (v *visitor) members() jsonObject {
	var lines []jsonObject
	if v.rules != nil {
		lines = []jsonObject{}
	}
	for _, n := range v.sorted()[1:] {
		lines = append(lines, slices.Concat(jsonObject{{"line", n.line}, {"rule", n.rule}}, n.members(lineCounts), jsonObject{{"sample", n.sample}}))
	}
	return slices.Concat(
		jsonObject{{"schema", 1}, {"name", v.Name}, {"operator", v.Operator}, {"purpose", v.Purpose}}, v.all().members(countNames),
		jsonObject{{"why", notEmpty(v.unknown.Why)}, {"fakes", v.fakes}, {"forbidden", lines}},
	)
}

// print writes the report, crawlers with most requests first.
func (l *logReader) print() {
	l.warn()
	list := slices.SortedFunc(maps.Values(l.visitors), func(a, b *visitor) int {
		return cmp.Or(b.all()["requests"]-a.all()["requests"], strings.Compare(a.Name, b.Name))
	})
	switch l.call.format {
	case formatJSON:
		for _, v := range list {
			l.call.std.Encode(v.members())
		}
	case formatCSV:
		l.call.std.WriteCSV(l.rows(list)...)
	default:
		l.printText(list)
	}
}

// warn warns of what the logs do not have.
func (l *logReader) warn() {
	switch {
	case l.common > 0 && !l.identifies:
		l.call.warn("%s of %s without a User-Agent (common format) ignored; use the combined format, or identify crawlers with --list, --fetch-lists or --dns",
			screen.Thousands(l.common), count(l.good, "line"))
	case l.common > 0 && l.file != nil:
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
	head := append([]string{"name", "operator", "purpose"}, countNames...)
	var empty []string
	if l.file != nil {
		head, empty = append(head, "line", "rule", "sample"), []string{"", "", ""}
	}
	rows := [][]string{head}
	for _, v := range list {
		who := []string{v.Name, v.Operator, string(v.Purpose)}
		rows = append(rows, slices.Concat(who, v.all().cells(countNames, strconv.Itoa), empty))
		for _, n := range v.sorted()[1:] {
			rows = append(rows, slices.Concat(who, n.cells(lineCounts, strconv.Itoa), []string{"", strconv.Itoa(n.line), robots.Printable(n.rule), robots.Printable(n.sample)}))
		}
	}
	return rows
}

// printText writes the report for people.
func (l *logReader) printText(list []*visitor) {
	w, p := l.call.std.Out, l.call.palette
	total := 0
	for _, v := range list {
		total += v.all()["requests"]
	}
	title := (&textFile{name: l.call.logs[0]}).title()
	if len(l.call.logs) > 1 {
		title = count(len(l.call.logs), "log")
	}
	title += ": " + count(int(l.read.Load()), "line") + ", " + count(total, "request") + " by " + count(len(list), "crawler")
	fmt.Fprintln(w, p.paint(bold, robots.Printable(title)))
	if len(list) == 0 {
		return
	}
	var impostors, disallowed [][]string
	head := []string{"  crawler"}
	for _, name := range countNames {
		head = append(head, fmt.Sprintf("%9s", name))
	}
	table := [][]string{append(head, "")}
	for _, v := range list {
		name := "  " + v.Name
		row := append([]string{name}, v.all().cells(countNames, func(n int) string { return fmt.Sprintf("%9s", screen.Thousands(n)) })...)
		if v.all()["faked"] > 0 {
			row[3] = p.paint(red, row[3])
		}
		table = append(table, append(row, p.paint(faint, robots.Printable(v.unknown.Why+l.call.advice(v.unknown)))))
		for _, f := range v.fakes {
			impostors = append(impostors, []string{name, fill(f.Address, 15), robots.Printable(count(f.Requests, "request") + ": " + f.Why)})
		}
		for _, n := range v.sorted()[1:] {
			text := fmt.Sprintf("line %d: %s  %s (%s), such as %s", n.line, n.rule, count(n.counts["requests"], "request"), n.counts, n.sample)
			if r := remark(v.Crawler, false); r != "" {
				text += "  [" + r + "]"
			}
			disallowed = append(disallowed, []string{name, robots.Printable(text)})
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
	} else if l.file != nil {
		fmt.Fprintln(w, "\nNo request was disallowed by "+file)
	}
}
