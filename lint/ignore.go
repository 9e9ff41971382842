package lint

import (
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// ignore is a comment that silences checks: "lint:ignore RT504 reason" for its line, or for
// the next one if it stands alone, "lint:ignore-file RT504 reason" for the file.
type ignore struct {
	at   robots.Line
	ids  []string
	line int // 0: the file
	used bool
}

const ignoreMark = "lint:ignore"

// ignores reads the comments of a file, and says of those that cannot be used why (RT902).
func (p *pass) ignores() []*ignore {
	var all []*ignore
	for _, l := range p.lines {
		comment := strings.TrimLeft(p.text(l.Comment), "# \t")
		rest, ok := strings.CutPrefix(comment, ignoreMark)
		if !ok {
			continue
		}
		i := &ignore{at: l, line: l.Number}
		if strings.Trim(p.content(l), " \t") == "" {
			i.line++
		}
		if whole, ok := strings.CutPrefix(rest, "-file"); ok {
			rest, i.line = whole, 0
		}
		ids, reason, ok := cutBlank(strings.TrimLeft(rest, " \t"))
		problem := ""
		switch {
		case ids == "":
			problem = "it names no check"
		case rest[0] != ' ' && rest[0] != '\t':
			problem = "a blank is missing after " + ignoreMark
		case !ok || reason == "":
			problem = "it gives no reason after " + robots.Printable(ids)
		default:
			for id := range strings.SplitSeq(ids, ",") {
				if Find(id) == nil {
					problem = "there is no check " + quote(id)
				}
				i.ids = append(i.ids, id)
			}
		}
		if problem != "" {
			p.check = Find("RT902")
			p.add(l.Comment, "this comment silences nothing: "+problem).
				Advice = "write # " + ignoreMark + " RT504 and the reason"
			continue
		}
		all = append(all, i)
	}
	return all
}

// silence takes out of a pass what comments ignore, and reports those that ignore nothing
// (RT901). A comment for a check that is off may come to use and is not reported.
func (p *pass) silence(all []*ignore, off func(id string) bool) {
	p.found = slices.DeleteFunc(p.found, func(d *Diagnostic) bool {
		line := p.lineOf(d.Span.Start)
		for _, i := range all {
			if (i.line == 0 || i.line == line) && slices.Contains(i.ids, d.Check.ID) {
				i.used = true
				return true
			}
		}
		return false
	})
	p.check = Find("RT901")
	for _, i := range all {
		if i.used || slices.ContainsFunc(i.ids, off) {
			continue
		}
		d := p.add(i.at.Comment, "this comment silences nothing: nothing is found there")
		d.Advice = "delete it"
		d.edit(Edit{p.contentEnd(i.at), i.at.Comment.End, ""})
	}
}

// contentEnd returns where a line ends without its comment and the blanks before that.
func (p *pass) contentEnd(l robots.Line) int {
	return l.Span.Start + len(strings.TrimRight(p.content(l), " \t"))
}
