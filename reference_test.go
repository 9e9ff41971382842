package robots

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The reference is a second engine, slow and simple, in the order of RFC 9309: lines (2.2),
// groups (2.2.1), normal forms and matching (2.2.2, 2.2.3). It shares only the Dialect values
// with the package. Every fast path is compared with it.

type refRule struct {
	line      int
	allow     bool
	written   string
	directive string
	pattern   []refItem
	weight    int
}

// refItem is an item of a pattern: a byte in normal form, any bytes, or the end of the path.
type refItem struct {
	byte string // one byte, or one escape "%XX"
	star bool
	end  bool
}

type refAnswer struct {
	allowed, undefined bool
	reason             string
	line               int // of the deciding rule, 0 if none
	directive, written string
	token              string // of the group, "" if none
	lines              []int
	delays             []string // Crawl-delay values of the group
	rates              []string
	sitemaps           []string
}

func (a refAnswer) String() string {
	return fmt.Sprintf("allowed=%v undefined=%v %s line %d %s %q, group %q %v", a.allowed, a.undefined, a.reason, a.line, a.directive, a.written, a.token, a.lines)
}

type refLine struct {
	number       int
	blank        bool
	field, value string
}

// refLines splits a body into lines and reads each (RFC 9309 section 2.2).
func refLines(d Dialect, body string) []refLine {
	if strings.HasPrefix(body, "\xEF\xBB\xBF") {
		body = body[3:]
	} else if d.CStrings {
		body = strings.TrimPrefix(strings.TrimPrefix(body, "\xEF\xBB"), "\xEF")
	}
	body = strings.ReplaceAll(body, "\r\n", "\n")
	body = strings.ReplaceAll(body, "\r", "\n")
	var lines []refLine
	for i, text := range strings.Split(body, "\n") {
		l := refLine{number: i + 1, blank: strings.Trim(text, " \t") == ""}
		if d.MaxLineBytes > 0 && len(text) > d.MaxLineBytes {
			text = text[:d.MaxLineBytes]
		}
		blanks := " \t"
		if d.CStrings {
			text, _, _ = strings.Cut(text, "\x00")
			blanks = " \t\v\f"
		}
		text, _, _ = strings.Cut(text, "#")
		text = strings.Trim(text, blanks)
		field, value, ok := strings.Cut(text, ":")
		if !ok && d.MissingColon {
			if words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' }); len(words) == 2 {
				field, value, ok = words[0], words[1], true
			}
		}
		if ok {
			l.field = strings.ToLower(strings.Trim(field, blanks))
			l.value = strings.Trim(value, blanks)
		}
		if d.Misspellings {
			for _, p := range [][2]string{
				{"user-agent", "user-agent"}, {"useragent", "user-agent"}, {"user agent", "user-agent"},
				{"allow", "allow"},
				{"disallow", "disallow"}, {"dissallow", "disallow"}, {"dissalow", "disallow"},
				{"disalow", "disallow"}, {"diasllow", "disallow"}, {"disallaw", "disallow"},
				{"sitemap", "sitemap"}, {"site-map", "sitemap"},
			} {
				if strings.HasPrefix(l.field, p[0]) {
					l.field = p[1]
					break
				}
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// refCut applies the size limit (D-17) and reports whether the file counts.
func refCut(d Dialect, body string) (string, bool) {
	if d.MaxFileBytes == 0 || len(body) <= d.MaxFileBytes {
		return body, true
	}
	if d.OverSizeOpens {
		return "", false
	}
	body = body[:d.MaxFileBytes]
	for body != "" && body[len(body)-1] != '\n' && body[len(body)-1] != '\r' {
		body = body[:len(body)-1]
	}
	return body, true
}

// refTokens reads the names given for the crawler (D-03).
func refTokens(d Dialect, given []string) (tokens []string) {
	if d.RawTokens {
		return given
	}
	for _, value := range given {
		value = strings.Trim(value, " \t")
		if strings.ContainsAny(value, " \t/(),") {
			for _, product := range refProducts(value) {
				if product != value {
					tokens = append(tokens, product)
				}
			}
		}
		if value != "" {
			tokens = append(tokens, value)
		}
	}
	return tokens
}

var refGeneric = regexp.MustCompile(`(?i)^(Mozilla|AppleWebKit|Gecko|Chrome|Safari|Version|Mobile)$`)

// refProducts splits a header or a list of names (D-03) at commas outside comments.
func refProducts(value string) (products []string) {
	var parts []string
	open, part := 0, ""
	for _, c := range []byte(value + ",") {
		switch {
		case c == '(':
			open++
		case c == ')' && open > 0:
			open--
		}
		if part += string([]byte{c}); c == ',' && open == 0 {
			parts, part = append(parts, part), ""
		}
	}
	for _, part := range append(parts, part) {
		all := refHeader(part)
		introduced, after := []refName(nil), []refName(nil)
		if at := strings.Index(refASCIILower(part), "compatible;"); at >= 0 {
			after = refHeader(part[at+len("compatible;"):])
		}
		for _, n := range after {
			if introduced = append(introduced, n); n.versioned && n.telling() {
				break
			}
		}
		var found []refName
		if len(introduced) == 0 || !introduced[0].telling() {
			for _, n := range all {
				if n.versioned {
					found = append(found, n)
				}
			}
			found = append(found, all[:min(1, len(all))]...)
		}
		found = append(found, introduced...)
		if !slices.ContainsFunc(found, refName.telling) {
			for _, n := range all {
				if !n.comment {
					found = append(found, n)
				}
			}
		}
		for _, n := range found {
			products = append(products, n.products()...)
		}
	}
	telling := slices.DeleteFunc(slices.Clone(products), refGeneric.MatchString)
	if len(telling) > 0 {
		return telling
	}
	return products
}

// refName is a name in a header.
type refName struct {
	text               string
	words              []string
	versioned, comment bool
}

func (n refName) telling() bool {
	return slices.ContainsFunc(n.words, func(w string) bool { return !refGeneric.MatchString(w) })
}

var refToken = regexp.MustCompile(`^[\w.\x80-\x{10FFFF}-]*[A-Za-z\x80-\x{10FFFF}][\w.\x80-\x{10FFFF}-]*$`)

func (n refName) products() (list []string) {
	if len(n.words) == 1 {
		return n.words
	}
	if !slices.ContainsFunc(n.words, refGeneric.MatchString) {
		list = []string{n.text}
	}
	for _, w := range n.words {
		for piece := range strings.SplitSeq(w, "/") {
			if refToken.MatchString(piece) {
				list = append(list, piece)
			}
		}
	}
	return list
}

var (
	refPiece   = regexp.MustCompile(`[^ \t();,]+|[();,]`)
	refRemark  = regexp.MustCompile(`(?i)^(\+.*|.*@.*|.*://.*|/.*|[^0-9A-Za-z\x80-\x{10FFFF}]*|compatible)$`)
	refVersion = regexp.MustCompile(`^[vV]?([0-9]+|[0-9].*\..*)$`)
)

// refHeader returns the names of a header: words with spaces between them, up to a separator, a
// version, which is not part of them, or a word that is not a name.
func refHeader(s string) (names []refName) {
	var n refName
	start, depth := 0, 0
	end := func() {
		if len(n.words) > 0 {
			names = append(names, n)
		}
		n = refName{}
	}
	for _, at := range refPiece.FindAllStringIndex(s, -1) {
		word := s[at[0]:at[1]]
		name, version, slash := strings.Cut(word, "/")
		switch {
		case word == "(":
			depth++
			end()
		case word == ")":
			depth = max(depth-1, 0)
			end()
		case word == ";", word == ",", refRemark.MatchString(word), len(n.words) > 0 && refVersion.MatchString(word):
			end()
		default:
			if len(n.words) == 0 {
				start, n.comment = at[0], depth > 0
			} else if slash && !strings.ContainsAny(version, "0123456789") {
				name, slash = word, false
			}
			n.words = append(n.words, name)
			n.text, n.versioned = s[start:at[0]+len(name)], slash && version != ""
			if slash {
				end()
			}
		}
	}
	end()
	return names
}

func refNames(d Dialect, value, token string) bool {
	if token == "*" || token == "" && !d.RawTokens || token == "" && refStar(d, value) {
		return false
	}
	isToken := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '_' || r == '-'
	}
	cutToken := value
	for i := range len(value) {
		if !isToken(rune(value[i])) {
			cutToken = value[:i]
			break
		}
	}
	cutWord := value
	if i := strings.IndexAny(value, " \t/"); i >= 0 {
		cutWord = value[:i]
	}
	forms := []string{value, cutWord, cutToken}
	switch d.AgentMatch {
	case AgentTokenCut:
		forms = []string{cutToken}
	case AgentWhole:
		forms = []string{value}
	}
	if d.HeaderValues {
		if regexp.MustCompile(`^[^ \t/]*/[^ \t]+[ \t]`).MatchString(value) {
			forms = append(forms, refProducts(value)...)
		}
	}
	for _, f := range forms {
		if f == token || !d.ExactCase && refASCIILower(f) == refASCIILower(token) {
			return true
		}
	}
	return false
}

func refASCIILower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 32
		}
	}
	return string(b)
}

func refStar(d Dialect, value string) bool {
	return value == "*" || d.AgentMatch == AgentTokenCut && len(value) > 1 && value[0] == '*' && strings.ContainsRune(" \t\v\f", rune(value[1]))
}

// refItems converts text into items. special means that the text is a pattern, in which '*' and
// a final '$' have their meaning.
func refItems(d Dialect, text string, special bool) (items []refItem, weight int) {
	hex := func(s string) (int, bool) {
		if len(s) < 3 || s[0] != '%' {
			return 0, false
		}
		v, err := strconv.ParseUint(s[1:3], 16, 8)
		return int(v), err == nil
	}
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	foreign := func(c byte) bool {
		return c <= 0x20 || c >= 0x7F || strings.IndexByte("\"<>\\^{}`|", c) >= 0
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		v, escaped := hex(text[i:])
		switch {
		case special && c == '*':
			items = append(items, refItem{star: true})
			weight++
		case special && c == '$' && i == len(text)-1:
			items = append(items, refItem{end: true})
			weight++
		case escaped && d.Escapes == EscapesRaw && !special:
			items = append(items, refItem{byte: text[i : i+1]})
			weight++
		case escaped && (d.Escapes == EscapesRFC || !special) && strings.IndexByte(unreserved, byte(v)) >= 0:
			items = append(items, refItem{byte: string(rune(v))})
			weight++
			i += 2
		case escaped && d.Escapes == EscapesRFC && (v == '*' || v == '$'):
			items = append(items, refItem{byte: string(rune(v))})
			weight += 3
			i += 2
		case escaped:
			for _, o := range strings.Split(fmt.Sprintf("%%%02X", v), "") {
				items = append(items, refItem{byte: o})
			}
			weight += 3
			i += 2
		case d.Escapes == EscapesRaw && (!special || c < 0x80),
			d.Escapes == EscapesGoogle && special && (c <= 0x20 || c == 0x7F),
			!foreign(c):
			items = append(items, refItem{byte: text[i : i+1]})
			weight++
		default:
			for _, o := range strings.Split(fmt.Sprintf("%%%02X", c), "") {
				items = append(items, refItem{byte: o})
			}
			weight += 3
		}
	}
	return items, weight
}

func refRuleOf(d Dialect, line int, allow bool, value string) refRule {
	r := refRule{line: line, allow: allow, written: value, directive: map[bool]string{true: "allow", false: "disallow"}[allow]}
	if d.AssumeSlash && value[0] != '/' && value[0] != '*' {
		value = "/" + value
	}
	r.pattern, r.weight = refItems(d, value, true)
	if d.LiteralWeight {
		for _, it := range r.pattern {
			if it.star || it.end {
				r.weight--
			}
		}
	}
	return r
}

// refPath converts a path into items; Google's dialects resolve dot segments.
func refPath(d Dialect, path string) []refItem {
	items, _ := refItems(d, path, false)
	if d.Escapes != EscapesGoogle {
		return items
	}
	var text strings.Builder
	for _, it := range items {
		text.WriteString(it.byte)
	}
	s, query, hasQuery := strings.Cut(text.String(), "?")
	var out []string
	segments := strings.Split(s, "/")[1:]
	for i, seg := range segments {
		last := i == len(segments)-1
		switch seg {
		case ".":
			if last {
				out = append(out, "")
			}
		case "..":
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, seg)
		}
	}
	s = "/" + strings.Join(out, "/")
	if hasQuery {
		s += "?" + query
	}
	items = nil
	for i := range len(s) {
		items = append(items, refItem{byte: s[i : i+1]})
	}
	return items
}

// refMatch computes the set of positions that the pattern can reach.
func refMatch(pattern, path []refItem) bool {
	at := map[int]bool{0: true}
	for _, it := range pattern {
		next := map[int]bool{}
		switch {
		case it.end:
			return at[len(path)]
		case it.star:
			least := len(path) + 1
			for i := range at {
				least = min(least, i)
			}
			for i := least; i <= len(path); i++ {
				next[i] = true
			}
		default:
			for i := range at {
				if i < len(path) && path[i] == it {
					next[i+1] = true
				}
			}
		}
		if at = next; len(at) == 0 {
			return false
		}
	}
	return true
}

func refInnerStar(pattern []refItem) bool {
	for len(pattern) > 0 && pattern[len(pattern)-1].star {
		pattern = pattern[:len(pattern)-1]
	}
	return slices.ContainsFunc(pattern, func(it refItem) bool { return it.star })
}

// refBlock returns the values of the user-agent lines directly above the last of some lines, for
// a record in an open run: upwards past other records to the last such line, and from there to
// the first of its block (D-08).
func refBlock(d Dialect, lines []refLine) (values []string) {
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i].blank && d.BlanksEndRun && len(values) > 0 {
			return values
		}
		switch lines[i].field {
		case "user-agent":
			values = append(values, lines[i].value)
		case "allow", "disallow":
			return values
		case "crawl-delay", "request-rate", "visit-time", "content-signal", "content-usage", "license":
			if len(values) > 0 {
				return values
			}
		}
	}
	return values
}

func reference(d Dialect, body, path string, tokens ...string) refAnswer {
	body, counts := refCut(d, body)
	lines := refLines(d, body)

	// The names of the crawler (RFC 9309 section 2.2.1, D-04).
	named := func(value string) bool { return false }
	tokens = refTokens(d, tokens)
	var a refAnswer
	found := false
	for _, t := range tokens {
		if !found && slices.ContainsFunc(lines, func(l refLine) bool { return l.field == "user-agent" && refNames(d, l.value, t) }) {
			found, a.token = true, refASCIILower(t)
			named = func(value string) bool { return refNames(d, value, t) }
			if d.MergeTokens {
				named = func(value string) bool {
					return slices.ContainsFunc(tokens, func(t string) bool { return refNames(d, value, t) })
				}
			}
		}
	}
	own := func(name string) bool { return refASCIILower(name) == refASCIILower(tokens[0]) }
	if len(tokens) > 0 && slices.ContainsFunc(strings.Fields(d.IgnoreStar), own) {
		// Only a group of its own applies to this crawler (D-53).
	} else if !found && slices.ContainsFunc(lines, func(l refLine) bool { return l.field == "user-agent" && refStar(d, l.value) }) {
		found, a.token = true, "*"
		named = func(value string) bool { return refStar(d, value) }
	}

	// The rules of all groups that name the crawler are combined.
	var rules []refRule
	anyRule, anyGroup := false, false
	ended, ruled, mine := true, false, false
	for i, l := range lines {
		switch l.field {
		case "user-agent":
			anyGroup = true
			if ended {
				mine = false
			}
			ended, ruled = false, false
			if named(l.value) {
				mine = true
				a.lines = append(a.lines, l.number)
			}
		case "allow", "disallow":
			ended, ruled = true, true
			allow := l.field == "allow"
			counting := l.value != "" || !allow && d.EmptyDisallowAllows
			if anyGroup && counting {
				anyRule = true
			}
			if !mine {
				break
			}
			if l.value != "" {
				rules = append(rules, refRuleOf(d, l.number, allow, l.value))
				if i := strings.LastIndex(l.value, "/"); d.IndexHTML && allow && i >= 0 && strings.HasPrefix(l.value[i:], "/index.htm") {
					short := refRuleOf(d, l.number, allow, l.value[:i+1]+"$")
					short.written = l.value
					rules = append(rules, short)
				}
			} else if counting { // D-41: "Allow: /", but written as it is
				r := refRuleOf(d, l.number, true, "/")
				r.written, r.directive = "", "disallow"
				rules = append(rules, r)
			}
		case "crawl-delay", "request-rate", "visit-time":
			attached := mine
			if !ruled {
				attached = slices.ContainsFunc(refBlock(d, lines[:i]), named)
			}
			if attached && l.field == "crawl-delay" {
				a.delays = append(a.delays, l.value)
			}
			if attached && l.field == "request-rate" {
				a.rates = append(a.rates, l.value)
			}
			if d.RecordsEndRun {
				ended = true
			}
		case "sitemap":
			if l.value != "" {
				a.sitemaps = append(a.sitemaps, l.value)
			}
		}
		if l.blank && d.BlanksEndRun {
			ended = true
		}
	}

	// The verdict (RFC 9309 section 2.2.2).
	items := refPath(d, path)
	var text strings.Builder
	for _, it := range items {
		text.WriteString(it.byte)
	}
	a.allowed = true
	if !d.MatchRobotsTxt && text.String() == "/robots.txt" {
		a.reason = "robots-txt"
		return a
	}
	var best, allow, disallow *refRule
	heavier := func(r, than *refRule) bool {
		return than == nil || r.weight > than.weight || r.weight == than.weight && r.allow && !than.allow
	}
	for i := range rules {
		r := &rules[i]
		if !refMatch(r.pattern, items) {
			continue
		}
		if heavier(r, best) {
			best = r
		}
		if r.allow && heavier(r, allow) {
			allow = r
		}
		if !r.allow && heavier(r, disallow) {
			disallow = r
		}
	}
	switch {
	case best != nil:
		a.allowed, a.reason, a.line, a.written, a.directive = best.allow, "rule", best.line, best.written, best.directive
		if d.StarConflictUndefined && allow != nil && disallow != nil {
			a.undefined = refInnerStar(allow.pattern) || refInnerStar(disallow.pattern)
		}
	case !counts || !anyRule:
		a.reason = "empty-file"
	case !found:
		a.reason = "no-group"
	default:
		a.reason = "no-rule"
	}
	return a
}
