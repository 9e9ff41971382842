package robots

import (
	"slices"
	"strings"
)

// names reports whether the value of a user-agent line names the crawler with
// the given product token. The token "*" names nobody, and "" only those that
// name nobody, where tokens are taken raw (D-47).
func (d *Dialect) names(value, token string) bool {
	switch token {
	case "":
		return d.RawTokens && tokenLen(value) == 0 && !d.namesAll(value)
	case "*":
		return false
	}
	return d.begins(value, token) || d.HeaderValues && d.holds(value, token)
}

// begins reports whether one of the forms of a value that count is the token.
// All forms are beginnings of the value, so the value must begin with the token;
// what follows decides which form that is.
func (d *Dialect) begins(value, token string) bool {
	n := len(token)
	if len(value) < n || !d.same(value[:n], token) {
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

// holds reports whether a value that has the shape of a User-Agent header, a
// product with its version and more after it, names the token inside it
// (AGENT-07).
func (d *Dialect) holds(value, token string) bool {
	if !isHeader(value) {
		return false
	}
	found := false
	eachProduct(value, func(product string) { found = found || d.same(product, token) })
	return found
}

// isHeader reports whether a value has the shape of a User-Agent header.
func isHeader(value string) bool {
	first := wordEnd(value)
	_, version, ok := cutString(value[:first], '/')
	return ok && version != "" && first < len(value)
}

// eachForm calls fn with the tokens that the value of a user-agent line names, as the
// line has them and repeats included, the one that was meant first: a token is named
// if names says so (TestCallers). None of them is "*".
func (d *Dialect) eachForm(value string, fn func(form string)) {
	form := func(form string) {
		if form != "" && form != "*" {
			fn(form)
		}
	}
	if d.HeaderValues && isHeader(value) {
		eachProduct(value, form)
	}
	letters := tokenLen(value)
	switch d.AgentMatch {
	case AgentTokenCut:
		form(value[:letters])
	case AgentWhole:
		form(value)
	default:
		word := wordLen(value)
		form(value[:word])
		if letters < word {
			form(value[:letters])
		}
		if word < len(value) {
			form(value)
		}
	}
	if d.RawTokens && letters == 0 && !d.namesAll(value) {
		fn("") // D-47
	}
}

// ignoresStar reports whether the group of '*' does not hold for a caller (D-53).
func (d *Dialect) ignoresStar(tokens []string) bool {
	if len(tokens) == 0 {
		return false
	}
	for names := d.IgnoreStar; names != ""; {
		var name string
		if name, names, _ = cutString(names, ' '); equalFold(name, tokens[0]) {
			return true
		}
	}
	return false
}

// namesAll reports whether the value of a user-agent line is '*', the group of
// all crawlers that are not named.
func (d *Dialect) namesAll(value string) bool {
	if len(value) == 0 || value[0] != '*' {
		return false
	}
	if len(value) == 1 {
		return true
	}
	// "* everyone" counts for Google alone (C-09).
	return d.AgentMatch == AgentTokenCut && (isBlank(value[1]) || isVertical(value[1]))
}

func (d *Dialect) same(a, b string) bool {
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

// wordLen returns the length of s up to its first blank or slash (D-02).
func wordLen(s string) int {
	for i := range len(s) {
		if isBlank(s[i]) || s[i] == '/' {
			return i
		}
	}
	return len(s)
}

// ProductTokens returns the product tokens for which a value stands that a
// crawler gives as its name, the most telling first (D-03): for the header
// "Mozilla/5.0 (compatible; SeznamBot/4.0; +http://x/)" SeznamBot, for
// "MyBot/1.0" MyBot. The value itself, without blanks around it, comes last,
// because files name crawlers with blanks in their names. A value that is a
// token gives itself, an empty one nothing.
//
// Rules and Allowed read their tokens in this way by themselves; this is for
// callers who want to see what was read.
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

// fewTokens are looked through in less time than it takes to hash one.
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
		eachProduct(value, l.add)
	}
	l.add(value)
}

// isToken reports whether a caller's value is one product token, which may hold
// any bytes but those that part the words of a header (D-03).
func isToken(value string) bool {
	return clean(value, partsToken)
}

// tokensOf returns the tokens of a caller in the order of their rank, read as
// the dialect reads them (D-03).
func (d *Dialect) tokensOf(given []string) []string {
	if d.RawTokens || allTokens(given) {
		return given
	}
	var tokens tokenList
	for _, value := range given {
		tokens.read(value)
	}
	return tokens.list
}

func allTokens(given []string) bool {
	for _, value := range given {
		if !isToken(value) {
			return false
		}
	}
	return true
}

// eachProduct calls fn with the products that a value names, the most telling
// first, repeats included (D-03). The value is a User-Agent header or a list of
// names parted by commas.
func eachProduct(value string, fn func(product string)) {
	telling := false
	eachName(value, func(name string) { telling = telling || !isGeneric(name) })
	eachName(value, func(name string) {
		if !telling || !isGeneric(name) {
			fn(name)
		}
	})
}

// isGeneric reports the products that nearly every browser names.
func isGeneric(product string) bool {
	for _, name := range [...]string{"Mozilla", "AppleWebKit", "Gecko", "Chrome", "Safari", "Version", "Mobile"} {
		if equalFold(product, name) {
			return true
		}
	}
	return false
}

// eachName calls fn for each part between commas, those in comments aside: with
// the product behind "compatible;", else with all that have a version and then
// with the first word.
func eachName(value string, fn func(name string)) {
	for from, depth, i := 0, 0, 0; i <= len(value); i++ {
		if i < len(value) && (value[i] != ',' || depth > 0) {
			switch value[i] {
			case '(':
				depth++
			case ')':
				depth = max(depth-1, 0)
			}
			continue
		}
		part := value[from:i]
		from = i + 1
		if name := afterCompatible(part); name != "" {
			fn(name)
			continue
		}
		first := ""
		for rest := part; rest != ""; {
			var name, version string
			name, version, rest = cutProduct(rest)
			if first == "" {
				first = name
			}
			if name != "" && version != "" {
				fn(name)
			}
		}
		if first != "" {
			fn(first)
		}
	}
}

// afterCompatible returns the product behind the first "compatible;", where
// crawlers introduce themselves behind the name of a browser, "" if there is none.
func afterCompatible(s string) string {
	const mark = "compatible;"
	for i := 0; i+len(mark) <= len(s); i++ {
		if !equalFold(s[i:i+len(mark)], mark) {
			continue
		}
		for rest := s[i+len(mark):]; rest != ""; {
			var name string
			if name, _, rest = cutProduct(rest); name != "" {
				return name
			}
		}
		return ""
	}
	return ""
}

// cutProduct takes the next word off s and cuts it before its version. A word
// that is a URL, or begins with '+' as the addresses of operators do, has no name.
func cutProduct(s string) (name, version, rest string) {
	for s != "" && partsWords(s[0]) {
		s = s[1:]
	}
	n := 0
	for n < len(s) && !partsWords(s[n]) {
		n++
	}
	word, rest := s[:n], s[n:]
	if word == "" || word[0] == '+' || strings.Contains(word, "://") {
		return "", "", rest
	}
	name, version, _ = cutString(word, '/')
	return name, version, rest
}

// partsWords reports the bytes that part the words of a User-Agent header.
func partsWords(c byte) bool {
	return isBlank(c) || c == '(' || c == ')' || c == ';' || c == ','
}

func cutString(s string, c byte) (before, after string, found bool) {
	for i := range len(s) {
		if s[i] == c {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

func trimSpaces(s string) string {
	for len(s) > 0 && isBlank(s[0]) {
		s = s[1:]
	}
	for len(s) > 0 && isBlank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}
