package robots

// names reports whether the value of a user-agent line names the crawler with
// the given product token. The tokens "" and "*" name nobody (D-47).
func (d *Dialect) names(value, token string) bool {
	if token == "" || token == "*" {
		return false
	}
	// All forms are beginnings of the value, so the value must begin with the
	// token; what follows decides which form that is.
	n := len(token)
	if len(value) < n || !d.same(value[:n], token) {
		return false
	}
	if len(value) == n {
		return d.AgentMatch != TokenCut || tokenLen(token) == n
	}
	switch d.AgentMatch {
	case TokenCut:
		return tokenLen(token) == n && !isTokenOctet(value[n])
	case Whole:
		return false
	default: // D-02: the whole, the first word, the leading token
		return (isBlank(value[n]) || value[n] == '/') && wordLen(token) == n ||
			!isTokenOctet(value[n]) && tokenLen(token) == n
	}
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
	return d.AgentMatch == TokenCut && (isBlank(value[1]) || isVertical(value[1]))
}

func (d *Dialect) same(a, b string) bool {
	if d.AgentCase == ExactCase {
		return a == b
	}
	return equalFold(a, b)
}

// tokenLen returns the length of the product token at the start of s: letters,
// '_' and '-' (RFC 9309 section 2.2.1).
func tokenLen(s string) int {
	for i := range len(s) {
		if !isTokenOctet(s[i]) {
			return i
		}
	}
	return len(s)
}

func isTokenOctet(c byte) bool {
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

// ProductTokens returns the product tokens in a User-Agent header, most telling
// first: for "Mozilla/5.0 (compatible; SeznamBot/4.0; +http://x/)" SeznamBot,
// then Mozilla. A header that is a bare token gives that token. Rules take
// tokens, never headers (D-03); this is for callers who only have the header.
func ProductTokens(header string) []string {
	var tokens []string
	add := func(s string) {
		if n := tokenEnd(s); n > 0 && (n == len(s) || s[n] == '/') {
			for _, t := range tokens {
				if equalFold(t, s[:n]) {
					return
				}
			}
			tokens = append(tokens, s[:n])
		}
	}
	// Comments first: "compatible; NAME/1.0" is where crawlers introduce
	// themselves behind a browser's name.
	for rest := header; ; {
		_, inside, ok := cutString(rest, '(')
		if !ok {
			break
		}
		inside, rest, _ = cutString(inside, ')')
		for inside != "" {
			var part string
			part, inside, _ = cutString(inside, ';')
			part = trimSpaces(part)
			if _, after, ok := cutString(part, '/'); ok && after != "" {
				add(part)
			}
		}
	}
	depth := 0
	for i := 0; i < len(header); {
		switch c := header[i]; {
		case c == '(':
			depth++
			i++
		case c == ')':
			depth--
			i++
		case depth > 0 || isBlank(c):
			i++
		default:
			j := i
			for j < len(header) && !isBlank(header[j]) && header[j] != '(' {
				j++
			}
			add(header[i:j])
			i = j
		}
	}
	return tokens
}

// tokenEnd is tokenLen for what crawlers really call themselves: digits and
// dots may follow the first letter (MJ12bot, archive.org_bot).
func tokenEnd(s string) int {
	for i := range len(s) {
		c := s[i]
		if l := c | 0x20; ('a' <= l && l <= 'z') || c == '-' || c == '_' || '0' <= c && c <= '9' || c == '.' && i > 0 {
			continue
		}
		return i
	}
	return len(s)
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
