package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/fetch"
	"github.com/spf13/cobra"
)

// This file holds what the verbs share: a call with its flags, where its robots.txt
// comes from, and how its URLs are answered one after another.

// A call is one run of a verb that has not moved to judge.go yet.
type call struct {
	command

	agents        []string
	fileName      string
	dialect       string
	maxBytes      int       // noLimit without --max-bytes
	at            time.Time // zero: now
	userInitiated bool
	as            string   // the name of a crawler of the directory
	each          bool     // every agent is a crawler of its own
	purposes      []string // of crawlers that are asked for
	comparing     bool     // --dialect may be all
	site          siteFlags

	// Set by open.
	fetches  bool             // there is no file
	dialects []robots.Dialect // that answer side by side; the status is that of the first
	tokens   []string
	askers   *askers      // nil if one crawler asks
	file     *robots.File // of -f, or
	live     *live        // else

	// The robots.txt that the page under way is judged by.
	current *site          // nil with -f
	record  *fetch.Record  // nil with -f
	rules   []*ruleSet     // of each dialect
	verdict robots.Verdict // of the first dialect on the page
	width   int            // of the column of URLs
}

func newCall(std *streams) *call {
	return &call{command: *newCommand(std), maxBytes: noLimit}
}

func (c *call) run(status *int, verb func(context.Context) (int, error)) func(*cobra.Command, []string) error {
	return c.command.run(status, func(ctx context.Context) (int, error) {
		c.fetches = !c.given("file")
		return verb(ctx)
	})
}

// open checks the call and opens what its flags name: whatever is bad about a call
// is found before anything is fetched or answered.
func (c *call) open() (err error) {
	if err := c.who(); err != nil {
		return err
	}
	switch {
	case c.askers != nil:
		c.dialects = c.askers.dialects()
	case c.dialect == allDialects && c.comparing:
		c.dialects = robots.Dialects()
	default:
		d, err := dialectByName(c.dialect)
		if err != nil {
			return err
		}
		c.dialects = []robots.Dialect{d}
	}
	if err := c.checkArgs(); err != nil {
		return err
	}
	if err := c.openSource(); err != nil {
		return err
	}
	used := slices.ContainsFunc(c.dialects, func(d robots.Dialect) bool { return d.ServerErrorsMayMiss })
	if c.site.probe && !used {
		c.warn("--probe changes nothing in %s: %s alone use what it finds", c.dialect, strings.Join(probing(), " and "))
	}
	return nil
}

// fileAlone has a verb that asks no URL answer for the file of -f. The path is asked
// for nothing: the answer belongs to the whole file.
func (c *call) fileAlone() error {
	if len(c.args) > 0 {
		return fmt.Errorf("unexpected argument %q: the file is named with -f FILE", clip(c.args[0]))
	}
	c.args = []string{"/"}
	return nil
}

// openSource reads the file of -f, or makes ready to ask sites.
func (c *call) openSource() (err error) {
	if err := checkAgents(c.agents, c.dialects...); err != nil {
		return err
	}
	switch {
	case c.file != nil: // the verb has one
	case c.fetches:
		c.live, err = newLive(&c.command, &c.site, c.dialects, c.maxBytes)
	default:
		if err = c.site.unused("with -f"); err == nil {
			c.file, err = c.readFile()
		}
	}
	if err != nil {
		return err
	}
	// From these values the library reads what they stand for in a dialect (D-03).
	if c.tokens = c.agents; len(c.tokens) == 0 {
		c.tokens = []string{"*"}
	}
	c.warnAgents()
	return nil
}

// readFile reads the robots.txt that -f names.
func (c *call) readFile() (*robots.File, error) {
	if c.fileName == "" {
		return nil, errors.New("the name after -f is empty")
	}
	f, err := c.readRobots(c.fileName, c.dialects[0], c.maxBytes)
	if err != nil && strings.Contains(c.fileName, "://") {
		return nil, fmt.Errorf("cannot read %s: -f takes a file; leave it out, and the site of the URL is asked", c.fileName)
	}
	return f, err
}

// A ruleSet is what a crawler obeys, with what of its answers is the same for all
// URLs, nil before the first.
type ruleSet struct {
	ask.RuleSet
	asked []byte // the tokens in JSON
	group []byte // of an answer in text
}

// compile returns what a crawler obeys by a source, with maxBytes in place of the
// dialect's size limit.
func (c *call) compile(s source, d robots.Dialect, maxBytes int, at time.Time, tokens []string) *ruleSet {
	rules := s.Obey(d, maxBytes, at, tokens)
	if c.userInitiated {
		rules = rules.UserInitiated()
	}
	return &ruleSet{RuleSet: ask.RuleSet{Rules: rules}}
}

// moment is the time at which is judged.
func (c *call) moment() time.Time {
	if c.at.IsZero() {
		return c.std.now()
	}
	return c.at
}

// compileAll makes the rules of every dialect.
func (c *call) compileAll(s source) {
	at := c.moment()
	c.rules = nil
	for _, d := range c.dialects {
		c.rules = append(c.rules, c.compile(s, d, c.maxBytes, at, c.tokens))
	}
	if c.askers != nil {
		c.compileAskers()
	}
}

// appendAsked appends the tokens asked for, as the dialect reads them, as a list.
func (r *ruleSet) appendAsked(dst []byte) []byte {
	if r.asked == nil {
		r.asked = ask.AppendStrings(nil, r.Tokens())
	}
	return append(dst, r.asked...)
}

// answer calls show for every URL in order, as soon as its robots.txt is there, and
// returns the exit status of all: undecided outranks disallowed, which outranks
// allowed; an undefined verdict counts by its boolean. A line of a list that is no
// URL is named, and outranks every verdict. If ctx ends, the URLs whose robots.txt
// is there are shown; an error of show ends it. Only the rules of one site are kept,
// as many URLs in succession ask about one.
func (c *call) answer(ctx context.Context, show func(*page) error) (int, error) {
	a := &answers{call: c, show: show, more: true}
	run := a.read
	if c.file != nil {
		c.compileAll(source{File: c.file})
	} else {
		defer c.live.close()
		defer c.live.progress.report(c.std.screen, c.name)()
		run = a.fetch
	}
	if c.waits() {
		var stop context.CancelFunc
		ctx, stop = interruptible(ctx)
		defer stop()
	}
	run(ctx)
	switch {
	case ctx.Err() != nil && (a.answered < a.asked || !a.last || a.failed != nil):
		return exitBad, fmt.Errorf("%w: %d of %d URLs are answered", errInterrupted, a.answered, a.asked)
	case a.failed != nil || a.bad:
		return exitBad, a.failed
	}
	return a.status, nil
}

// waits reports whether an answer may have to wait, for a site or for standard input. If
// none has to, an interrupt ends the program as it ends any other: to be told of one takes
// two threads, which cost more than an answer.
func (c *call) waits() bool { return c.file == nil || slices.Contains(c.args, "-") }

// answers are those of one run so far.
type answers struct {
	call            *call
	show            func(*page) error
	status          int
	asked, answered int
	bad             bool  // some lines are no URLs
	failed          error // why not all is answered
	more            bool  // somebody takes answers
	last            bool  // no piece comes any more
	mu              sync.Mutex
}

// read answers URLs of -f in the goroutine that reads them: to wake another for each
// piece costs more than to answer it. It is not this one, as a read that waits for input
// does not end with ctx.
func (a *answers) read(ctx context.Context) {
	list := callURLs{call: a.call,
		take: func(ctx context.Context, p *piece) bool {
			return a.alone(ctx, func() { a.piece(ctx, p) })
		},
		pause: func(ctx context.Context) bool {
			return a.alone(ctx, func() { a.more = a.call.std.out.Flush() == nil })
		},
	}
	if !a.call.waits() {
		list.read(ctx)
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		list.read(ctx)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock() // ctx has ended or all has been read: nothing follows
}

// alone calls fn if more is wanted and ctx has not ended, and reports whether more is.
func (a *answers) alone(ctx context.Context, fn func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() != nil || !a.more {
		return false
	}
	fn()
	return a.more
}

// fetch answers URLs beside reading them, as each read starts a fetch.
func (a *answers) fetch(ctx context.Context) {
	pieces := make(chan piece, piecesAhead)
	list := callURLs{call: a.call, keeps: true,
		take: func(ctx context.Context, p *piece) bool {
			select {
			case pieces <- *p:
				return true
			default:
			}
			select {
			case pieces <- *p:
				return true
			case <-ctx.Done():
				return false
			}
		},
		pause: func(context.Context) bool { return true },
	}
	go list.read(ctx)
	for a.more && !a.last {
		// Before it waits, what is answered is shown: the input pauses. If nobody can
		// take the answers, the last flush says so.
		var p piece
		p, a.more, _ = receive(ctx, pieces, a.call.std.out.Flush)
		a.piece(ctx, &p)
	}
	if ctx.Err() == nil {
		return
	}
	// What was read meanwhile is answered as far as its sites are known.
	list.mu.Lock()
	defer list.mu.Unlock()
	for !a.last && len(pieces) > 0 {
		p := <-pieces
		a.piece(ctx, &p)
	}
}

// piece answers some URLs.
func (a *answers) piece(ctx context.Context, p *piece) {
	c := a.call
	if p.err != nil {
		a.failed = p.err
	}
	for _, err := range p.bad {
		complain(c.std, c.name, err)
		a.bad = true
	}
	a.asked, c.width = a.asked+len(p.pages), p.width
	for i := range p.pages {
		page := &p.pages[i]
		if err := c.await(ctx, page); err != nil {
			a.failed = err
			continue
		}
		c.verdict = c.rules[0].Match(page.paths[0])
		if err := a.show(page); err != nil {
			a.failed, a.more = err, false
			return
		}
		a.answered++
		a.status = max(a.status, c.statusOf(page))
		if c.std.terminal {
			_ = c.std.out.Flush() // the last flush reports its error
		}
	}
	a.last = p.last
}

// await waits for the robots.txt of a page, and makes its rules.
func (c *call) await(ctx context.Context, p *page) error {
	s := p.site
	if s == c.current {
		return nil
	}
	if !s.await(ctx, func() { _ = c.std.out.Flush() }) { // the last flush reports its error
		return ctx.Err()
	}
	from, err := c.live.get(ctx, s)
	if err != nil {
		return err
	}
	r := from.Record
	c.current, c.record = s, r
	if !s.answered && r.Outcome == fetch.Success {
		title := r.Origin.RobotsURL()
		if r.Truncated {
			title += " is cut by the fetch"
		}
		c.warnFile(title, robots.Parse(r.Body), c.dialects[0], c.maxBytes)
	}
	s.answered = true
	c.compileAll(source{Record: r})
	if c.format == formatJSON {
		c.live.hint(r)
	}
	return nil
}

// state says once for each site what came of the fetch of a page's robots.txt, with a
// note on what the first dialect makes of it.
func (c *call) state(p *page, note func(*robots.State) string) string {
	if p.site == nil || p.site.shown {
		return ""
	}
	p.site.shown = true
	s := c.rules[0].State()
	return c.live.stateLine(c.record, s, note(s))
}

// statusOf returns the exit status of one answer.
func statusOf(v robots.Verdict) int {
	switch {
	case v.Allowed:
		return exitAllowed
	case v.Undecided():
		return exitUndecided
	}
	return exitDisallowed
}

func (c *call) printState(indent, state string) {
	if state != "" {
		fmt.Fprintf(c.std.out, "%s%s\n", indent, c.palette.paint(faint, robots.Printable(state)))
	}
}
