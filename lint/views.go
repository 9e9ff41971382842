package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// A view is the file as a dialect reads it.
type view struct {
	dialect robots.Dialect
	*reading
	*choices
}

// A reading is the fields, groups and names of a file. Dialects that read a file alike share one.
type reading struct {
	lines    []seen              // in file order
	groups   []int               // index in lines of the first line of each group
	sets     *nameSets           // that user-agent lines have
	names    []string            // of crawlers, without "*" and ""
	groupsOf map[string][]uint32 // numbers of the groups that name a crawler; "" for lines that name none
}

// seen is a line as a dialect reads it: one with a field.
type seen struct {
	number uint32
	group  int32 // -1 if it belongs to none
	set    int32 // index of the names of a user-agent line, -1 for another line
	field  robots.Field
}

// nameSets are the names of user-agent lines, of a file and of all files that it was edited to.
type nameSets struct {
	list    [][]string
	indexes map[string]int32 // in list, by the names with a line end between them
}

// indexOf returns the index of a set, which it adds if it is new.
func (s *nameSets) indexOf(names []string) int32 {
	key := strings.Join(names, "\n")
	i, ok := s.indexes[key]
	if !ok {
		i = int32(len(s.list))
		s.indexes[key] = i
		s.list = append(s.list, names)
	}
	return i
}

// choices are the rules of crawlers, by the numbers of the groups that name them. Dialects share
// them that read a file alike and match alike.
type choices struct{ rules map[string]*robots.Rules }

// newView returns the file as a dialect reads it, and shares what it can with other views.
// The file has at most about lines fields.
func newView(f *robots.File, d robots.Dialect, lines int, sets *nameSets, others []*view) *view {
	same := alike(d)
	for _, o := range others {
		if o.dialect.Name != d.Name && alike(o.dialect) == same {
			return &view{d, o.reading, o.choices}
		}
	}
	r := &reading{lines: make([]seen, 0, lines), sets: sets}
	for l := range f.Lines(d) {
		if l.Field <= robots.FieldUnknown {
			continue
		}
		set := int32(-1)
		if l.Field == robots.FieldUserAgent {
			set = sets.indexOf(l.Names)
		}
		if l.Group == len(r.groups) {
			r.groups = append(r.groups, len(r.lines))
		}
		r.lines = append(r.lines, seen{uint32(l.Number), int32(l.Group), set, l.Field})
	}
	for _, o := range others {
		if !slices.Equal(o.reading.lines, r.lines) {
			continue
		}
		r = o.reading
		if matching(o.dialect) == matching(d) {
			return &view{d, r, o.choices}
		}
	}
	if r.groupsOf == nil {
		r.collect()
	}
	return &view{d, r, &choices{rules: map[string]*robots.Rules{}}}
}

// alike returns a dialect without the fields that do not matter for reading and matching.
func alike(d robots.Dialect) robots.Dialect {
	return robots.Dialect{
		AgentMatch: d.AgentMatch, ExactCase: d.ExactCase, HeaderValues: d.HeaderValues, MergeTokens: d.MergeTokens, RawTokens: d.RawTokens,
		IgnoreStar: d.IgnoreStar, RecordsEndRun: d.RecordsEndRun, BlanksEndRun: d.BlanksEndRun, Misspellings: d.Misspellings,
		MissingColon: d.MissingColon, CStrings: d.CStrings, MaxLineBytes: d.MaxLineBytes, MaxFileBytes: d.MaxFileBytes,
		OverSizeOpens: d.OverSizeOpens, AssumeSlash: d.AssumeSlash, Escapes: d.Escapes, LiteralWeight: d.LiteralWeight,
		EmptyDisallowAllows: d.EmptyDisallowAllows, IndexHTML: d.IndexHTML, MatchRobotsTxt: d.MatchRobotsTxt,
	}
}

// matching returns alike without the fields that matter only for the reading.
func matching(d robots.Dialect) robots.Dialect {
	d = alike(d)
	d.AgentMatch = 0
	d.HeaderValues = false
	d.RecordsEndRun = false
	d.BlanksEndRun = false
	return d
}

// collect finds the names of crawlers and their groups.
func (r *reading) collect() {
	r.groupsOf = make(map[string][]uint32, len(r.sets.list))
	add := func(name string, group int32) {
		if groups := r.groupsOf[name]; len(groups) == 0 || groups[len(groups)-1] != uint32(group) {
			r.groupsOf[name] = append(groups, uint32(group))
		}
	}
	for _, l := range r.lines {
		if l.set < 0 {
			continue
		}
		for _, name := range r.sets.list[l.set] {
			add(name, l.group)
		}
		if len(r.sets.list[l.set]) == 0 {
			add("", l.group)
		}
	}
	r.names = make([]string, 0, len(r.groupsOf))
	for name := range r.groupsOf {
		if name != "*" && name != "" {
			r.names = append(r.names, name)
		}
	}
	slices.Sort(r.names)
}

// at returns a line as it is read, and false if it has no field.
func (r *reading) at(number int) (seen, bool) {
	i, ok := slices.BinarySearchFunc(r.lines, uint32(number), func(l seen, number uint32) int { return cmp.Compare(l.number, number) })
	if !ok {
		return seen{group: -1, set: -1}, false
	}
	return r.lines[i], true
}

// namesOf returns the names of a user-agent line.
func (r *reading) namesOf(l robots.Line) []string {
	if s, ok := r.at(l.Number); ok && s.set >= 0 {
		return r.sets.list[s.set]
	}
	return nil
}

// field returns the field of a line in the dialect, FieldNone if it is not read.
func (v *view) field(l robots.Line) robots.Field {
	s, _ := v.at(l.Number)
	return s.field
}

// uses reports whether the engine might use a record.
func (v *view) uses(field robots.Field) bool {
	switch field {
	case robots.FieldCrawlDelay:
		return v.dialect.CrawlDelay != robots.HonorIgnored
	case robots.FieldRequestRate:
		return v.dialect.RequestRate != robots.HonorIgnored
	case robots.FieldCleanParam:
		return v.dialect.Name == robots.Yandex.Name
	}
	return true
}

// group returns the number of the group that a line belongs to, -1 if it is in none.
func (v *view) group(l robots.Line) int {
	s, _ := v.at(l.Number)
	return int(s.group)
}

// token returns the crawler that a user-agent line names, "" if it names none.
func (v *view) token(l robots.Line) string {
	if names := v.namesOf(l); len(names) > 0 {
		return names[0]
	}
	return ""
}

// named reports whether a user-agent line names a crawler.
func (v *view) named(l robots.Line, name string) bool {
	return slices.ContainsFunc(v.namesOf(l), func(n string) bool {
		return n == name || !v.dialect.ExactCase && strings.EqualFold(n, name)
	})
}

// misnames reports whether a user-agent line counts but does not name a crawler.
func (v *view) misnames(l robots.Line, name string) bool {
	return v.field(l) == robots.FieldUserAgent && !v.named(l, name)
}

// crawlers returns the crawlers that can have different verdicts: those that the file names, and
// "*" for all others.
func (v *view) crawlers() []string { return append([]string{"*"}, v.names...) }

// tokens returns the names of crawlers, in google-cpp also the empty token if a line names it (D-47).
func (v *view) tokens() []string {
	if v.dialect.RawTokens && len(v.groupsOf[""]) > 0 {
		return append([]string{""}, v.names...)
	}
	return v.names
}
