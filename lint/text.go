package lint

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/robotskit/robots"
)

// Checks of the bytes and lines of a file.

const byteOrderMark = "\uFEFF"

// damagedMark is a byte order mark whose three bytes were read as Latin-1 and written as UTF-8.
const damagedMark = "\u00EF\u00BB\u00BF"

// Kind returns the format of a file that is not a robots.txt: "UTF-16", "gzip", "HTML or XML" or
// "JSON", "" for text. A page with a user-agent line is text: crawlers read its rules.
func Kind(f *robots.File) string {
	k := begins(f.Bytes())
	if k == "" || k == "UTF-16" || k == "gzip" {
		return k
	}
	for l := range f.Lines(robots.Dialect{}) {
		if l.Field == robots.FieldUserAgent {
			return ""
		}
	}
	return k
}

// begins returns the format that a file begins like.
func begins(body []byte) string {
	switch {
	case bytes.HasPrefix(body, []byte("\xFE\xFF")),
		bytes.HasPrefix(body, []byte("\xFF\xFE")), len(body) >= 4 && body[0]|body[2] == 0,
		len(body) >= 4 && body[1]|body[3] == 0:
		return "UTF-16"
	case bytes.HasPrefix(body, []byte("\x1F\x8B")), bytes.HasPrefix(body, []byte("\x1F\uFFFD\b")): // the latter was read as UTF-8
		return "gzip"
	}
	body = bytes.TrimLeft(bytes.TrimPrefix(bytes.TrimPrefix(body, []byte(byteOrderMark)), []byte(damagedMark)), " \t\r\n\v\f")
	switch {
	case len(body) == 0:
	case body[0] == '<':
		return "HTML or XML"
	case body[0] == '{' || body[0] == '[' && !bytes.HasPrefix(body, []byte("[User-agent")):
		return "JSON"
	}
	return ""
}

func notRobotsTxt(p *pass) {
	switch p.kind {
	case "HTML or XML", "JSON":
		p.add(robots.Span{}, "the file looks like "+p.kind+", so crawlers ignore its lines and it blocks nothing").
			Advice = "serve robots.txt as plain text, or respond with 404 if there is none"
	case "gzip":
		p.add(robots.Span{}, "the file is compressed with gzip, so crawlers ignore its lines and it blocks nothing").
			Advice = "decompress it, or serve it with Content-Encoding: gzip"
	}
}

func utf16(p *pass) {
	if p.kind == "UTF-16" {
		p.add(robots.Span{}, "the file is UTF-16, so crawlers ignore its lines and it blocks nothing").
			Advice = "save it as UTF-8"
	}
}

func notUTF8(p *pass) {
	if utf8.Valid(p.body) {
		return
	}
	for l := range p.text.Lines(robots.Dialect{}) {
		text := p.content(l)
		if utf8.ValidString(text) {
			continue
		}
		i := 0
		for r, n := utf8.DecodeRuneInString(text); r != utf8.RuneError || n != 1; r, n = utf8.DecodeRuneInString(text[i:]) {
			i += n
		}
		p.add(robots.Span{Start: l.Span.Start + i, End: l.Span.Start + i + 1}, "invalid UTF-8: crawlers might read this line differently").
			Advice = "save the file as UTF-8, or write the byte as " + escaped(text[i])
		return
	}
}

func leadingMark(p *pass) {
	if bytes.HasPrefix(p.body, []byte(byteOrderMark)) {
		p.add(robots.Span{End: 3}, "the file starts with a byte order mark, which some older parsers read as text").
			edit(Edit{0, 3, ""})
	}
}

func innerMark(p *pass, l robots.Line) {
	if strings.HasPrefix(p.textOf(l.Span), damagedMark) {
		at := l.Span.Start
		mark := robots.Span{Start: at, End: at + len(damagedMark)}
		d := p.add(mark, "a damaged byte order mark precedes the field name, so the field is unknown")
		d.Advice = "delete the three characters before the name; the file was converted to UTF-8 twice"
		d.edit(Edit{at, at + len(damagedMark), ""})
	}
	if l.Number > 1 && strings.HasPrefix(p.textOf(l.Span), byteOrderMark) {
		at := l.Span.Start
		d := p.add(robots.Span{Start: at, End: at + 3}, "a byte order mark precedes the field name, so the field is unknown")
		d.Advice = "delete the three invisible bytes; two files were probably joined"
		d.edit(Edit{at, at + 3, ""})
	}
}

func controlByte(p *pass, l robots.Line) {
	text := p.content(l)
	i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F })
	if i < 0 {
		return
	}
	p.add(robots.Span{Start: l.Span.Start + i, End: l.Span.Start + i + 1},
		fmt.Sprintf("this line contains a control byte (0x%02X)", text[i])).
		Advice = "delete it"
}

func tooLarge(p *pass) {
	size := len(p.body)
	var parts []string
	cut := p.where(nil, func(v *view) bool {
		limit := v.dialect.MaxFileBytes
		if limit == 0 || size <= limit {
			return false
		}
		part := "crawlers read the first " + strconv.Itoa(limit)
		if v.dialect.OverSizeOpens {
			part = v.dialect.Name + " ignores a file over " + strconv.Itoa(limit)
		}
		if len(parts) == 0 || parts[len(parts)-1] != part {
			parts = append(parts, part)
		}
		return true
	})
	if len(cut) == 0 {
		return
	}
	d := p.add(robots.Span{}, "the file has "+strconv.Itoa(size)+" bytes: "+strings.Join(parts, "; "))
	d.Dialects = cut
	d.Advice = "merge rules with a common prefix"
}

func longLine(p *pass, l robots.Line) {
	n := len(p.content(l))
	least := n
	cut := p.where(nil, func(v *view) bool {
		most := v.dialect.MaxLineBytes
		if most > 0 {
			least = min(least, most)
		}
		return most > 0 && n > most
	})
	if len(cut) > 0 {
		d := p.add(l.Span, "the line has "+strconv.Itoa(n)+" bytes; the part after byte "+strconv.Itoa(least)+" is not read")
		d.Dialects = cut
	}
}

// maxRules is the number of rules above which Yandex's tester rejects a file.
const maxRules = 2048

func tooManyRules(p *pass) {
	n := 0
	for l := range p.lines() {
		if isRule(l.Field) {
			n++
		}
	}
	if n > maxRules {
		d := p.add(robots.Span{}, "the file has "+strconv.Itoa(n)+" rules; Yandex's tester accepts at most "+strconv.Itoa(maxRules))
		d.Dialects = p.where(d, func(v *view) bool { return v.dialect.Name == robots.Yandex.Name })
		d.Advice = "merge rules with a common prefix"
	}
}

// knownFields are the fields that the engine knows, in customary spelling.
var knownFields = []string{
	"User-agent", "Allow", "Disallow", "Sitemap", "Crawl-delay", "Request-rate", "Visit-time",
	"Clean-param", "Host", "Content-Signal", "Content-Usage", "License",
}

// retiredFields were common, but no engine reads them any more.
var retiredFields = []string{
	"Noindex", "Nofollow", "Noarchive", "Nosnippet", "Host", "Robot-version", "Comment", "Cache-delay",
}

// customary returns the customary spelling of a field's name, "" if no field has it.
func customary(name string) string {
	if i := slices.IndexFunc(knownFields, func(f string) bool { return strings.EqualFold(f, name) }); i >= 0 {
		return knownFields[i]
	}
	return ""
}

func missingColon(p *pass, l robots.Line) {
	name, separator, rest := p.withoutColon(l)
	if name == "" {
		return
	}
	field := customary(name)
	text := p.content(l)
	at := l.Span.Start + len(text) - len(strings.TrimLeft(text, " \t")) + len(name)
	d := p.add(robots.Span{Start: at - len(name), End: at}, "missing colon after "+name)
	d.Advice = "write " + field + ": " + rest
	d.Dialects = p.where(d, func(v *view) bool { return v.field(l) == robots.FieldNone })
	if strings.Trim(separator, " \t") == "" {
		d.edit(Edit{at, at, ":"})
	} else {
		d.edit(Edit{at, at + len(separator), ": "})
	}
}

// withoutColon returns the parts of a line in which spaces, = or ; follow a field name instead of
// a colon, and no name for another line.
func (p *pass) withoutColon(l robots.Line) (name, separator, rest string) {
	if l.Field > robots.FieldUnknown {
		return "", "", ""
	}
	text := strings.Trim(p.content(l), " \t")
	n := strings.IndexAny(text, " \t=;:")
	if n < 0 || customary(text[:n]) == "" {
		return "", "", ""
	}
	name = text[:n]
	rest = strings.TrimLeft(text[n:], " \t")
	sign := rest != "" && (rest[0] == '=' || rest[0] == ';')
	if sign {
		rest = strings.TrimLeft(rest[1:], " \t")
	}
	isValue := l.Field == robots.FieldNone || isFullURL(rest) || strings.HasPrefix(rest, "/")
	if rest == "" || rest[0] == ':' || !sign && !isValue {
		return "", "", ""
	}
	return name, text[n : len(text)-len(rest)], rest
}

func misspelledField(p *pass, l robots.Line) {
	if l.Field != robots.FieldUnknown {
		return
	}
	name := p.textOf(l.Name)
	intended := p.intendedField(name)
	if intended == "" {
		return
	}
	d := p.add(l.Name, "unknown field")
	if d == &p.dropping {
		return // no text is made
	}
	d.Message += " " + quote(name)
	d.Advice = "write " + intended
	d.Dialects = p.where(d, func(v *view) bool { return v.field(l) == robots.FieldNone })
	d.edit(Edit{l.Name.Start, l.Name.End, intended})
}

// intendedField is the function, whose results are kept for a while: a file can have a name many
// times.
func (p *pass) intendedField(name string) string {
	const most = 1000
	intended, ok := p.intended[name]
	if !ok {
		if len(p.intended) == most {
			clear(p.intended)
		}
		intended = intendedField(name)
		p.intended[name] = intended
	}
	return intended
}

// intendedField returns the field that a name probably misspells: it differs by at most two
// letters that are added, dropped, changed or swapped, fewer in a short name.
func intendedField(name string) string {
	name = strings.ToLower(name)
	if customary(name) != "" || isRetired(name) {
		return ""
	}
	for _, f := range knownFields {
		f := strings.ToLower(f)
		most := 2
		if len(f) < 6 {
			most = 1
		}
		if len(name) <= len(f)+most && near(name, f, most) {
			return customary(f)
		}
	}
	return ""
}

func isRetired(name string) bool {
	return slices.ContainsFunc(retiredFields, func(f string) bool { return strings.EqualFold(f, name) })
}

func unknownField(p *pass, l robots.Line) {
	if name := p.textOf(l.Name); l.Field == robots.FieldUnknown && !isRetired(name) && p.intendedField(name) == "" && !isDisguised(name) &&
		!p.isWrongComment(l) {
		if field, _, _ := p.withoutColon(l); field != "" {
			return
		}
		p.add(l.Name, "unknown field "+quote(name)+"; the line has no effect")
	}
}

func retiredField(p *pass, l robots.Line) {
	name := p.textOf(l.Name)
	if !isRetired(name) {
		return
	}
	d := p.add(l.Name, "no engine reads "+name+" any more")
	switch strings.ToLower(name) {
	case "noindex", "nofollow", "noarchive", "nosnippet":
		d.Advice = "use a robots meta tag or the X-Robots-Tag header on the pages"
	case "host":
		d.Advice = "redirect the other hosts to the main one"
	}
}

func strayText(p *pass, l robots.Line) {
	text := strings.TrimSpace(p.content(l))
	if l.Field != robots.FieldNone || text == "" || isDisguised(text) || p.isWrongComment(l) {
		return
	}
	if name, _, _ := p.withoutColon(l); name != "" {
		return
	}
	start := l.Span.Start + strings.Index(p.textOf(l.Span), text)
	d := p.add(robots.Span{Start: start, End: start + len(text)}, "neither a field nor a comment; crawlers ignore this line")
	d.Advice = "put # before it"
}

func twoFields(p *pass, l robots.Line) {
	if l.Field == robots.FieldNone || l.Field == robots.FieldUnknown || l.Field == robots.FieldSitemap {
		return
	}
	value := p.textOf(l.Value)
	at, name := secondField(value)
	if name == "" {
		return
	}
	start := l.Value.Start + at
	d := p.add(robots.Span{Start: start, End: start + len(name)}, "second field on this line; crawlers read it as part of the value")
	d.Advice = "start a new line before " + name
	blanks := len(value[:at]) - len(strings.TrimRight(value[:at], " \t"))
	d.edit(Edit{start - blanks, start, p.newline})
}

// secondField finds a field with its colon after a space in a value.
func secondField(value string) (at int, name string) {
	for i := 0; ; { // behind the last colon
		part, _, ok := strings.Cut(value[i:], ":")
		if !ok {
			return 0, ""
		}
		word := strings.TrimRight(part, " \t")
		start := 1 + strings.LastIndexAny(word, " \t")
		if (start > 0 || i == 0) && customary(word[start:]) != "" {
			return i + start, part[start:]
		}
		i += len(part) + 1
	}
}

func hashInPath(p *pass, l robots.Line) {
	if !isRule(l.Field) || l.Comment.Start == l.Comment.End || l.Value.End != l.Comment.Start || l.Value.Start == l.Value.End {
		return
	}
	d := p.add(
		robots.Span{Start: l.Comment.Start, End: l.Comment.Start + 1},
		"# starts a comment, so the path ends before it: "+quote(p.textOf(l.Value)),
	)
	d.Advice = "write %23 for a # in the path, or a space before a comment"
}

// A lookalike is a character that is invisible or looks like another one.
type lookalike struct{ char, intended, name string }

var invisible = []lookalike{
	{"\u00A0", " ", "a non-breaking space"},
	{"\u2028", "\n", "a line separator"},
	{"\u2029", "\n", "a paragraph separator"},
	{"\u200B", "", "a zero-width space"},
	{"\u200C", "", "a zero-width non-joiner"},
	{"\u200D", "", "a zero-width joiner"},
	{"\u2060", "", "a word joiner"},
	{"\u3000", " ", "an ideographic space"},
	{"\uFF1A", ":", "a full-width colon"},
	{"\u2010", "-", "a typographic hyphen"},
	{"\u2011", "-", "a non-breaking hyphen"},
	{"\u2012", "-", "a figure dash"},
	{"\u2013", "-", "an en dash"},
	{"\u2014", "-", "an em dash"},
}

// isDisguised reports whether a text has a byte order mark or an invisible character, which other
// checks report.
func isDisguised(text string) bool {
	return !isASCII(text) && (strings.HasPrefix(text, byteOrderMark) || strings.HasPrefix(text, damagedMark) ||
		slices.ContainsFunc(invisible, func(c lookalike) bool { return strings.Contains(text, c.char) }))
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func invisibleCharacter(p *pass, l robots.Line) {
	text := p.content(l)
	if isASCII(text) {
		return
	}
	var edits []Edit
	var name string
	for _, c := range invisible {
		if !strings.Contains(text, c.char) {
			continue
		}
		if c.intended == "\n" {
			c.intended = p.newline
		}
		parts := strings.Split(text, c.char)
		start := l.Span.Start
		for _, part := range parts[:len(parts)-1] {
			start += len(part)
			edits = append(edits, Edit{start, start + len(c.char), c.intended})
			start += len(c.char)
			name = cmp.Or(name, c.name)
		}
	}
	if len(edits) == 0 {
		return
	}
	e := edits[0]
	d := p.add(robots.Span{Start: e.Start, End: e.End}, "this line contains "+name+", which is not the character that it looks like")
	d.Advice = "retype the line"
	d.edit(edits...)
}
