package lint

import (
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// ignore is a comment that disables checks: "lint:ignore RT504 reason" for its line, or for the
// next line if the comment has its own, "lint:ignore-file RT504 reason" for the file.
type ignore struct {
	at   robots.Line
	ids  []string
	line int // 0: the file
}

const ignoreMark = "lint:ignore"

// ignores reads the comments of a file, and reports invalid ones (RT902).
func (p *pass) ignores() []*ignore {
	var all []*ignore
	for l := range p.text.Lines(robots.Dialect{}) {
		comment := strings.TrimLeft(p.textOf(l.Comment), "# \t")
		rest, ok := strings.CutPrefix(comment, ignoreMark)
		if !ok {
			continue
		}
		i := &ignore{at: l, line: l.Number}
		if p.isAlone(l) {
			i.line++
		}
		if whole, ok := strings.CutPrefix(rest, "-file"); ok {
			rest = whole
			i.line = 0
		}
		ids, reason, ok := cutBlank(strings.TrimLeft(rest, " \t"))
		problem := ""
		switch {
		case ids == "":
			problem = "it names no check"
		case rest[0] != ' ' && rest[0] != '\t':
			problem = "missing space after " + ignoreMark
		case !ok || reason == "":
			problem = "missing reason after " + robots.Printable(ids)
		default:
			for id := range strings.SplitSeq(ids, ",") {
				c := Find(id)
				if c == nil {
					problem = "unknown check " + quote(id)
					break
				}
				i.ids = append(i.ids, c.ID)
			}
		}
		if problem != "" {
			p.begin(Find("RT902"))
			p.add(l.Comment, "ignore comment has no effect: "+problem).
				Advice = "write # " + ignoreMark + " RT504 and the reason"
			continue
		}
		all = append(all, i)
	}
	return all
}

// silence removes the findings that comments ignore, and reports comments that ignore nothing
// (RT901), except for checks that did not run.
func (p *pass) silence(all []*ignore) {
	type lineCheck struct {
		line int
		id   string
	}
	at := map[lineCheck]bool{} // ignored; whether something was found there
	for _, i := range all {
		for _, id := range i.ids {
			at[lineCheck{i.line, id}] = false
		}
	}
	p.found = slices.DeleteFunc(p.found, func(d *Diagnostic) (ignored bool) {
		for _, line := range []int{0, p.lineOf(d.Span.Start)} {
			here := lineCheck{line, d.Check.ID}
			if _, ok := at[here]; ok {
				at[here] = true
				ignored = true
			}
		}
		return ignored
	})
	for _, i := range all {
		used := slices.ContainsFunc(i.ids, func(id string) bool {
			c := Find(id)
			return at[lineCheck{i.line, id}] || c.proved && !p.begin(c)
		})
		p.begin(Find("RT901"))
		if used {
			continue
		}
		d := p.add(i.at.Comment, "unused ignore comment: there is no such finding")
		d.Advice = "delete it"
		if p.isAlone(i.at) {
			d.edit(p.withoutLine(i.at))
		} else {
			d.edit(Edit{p.contentEnd(i.at), i.at.Comment.End, ""})
		}
	}
}

// isAlone reports whether a line contains only its comment.
func (p *pass) isAlone(l robots.Line) bool { return strings.Trim(p.content(l), " \t") == "" }

// contentEnd returns the end of a line without its comment and the spaces before it.
func (p *pass) contentEnd(l robots.Line) int {
	return l.Span.Start + len(strings.TrimRight(p.content(l), " \t"))
}
