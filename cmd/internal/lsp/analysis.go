package lsp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/creachadair/jrpc2"
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/lint"
)

// An analyst computes the findings of documents in the background, one document at a time, so that no request waits
// for them: those of a long file take seconds. Of several versions of a document only the last is analyzed, and
// findings of one that was replaced meanwhile are dropped.
type analyst struct {
	rpc *jrpc2.Server

	mu      sync.Mutex
	running bool
	order   []string            // URIs of documents that wait
	waiting map[string]analysis // by URI
	latest  map[string]*document
}

// An analysis is a document with the robots.txt files that its assertions are about.
type analysis struct {
	document *document
	tested   []*document
	missing  string // why there is none that is named, else ""
}

// add replaces the document with its URI.
func (a *analyst) add(job analysis) {
	a.mu.Lock()
	defer a.mu.Unlock()
	uri := job.document.uri
	a.latest[uri] = job.document
	if _, waits := a.waiting[uri]; !waits {
		a.order = append(a.order, uri)
	}
	a.waiting[uri] = job
	if !a.running {
		a.running = true
		go a.run()
	}
}

// drop ends the work on a document, and clears its findings.
func (a *analyst) drop(uri string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, uri)
	delete(a.latest, uri)
	a.publish(map[string]any{"uri": uri, "diagnostics": []diagnostic{}})
}

// run analyzes the documents that wait.
func (a *analyst) run() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.order) > 0 {
		uri := a.order[0]
		a.order = a.order[1:]
		job, waits := a.waiting[uri]
		delete(a.waiting, uri)
		if !waits {
			continue // it was closed
		}
		a.mu.Unlock()
		list := job.diagnostics()
		a.mu.Lock()
		d := job.document
		if _, again := a.waiting[uri]; a.latest[uri] == d && !again {
			a.publish(map[string]any{"uri": uri, "version": d.version, "diagnostics": list})
		}
	}
	a.running = false
}

// publish sends findings. A client that is gone needs none.
func (a *analyst) publish(params map[string]any) {
	_ = a.rpc.Notify(context.Background(), "textDocument/publishDiagnostics", params)
}

func (job analysis) diagnostics() []diagnostic {
	d := job.document
	list := []diagnostic{}
	if d.holdsTests() {
		list = append(list, d.mistakes()...)
		if job.missing != "" {
			list = append(list, d.wrong(1, job.missing))
		}
		for _, tested := range job.tested {
			list = append(list, d.failures(tested.file)...)
		}
		if d.suite.Inline != nil {
			list = append(list, d.failures(d.suite.Inline)...)
		}
		return list
	}
	for _, f := range d.findings() {
		list = append(list, convert(d, f))
	}
	return list
}

// findings returns the findings of lint, which are computed once.
func (d *document) findings() []lint.Diagnostic {
	d.lintOnce.Do(func() {
		d.linted = lint.File(d.file, lint.Options{}).Diagnostics
		d.isLinted.Store(true)
	})
	return d.linted
}

// fixed returns the text with all safe fixes, which is computed once.
func (d *document) fixed() string {
	d.fixOnce.Do(func() {
		isSafe := func(f lint.Diagnostic) bool { return f.Fix != nil && f.Fix.Safe }
		d.fixedText = d.text
		if slices.ContainsFunc(d.findings(), isSafe) {
			text, _, _ := lint.ApplyFixes([]byte(d.text), lint.Options{}, false)
			d.fixedText = string(text)
		}
	})
	return d.fixedText
}

// mistakes returns what is wrong in a file of assertions.
func (d *document) mistakes() (list []diagnostic) {
	for _, mistake := range d.suite.Mistakes {
		number := 1
		text := strings.TrimPrefix(mistake.Error(), d.suite.Name+":")
		if line, rest, ok := strings.Cut(text, ": "); ok {
			if n, err := strconv.Atoi(line); err == nil {
				number = n
				text = rest
			}
		}
		list = append(list, d.wrong(number, strings.TrimSpace(text)))
	}
	return list
}

// failures returns the assertions that fail for a robots.txt.
func (d *document) failures(file *robots.File) (list []diagnostic) {
	for _, test := range d.suite.Tests {
		for r, err := range answer.Run(test, file, compare.DefaultSteps) {
			switch {
			case err != nil:
				list = append(list, d.wrong(r.Line, err.Error()))
			case !r.OK:
				subject := cmp.Or(r.URL, r.Every, "crawl_delay")
				text := fmt.Sprintf("%s for %s (%s): %s, want %s", subject, strings.Join(r.Agent, ", "), r.Dialect, r.Got, r.Want)
				if r.Reason != "" {
					text += "; " + r.Reason
				}
				list = append(list, d.wrong(r.Line, text))
			}
		}
	}
	return slices.CompactFunc(list, func(a, b diagnostic) bool { return a.Range == b.Range && a.Message == b.Message })
}

// wrong returns an error in a line.
func (d *document) wrong(number int, message string) diagnostic {
	l := d.line(max(min(number, len(d.lines)), 1))
	indent := len(d.text[l.Span.Start:l.Span.End]) - len(strings.TrimLeft(d.text[l.Span.Start:l.Span.End], " \t"))
	return diagnostic{
		Range:    d.rangeOf(robots.Span{Start: l.Span.Start + indent, End: l.Span.End}),
		Severity: 1, Source: "robots", Message: robots.Printable(message),
	}
}
