package main

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
)

// A declaredChange is a field other than rules whose usable values differ.
type declaredChange struct {
	Field string   `json:"field"`
	Old   []string `json:"old"`
	New   []string `json:"new"`
}

// declared compares the fields other than rules of two files for a crawler. The order of values
// and repeated values make no difference.
func declared(a, b map[robots.Field][]string) []declaredChange {
	fields := maps.Clone(a)
	maps.Copy(fields, b)
	var changes []declaredChange
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Equal(slices.Sorted(slices.Values(a[f])), slices.Sorted(slices.Values(b[f]))) {
			changes = append(changes, declaredChange{f.String(), append([]string{}, a[f]...), append([]string{}, b[f]...)})
		}
	}
	return changes
}

// declarations returns the usable values of each field, each once. The largest delay counts
// (D-44).
func declarations(r *robots.Rules) map[robots.Field][]string {
	values := map[robots.Field][]string{}
	type pair struct {
		field robots.Field
		value string
	}
	seen, delays := map[pair]bool{}, r.Dialect().CrawlDelay == robots.HonorInherited
	for rec := range r.Records() {
		value := rec.Value
		delays = delays || rec.Field == robots.FieldCrawlDelay
		switch {
		case !rec.Usable || value == "" || rec.Field == robots.FieldCrawlDelay:
			continue
		case rec.Field == robots.FieldRequestRate:
			value = rec.Rate.String()
		case rec.Field == robots.FieldVisitTime:
			value = rec.Window.String()
		}
		if p := (pair{rec.Field, value}); !seen[p] {
			seen[p] = true
			values[rec.Field] = append(values[rec.Field], value)
		}
	}
	if !delays {
		return values
	}
	if delay, ok := r.CrawlDelay(); ok {
		values[robots.FieldCrawlDelay] = []string{strconv.FormatFloat(delay, 'f', -1, 64)}
	}
	return values
}

// A declaredLine is a change for some crawlers.
type declaredLine struct {
	declaredChange
	crawlers []string // nil if the field applies to the whole file
}

// ofFile are the fields that apply to all crawlers, whatever group they are in.
var ofFile = []string{robots.FieldSitemap.String(), robots.FieldHost.String(), robots.FieldCleanParam.String()}

// declaredLines returns the changes of fields other than rules; crawlers with equal changes
// share a line.
func (s *section) declaredLines() []*declaredLine {
	var lines []*declaredLine
	made := map[string]*declaredLine{}
	for _, c := range s.crawlers {
		for _, change := range c.declared {
			whole := slices.Contains(ofFile, change.Field)
			key := change.Field + "\n" + strings.Join(change.Old, "\n") + "\n\n" + strings.Join(change.New, "\n")
			line := made[key]
			if line == nil {
				line = &declaredLine{declaredChange: change}
				made[key] = line
				lines = append(lines, line)
			}
			if !whole {
				line.crawlers = append(line.crawlers, c.Name)
			}
		}
	}
	return lines
}

// title is the field, such as Crawl-delay.
func (l *declaredLine) title() string { return strings.ToUpper(l.Field[:1]) + l.Field[1:] }

// change is the old and the new values, at most limit of each unless that is 0.
func (l *declaredLine) change(limit int) string {
	return cmp.Or(listed(l.Old, limit), "none") + " → " + cmp.Or(listed(l.New, limit), "none")
}

// texts returns the sentences of a line: added and removed values of the file, or the old and new values of crawlers.
func (l *declaredLine) texts(limit int) (texts []string) {
	if l.crawlers != nil {
		return []string{robots.Printable(l.title() + " of " + nameList(l.crawlers) + ": " + l.change(limit))}
	}
	without := func(values, others []string) []string {
		has := map[string]bool{}
		for _, v := range others {
			has[v] = true
		}
		return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return has[v] })
	}
	if removed := without(l.Old, l.New); len(removed) > 0 {
		texts = append(texts, robots.Printable(l.title()+" removed: "+listed(removed, limit)))
	}
	if added := without(l.New, l.Old); len(added) > 0 {
		texts = append(texts, robots.Printable(l.title()+" added: "+listed(added, limit)))
	}
	return texts
}
