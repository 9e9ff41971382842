package robots

import (
	"slices"
	"strings"
)

// namesToken reports whether the value of a user-agent line names the crawler with a product
// token. No value names "*", and where tokens are raw a value without a token names ""
// (D-47).
func (d *Dialect) namesToken(value, token string) bool {
	switch token {
	case "":
		return d.RawTokens && tokenLen(value) == 0 && !d.namesStar(value)
	case "*":
		return false
	}
	return d.matchesForm(value, token) || d.HeaderValues && d.headerContains(value, token)
}

// matchesForm reports whether the token is one of the forms in which the dialect reads a value.
// All forms are prefixes of the value, so the byte after the token decides.
func (d *Dialect) matchesForm(value, token string) bool {
	n := len(token)
	if len(value) < n || !d.equalTokens(value[:n], token) {
		return false
	}
	if len(value) == n {
		return d.AgentMatch != AgentTokenCut || tokenLen(token) == n
	}
	switch d.AgentMatch {
	case AgentTokenCut:
		return tokenLen(token) == n && !isTokenByte(value[n])
	case AgentWhole:
		return false
	default: // D-02: the whole, the first word, the leading token
		return (isBlank(value[n]) || value[n] == '/') && wordLen(token) == n ||
			!isTokenByte(value[n]) && tokenLen(token) == n
	}
}

// headerContains reports whether a value that is a full User-Agent header contains the token as a
// product (AGENT-07).
func (d *Dialect) headerContains(value, token string) bool {
	if !isHeader(value) {
		return false
	}
	found := false
	eachProduct(value, func(product string) { found = found || d.equalTokens(product, token) })
	return found
}

// isHeader reports whether a value is a full User-Agent header: it starts with a product
// and its version, and more follows.
func isHeader(value string) bool {
	first := firstBlank(value)
	_, version, ok := strings.Cut(value[:first], "/")
	return ok && version != "" && first < len(value)
}

// eachForm calls fn with the tokens that the value of a user-agent line names (see namesToken),
// the intended one first, with duplicates and without "*".
func (d *Dialect) eachForm(value string, fn func(form string)) {
	call := func(form string) {
		if form != "" && form != "*" {
			fn(form)
		}
	}
	if d.HeaderValues && isHeader(value) {
		eachProduct(value, call)
	}
	letters := tokenLen(value)
	switch d.AgentMatch {
	case AgentTokenCut:
		call(value[:letters])
	case AgentWhole:
		call(value)
	default:
		word := wordLen(value)
		call(value[:word])
		if letters < word {
			call(value[:letters])
		}
		if word < len(value) {
			call(value)
		}
	}
	if d.RawTokens && letters == 0 && !d.namesStar(value) {
		fn("") // D-47
	}
}

// ignoresStar reports whether the group of '*' does not apply to a crawler (D-53).
func (d *Dialect) ignoresStar(tokens []string) bool {
	if len(tokens) == 0 {
		return false
	}
	for names := d.IgnoreStar; names != ""; {
		var name string
		name, names, _ = strings.Cut(names, " ")
		if equalFold(name, tokens[0]) {
			return true
		}
	}
	return false
}

// namesStar reports whether the value of a user-agent line is '*'.
func (d *Dialect) namesStar(value string) bool {
	if len(value) == 0 || value[0] != '*' {
		return false
	}
	if len(value) == 1 {
		return true
	}
	// "* everyone" is '*' only for Google (C-09).
	return d.AgentMatch == AgentTokenCut && (isBlank(value[1]) || isVertical(value[1]))
}

func (d *Dialect) equalTokens(a, b string) bool {
	if d.ExactCase {
		return a == b
	}
	return equalFold(a, b)
}

// tokenLen returns the length of the product token at the start of s: letters,
// '_' and '-' (RFC 9309 section 2.2.1).
func tokenLen(s string) int {
	for i := range len(s) {
		if !isTokenByte(s[i]) {
			return i
		}
	}
	return len(s)
}

func isTokenByte(c byte) bool {
	l := c | 0x20
	return 'a' <= l && l <= 'z' || c == '-' || c == '_'
}

// wordLen returns the length of s up to its first space or slash (D-02).
func wordLen(s string) int {
	for i := range len(s) {
		if isBlank(s[i]) || s[i] == '/' {
			return i
		}
	}
	return len(s)
}

// ProductTokens returns the product tokens in a User-Agent header or another name, most
// specific first (D-03): SeznamBot for "Mozilla/5.0 (compatible; SeznamBot/4.0; +http://x/)".
// A name of several words is followed by each word that could be a token, and the value itself
// comes last, as some files name crawlers with spaces. File.Rules and Allowed apply it to
// their tokens.
func ProductTokens(value string) []string {
	var tokens tokenList
	tokens.read(value)
	return tokens.list
}

// A tokenList is tokens in their order, each once.
type tokenList struct {
	list []string
	seen map[string]bool // nil while there are few
}

// fewTokens is up to how many tokens a scan is faster than a map.
const fewTokens = 16

func (l *tokenList) add(token string) {
	if l.seen == nil {
		if slices.Contains(l.list, token) {
			return
		}
		if len(l.list) == fewTokens {
			l.seen = map[string]bool{}
			for _, t := range l.list {
				l.seen[t] = true
			}
		}
	}
	if l.seen != nil {
		if l.seen[token] {
			return
		}
		l.seen[token] = true
	}
	l.list = append(l.list, token)
}

// read adds the product tokens of a value.
func (l *tokenList) read(value string) {
	value = trimSpaces(value)
	if value == "" {
		return
	}
	if !isToken(value) {
		eachProduct(value, func(product string) {
			if product != value {
				l.add(product)
			}
		})
	}
	l.add(value)
}

// isToken reports whether a value is a single product token, which can have any bytes but
// the separators of a header (D-03).
func isToken(value string) bool {
	return hasNone(value, splitsTokens)
}

// tokensOf returns the tokens of a crawler, as the dialect reads them (D-03).
func (d *Dialect) tokensOf(names []string) []string {
	if d.RawTokens || allTokens(names) {
		return names
	}
	var tokens tokenList
	for _, value := range names {
		tokens.read(value)
	}
	return tokens.list
}

func allTokens(names []string) bool {
	for _, value := range names {
		if !isToken(value) {
			return false
		}
	}
	return true
}

// eachProduct calls fn with the products in a User-Agent header or a list of names
// separated by commas, most specific first, with duplicates (D-03).
func eachProduct(value string, fn func(product string)) {
	specific := false
	eachName(value, func(name string) { specific = specific || !isGeneric(name) })
	eachName(value, func(name string) {
		if !specific || !isGeneric(name) {
			fn(name)
		}
	})
}

// isGeneric reports whether a product is in the headers of most browsers.
func isGeneric(product string) bool {
	for _, name := range [...]string{"Mozilla", "AppleWebKit", "Gecko", "Chrome", "Safari", "Version", "Mobile"} {
		if equalFold(product, name) {
			return true
		}
	}
	return false
}

// eachName calls fn for each name in a value, which commas outside comments separate.
func eachName(value string, fn func(name string)) {
	from := 0
	depth := 0 // of parentheses
	for i := 0; i <= len(value); i++ {
		if i == len(value) || value[i] == ',' && depth == 0 {
			eachInHeader(value[from:i], fn)
			from = i + 1
			continue
		}
		switch value[i] {
		case '(':
			depth++
		case ')':
			depth = max(depth-1, 0)
		}
	}
}

// eachInHeader calls fn with the names in a header: those after "compatible;", up to the
// first that has a version. If these start with a browser, the crawler can be at the start
// of the header, as in LinkedInBot's: then names with a version come first, then the first
// name. If all these are generic, the names outside comments follow.
func eachInHeader(header string, fn func(name string)) {
	introduced := afterCompatible(header)
	if n := (&nameReader{rest: introduced}).next(); n.specific() {
		eachIntroduced(introduced, fn)
		return
	}
	specific := false
	first := true
	for r := (nameReader{rest: header}); ; first = false {
		n := r.next()
		if n.words == 0 {
			break
		}
		if n.versioned {
			n.eachToken(fn)
		}
		specific = specific || (n.versioned || first) && n.specific()
	}
	(&nameReader{rest: header}).next().eachToken(fn)
	specific = eachIntroduced(introduced, fn) || specific
	for r := (nameReader{rest: header}); !specific; {
		n := r.next()
		if n.words == 0 {
			break
		}
		if !n.comment {
			n.eachToken(fn)
		}
	}
}

// eachIntroduced calls fn with the names at the start of s, up to the first that has a
// version and is not generic, and reports whether one is not generic.
func eachIntroduced(s string, fn func(name string)) (specific bool) {
	for r := (nameReader{rest: s}); ; {
		n := r.next()
		n.eachToken(fn)
		specific = specific || n.specific()
		if n.words == 0 || n.versioned && n.specific() {
			return specific
		}
	}
}

// afterCompatible returns the text after the first "compatible;", "" if there is none.
func afterCompatible(s string) string {
	const mark = "compatible;"
	for i := 0; i+len(mark) <= len(s); i++ {
		if equalFold(s[i:i+len(mark)], mark) {
			return s[i+len(mark):]
		}
	}
	return ""
}

// A productName is a name in a header: words with blanks between them.
type productName struct {
	text      string // without its version
	words     int
	generic   int  // words that are generic
	versioned bool // "/version" follows
	comment   bool // the name is in parentheses
}

func (n productName) specific() bool { return n.words > n.generic }

// eachToken calls fn with a name and, if it has several words, with those that could be tokens.
// A generic word is never part of a crawler's name.
func (n productName) eachToken(fn func(name string)) {
	if n.words < 2 {
		if n.words == 1 {
			fn(n.text)
		}
		return
	}
	if n.generic == 0 {
		fn(n.text)
	}
	for rest := n.text; rest != ""; {
		word := rest[:wordLen(rest)]
		rest = rest[min(len(word)+1, len(rest)):]
		if couldBeToken(word) {
			fn(word)
		}
	}
}

// couldBeToken reports whether a word has only letters, digits, '_', '-', '.' and bytes
// above ASCII, and at least one letter or byte above ASCII.
func couldBeToken(word string) bool {
	hasLetter := false
	for i := range len(word) {
		c := word[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return false
		}
		hasLetter = hasLetter || letter
	}
	return hasLetter
}

// A nameReader takes names off the start of a header.
type nameReader struct {
	rest  string
	depth int // of parentheses
}

// next returns the next name, without words at the end of the header. A name ends at a
// separator, after its version, and before an address or a separate version ("MSIE 6.0").
func (r *nameReader) next() (n productName) {
	start := ""
	for {
		r.skip(n.words == 0)
		end := 0
		for end < len(r.rest) && !separatesWords(r.rest[end]) {
			end++
		}
		word := r.rest[:end]
		if word == "" {
			return n
		}
		name, version, slash := strings.Cut(word, "/")
		if name == "" || isRemark(word) || n.words > 0 && isVersion(word) {
			r.rest = r.rest[end:]
			if n.words == 0 {
				continue
			}
			return n
		}
		if n.words == 0 {
			start = r.rest
			n.comment = r.depth > 0
		}
		if n.words > 0 && slash && !hasDigit(version) {
			// Ask Jeeves/Teoma
			name = word
			slash = false
		}
		n.text = start[:len(start)-len(r.rest)+len(name)]
		n.words++
		if isGeneric(name) {
			n.generic++
		}
		r.rest = r.rest[end:]
		if slash {
			n.versioned = version != ""
			return n
		}
	}
}

// skip skips spaces and, before a name, all separators.
func (r *nameReader) skip(beforeName bool) {
	for r.rest != "" && (isBlank(r.rest[0]) || beforeName && separatesWords(r.rest[0])) {
		switch r.rest[0] {
		case '(':
			r.depth++
		case ')':
			r.depth = max(r.depth-1, 0)
		}
		r.rest = r.rest[1:]
	}
}

// isRemark reports whether a word is not a name: an address, punctuation, or "compatible"
// without its semicolon.
func isRemark(word string) bool {
	hasLetter := false
	for i := range len(word) {
		c := word[i]
		hasLetter = hasLetter || 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c >= 0x80
	}
	return !hasLetter || word[0] == '+' || strings.IndexByte(word, '@') >= 0 || strings.Contains(word, "://") || equalFold(word, "compatible")
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// isVersion reports whether a word is a version such as 1.0, v4.6, 3.0x or 98; 360Spider
// is not.
func isVersion(word string) bool {
	if word[0]|0x20 == 'v' {
		word = word[1:]
	}
	if word == "" || word[0] < '0' || word[0] > '9' {
		return false
	}
	return strings.IndexByte(word, '.') >= 0 || strings.TrimLeft(word, "0123456789") == ""
}

// separatesWords reports whether a byte separates the words of a User-Agent header.
func separatesWords(c byte) bool {
	return isBlank(c) || c == '(' || c == ')' || c == ';' || c == ','
}

func trimSpaces(s string) string { return strings.Trim(s, " \t") }
