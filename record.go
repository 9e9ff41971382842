package robots

import (
	"iter"
	"slices"
	"strings"
)

// A Record is a line that is neither a user-agent line nor a rule, as it
// applies to a caller. Unknown fields are no records: they are lines of the
// file (File.Lines) and never an error.
type Record struct {
	Field Field
	Value string // without blanks and comment
	Line  int    // from 1
	// Group says that the line stands in the caller's group. Sitemap, Host and
	// Clean-param hold for the whole file wherever they stand (MAP-04, SPEC.md
	// 3.5); other records before the first group hold for all (D-40).
	Group bool
	// Problem is why the value cannot be used, "" if it can: one clause.
	Problem string
}

// Records returns the records that apply to the caller, in file order: those of
// its group and those of the whole file.
func (r *Rules) Records() iter.Seq[Record] {
	return func(yield func(Record) bool) {
		r := r.made()
		var own []Span // the caller's members, in file order
		for field, span := range r.walk() {
			if field > FieldSitemap {
				own = append(own, span)
			}
		}
		groups := false
		lines := lineCounter{f: r.file}
		for l := range r.all() {
			switch l.field {
			case FieldNone, FieldUnknown, FieldAllow, FieldDisallow:
				continue
			case FieldUserAgent:
				groups = true
				continue
			}
			group := len(own) > 0 && own[0] == l.span
			if group {
				own = own[1:]
			}
			crossing := l.field == FieldSitemap || l.field == FieldHost || l.field == FieldCleanParam
			global := l.field == FieldContentSignal || l.field == FieldContentUsage || l.field == FieldLicense
			if !group && !crossing && !(global && !groups) {
				continue
			}
			value := r.file.Text(l.span)
			if !yield(Record{
				Field:   l.field,
				Value:   value,
				Line:    lines.number(l.span.Start),
				Group:   group && !crossing,
				Problem: problemOf(l.field, value),
			}) {
				return
			}
		}
	}
}

// problemOf returns why a value cannot be used, "" if it can.
func problemOf(field Field, value string) string {
	if value == "" {
		return "it has no value"
	}
	switch field {
	case FieldCrawlDelay:
		if _, ok, why := parseDelay(value); !ok {
			return string(why)
		}
	case FieldRequestRate:
		if _, ok, why := parseRequestRate(value); !ok {
			return string(why)
		}
	case FieldVisitTime:
		if _, ok := parseWindow(value); !ok {
			return "it is not HHMM-HHMM"
		}
	case FieldLicense:
		if !strings.Contains(value, "://") {
			return "it is not an absolute URI"
		}
	case FieldCleanParam:
		if _, ok := parseCleanParam(value); !ok {
			return "it is not names joined by &, then a path"
		}
	case FieldContentSignal:
		if len(parseSignals(value)) == 0 {
			return "it is not a list of name=value"
		}
	case FieldContentUsage:
		if _, list := parseUsage(value); len(list) == 0 {
			return "it is not a list of name=y or name=n"
		}
	}
	return ""
}

// A CleanParam names query parameters that do not change a page (Yandex).
type CleanParam struct {
	Names []string
	Path  string // prefix of the paths it holds for, "" for all
	Line  int
}

// CleanParams returns the usable Clean-param records of the file.
func (r *Rules) CleanParams() []CleanParam {
	var params []CleanParam
	for rec := range r.Records() {
		if p, ok := parseCleanParam(rec.Value); ok && rec.Field == FieldCleanParam {
			p.Line = rec.Line
			params = append(params, p)
		}
	}
	return params
}

func parseCleanParam(s string) (CleanParam, bool) {
	i := wordEnd(s)
	names := strings.Split(s[:i], "&")
	path := trimSpaces(s[i:])
	if slices.Contains(names, "") || path != "" && path[0] != '/' && path[0] != '*' {
		return CleanParam{}, false
	}
	return CleanParam{Names: names, Path: path}, true
}

// Hosts returns the values of the Host records of the file: Yandex's former way
// to name the main mirror.
func (r *Rules) Hosts() []Record { return r.only(FieldHost) }

// Licenses returns the usable License records (RSL 1.0): those of the caller's
// group, or, if it has none, those before the first group.
func (r *Rules) Licenses() []Record {
	all := r.only(FieldLicense)
	if own := slices.DeleteFunc(slices.Clone(all), func(rec Record) bool { return !rec.Group }); len(own) > 0 {
		return own
	}
	return all
}

// only returns the usable records of one field.
func (r *Rules) only(field Field) []Record {
	var list []Record
	for rec := range r.Records() {
		if rec.Field == field && rec.Problem == "" {
			list = append(list, rec)
		}
	}
	return list
}

// A Preference is one name and value of Content-Signal or Content-Usage.
type Preference struct {
	Name  string
	Value string // yes, no, y, n or as written
	Line  int
}

// ContentSignals returns what Content-Signal lines state for the caller: those
// of its group, or, if it has none, those before the first group (D-40). A name
// that is absent is neither granted nor restricted. They change no verdict.
func (r *Rules) ContentSignals() []Preference {
	var own, global []Preference
	for rec := range r.Records() {
		if rec.Field != FieldContentSignal {
			continue
		}
		for _, p := range parseSignals(rec.Value) {
			p.Line = rec.Line
			if rec.Group {
				own = append(own, p)
			} else {
				global = append(global, p)
			}
		}
	}
	if len(own) > 0 {
		return own
	}
	return global
}

// parseSignals reads "search=yes, ai-train=no"; what is not name=value is left
// out.
func parseSignals(s string) []Preference {
	var list []Preference
	for part := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(part, "=")
		name, value = lowerString(trimSpaces(name)), lowerString(trimSpaces(value))
		if ok && name != "" && value != "" {
			list = append(list, Preference{Name: name, Value: value})
		}
	}
	return list
}

// ContentUsage returns the preferences that Content-Usage lines of the caller's
// group state for a path (draft-ietf-aipref-attach): of each name, that of the
// longest path that matches, and of equal ones the most restrictive. It says
// nothing about a path that may not be fetched.
func (r *Rules) ContentUsage(p Path) []Preference {
	if !r.Allowed(p) {
		return nil
	}
	path := r.dialect.normal(p, nil)
	var list []Preference
	weights := map[string]int32{}
	for rec := range r.Records() {
		if rec.Field != FieldContentUsage {
			continue
		}
		prefix, usage := parseUsage(rec.Value)
		var pattern Pattern
		if prefix != "" {
			if pattern, _ = r.dialect.compile(prefix, nil); !pattern.match(path) {
				continue
			}
		}
		for _, u := range usage {
			u.Line = rec.Line
			i := slices.IndexFunc(list, func(p Preference) bool { return p.Name == u.Name })
			switch {
			case i < 0:
				list = append(list, u)
			case pattern.weight > weights[u.Name], pattern.weight == weights[u.Name] && u.Value == "n" && list[i].Value != "n":
				list[i] = u
			default:
				continue
			}
			weights[u.Name] = pattern.weight
		}
	}
	return list
}

// parseUsage reads "[/path] train-ai=n, search=y". A first octet '/' decides
// that there is a path. Names are case-sensitive (SPEC.md 3.8).
func parseUsage(s string) (path string, list []Preference) {
	if s != "" && s[0] == '/' {
		i := wordEnd(s)
		path, s = s[:i], trimSpaces(s[i:])
	}
	for part := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(trimSpaces(part), "=")
		if value, _, _ = strings.Cut(value, ";"); ok && name != "" && (value == "y" || value == "n") {
			list = append(list, Preference{Name: name, Value: value})
		}
	}
	return path, list
}
