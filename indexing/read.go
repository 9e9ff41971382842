package indexing

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// This file parses lists of rules, and finds them in HTML.

// readList reads a list of rules: the content of a meta tag for an agent, or an X-Robots-Tag
// line, in which an agent can precede the rules. It applies up to the next agent or the end of
// the line, as a proxy can join lines with commas (RFC 9110 section 5.3).
func (p *Page) readList(text, agent string, at Place) {
	for first := true; text != ""; first = false {
		if len(p.Directives) == MaxDirectives {
			p.Cut = true
			return
		}
		piece, rest, _ := strings.Cut(text, ",")
		if at.Header > 0 {
			if name, after, ok := strings.Cut(piece, ":"); ok && isAgent(name, after, first) {
				agent = limited(lower(trim(name)))
				text = text[len(name)+1:]
				piece = after
			}
		}
		raw, value, valued := strings.Cut(piece, ":")
		name := lower(trim(raw))
		d := Directive{Agent: agent, Name: limited(name), Value: limited(trim(value)), Place: at}
		switch i, known := ruleByName()[name]; {
		case name == "" && trim(value) == "":
			text = rest
			continue
		case name == "": // a value without a rule
			d.Name = limited(trim(piece))
			d.Value = ""
			d.Problem = UnknownRule
		case !known:
			d.Problem = UnknownRule
			if !valued && allKnown(name) {
				d.Problem = MissingComma
			}
		case rules[i].value == dateValue:
			d.Rule = rules[i].rule
			if behind := len(raw) + 1; valued {
				d.Time, value, rest = readDate(text[behind:])
				d.Value = limited(trim(value))
			}
			if d.Time.IsZero() {
				d.Problem = BadValue
			}
		default:
			d.Rule = rules[i].rule
			d.readValue(rules[i].value, valued)
		}
		p.Directives = append(p.Directives, d)
		text = rest
	}
}

// readValue reads the value of a rule other than a date.
func (d *Directive) readValue(kind valueKind, valued bool) {
	ok := false
	switch value := lower(d.Value); kind {
	case noValue:
		if valued {
			d.Problem = NeedlessValue
		}
		return
	case numberValue:
		d.Number, ok = readNumber(value)
	case sizeValue:
		for i, size := range [...]string{"none", "standard", "large"} {
			if value == size {
				d.Number = i
				ok = true
			}
		}
	}
	if !ok {
		d.Problem = BadValue
	}
}

// readNumber reads -1, 0 or a number; too large a number is the largest.
func readNumber(s string) (n int, ok bool) {
	switch u, err := strconv.ParseUint(s, 10, 31); {
	case s == "-1":
		return -1, true
	case errors.Is(err, strconv.ErrRange):
		return math.MaxInt32, true
	default:
		return int(u), err == nil
	}
}

// isAgent reports whether the text before a colon is a crawler's name. At the beginning of a
// line it is, unless it is a rule or might become one: those with a value so far begin with
// "max-". After a comma it is if a rule follows, as in joined lines; otherwise an unknown name
// would take the following rules away from all crawlers.
func isAgent(name, after string, first bool) bool {
	name = lower(trim(name))
	if !isToken(name) || strings.HasPrefix(name, "max-") {
		return false
	}
	if _, known := ruleByName()[name]; known {
		return false
	}
	if first {
		return true
	}
	next, _, _ := strings.Cut(after, ":")
	_, known := ruleByName()[lower(trim(next))]
	return known
}

// isToken reports whether a name is a token, as crawlers' names are (RFC 9110 section 5.6.2).
func isToken(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c <= ' ' || c > '~' || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return name != ""
}

// allKnown reports whether a text consists of several rules with spaces between them.
func allKnown(text string) bool {
	names := 0
	for name := range strings.FieldsSeq(text) {
		if _, known := ruleByName()[name]; !known {
			return false
		}
		names++
	}
	return names > 1
}

// longestDate is the maximum length of a date in bytes.
const longestDate = 64

// readDate reads the date at the beginning of a list: the longest part up to a comma that is a
// date. It also returns the rest.
func readDate(text string) (t time.Time, value, rest string) {
	window := text[:min(len(text), longestDate)]
	for end := len(window); end >= 0; end = strings.LastIndexByte(window[:end], ',') {
		if end < len(text) && text[end] != ',' {
			continue
		}
		if t, ok := parseDate(text[:end]); ok {
			return t, text[:end], strings.TrimPrefix(text[end:], ",")
		}
	}
	value, rest, _ = strings.Cut(text, ",")
	if isWeekday(trim(value)) {
		after, behind, _ := strings.Cut(rest, ",")
		return t, text[:min(len(value)+len(",")+len(after), len(text))], behind
	}
	return t, value, rest
}

// zones are those of RFC 822 section 5.1, in hours, without its one-letter zones, which were
// defined with the wrong sign. Dates with other abbreviations are invalid, as those are
// ambiguous.
var zones = []struct {
	name  string
	hours time.Duration
}{
	{"ut", 0}, {"utc", 0}, {"gmt", 0}, {"z", 0},
	{"est", -5}, {"edt", -4}, {"cst", -6}, {"cdt", -5}, {"mst", -7}, {"mdt", -6}, {"pst", -8}, {"pdt", -7},
}

// isoLayouts are those of ISO 8601; dateLayouts those of RFC 822 with RFC 1123, RFC 850 and
// C's asctime, without weekday and zone.
var (
	isoLayouts = []string{
		"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04",
		"2006-01-02 15:04:05Z07:00", "2006-01-02", "20060102T150405Z0700", "20060102T150405", "20060102",
	}
	dateLayouts = []string{
		"2 Jan 2006 15:04:05", "2 Jan 2006 15:04", "2 Jan 2006", "2 Jan 06 15:04:05", "2 Jan 06 15:04", "2 Jan 06",
		"2-Jan-06 15:04:05", "2-Jan-2006 15:04:05", "2-Jan-06", "2-Jan-2006", "Jan 2 15:04:05 2006",
		"2006-01-02 15:04:05", "2006-01-02 15:04",
	}
)

// parseDate reads a date in a form that Google documents: RFC 822, RFC 850, ISO 8601. Without
// a zone it is in UTC.
func parseDate(text string) (t time.Time, ok bool) {
	text = trim(text)
	for _, layout := range isoLayouts {
		if t, err := time.Parse(layout, strings.ToUpper(text)); err == nil {
			return t.UTC(), true
		}
	}
	fields := strings.Fields(strings.ReplaceAll(text, ",", " "))
	if len(fields) > 1 && isWeekday(fields[0]) {
		fields = fields[1:]
	}
	var east time.Duration // of UTC
	if n := len(fields) - 1; n > 0 {
		if by, ok := zoneOf(fields[n]); ok {
			fields = fields[:n]
			east = by
		}
	}
	text = strings.Join(fields, " ")
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Add(-east), true
		}
	}
	return t, false
}

// zoneOf reads GMT or -0800.
func zoneOf(s string) (east time.Duration, ok bool) {
	for _, z := range zones {
		if z.name == lower(s) {
			return z.hours * time.Hour, true
		}
	}
	if len(s) != len("+0000") || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[1:], 10, 16)
	if err != nil || n%100 > 59 || n > 2359 {
		return 0, false
	}
	east = time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute
	if s[0] == '-' {
		east = -east
	}
	return east, true
}

func isWeekday(s string) bool {
	s = lower(s)
	for day := time.Sunday; day <= time.Saturday; day++ {
		if name := lower(day.String()); s == name || s == name[:3] {
			return true
		}
	}
	return false
}

// freeText are names of meta tags that are not crawlers' and whose content can be a word that
// is a rule elsewhere.
var freeText = []string{
	"description", "keywords", "news_keywords", "title", "abstract", "subject", "author",
	"referrer", "rating", "audience", "distribution", "format-detection",
}

// readHTML reads meta tags, in the body too, as Google does, but not in comments, scripts,
// noscript, templates and other text. The tokenizer of golang.org/x/net/html takes time linear
// in the text.
func (p *Page) readHTML(body []byte) {
	if len(body) > MaxBytes {
		body = body[:MaxBytes]
		p.Cut = true
	}
	text := decode(body)
	z := html.NewTokenizer(bytes.NewReader(text))
	lines := lineCounter{text: text, line: 1}
	templates := 0 // open
	for at := 0; ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			return
		}
		start := at
		at += len(z.Raw())
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken && kind != html.EndTagToken {
			continue
		}
		name, more := z.TagName()
		switch {
		case string(name) == "template" && kind == html.EndTagToken:
			templates = max(templates-1, 0)
		case string(name) == "template":
			templates++
		case string(name) == "meta" && kind != html.EndTagToken && templates == 0 && more:
			agent, content := metaOf(z)
			p.readMeta(agent, content, Place{Line: lines.at(start)})
		}
	}
}

// metaOf returns the name and content of a meta tag. The first of two equal attributes counts
// (HTML, section 13.2.5.33).
func metaOf(z *html.Tokenizer) (name, content string) {
	named := false
	filled := false
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch {
		case string(key) == "name" && !named:
			name = lower(trim(string(value)))
			named = true
		case string(key) == "content" && !filled:
			content = string(value)
			filled = true
		}
	}
	return name, content
}

// readMeta reads a meta tag for crawlers. Any name can be a crawler's, so tags with other
// names count if they contain a rule.
func (p *Page) readMeta(agent, content string, at Place) {
	if agent == "robots" {
		p.readList(content, "", at)
		return
	}
	if !isToken(agent) || slices.Contains(freeText, agent) || !hasRule(content) {
		return
	}
	p.readList(content, limited(agent), at)
}

func hasRule(content string) bool {
	for piece := range strings.SplitSeq(content, ",") {
		name, _, _ := strings.Cut(piece, ":")
		if _, known := ruleByName()[lower(trim(name))]; known {
			return true
		}
	}
	return false
}

// A lineCounter returns the lines of increasing offsets.
type lineCounter struct {
	text []byte
	from int // offset up to which lines are counted
	line int
}

func (c *lineCounter) at(offset int) int {
	for ; c.from < offset; c.from++ {
		switch c.text[c.from] {
		case '\n':
			c.line++
		case '\r':
			if c.text[c.from+1] != '\n' { // a tag follows
				c.line++
			}
		}
	}
	return c.line
}

// decode returns a text in UTF-8 without a byte order mark.
func decode(text []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte("\xEF\xBB\xBF")):
		return text[3:]
	case bytes.HasPrefix(text, []byte("\xFF\xFE")):
		order = binary.LittleEndian
	case bytes.HasPrefix(text, []byte("\xFE\xFF")):
		order = binary.BigEndian
	default:
		return text
	}
	units := make([]uint16, 0, len(text)/2)
	for text = text[2:]; len(text) > 1; text = text[2:] {
		units = append(units, order.Uint16(text))
	}
	return []byte(string(utf16.Decode(units)))
}

// trim removes white space as HTML and HTTP define it.
func trim(s string) string { return strings.Trim(s, " \t\r\n\f") }

// lower returns a text with ASCII letters in lower case.
func lower(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for k := i; k < len(b); k++ {
				if 'A' <= b[k] && b[k] <= 'Z' {
					b[k] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// limited shortens a text to MaxText bytes at a character boundary.
func limited(s string) string {
	if len(s) <= MaxText {
		return s
	}
	n := MaxText
	for n > MaxText-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n])
}
