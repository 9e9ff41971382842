package main

import "strings"

// The reference is what a careful programmer writes in an afternoon: read the
// lines, keep the groups, compare every rule of the crawler with the path by
// the set of all positions the pattern can have reached, as google/robotstxt
// does. It reads as RFC 9309, gives the same verdicts as the engine
// (TestAgree) and shares no code with it. It is the yardstick on inputs for
// which no other library is fast or right enough to be one.

type refRule struct {
	allow   bool
	pattern []byte // normal form, refStar and refEnd for what is special
	weight  int
}

type refGroup struct {
	agents []string
	rules  []refRule
}

// No normal form holds these bytes: raw control characters are escaped.
const (
	refStar = 0
	refEnd  = 1
)

func refParse(body []byte) []refGroup {
	text := strings.TrimPrefix(string(body), "\xEF\xBB\xBF")
	var groups []refGroup
	ended := true // the next user-agent line starts a group
	for text != "" {
		line := text
		if i := strings.IndexAny(text, "\r\n"); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = ""
		}
		line, _, _ = strings.Cut(line, "#")
		field, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.Trim(value, " \t")
		switch field = strings.Trim(field, " \t"); {
		case refFold(field, "user-agent"):
			if ended {
				groups = append(groups, refGroup{})
				ended = false
			}
			g := &groups[len(groups)-1]
			g.agents = append(g.agents, value)
		case refFold(field, "allow"), refFold(field, "disallow"):
			ended = true
			if value == "" || len(groups) == 0 {
				continue
			}
			g := &groups[len(groups)-1]
			pattern, weight := refNormal(value, true)
			g.rules = append(g.rules, refRule{len(field) == len("allow"), pattern, weight})
		}
	}
	return groups
}

// refFold compares ASCII without regard to case; lower is in lower case.
func refFold(s, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// refNames compares the whole value, the value up to a blank or slash, and its
// leading letters, '_' and '-'.
func refNames(value, agent string) bool {
	if refFold(value, agent) {
		return true
	}
	if i := strings.IndexAny(value, " \t/"); i >= 0 && refFold(value[:i], agent) {
		return true
	}
	for i := range len(value) {
		if c := value[i] | 0x20; (c < 'a' || 'z' < c) && value[i] != '-' && value[i] != '_' {
			return refFold(value[:i], agent)
		}
	}
	return false
}

// refRules merges the groups of the agent, else those of '*'.
func refRules(groups []refGroup, agent string) []refRule {
	agent = strings.ToLower(agent)
	var own, all []refRule
	found := false
	for _, g := range groups {
		mine, star := false, false
		for _, a := range g.agents {
			mine = mine || refNames(a, agent)
			star = star || a == "*"
		}
		if mine {
			found = true
			own = append(own, g.rules...)
		}
		if star {
			all = append(all, g.rules...)
		}
	}
	if found {
		return own
	}
	return all
}

// refNormal brings a path or a pattern into the normal form: foreign bytes
// escaped, escapes of unreserved characters, '*' and '$' decoded, hexadecimal
// digits in upper case. The weight counts an escaped '*' or '$' as written.
func refNormal(s string, pattern bool) (out []byte, weight int) {
	const hex = "0123456789ABCDEF"
	out = make([]byte, 0, len(s)+8)
	extra := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case pattern && c == '*':
			out = append(out, refStar)
		case pattern && c == '$' && i == len(s)-1:
			out = append(out, refEnd)
		case c == '%' && i+2 < len(s) && refHex(s[i+1]) < 16 && refHex(s[i+2]) < 16:
			v := refHex(s[i+1])<<4 | refHex(s[i+2])
			i += 2
			switch {
			case v == '*' || v == '$':
				out = append(out, v)
				extra += 2
			case v == '-' || v == '.' || v == '_' || v == '~' || '0' <= v && v <= '9' || v < 0x80 && 'a' <= v|0x20 && v|0x20 <= 'z':
				out = append(out, v)
			default:
				out = append(out, '%', hex[v>>4], hex[v&15])
			}
		case c <= ' ' || c >= 0x7F || strings.IndexByte("\"<>\\^{}`|", c) >= 0:
			out = append(out, '%', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return out, len(out) + extra
}

func refHex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 0xFF
}

// refAllowed compares every rule with the path; the heaviest decides, allow
// before disallow.
func refAllowed(rules []refRule, rawPath string) bool {
	path, _ := refNormal(rawPath, false)
	if string(path) == "/robots.txt" {
		return true
	}
	positions := make([]int, len(path)+1)
	allowed, weight := true, -1
	for i := range rules {
		r := &rules[i]
		if (r.weight > weight || r.weight == weight && r.allow) && refMatch(r.pattern, path, positions) {
			allowed, weight = r.allow, r.weight
		}
	}
	return allowed
}

// refMatch keeps the positions of the path that the pattern read so far can
// end at.
func refMatch(pattern, path []byte, at []int) bool {
	at = append(at[:0], 0)
	for _, c := range pattern {
		switch c {
		case refStar:
			for p := at[0]; ; p++ {
				at = append(at[:p-at[0]], p)
				if p == len(path) {
					break
				}
			}
		case refEnd:
			return at[len(at)-1] == len(path)
		default:
			n := 0
			for _, p := range at {
				if p < len(path) && path[p] == c {
					at[n] = p + 1
					n++
				}
			}
			if n == 0 {
				return false
			}
			at = at[:n]
		}
	}
	return true
}
