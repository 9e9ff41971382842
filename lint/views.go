package lint

import (
	"maps"
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// A view is the file as a dialect reads it.
type view struct {
	dialect robots.Dialect
	lines   []seen   // by number, from 1; index 0 is unused
	names   []string // of crawlers, without "*" and ""

	groupsOf map[string][]byte        // numbers of the groups that name a crawler
	rules    map[string]*robots.Rules // by these numbers, and of "*"
}

// seen is a line as a dialect reads it.
type seen struct {
	field robots.Field
	group int32 // -1 if it belongs to none
	names []string
}

func newView(f *robots.File, d robots.Dialect, lines int) *view {
	v := &view{dialect: d, lines: make([]seen, lines+1), groupsOf: map[string][]byte{}, rules: map[string]*robots.Rules{}}
	for l := range f.Lines(d) {
		if l.Field == robots.FieldUnknown {
			continue
		}
		v.lines[l.Number] = seen{l.Field, int32(l.Group), l.Names}
		for _, name := range l.Names {
			v.groupsOf[name] = append(v.groupsOf[name], itoa(l.Group)+" "...)
		}
		if d.RawTokens && l.Field == robots.FieldUserAgent && len(l.Names) == 0 {
			v.groupsOf[""] = append(v.groupsOf[""], itoa(l.Group)+" "...) // D-47
		}
	}
	v.names = slices.Sorted(maps.Keys(v.groupsOf))
	v.names = slices.DeleteFunc(v.names, func(name string) bool { return name == "*" || name == "" })
	return v
}

// field returns the field of a line in the dialect, FieldNone if it is not read.
func (v *view) field(l robots.Line) robots.Field { return v.lines[l.Number].field }

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
	if s := v.lines[l.Number]; s.field != robots.FieldNone {
		return int(s.group)
	}
	return -1
}

// token returns the crawler that a user-agent line names, "" if it names none.
func (v *view) token(l robots.Line) string {
	if names := v.lines[l.Number].names; len(names) > 0 {
		return names[0]
	}
	return ""
}

// named reports whether a user-agent line names a crawler.
func (v *view) named(l robots.Line, name string) bool {
	return slices.ContainsFunc(v.lines[l.Number].names, func(n string) bool {
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

// tokens returns the names of crawlers, first the empty token if a line of google-cpp names it.
func (v *view) tokens() []string {
	if len(v.groupsOf[""]) > 0 {
		return append([]string{""}, v.names...)
	}
	return v.names
}
