package lint

import (
	"bytes"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
)

// Checks of what a line was probably meant to be, where engines read something else. The checks of
// its literal value skip such a line.

// misread is a value that engines do not read as it was probably meant.
type misread uint8

const (
	readAsMeant misread = iota
	readQuotes          // quotes around a value
	readList            // several paths or URLs
	readComment         // a comment that begins with // or ;
	readOneLine         // an invisible character that looks like the end of a line
)

// misreading returns how a line with a field is misread. Of several the one to fix first counts.
func (p *pass) misreading(l robots.Line) misread {
	if l.Number != p.misreadLine { // several checks ask for each line
		p.misreadLine = l.Number
		p.misreadAs = readAsMeant
		if l.Field > robots.FieldUnknown && l.Value.Start < l.Value.End {
			p.misreadAs = misreadingOf(l.Field, p.textOf(l.Value))
		}
	}
	return p.misreadAs
}

// misreadingOf returns how a value that is not empty is misread.
func misreadingOf(field robots.Field, value string) misread {
	switch {
	case !isASCII(value) && strings.ContainsAny(value, lineSeparators):
		return readOneLine
	case commentAt(field, value) >= 0:
		return readComment
	case len(valueList(field, value)) > 0:
		return readList
	case isQuoted(field, value):
		return readQuotes
	}
	return readAsMeant
}

// lineSeparators look like the end of a line, and end none.
const lineSeparators = "\u2028\u2029"

// quotes are the characters that are put around a value.
const quotes = "\"'`\u2018\u2019\u201A\u201C\u201D\u201E\u00AB\u00BB"

// unquoted returns a text without quotes around it.
func unquoted(text string) string {
	inner := strings.TrimLeft(text, quotes)
	if start := strings.TrimRight(inner, quotes); inner != text && (start != inner || start == "") {
		return strings.Trim(start, " \t")
	}
	return text
}

// isQuoted reports whether quotes are around the value of a field that has none.
func isQuoted(field robots.Field, value string) bool {
	switch field {
	case robots.FieldContentSignal, robots.FieldContentUsage, robots.FieldLicense:
		return false
	}
	return unquoted(value) != value
}

// commentAt returns the place of a comment in a value that begins with // or ;, or -1.
func commentAt(field robots.Field, value string) int {
	if strings.HasPrefix(value, "// ") {
		return 0
	}
	for _, mark := range []string{" //", "\t//", " ;", "\t;"} {
		i := strings.Index(value, mark)
		if i < 0 || field == robots.FieldUserAgent && (strings.ContainsRune(value, '(') || len(agentNames(value)) > 0) {
			continue
		}
		return i + 1
	}
	return -1
}

// valueList returns the values of a rule or a Sitemap line that lists several, none for another value.
func valueList(field robots.Field, value string) []string {
	if !isRule(field) && field != robots.FieldSitemap || !strings.ContainsAny(value, " \t,[") {
		return nil
	}
	inner := value
	isArray := value[0] == '[' && value[len(value)-1] == ']'
	if isArray {
		inner = value[1 : len(value)-1]
	}
	for _, separators := range []string{" \t", ", \t"} {
		if isArray && separators == " \t" {
			continue
		}
		var list []string
		for part := range strings.FieldsFuncSeq(inner, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
			part = unquoted(strings.TrimRight(part, ",;|"))
			if slices.Contains([]string{"", "and", "or", "&"}, part) {
				continue
			}
			isOne := isFullURL(part)
			if isRule(field) {
				isOne = part[0] == '/' || part[0] == '*' && len(part) > 1 && separators == " \t"
			}
			if !isOne {
				list = nil
				break
			}
			list = append(list, part)
		}
		if len(list) > 1 || isArray && len(list) > 0 {
			return list
		}
	}
	return nil
}

// isDirectoryName reports whether a text is a name of the directory of crawlers, perhaps with a version.
func isDirectoryName(text string) bool {
	c, ok := crawlers.Find(text)
	if !ok || !strings.ContainsAny(text, " \t") {
		return ok
	}
	isText := func(name string) bool { return strings.EqualFold(name, text) }
	return isText(c.Name) || slices.ContainsFunc(c.Tokens, isText)
}

// genericNames are names of the directory that are also a part of longer names.
var genericNames = []string{"bot", "crawler", "robot", "scanner", "spider"}

// agentNames returns the names of a value that lists some with other characters than commas, of
// which the directory has at least two crawlers, and none for another value.
func agentNames(value string) []string {
	const most = 4096 // no server accepts a longer header
	if len(value) > most || !strings.ContainsAny(value, " \t;|&") || strings.ContainsRune(value, '(') || isDirectoryName(value) {
		return nil
	}
	var names []string
	known := map[string]bool{} // the crawlers of the directory
	add := func(name string) {
		names = append(names, name)
		if c, ok := crawlers.Find(name); ok && !slices.Contains(genericNames, strings.ToLower(product(name))) {
			known[c.Name] = true
		}
	}
	isSeparator := func(r rune) bool { return strings.ContainsRune(",;|&", r) }
	for part := range strings.FieldsFuncSeq(strings.ReplaceAll(value, " and ", ";"), isSeparator) {
		part = strings.Trim(part, " \t")
		if isDirectoryName(part) {
			add(part)
			continue
		}
		for word := range strings.FieldsSeq(part) {
			add(word)
		}
	}
	if len(known) < 2 {
		return nil
	}
	return names
}

func quotedValue(p *pass, l robots.Line) {
	if p.misreading(l) != readQuotes {
		return
	}
	meant := unquoted(p.textOf(l.Value))
	d := p.add(l.Value, "engines read the quotes as part of the value")
	d.Advice = "write " + meant
	if meant == "" {
		d.Advice = "delete the quotes"
	}
	if l.Field == robots.FieldUserAgent {
		d.Dialects = p.where(d, func(v *view) bool { return v.misnames(l, meant) })
	}
	d.edit(Edit{l.Value.Start, l.Value.End, meant})
}

func severalValues(p *pass, l robots.Line) {
	if p.misreading(l) != readList {
		return
	}
	list := valueList(l.Field, p.textOf(l.Value))
	name := p.textOf(l.Name)
	thing := "path"
	if l.Field == robots.FieldSitemap {
		thing = "URL"
	}
	d := p.add(l.Value, "a line has one "+thing+", so engines read this as one and not as "+itoa(len(list)))
	if len(list) == 1 {
		d.Message = "engines read the brackets and quotes as part of the " + thing
	}
	d.Advice = "write a line for each: " + name + ": " + list[0]
	d.edit(Edit{l.Value.Start, l.Value.End, strings.Join(list, p.newline+name+": ")})
}

func wrongComment(p *pass, l robots.Line) {
	start := l.Value.Start
	message := "engines read this as part of the value, because only # starts a comment"
	switch {
	case p.isWrongComment(l):
		text := p.textOf(l.Span)
		start = l.Span.Start + len(text) - len(strings.TrimLeft(text, " \t"))
		message = "only # starts a comment; engines ignore this line as an unknown one"
	case p.misreading(l) == readComment:
		start += commentAt(l.Field, p.textOf(l.Value))
	default:
		return
	}
	n := len(p.file.Text(robots.Span{Start: start, End: l.Span.End}))
	n -= len(strings.TrimLeft(p.file.Text(robots.Span{Start: start, End: l.Span.End}), "/;"))
	d := p.add(robots.Span{Start: start, End: start + n}, message)
	d.Advice = "write # instead of " + p.file.Text(d.Span)
	if d != &p.dropping {
		d.edit(Edit{start, start + n, "#"})
	}
}

// isWrongComment reports whether a line without a known field begins with // or a semicolon.
func (p *pass) isWrongComment(l robots.Line) bool {
	text := strings.TrimLeft(p.content(l), " \t")
	return l.Field <= robots.FieldUnknown && (strings.HasPrefix(text, "//") || strings.HasPrefix(text, ";"))
}

// templateMarks begin and end the code of a template.
var templateMarks = [][2]string{{"{{", "}}"}, {"{%", "%}"}, {"<%", "%>"}, {"<?php", "?>"}, {"<?=", "?>"}, {"${", "}"}}

// templateLine returns the first line that shows that a template was not rendered: one that begins
// with its code, a value that does, or a Sitemap or Host with code in it. It returns 0 if there is none.
func templateLine(body []byte) int {
	if !slices.ContainsFunc(templateMarks, func(m [2]string) bool { return bytes.Contains(body, []byte(m[0])) }) {
		return 0
	}
	number := 0
	for line := range bytes.Lines(body) {
		number++
		text := strings.TrimSpace(string(line))
		name, value, _ := strings.Cut(text, ":")
		value = strings.TrimSpace(value)
		for _, m := range templateMarks {
			i := strings.Index(text, m[0])
			if i < 0 || text[0] == '#' {
				continue
			}
			closed := strings.Contains(text[i:], m[1])
			isURL := strings.EqualFold(name, "Sitemap") || strings.EqualFold(name, "Host")
			switch {
			case i == 0 && (closed || m[1] == "?>" || m[1] == "%>"), closed && customary(name) != "" && strings.HasPrefix(value, m[0]),
				closed && isURL, closed && customary(name) != "" && (strings.Contains(text, m[0]+" ") || strings.Contains(text, m[0]+"=")):
				return number
			}
		}
	}
	return 0
}

func unrenderedTemplate(p *pass) {
	if p.kind != "template" {
		return
	}
	line := itoa(templateLine(p.body))
	p.add(robots.Span{}, "the file is a template that was not rendered (line "+line+"), so crawlers read its code as fields and values").
		Advice = "render the template before it is served"
}
