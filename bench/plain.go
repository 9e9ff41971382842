package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The plain matcher is what a careful programmer writes in an afternoon: read the lines, keep the groups, sort the rules
// of the crawler by precedence, and search for the pieces of each pattern until one matches. It follows RFC 9309, gives
// the same verdicts as the engine (TestAgree) and shares no code with it.

// A plainRule is a rule in its normal form, without the '*' and '$' that are special.
type plainRule struct {
	allow  bool
	end    bool     // the last piece ends the path
	pieces []string // the first begins the path
	weight int
}

type plainGroup struct {
	agents []string
	rules  []plainRule
}

func plainParse(body []byte) []plainGroup {
	text := strings.TrimPrefix(string(body), "\xEF\xBB\xBF")
	var groups []plainGroup
	ended := true // the next user-agent line starts a group
	for line := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == '\r' || c == '\n' }) {
		line, _, _ = strings.Cut(line, "#")
		field, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.Trim(value, " \t")
		field = strings.Trim(field, " \t")
		switch {
		case plainFold(field, "user-agent"):
			if ended {
				groups = append(groups, plainGroup{})
				ended = false
			}
			g := &groups[len(groups)-1]
			g.agents = append(g.agents, value)
		case plainFold(field, "allow"), plainFold(field, "disallow"):
			ended = true
			if value == "" || len(groups) == 0 {
				continue
			}
			g := &groups[len(groups)-1]
			g.rules = append(g.rules, newPlainRule(value, len(field) == len("allow")))
		}
	}
	return groups
}

// plainFold compares with ASCII text case-insensitively.
func plainFold(s, ascii string) bool { return len(s) == len(ascii) && strings.EqualFold(s, ascii) }

// plainNames compares the whole value, the value up to a blank or slash, and its
// leading letters, '_' and '-'.
func plainNames(value, agent string) bool {
	if plainFold(value, agent) {
		return true
	}
	if i := strings.IndexAny(value, " \t/"); i >= 0 && plainFold(value[:i], agent) {
		return true
	}
	i := strings.IndexFunc(value, func(c rune) bool { return (c|0x20 < 'a' || 'z' < c|0x20) && c != '-' && c != '_' })
	return i >= 0 && plainFold(value[:i], agent)
}

// plainRules returns the rules of the agent's groups, else those of '*', sorted by precedence: the heaviest first, allow
// before disallow.
func plainRules(groups []plainGroup, agent string) []plainRule {
	agent = strings.ToLower(agent)
	var own, all []plainRule
	found := false
	for _, g := range groups {
		mine := false
		star := false
		for _, a := range g.agents {
			mine = mine || plainNames(a, agent)
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
	if !found {
		own = all
	}
	slices.SortStableFunc(own, func(a, b plainRule) int {
		if a.weight == b.weight && a.allow != b.allow {
			return cmp.Compare(count(b.allow), count(a.allow))
		}
		return cmp.Compare(b.weight, a.weight)
	})
	return own
}

// newPlainRule brings a pattern into its normal form. The weight counts an escaped '*' or '$' as written.
func newPlainRule(pattern string, allow bool) plainRule {
	r := plainRule{allow: allow, end: strings.HasSuffix(pattern, "$")}
	r.pieces = strings.Split(strings.TrimSuffix(pattern, "$"), "*")
	r.weight = len(r.pieces) - 1 + count(r.end)
	for i, piece := range r.pieces {
		normal, extra := plainNormal(piece)
		r.pieces[i] = normal
		r.weight += len(normal) + extra
	}
	return r
}

// plainNormal returns the normal form of a path or pattern: foreign bytes escaped, escapes of unreserved characters, '*'
// and '$' decoded, hexadecimal digits in upper case; and by how much escaped stars and dollars were longer as written.
func plainNormal(s string) (normal string, extra int) {
	i := 0
	for i < len(s) && !special[s[i]] {
		i++
	}
	if i == len(s) {
		return s, 0
	}
	out := append(make([]byte, 0, len(s)+8), s[:i]...)
	for ; i < len(s); i++ {
		c := s[i]
		v, escaped := plainEscape(s[i:])
		switch {
		case escaped:
			i += 2
			switch {
			case v == '*' || v == '$':
				out = append(out, v)
				extra += 2
			case v == '-' || v == '.' || v == '_' || v == '~' || '0' <= v && v <= '9' || v < 0x80 && 'a' <= v|0x20 && v|0x20 <= 'z':
				out = append(out, v)
			default:
				out = fmt.Appendf(out, "%%%02X", v)
			}
		case special[c] && c != '%':
			out = fmt.Appendf(out, "%%%02X", c)
		default:
			out = append(out, c)
		}
	}
	return string(out), extra
}

// plainEscape returns the byte whose escape begins a text.
func plainEscape(s string) (byte, bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	v, err := strconv.ParseUint(s[1:3], 16, 8)
	return byte(v), err == nil
}

// special are the bytes that a normal form might not hold as they are.
var special = func() (set [256]bool) {
	for c := range set {
		set[c] = c <= ' ' || c >= 0x7F || strings.IndexByte("%\"<>\\^{}`|", byte(c)) >= 0
	}
	return set
}()

// plainAllowed reports the verdict of the first rule that matches; they are sorted by precedence.
func plainAllowed(rules []plainRule, rawPath string) bool {
	path, _ := plainNormal(rawPath)
	if path == "/robots.txt" {
		return true
	}
	for i := range rules {
		if rules[i].match(path) {
			return rules[i].allow
		}
	}
	return true
}

func (r *plainRule) match(path string) bool {
	path, ok := strings.CutPrefix(path, r.pieces[0])
	last := len(r.pieces) - 1
	for i := 1; ok && i <= last; i++ {
		if r.end && i == last {
			return strings.HasSuffix(path, r.pieces[i])
		}
		_, path, ok = strings.Cut(path, r.pieces[i])
	}
	return ok && (!r.end || path == "")
}
