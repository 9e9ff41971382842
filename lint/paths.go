package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
)

// Checks of the paths of rules.

// paths calls do for every rule that has a path.
func (p *pass) paths(do func(l robots.Line, path string)) {
	for l := range p.lines() {
		if isRule(l.Field) && l.Value.Start < l.Value.End {
			do(l, p.textOf(l.Value))
		}
	}
}

// fails returns the dialects in which a rule with a path does not match a URL, as where does.
func (p *pass) fails(d *Diagnostic, path, url string) []string {
	if d == &p.dropping {
		return nil
	}
	body := []byte("User-agent: *\nDisallow: " + path + "\n")
	asked, err := robots.ParsePath(url)
	return p.where(d, func(v *view) bool { return err == nil && robots.Allowed(body, v.dialect, asked) })
}

func isFullURL(path string) bool {
	scheme, _, ok := strings.Cut(path, "://")
	return ok && scheme != "" && !strings.ContainsAny(scheme, "/*?$")
}

// hasHost reports whether a value begins with the name of a host, such as www.example.com.
func hasHost(value string) bool {
	host, _, _ := strings.Cut(strings.ToLower(value), "/")
	last := host[1+strings.LastIndexByte(host, '.'):]
	if strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || strings.Contains(host, "..") || strings.Count(host, ".") == 0 ||
		host[0] == '.' {
		return false
	}
	return strings.HasPrefix(host, "www.") && strings.Count(host, ".") > 1 || slices.Contains([]string{"com", "org", "net"}, last)
}

func noLeadingSlash(p *pass, l robots.Line, path string) {
	if path[0] == '/' || path[0] == '*' || isFullURL(path) || hasHost(path) {
		return
	}
	if _, name := secondField(path); name != "" {
		return // two fields in a line, which is another mistake
	}
	intended := "/" + path
	if path[0] == '?' || path[0] == '$' {
		intended = "/*" + path
	}
	d := p.add(l.Value, quote(path)+" matches no URL")
	d.Advice = "write " + intended
	d.Dialects = p.fails(d, path, plain(intended))
	d.edit(Edit{l.Value.Start, l.Value.End, intended})
}

// plain returns a URL that a pattern matches.
func plain(pattern string) string {
	url := strings.ReplaceAll(strings.TrimSuffix(pattern, "$"), "*", "x")
	if url == "" || url[0] != '/' {
		url = "/" + url
	}
	return url
}

func fullURL(p *pass, l robots.Line, path string) {
	if !isFullURL(path) && !hasHost(path) {
		return
	}
	rest := path
	message := "rule value begins with a host name and matches nothing"
	if isFullURL(path) {
		_, rest, _ = strings.Cut(path, "://")
		message = "rule value is a full URL and matches nothing"
	}
	intended := "/"
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		intended = rest[i:]
	}
	d := p.add(l.Value, message)
	d.Advice = "use the path: " + intended
	d.Dialects = p.fails(d, path, plain(intended))
	d.edit(Edit{l.Value.Start, l.Value.End, intended})
}

func dollarInside(p *pass, l robots.Line, path string) {
	i := strings.IndexByte(path, '$')
	if i < 0 || i == len(path)-1 || isFullURL(path) {
		return
	}
	d := p.add(
		robots.Span{Start: l.Value.Start + i, End: l.Value.Start + i + 1},
		"$ matches the end of the URL only at the end of a path; here it is a literal $",
	)
	d.Advice = "keep it for a literal $; for the end of the URL write " + path[:i+1]
}

func trailingStar(p *pass, l robots.Line, path string) {
	if len(path) > 1 && path[len(path)-1] == '*' {
		p.add(robots.Span{Start: l.Value.End - 1, End: l.Value.End}, "a trailing * matches nothing more; it makes the rule one byte longer")
	}
}

func starDollar(p *pass, l robots.Line, path string) {
	if strings.HasSuffix(path, "*$") {
		p.add(robots.Span{Start: l.Value.End - 2, End: l.Value.End}, "*$ has no effect: * matches to the end of every URL").
			Advice = "write " + strings.TrimRight(path, "*$")
	}
}

func doubleStar(p *pass, l robots.Line, path string) {
	i := strings.Index(path, "**")
	if i < 0 {
		return
	}
	n := len(path[i:]) - len(strings.TrimLeft(path[i:], "*"))
	at := l.Value.Start + i
	d := p.add(robots.Span{Start: at, End: at + n}, "** is the same as *")
	d.edit(Edit{at, at + n, "*"})
}

func brokenEscape(p *pass, l robots.Line, path string) {
	for i := range len(path) {
		if _, ok := escapeAt(path, i); ok || path[i] != '%' {
			continue
		}
		at := l.Value.Start + i
		p.add(robots.Span{Start: at, End: at + 1}, "% is not followed by two hexadecimal digits").
			Advice = "write %25 for a percent sign"
		return
	}
}

// escapeAt returns the byte of the escape at an index of a path.
func escapeAt(path string, i int) (c byte, ok bool) {
	if path[i] != '%' || i+2 >= len(path) {
		return 0, false
	}
	n, err := strconv.ParseUint(path[i+1:i+3], 16, 8)
	return byte(n), err == nil
}

func isUnreserved(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || strings.IndexByte("-._~", c) >= 0
}

func needlessEscape(p *pass, l robots.Line, path string) {
	if !strings.Contains(path, "%") {
		return
	}
	intended := rewrite(path, func(c byte, escape bool) (string, bool) {
		return string([]byte{c}), escape && isUnreserved(c)
	})
	if intended == path {
		return
	}
	failing := p.fails(nil, path, plain(intended))
	if len(failing) == 0 {
		return
	}
	d := p.add(
		l.Value,
		"the rule does not match URLs without this escape, and Google decodes it in every URL, so there the rule matches nothing",
	)
	d.Advice = "write " + intended
	d.Dialects = failing
	d.edit(Edit{l.Value.Start, l.Value.End, intended})
}

// rewrite replaces bytes and whole escapes of a path. Arguments of change are a byte and whether
// it is escaped.
func rewrite(path string, change func(c byte, escape bool) (string, bool)) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c := path[i]
		n := 1
		if v, ok := escapeAt(path, i); ok {
			c = v
			n = 3
		}
		if s, ok := change(c, n == 3); ok {
			b.WriteString(s)
		} else {
			b.WriteString(path[i : i+n])
		}
		i += n - 1
	}
	return b.String()
}

func blankInPath(p *pass) {
	p.rawBytes(" \t", func(l robots.Line, _ string, at robots.Span, intended string) *Diagnostic {
		d := p.add(at, "clients send a space as %20, so the rule matches no URL they send")
		d.Advice = "write " + intended
		d.edit(Edit{l.Value.Start, l.Value.End, intended})
		return d
	})
}

// unsafeByte offers no fix: some clients send the character as it is, and what the rule blocks
// for them must stay blocked.
func unsafeByte(p *pass) {
	p.rawBytes("\"<>\\^{}`|", func(l robots.Line, path string, at robots.Span, intended string) *Diagnostic {
		i := at.Start - l.Value.Start
		who := "other clients"
		if sent := standardForm(path); sent != path {
			intended = sent
			who = "they"
		}
		if p.isWritten(intended) {
			return nil
		}
		c := path[i]
		message := string(c) + " is compared literally; clients that follow the URL Standard send it "
		inPath := sentInPath(c)
		inQuery := sentInQuery(c)
		before := path[:i]
		switch {
		case inPath == inQuery:
			message += inPath
		case strings.Contains(before, "?"):
			message += inQuery + " in a query"
		case strings.Contains(before, "*"):
			message += inPath + " in a path and " + inQuery + " in a query"
		default:
			message += inPath + " in a path"
		}
		d := p.add(at, message)
		d.Advice = "keep the rule, and add one with " + intended + ", which " + who + " send"
		return d
	})
}

// isWritten reports whether a rule has a path.
func (p *pass) isWritten(path string) bool {
	if p.written == nil {
		p.written = map[string]bool{}
		p.paths(func(_ robots.Line, path string) { p.written[path] = true })
	}
	return p.written[path]
}

// sentInPath and sentInQuery describe how clients that follow the WHATWG URL Standard (its
// percent-encode sets for paths and special queries) send a character that is invalid in URIs.
func sentInPath(c byte) string {
	switch c {
	case '|':
		return "raw"
	case '\\':
		return "as /"
	case '^':
		return "as %5E (before 2025 raw)"
	}
	return "as " + escaped(c)
}

func sentInQuery(c byte) string {
	if strings.IndexByte("\"<>", c) >= 0 {
		return sentInPath(c)
	}
	return "raw"
}

// standardForm returns a path with the escapes that such a client sends. The text after a star
// counts as part of the path.
func standardForm(path string) string {
	query := false
	return rewrite(path, func(c byte, escape bool) (string, bool) {
		query = query || c == '?' && !escape
		code := escaped(c)
		sent := sentInPath
		if query {
			sent = sentInQuery
		}
		return code, !escape && strings.IndexByte("\"<>^{}`", c) >= 0 && strings.HasPrefix(sent(c), "as "+code)
	})
}

// rawBytes reports paths with one of the given bytes that some dialect does not match with the
// escape in intended. The finding is at the first such byte.
func (p *pass) rawBytes(set string, report func(l robots.Line, path string, at robots.Span, intended string) *Diagnostic) {
	p.paths(func(l robots.Line, path string) {
		i := strings.IndexAny(path, set)
		if i < 0 || isFullURL(path) || p.misreading(l) != readAsMeant {
			return
		}
		if at, name := secondField(path); name != "" && at <= i+1 || path[0] != '/' && path[0] != '*' {
			return // reported by another check
		}
		intended := rewrite(path, func(c byte, escape bool) (string, bool) {
			return escaped(c), !escape && strings.IndexByte(set, c) >= 0
		})
		failing := p.fails(nil, path, plain(intended))
		if len(failing) == 0 {
			return
		}
		if d := report(l, path, robots.Span{Start: l.Value.Start + i, End: l.Value.Start + i + 1}, intended); d != nil {
			d.Dialects = failing
		}
	})
}

func looksLikeRegex(p *pass, l robots.Line, path string) {
	at, what := regexIn(path)
	if what == "" {
		return
	}
	at += l.Value.Start
	message := quote(what) + " is regular expression syntax; in robots.txt only * and a final $ are special"
	p.add(robots.Span{Start: at, End: at + len(what)}, message).Advice = "write * for any characters"
}

// regexIn returns the part of a path that is written like a regular expression.
func regexIn(path string) (at int, what string) {
	if path[0] == '^' {
		return 0, "^"
	}
	for _, w := range []string{"/.*", "(.*", `\d`, `\w`, `\.`, "[a-z", "[A-Z", "[0-9", "[^"} {
		i := strings.Index(path, w)
		if i < 0 {
			continue
		}
		// "/.*.html" can mean hidden files.
		if w == "/.*" && i+len(w) < len(path) && path[i+len(w)] == '.' {
			continue
		}
		return i, w
	}
	if i := strings.IndexByte(path, '('); i >= 0 {
		if j := strings.IndexByte(path[i:], ')'); j > 0 && strings.Contains(path[i:i+j], "|") {
			return i, path[i : i+j+1]
		}
	}
	return 0, ""
}

func dotSegment(p *pass, l robots.Line, path string) {
	path, _, _ = strings.Cut(path, "?")
	for _, s := range []string{"/../", "/./"} {
		if i := strings.Index(path, s); i >= 0 {
			at := l.Value.Start + i
			p.add(robots.Span{Start: at, End: at + len(s)}, "clients resolve "+s+" before sending, so no URL they send contains it").
				Advice = "write the resolved path"
			return
		}
	}
}
