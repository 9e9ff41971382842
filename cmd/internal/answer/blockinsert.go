package answer

import (
	"bytes"
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// An insertion is a place for user-agent lines.
type insertion struct {
	offset int
	field  string // of each line, such as "User-agent: "
	end    string // of each line
	group  bool   // the lines are a group of their own, with a rule
	first  bool   // nothing precedes it
	last   bool   // nothing follows it
}

// mostGroups limits the groups to which names are added on trial.
const mostGroups = 8

// insertions returns the places for names, the best first.
func (b *blocking) insertions() (list []insertion) {
	body := b.before.Bytes()
	groups := b.groups()
	for _, g := range groups {
		if g.blocks && !g.star && len(list) < mostGroups {
			line := g.agents[len(g.agents)-1]
			start := line.Span.Start
			list = append(list, insertion{offset: b.next(line), field: string(body[start:line.Value.Start]), end: b.lineEnd(line)})
		}
	}
	own := insertion{
		offset: len(body), field: "User-agent: ", end: b.newline(), group: true,
		first: len(bytes.TrimPrefix(body, []byte("\ufeff"))) == 0, last: true,
	}
	if n := len(groups); n > 0 && groups[n-1].rules == 0 {
		own.offset = b.aboveGroup(groups[n-1])
		own.first = own.offset == 0
		own.last = false
	}
	return append(list, own)
}

// A blockGroup is a group of the file as RFC 9309 reads it.
type blockGroup struct {
	agents []robots.Line
	rules  int
	blocks bool // its only rule is Disallow: /
	star   bool // it applies to all crawlers that no group names
}

// groups returns the groups of the file.
func (b *blocking) groups() (list []blockGroup) {
	for line := range b.before.Lines(robots.RFC9309) {
		if line.Group < 0 {
			continue
		}
		if line.Group == len(list) {
			list = append(list, blockGroup{})
		}
		g := &list[line.Group]
		switch line.Field {
		case robots.FieldUserAgent:
			g.agents = append(g.agents, line)
			g.star = g.star || slices.Contains(line.Names, AnyCrawler)
		case robots.FieldAllow, robots.FieldDisallow:
			g.rules++
			g.blocks = g.rules == 1 && line.Field == robots.FieldDisallow && b.before.Text(line.Value) == "/"
		}
	}
	return list
}

// next returns the offset of the line after a line.
func (b *blocking) next(line robots.Line) int {
	return line.Span.End + len(b.lineEnd(line))
}

// lineEnd returns the end of a line, that of the file if it has none.
func (b *blocking) lineEnd(line robots.Line) string {
	rest := b.before.Bytes()[line.Span.End:]
	for _, end := range []string{"\r\n", "\n", "\r"} {
		if bytes.HasPrefix(rest, []byte(end)) {
			return end
		}
	}
	return ""
}

// newline returns the end of the last line that has one.
func (b *blocking) newline() string {
	end := "\n"
	for line := range b.before.Lines(robots.Dialect{}) {
		if own := b.lineEnd(line); own != "" {
			end = own
		}
	}
	return end
}

// aboveGroup returns the offset of the first of the comments directly above a group.
func (b *blocking) aboveGroup(g blockGroup) int {
	offset := g.agents[0].Span.Start
	var above []robots.Line
	for line := range b.before.Lines(robots.Dialect{}) {
		if line.Number >= g.agents[0].Number {
			break
		}
		above = append(above, line)
	}
	for _, line := range slices.Backward(above) {
		if line.Field != robots.FieldNone || line.Comment.End == line.Comment.Start {
			break
		}
		offset = line.Span.Start
	}
	return offset
}

// apply returns a file with names at the place.
func (in *insertion) apply(body []byte, names []string) []byte {
	var text strings.Builder
	ended := in.first || bytes.HasSuffix(body[:in.offset], []byte("\n")) || bytes.HasSuffix(body[:in.offset], []byte("\r"))
	if !ended {
		text.WriteString(in.end)
	}
	if in.group && !in.first && !in.blankBefore(body) {
		text.WriteString(in.end)
	}
	for _, name := range names {
		text.WriteString(in.field + name + in.end)
	}
	if in.group {
		text.WriteString("Disallow: /" + in.end)
	}
	added := text.String()
	switch {
	case in.group && !in.last:
		added += in.end
	case in.group && !ended:
		added = strings.TrimSuffix(added, in.end) // as the file before, which ends without one
	}
	return slices.Concat(body[:in.offset], []byte(added), body[in.offset:])
}

// blankBefore reports whether a blank line precedes the place.
func (in *insertion) blankBefore(body []byte) bool {
	before := body[:in.offset]
	return bytes.HasSuffix(before, []byte(in.end+in.end))
}
