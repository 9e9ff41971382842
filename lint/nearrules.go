package lint

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/robotskit/robots"
)

// Near misses among the crawler's own rules.

// A nearValue is another value for a rule.
type nearValue struct {
	kind   nearKind
	clause string
	why    string // a phrase that follows the rule
	value  string
	extra  bool // in a further line, as the rule has a use of its own
}

// ownRules finds the crawler's rules that do not match the path but would if they were written
// differently.
func (s *nearSearch) ownRules() {
	matches := map[robots.Rule]bool{}
	for _, m := range s.matches {
		matches[m.Rule] = true
	}
	folded := foldPath(s.path.String())
	for rule := range s.rules.All() {
		value := rule.Path()
		if rule.Allows() == s.verdict.Allowed || strings.Trim(value, "/*") == "" || value == "$" || len(value) > maxValue || matches[rule] {
			continue
		}
		if !s.spend(16 + len(value) + len(folded)/4) {
			return
		}
		if !resembles(value, folded) {
			continue
		}
		if w, ok := s.valueFor(value); ok {
			s.addValue(rule, w)
		}
	}
}

// addValue adds the near miss of a rule that would match with another value.
func (s *nearSearch) addValue(rule robots.Rule, w nearValue) {
	line := title(rule) + ": " + w.value
	span := rule.Span()
	edit := Edit{span.Start, span.End, w.value}
	what := "write "
	if w.extra {
		what = "add "
		edit = s.insertBelow(span.Start, line)
	}
	s.add(w.kind, rule.Weight(), rule.Line(), w.clause, rule.String()+w.why+"; "+what+line, edit)
}

// valueFor returns the likeliest value that matches the path instead of a value that does not.
func (s *nearSearch) valueFor(value string) (nearValue, bool) {
	for base := range repairs(value) {
		for w := range relaxations(base, s.path.String()) {
			if w.value != value && s.ruleMatches(w.value, s.path) {
				return w, true
			}
			lower := strings.ToLower(w.value)
			if lower == s.path.String() && lower == w.value || !s.ruleMatches(lower, s.lower) {
				continue
			}
			cased := recase(lower, s.path.String())
			if cased == "" || cased == value || !s.ruleMatches(cased, s.path) {
				continue
			}
			if w.why == "" {
				w.kind = nearCase
				w.clause = "RULE-04"
				w.why = " would match if paths were case-insensitive"
			}
			w.value = cased
			return w, true
		}
	}
	for w := range misspellings(value, s.path.String()) {
		if s.ruleMatches(w.value, s.path) {
			return w, true
		}
	}
	return nearValue{}, false
}

// foldPath returns a path in lower case with its printable escapes decoded.
func foldPath(path string) string { return strings.ToLower(decodePrintable(path)) }

// indexPages are names of the page of a directory.
var indexPages = []string{"index", "default", "home", "main"}

// pageTypes are the extensions of pages, which many sites serve without them too.
var pageTypes = []string{".html", ".htm", ".php", ".asp", ".aspx", ".jsp"}

// isHost reports whether the first segment of a path looks like the name of a host, and not like
// that of a page.
func isHost(segment string) bool {
	dot := strings.LastIndexByte(segment, '.')
	if dot < 1 || strings.ContainsAny(segment, "*?=&$%") || slices.Contains(pageTypes, segment[dot:]) {
		return false
	}
	domain := segment[dot+1:]
	return strings.HasPrefix(segment, "www.") ||
		slices.Contains([]string{"com", "net", "org", "example", "test", "io", "eu", "info", "shop", "biz"}, domain) ||
		len(domain) == 2 && strings.Trim(domain, "abcdefghijklmnopqrstuvwxyz") == ""
}

// resembles reports whether a word of a value occurs in a folded path, or the value has no word.
func resembles(value, folded string) bool {
	words := false
	for word := range strings.FieldsFuncSeq(foldPath(value), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		words = true
		part := word
		if len(word) > 3 {
			part = word[:3] // a word can be misspelled behind it
		}
		if strings.Contains(folded, part) || strings.HasSuffix(folded, "/") && slices.Contains(indexPages, word) {
			return true
		}
	}
	return !words
}

// recase returns a pattern in lower case with the letter case of a path that it matches
// case-insensitively, "" if they cannot be aligned.
func recase(pattern, path string) string {
	lower := strings.ToLower(path)
	if len(lower) != len(path) {
		return ""
	}
	text, end := strings.CutSuffix(pattern, "$")
	pieces := strings.Split(text, "*")
	var b strings.Builder
	at := 0
	for i, piece := range pieces {
		found := strings.Index(lower[at:], piece)
		switch {
		case end && i == len(pieces)-1 && strings.HasSuffix(lower[at:], piece):
			found = len(lower) - at - len(piece)
		case found < 0 || i == 0 && found > 0:
			return ""
		}
		if i > 0 {
			b.WriteByte('*')
		}
		b.WriteString(path[at+found : at+found+len(piece)])
		at += found + len(piece)
	}
	if end {
		b.WriteByte('$')
	}
	return b.String()
}

// repairs yields the value itself, then what a value that is not a path was probably written for.
func repairs(value string) iter.Seq[nearValue] {
	return func(yield func(nearValue) bool) {
		if !yield(nearValue{value: value}) {
			return
		}
		known := map[string]bool{value: true}
		try := func(kind nearKind, clause, why, text string) bool {
			if strings.Trim(text, "/*$") == "" || known[text] {
				return true
			}
			known[text] = true
			return yield(nearValue{kind: kind, clause: clause, why: why, value: text})
		}
		for _, r := range repairList {
			for text := range r.to(value) {
				if !try(r.kind, r.clause, r.why, text) {
					return
				}
				if text != value && !try(r.kind, r.clause, r.why, rootOf(text)) {
					return
				}
			}
		}
	}
}

// A repair turns values that are not paths into the paths that were probably meant.
type repair struct {
	kind        nearKind
	clause, why string
	to          func(value string) iter.Seq[string]
}

// repairList is the repairs, the most specific first.
var repairList = []repair{
	{nearSyntax, "D-09", " can never match, because it is a full URL; rules are compared with paths", one(urlPath)},
	{nearSyntax, "RULE-03", " is compared with its quotes or brackets", one(func(v string) string { return trimMarks(v) })},
	{nearSyntax, "D-09", " can never match, because it repeats the field name", one(func(v string) string {
		name, rest, ok := strings.Cut(v, ":")
		name = strings.ToLower(strings.TrimSpace(name))
		if ok && (name == "disallow" || name == "allow" || name == "") {
			return strings.TrimSpace(rest)
		}
		return ""
	})},
	{nearSyntax, "RULE-02", " is read as one path, with everything that follows its first path", parts},
	{nearSyntax, "RULE-02", " contains characters that are not part of the path", one(func(v string) string {
		v = strings.Map(func(r rune) rune {
			switch r {
			case '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\u00ad', '\u00a0', '\u200e', '\u200f', '\u202a', '\u202c', '\u3000':
				return -1
			case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2212':
				return '-'
			case '／':
				return '/'
			case '＊', '∗':
				return '*'
			case '？':
				return '?'
			}
			return r
		}, v)
		for _, suffix := range []string{"<br>", "<br/>", "<br />", "</p>", "%20"} {
			v = strings.TrimSuffix(v, suffix)
		}
		return strings.TrimSpace(strings.TrimRight(v, ",;.…"))
	})},
	{nearSyntax, "D-09", " can never match, because paths start with /", one(rootOf)},
	{nearSyntax, "RULE-03", " has backslashes, which are not slashes", one(func(v string) string {
		if strings.HasPrefix(v, `\`) || strings.HasPrefix(v, `/`) && !strings.ContainsAny(v, "([+^") {
			return strings.ReplaceAll(v, `\`, "/")
		}
		return ""
	})},
	{nearSyntax, "MATCH-03", " is compared literally: only * and a final $ have a meaning, regular expressions have none", globsOf},
	{nearSyntax, "RULE-02", " begins with a host name, but rules are compared with paths", one(func(v string) string {
		host, path, ok := strings.Cut(strings.TrimLeft(v, "/"), "/")
		if ok && isHost(host) {
			return "/" + path
		}
		return ""
	})},
	{nearSyntax, "D-15", " has two slashes where the path has one", one(func(v string) string {
		if strings.Contains(v, "//") {
			return strings.ReplaceAll(v, "//", "/")
		}
		return ""
	})},
	{nearSyntax, "MATCH-02", " contains &amp;, which only HTML reads as &", one(func(v string) string {
		if strings.Contains(v, "&amp;") {
			return strings.ReplaceAll(v, "&amp;", "&")
		}
		return ""
	})},
	{nearSyntax, "MATCH-03", " has a ?, which does not stand for any character", one(func(v string) string {
		if i := strings.IndexByte(v, '?'); i > 0 && i+1 < len(v) && strings.IndexByte("./-_", v[i+1]) >= 0 {
			return strings.ReplaceAll(v, "?", "*")
		}
		return ""
	})},
	{nearEscape, "C-15", " would match under RFC 9309's percent-encoding rules", one(decodeUnreserved)},
	{nearEscape, "D-14", " has an escape that is not the same as its character", one(decodePrintable)},
	{nearEscape, "D-14", " is encoded twice", one(func(v string) string {
		if strings.Contains(v, "%25") {
			return strings.ReplaceAll(v, "%25", "%")
		}
		return ""
	})},
	{nearEscape, "D-14", " has a space where the path has a +", one(func(v string) string {
		return strings.ReplaceAll(strings.ReplaceAll(v, "%20", "+"), " ", "+")
	})},
	{nearEscape, "D-14", " has a + where the path has a space", one(func(v string) string { return strings.ReplaceAll(v, "+", "%20") })},
	{nearEscape, "D-16", " is not UTF-8", one(func(v string) string {
		if utf8.ValidString(v) {
			return ""
		}
		var b strings.Builder
		for i := range len(v) {
			b.WriteRune(rune(v[i])) // ISO 8859-1
		}
		return b.String()
	})},
}

// one returns a function that yields what f returns, unless that is "".
func one(f func(string) string) func(string) iter.Seq[string] {
	return func(value string) iter.Seq[string] {
		return func(yield func(string) bool) {
			if text := f(value); text != "" {
				yield(text)
			}
		}
	}
}

// rootOf returns a value that begins with neither / nor * as a path, "" for others.
func rootOf(v string) string {
	if v == "" || v[0] == '/' || v[0] == '*' {
		return ""
	}
	v = strings.TrimPrefix(v, "^")
	v = strings.TrimPrefix(v, "./")
	switch {
	case v == "" || v[0] == '/' || v[0] == '*':
		return v
	case strings.ContainsRune("?&=.", rune(v[0])):
		return "/*" + v
	}
	return "/" + v
}

// urlPath returns the path of a value that is a URL.
func urlPath(v string) string {
	_, rest, ok := strings.Cut(v, "://")
	if !ok {
		return ""
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return "/"
}

// valueMarks are quotes and brackets around a value.
const valueMarks = "\"'`<>[](){}“”„‘’«»,;"

func trimMarks(v string) string {
	trimmed := strings.TrimSpace(strings.Trim(v, valueMarks+" "))
	if trimmed == v || strings.ContainsAny(trimmed, "()[]{}") {
		return ""
	}
	return trimmed
}

// parts yields the paths of a value with several, or with a remark behind it.
func parts(v string) iter.Seq[string] {
	return func(yield func(string) bool) {
		list := strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(" \t,;|", r) })
		if len(list) < 2 {
			return
		}
		var paths []string
		for _, part := range list {
			part = strings.Trim(part, valueMarks)
			if strings.HasPrefix(part, "*") ||
				strings.HasPrefix(part, "/") && !strings.HasPrefix(part, "//") && strings.Trim(part, "/*$") != "" {
				paths = append(paths, part)
			}
		}
		if len(paths) == 1 && len(list) == 2 && strings.IndexAny(list[1], "/-(<") != 0 {
			return // a space in a path
		}
		for _, path := range paths {
			if !yield(path) {
				return
			}
		}
	}
}

// globsOf yields the rules of a regular expression or of alternatives in braces.
func globsOf(v string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !strings.ContainsAny(v, `\^[({|+`) && !strings.Contains(v, ".*") {
			return
		}
		for _, text := range alternatives(v, 16) {
			if glob := globOf(text); glob != v && !yield(glob) {
				return
			}
		}
	}
}

// alternatives expands the first (a|b) or {a,b} of a text, and those of the results, to at most
// some texts.
func alternatives(text string, most int) []string {
	open := strings.IndexAny(text, "({")
	if open < 0 {
		return []string{text}
	}
	closing := strings.IndexByte(text[open:], map[byte]byte{'(': ')', '{': '}'}[text[open]])
	if closing < 0 {
		return []string{text}
	}
	closing += open
	rest := text[closing+1:]
	var all []string
	inside := strings.TrimPrefix(text[open+1:closing], "?:")
	for _, part := range strings.FieldsFunc(inside, func(r rune) bool { return r == '|' || r == ',' && text[open] == '{' }) {
		if len(all) < most {
			all = append(all, alternatives(text[:open]+part+rest, max(1, most-len(all)))...)
		}
	}
	if after, optional := strings.CutPrefix(rest, "?"); optional && len(all) < most {
		for i := range all {
			all[i] = strings.Replace(all[i], "?", "", 1)
		}
		all = append(all, text[:open]+after)
	}
	return all
}

// globOf returns a regular expression as a rule can write it.
func globOf(v string) string {
	v = strings.TrimPrefix(v, "^")
	var b strings.Builder
	for i := 0; i < len(v); i++ {
		size := 1
		star := false
		switch c := v[i]; {
		case c == '\\' && i+1 < len(v):
			size = 2
			if strings.IndexByte("dwsDWSb", v[i+1]) >= 0 {
				star = true
			} else {
				b.WriteByte(v[i+1])
			}
		case c == '[' && strings.IndexByte(v[i:], ']') > 0:
			size = strings.IndexByte(v[i:], ']') + 1
			star = true
		case c == '.' && i+1 < len(v) && strings.IndexByte("*+", v[i+1]) >= 0, c == '*', c == '+' && i > 0:
			star = true
		default:
			b.WriteByte(c)
		}
		i += size - 1
		if star {
			for i+1 < len(v) && strings.IndexByte("*+?", v[i+1]) >= 0 {
				i++
			}
			if !strings.HasSuffix(b.String(), "*") {
				b.WriteByte('*')
			}
		}
	}
	return b.String()
}

// decodePrintable decodes the escapes of printable ASCII characters, except those that a rule
// cannot contain or reads as wildcards.
func decodePrintable(v string) string {
	return decode(v, func(c byte) bool { return ' ' < c && c < 0x7F && c != '#' && c != '*' && c != '$' && c != '%' })
}

// decodeUnreserved decodes the escapes of unreserved characters.
func decodeUnreserved(v string) string {
	return decode(v, func(c byte) bool {
		return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
	})
}

func decode(v string, decodes func(c byte) bool) string {
	if !strings.Contains(v, "%") {
		return v
	}
	var b strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] == '%' && i+2 < len(v) {
			high := strings.IndexByte("0123456789abcdef", v[i+1]|0x20)
			low := strings.IndexByte("0123456789abcdef", v[i+2]|0x20)
			if high >= 0 && low >= 0 && decodes(byte(high<<4|low)) {
				b.WriteByte(byte(high<<4 | low))
				i += 2
				continue
			}
		}
		b.WriteByte(v[i])
	}
	return b.String()
}

// relaxations yields a value itself, then values that match more or other paths, for a path that the
// value does not match.
func relaxations(base nearValue, path string) iter.Seq[nearValue] {
	return func(yield func(nearValue) bool) {
		if !yield(base) {
			return
		}
		v := base.value
		if len(v) < 2 || v[0] != '/' && v[0] != '*' {
			return
		}
		try := func(kind nearKind, clause, why, text string, extra bool) bool {
			w := nearValue{kind: kind, clause: clause, why: why, value: text, extra: extra}
			if base.why != "" {
				w = base
				w.value = text
			}
			return text == v || yield(w)
		}
		for _, relax := range []func(v, path string, try tryValue) bool{
			relaxEnd, relaxSlash, relaxRoot, relaxStar, relaxQuery, relaxGap,
		} {
			if !relax(v, path, try) {
				return
			}
		}
	}
}

// A tryValue yields a nearValue. It returns false to end.
type tryValue func(kind nearKind, clause, why, text string, extra bool) bool

// relaxEnd drops a $.
func relaxEnd(v, path string, try tryValue) bool {
	text, ok := strings.CutSuffix(v, "$")
	if !ok {
		return true
	}
	const why = " matches only URLs that end there"
	for _, next := range []string{"?", "/"} {
		if !try(nearEnd, "MATCH-03", why, text+next, true) {
			return false
		}
	}
	return text == "/" || try(nearEnd, "MATCH-03", why, text, false)
}

// relaxSlash drops a final slash.
func relaxSlash(v, path string, try tryValue) bool {
	text, ok := strings.CutSuffix(strings.TrimRight(v, "*"), "/")
	if !ok || text == "" {
		return true
	}
	const why = " matches only paths below that directory"
	for _, next := range []string{"$", "?", ".", ";"} {
		if !try(nearSlash, "MATCH-05", why, text+next, true) {
			return false
		}
	}
	return true
}

// relaxRoot lets a value match behind the start of the path.
func relaxRoot(v, path string, try tryValue) bool {
	if v[0] != '/' || v[1] == '*' {
		return true
	}
	rest := afterLanguage(v)
	isPlain := rest != "" && !strings.ContainsAny(v, "*$")
	if isPlain && afterLanguage(path) != "" && !strings.HasPrefix(path, v[:len(v)-len(rest)]+"/") {
		return try(nearRoot, "MATCH-01", " matches only one language", "/*"+rest, false)
	}
	const why = " matches only at the start of the path"
	if !try(nearRoot, "MATCH-01", why, "/*"+v, false) {
		return false
	}
	isParameter := strings.Contains(v, "=") && strings.Count(v, "/") == 1 &&
		(strings.Contains(path, "?"+v[1:]) || strings.Contains(path, "&"+v[1:]))
	if strings.IndexByte("?&.=;", v[1]) >= 0 || isParameter {
		return try(nearRoot, "MATCH-01", why, "/*"+v[1:], false)
	}
	return relaxSlash("/*"+v, path, func(_ nearKind, _, _, text string, _ bool) bool {
		return try(nearRoot, "MATCH-01", why, text, false)
	})
}

// afterLanguage returns the path after a first folder such as /en/ or /pt-BR/ from its slash, "" if there is none.
func afterLanguage(path string) string {
	i := strings.IndexByte(path[1:], '/') + 1
	code, region, _ := strings.Cut(path[1:max(i, 1)], "-")
	isCode := func(s string) bool {
		return len(s) == 2 && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz") == ""
	}
	if !isCode(code) || region != "" && !isCode(region) || len(path) == i+1 {
		return ""
	}
	return path[i:]
}

// relaxStar lets a star between slashes match nothing.
func relaxStar(v, path string, try tryValue) bool {
	if !strings.Contains(v, "/*/") {
		return true
	}
	const why = " matches only with a directory instead of its star"
	return try(nearStar, "MATCH-03", why, strings.Replace(v, "/*/", "/", 1), true) &&
		try(nearStar, "MATCH-03", why, strings.Replace(v, "/*/", "*/", 1), false)
}

// relaxQuery lets parameters match in another order.
func relaxQuery(v, path string, try tryValue) bool {
	mark := strings.IndexAny(v, "?&")
	query := strings.IndexByte(path, '?')
	if mark < 0 || query < 0 {
		return true
	}
	const first = " matches only if the parameter is the first"
	const further = " matches only if the parameter is not the first"
	head := v[:mark]
	parameters := v[mark+1:]
	open := strings.TrimRight(head, "*")
	if v[mark] == '?' {
		for _, text := range []string{open + "*&" + parameters, "/*" + strings.TrimLeft(open, "/*") + "*&" + parameters} {
			if !try(nearQuery, "MATCH-02", first, text, true) {
				return false
			}
		}
		const slash = " matches only without another slash before the ?"
		if before, ok := strings.CutSuffix(head, "/"); ok && before != "" {
			if !try(nearQuery, "MATCH-02", slash, before+"?"+parameters, true) {
				return false
			}
		} else if !try(nearQuery, "MATCH-02", slash, head+"/?"+parameters, true) {
			return false
		}
	} else if !try(nearQuery, "MATCH-02", further, open+"*?"+parameters, true) {
		return false
	}
	return relaxOrder(open, parameters, path[query:], try)
}

// relaxOrder sorts the parameters of a value as in a query.
func relaxOrder(open, parameters, query string, try tryValue) bool {
	list := strings.FieldsFunc(parameters, func(r rune) bool { return r == '&' || r == '*' })
	if len(list) < 2 || len(list) > 8 {
		return true
	}
	at := func(parameter string) int {
		return max(strings.Index(query, "?"+parameter), strings.Index(query, "&"+parameter))
	}
	for _, parameter := range list {
		if at(parameter) < 0 {
			return true
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return at(a) - at(b) })
	text := open + "*"
	for _, parameter := range list {
		i := at(parameter)
		text = strings.TrimSuffix(text, "*") + "*" + query[i:i+1+len(parameter)]
	}
	return try(nearQuery, "MATCH-02", " matches its parameters only in this order", text, true)
}

// relaxGap lets other text precede one part of a value.
func relaxGap(v, path string, try tryValue) bool {
	const most = 16 // parts
	n := 0
	for i := 1; i < len(v) && n < most; i++ {
		if strings.IndexByte("/?&.=;", v[i]) < 0 || v[i-1] == '*' {
			continue
		}
		n++
		star := "*"
		if v[i] == '/' {
			star = "/*"
		}
		if !try(nearGap, "MATCH-01", " matches only if its parts follow one another directly", v[:i]+star+v[i:], true) {
			return false
		}
	}
	return true
}

// misspellings yields values for paths that are spelled a little differently.
func misspellings(v, path string) iter.Seq[nearValue] {
	return func(yield func(nearValue) bool) {
		if len(v) < 2 || v[0] != '/' && v[0] != '*' {
			return
		}
		try := func(why, text string) bool {
			return text == v || yield(nearValue{kind: nearSpelling, clause: "MATCH-01", why: why, value: text, extra: true})
		}
		for _, pair := range [][2]string{{"_", "-"}, {"-", "_"}, {"_", "%20"}, {"-", "%20"}, {"%20", "-"}, {" ", "-"}, {"-", "+"}} {
			if !try(" is spelled differently than the path", strings.ReplaceAll(v, pair[0], pair[1])) {
				return
			}
		}
		slash := strings.LastIndexByte(v, '/')
		if page, _, ok := strings.Cut(strings.ToLower(v[slash+1:]), "."); ok && strings.HasSuffix(path, "/") &&
			slices.Contains(indexPages, page) {
			if !try(" names the index page, whose other URL is the directory", v[:slash+1]+"$") {
				return
			}
		}
		if dot := strings.LastIndexByte(v, '.'); dot > slash && slices.Contains(pageTypes, strings.TrimRight(v[dot:], "*$")) &&
			!strings.Contains(path, ".") {
			if !try(" has an extension that the path does not have", strings.TrimRight(v[:dot], "*")+"$") {
				return
			}
		}
		for text := range respellings(v, path) {
			if !try(" is one letter away from the path", text) {
				return
			}
		}
	}
}

// respellings yields a value with the segment of a path instead of one that is one letter away.
func respellings(v, path string) iter.Seq[string] {
	const digits = "0123456789"
	return func(yield func(string) bool) {
		path, _, _ = strings.Cut(path, "?")
		segments := strings.Split(v, "/")
		actual := strings.Split(path, "/")
		for i, segment := range segments {
			if i >= len(actual) || len(segment) < 6 || len(actual[i]) < 6 || len(segment) > 64 || segment == actual[i] ||
				strings.ContainsAny(segment, "*$?=&") || strings.Trim(segment, digits) != segment || strings.Trim(actual[i], digits) != actual[i] {
				continue
			}
			if near(strings.ToLower(segment), strings.ToLower(actual[i]), 1) {
				text := slices.Clone(segments)
				text[i] = actual[i]
				if !yield(strings.Join(text, "/")) {
					return
				}
			}
		}
	}
}

// precedence finds rules that match the path but that a longer rule overrides although neither is
// an exception to the other.
func (s *nearSearch) precedence() {
	winner := s.verdict.Rule
	if winner.IsZero() || len(winner.Path()) > maxValue {
		return
	}
	example := s.pathOf(strings.NewReplacer("*", "", "$", "").Replace(winner.Path()))
	const most = 8
	for i, m := range s.matches {
		rule := m.Rule
		value := rule.Path()
		if i > most || rule.Allows() == s.verdict.Allowed || value == "" || rule.Weight() > winner.Weight() || s.ruleMatches(value, example) {
			continue
		}
		open := func(v string) string { return strings.TrimRight(v, "*$") }
		for _, text := range []string{open(winner.Path()) + "*" + strings.TrimLeft(value, "/*"), open(value) + "*" +
			strings.TrimLeft(winner.Path(), "/*"), open(value) + "*" + winner.Path()} {
			if s.ruleMatches(text, s.path) {
				line := title(rule) + ": " + text
				s.add(
					nearShort, rule.Weight(), rule.Line(), "PREC-01",
					rule.String()+" also matches, but "+lineWord(winner.Line())+" is longer and decides; add "+line,
					s.insertBelow(rule.Span().Start, line),
				)
				break
			}
		}
	}
}

// winner finds out whether the deciding rule matches more than was probably meant.
func (s *nearSearch) winner() {
	rule := s.verdict.Rule
	if rule.IsZero() || rule.Allows() || rule.Path() == "" || len(rule.Path()) > maxValue {
		return
	}
	value := rule.Path()
	span := rule.Span()
	if rest := s.body[min(span.End, len(s.body)):]; len(rest) > 1 && rest[0] == '#' && rest[1] != ' ' && rest[1] != '#' && rest[1] != '\n' &&
		rest[1] != '\r' {
		from := s.lineStart(span.Start)
		s.add(
			nearFragment, 0, rule.Line(), "D-15",
			"a # begins a comment, so this rule is "+rule.String()+"; crawlers do not request fragments, so delete the line",
			Edit{from, s.lineEnd(span.Start), ""},
		)
	}
	rest, ok := strings.CutPrefix(s.path.String(), value)
	if !ok || rest == "" || !isWord(rest[0]) || !isLetter(value[len(value)-1]) || strings.ContainsAny(value, "?=&") {
		return
	}
	segment, _, _ := strings.Cut(strings.TrimLeft(rest, "/"), "/")
	segment, _, _ = strings.Cut(segment, "?")
	whole := value[strings.LastIndexByte(value, '/')+1:] + segment
	if len(whole) > 60 {
		whole = whole[:60] + "..."
	}
	s.add(nearPrefix, 0, rule.Line(), "MATCH-01",
		rule.String()+" matches everything that begins with it, such as "+whole+"; if only the directory is meant, write Disallow: "+value+"/",
		Edit{span.Start, span.End, value + "/"})
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' }

func isWord(c byte) bool { return isLetter(c) || c == '-' || c == '_' }
