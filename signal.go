package robots

import (
	"iter"
	"slices"
	"strings"
)

// This file reads preferences about the use of content, which never change a verdict
// (SPEC 3.8).

// A Preference is one name and value of Content-Signal or Content-Usage.
type Preference struct {
	Name  string
	Value string // yes, no, y, n or as written
	Line  int
	Path  string // pattern of the paths it applies to, as written; "" for all
}

// ContentSignals returns the preferences of Content-Signal lines for a path: those of the
// crawler's group or, if it has none, those before the first group (D-40). Of several
// values of a name the one with the longest path counts, then "no", then the first. A
// missing name is neither granted nor restricted.
func (r *Rules) ContentSignals(p Path) []Preference {
	return r.preferences(FieldContentSignal, "no", p)
}

// ContentUsage returns the preferences of the Content-Usage lines of the crawler's group
// for a path (draft-ietf-aipref-attach). Of several values of a name the one with the
// longest path counts, then the most restrictive. For a disallowed path there are none.
func (r *Rules) ContentUsage(p Path) []Preference {
	if !r.Allowed(p) {
		return nil
	}
	return r.preferences(FieldContentUsage, "n", p)
}

// preferences returns the preferences of a field for a path, in order of the first
// occurrence of each name. For equal weights the stricter value counts.
func (r *Rules) preferences(field Field, strict string, p Path) []Preference {
	records := r.validRecords(field)
	if slices.ContainsFunc(records, func(rec Record) bool { return rec.Group }) {
		records = slices.DeleteFunc(records, func(rec Record) bool { return !rec.Group })
	}
	if len(records) == 0 {
		return nil
	}
	path := r.dialect.normalize(p, nil)
	var list []Preference
	weights := map[string]int32{}
	indexes := map[string]int{} // index in list of each name
	for _, rec := range records {
		var pattern Pattern
		if prefix := rec.Preferences[0].Path; prefix != "" {
			pattern, _ = r.dialect.compile(prefix, nil)
			if !pattern.match(path) {
				continue
			}
		}
		for _, u := range rec.Preferences {
			i, listed := indexes[u.Name]
			switch {
			case !listed:
				indexes[u.Name] = len(list)
				list = append(list, u)
			case pattern.weight > weights[u.Name], pattern.weight == weights[u.Name] && u.Value == strict && list[i].Value != strict:
				list[i] = u
			default:
				continue
			}
			weights[u.Name] = pattern.weight
		}
	}
	return list
}

// Unknown returns the lines of the file with an unknown field, up to the size limit, in any
// group.
func (r *Rules) Unknown() iter.Seq[Line] {
	return func(yield func(Line) bool) {
		r := r.orInvalid()
		for l := range r.file.Lines(Dialect{}) {
			if l.Value.Start > r.limit || l.Field == FieldUnknown && !yield(l) {
				return
			}
		}
	}
}

// cutPath splits a value into a path, if it starts with '/', and the text after the next
// space.
func cutPath(s string) (path, rest string) {
	if s == "" || s[0] != '/' {
		return "", s
	}
	i := firstBlank(s)
	return s[:i], trimSpaces(s[i:])
}

// parseSignals reads "[/path] search=yes, ai-train=no", case-insensitively. Parts that are
// not name=value are ignored.
func parseSignals(s string) []Preference {
	path, s := cutPath(s)
	var list []Preference
	for part := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(part, "=")
		name = lowerString(trimSpaces(name))
		value = lowerString(trimSpaces(value))
		if ok && name != "" && value != "" && firstBlank(name) == len(name) {
			list = append(list, Preference{Name: name, Value: value, Path: path})
		}
	}
	return list
}

// parseUsage reads "[/path] train-ai=n, search=y", a dictionary (RFC 9651 section 4.2.2).
// The last member of a name counts; a value other than the tokens y and n is ignored, and so
// is the whole line if it is not a valid dictionary.
func parseUsage(s string) []Preference {
	path, s := cutPath(s)
	d := dictionary(s)
	var list []Preference
	indexes := map[string]int{}
	for {
		name := d.readKey()
		if name == "" {
			return nil
		}
		value := "" // of no token
		if d.accept('=') {
			token, ok := d.member()
			if !ok {
				return nil
			}
			value = token
		}
		if !d.skipParameters() {
			return nil
		}
		i, listed := indexes[name]
		if !listed {
			i = len(list)
			indexes[name] = i
			list = append(list, Preference{Name: name, Path: path})
		}
		list[i].Value = value
		d.skip(" \t")
		if d == "" {
			return slices.DeleteFunc(list, func(p Preference) bool { return p.Value != "y" && p.Value != "n" })
		}
		if !d.accept(',') {
			return nil
		}
		d.skip(" \t")
	}
}

// A dictionary is the unread rest of a dictionary, of which only tokens are kept.
type dictionary string

func (d *dictionary) accept(c byte) bool {
	if *d == "" || (*d)[0] != c {
		return false
	}
	*d = (*d)[1:]
	return true
}

func (d *dictionary) skip(blanks string) { *d = dictionary(strings.TrimLeft(string(*d), blanks)) }

// takeWhile takes the bytes that are in a set and returns them.
func (d *dictionary) takeWhile(in func(c byte) bool) string {
	n := 0
	for n < len(*d) && in((*d)[n]) {
		n++
	}
	text := string((*d)[:n])
	*d = (*d)[n:]
	return text
}

// readKey takes a key, "" if there is none (section 4.2.3.3).
func (d *dictionary) readKey() string {
	if *d == "" || (*d)[0] != '*' && !isLower((*d)[0]) {
		return ""
	}
	return d.takeWhile(func(c byte) bool { return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0 })
}

// skipParameters takes the parameters of an item and reports whether they are valid.
func (d *dictionary) skipParameters() bool {
	for d.accept(';') {
		d.skip(" ")
		if d.readKey() == "" {
			return false
		}
		if d.accept('=') {
			if _, ok := d.item(); !ok {
				return false
			}
		}
	}
	return true
}

// member takes an item or a list of items, and returns it if it is a token.
func (d *dictionary) member() (token string, ok bool) {
	if !d.accept('(') {
		return d.item()
	}
	for {
		d.skip(" ")
		if d.accept(')') {
			return "", true
		}
		if _, ok := d.item(); !ok || !d.skipParameters() || *d == "" || (*d)[0] != ' ' && (*d)[0] != ')' {
			return "", false
		}
	}
}

// item takes a bare item, and returns it if it is a token (section 4.2.3.1).
func (d *dictionary) item() (token string, ok bool) {
	switch {
	case *d == "":
		return "", false
	case (*d)[0] == '*' || isAlpha((*d)[0]):
		return d.takeWhile(func(c byte) bool { return isAlpha(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0 }), true
	case d.accept('?'):
		return "", d.accept('0') || d.accept('1')
	case d.accept('@'):
		return "", d.number(false)
	case d.accept(':'):
		d.takeWhile(func(c byte) bool { return isAlpha(c) || isDigit(c) || strings.IndexByte("+/=", c) >= 0 })
		return "", d.accept(':')
	case d.accept('"'):
		return "", d.text(false)
	case d.accept('%'):
		return "", d.accept('"') && d.text(true)
	}
	return "", d.number(true)
}

// number takes an integer, or a number with up to three decimals too (section 4.2.4).
func (d *dictionary) number(decimals bool) bool {
	d.accept('-')
	n := len(d.takeWhile(isDigit))
	if !decimals || n == 0 || !d.accept('.') {
		return 1 <= n && n <= 15
	}
	k := len(d.takeWhile(isDigit))
	return n <= 12 && 1 <= k && k <= 3
}

// text takes a string after its first quote: one with \" and \\, or one with escapes in
// lower-case hexadecimal.
func (d *dictionary) text(escaped bool) bool {
	for len(*d) > 0 {
		c := (*d)[0]
		*d = (*d)[1:]
		switch {
		case c == '"':
			return true
		case c < ' ' || c > '~':
			return false
		case c == '\\' && !escaped:
			if !d.accept('"') && !d.accept('\\') {
				return false
			}
		case c == '%' && escaped:
			hex := func(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' }
			if len(*d) < 2 || !hex((*d)[0]) || !hex((*d)[1]) {
				return false
			}
			*d = (*d)[2:]
		}
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isAlpha(c byte) bool { return isLower(c | 0x20) }
