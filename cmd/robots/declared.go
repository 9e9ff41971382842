package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
)

// A declaredChange is a field other than rules whose usable values differ for some crawlers.
type declaredChange struct {
	Field    string   `json:"field"`
	Old      []string `json:"old"`
	New      []string `json:"new"`
	crawlers []string // nil if the field applies to the whole file
}

// declare compares the fields other than rules of two files for a crawler. The order of values
// and repeated values make no difference.
func (s *section) declare(rules [2]*robots.Rules) (changes []*declaredChange) {
	a, b := declarations(rules[0]), declarations(rules[1])
	for f := range a {
		if len(notIn(a[f], b[f]))+len(notIn(b[f], a[f])) == 0 {
			continue
		}
		field := robots.Field(f).String()
		same := func(c *declaredChange) bool {
			return c.Field == field && slices.Equal(c.Old, a[f]) && slices.Equal(c.New, b[f])
		}
		i := slices.IndexFunc(s.declared, same)
		if i < 0 {
			i = len(s.declared)
			s.declared = append(s.declared, &declaredChange{Field: field, Old: append([]string{}, a[f]...), New: append([]string{}, b[f]...)})
		}
		changes = append(changes, s.declared[i])
	}
	return changes
}

// notIn returns the values that are not among others.
func notIn(values, others []string) []string {
	has := map[string]bool{}
	for _, v := range others {
		has[v] = true
	}
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return has[v] })
}

// declarations returns the usable values by field, each once. The largest delay counts (D-44).
func declarations(r *robots.Rules) (values [robots.FieldLicense + 1][]string) {
	seen, delay := map[[2]string]bool{}, -1.0
	for rec := range r.Records() {
		value := rec.Value
		switch {
		case !rec.Usable:
			continue
		case rec.Field == robots.FieldCrawlDelay:
			delay = max(delay, rec.Delay)
			continue
		case rec.Field == robots.FieldRequestRate:
			value = rec.Rate.String()
		case rec.Field == robots.FieldVisitTime:
			value = rec.Window.String()
		}
		if p := [2]string{rec.Field.String(), value}; !seen[p] {
			seen[p] = true
			values[rec.Field] = append(values[rec.Field], value)
		}
	}
	if delay >= 0 {
		values[robots.FieldCrawlDelay] = []string{strconv.FormatFloat(delay, 'f', -1, 64)}
	}
	return values
}

// ofFile are the fields that apply to all crawlers, whatever group they are in.
var ofFile = []string{robots.FieldSitemap.String(), robots.FieldHost.String(), robots.FieldCleanParam.String()}

// title writes the name of a field as files do, such as Crawl-delay.
func title(field string) string { return strings.ToUpper(field[:1]) + field[1:] }

// change is the old and the new values, at most limit of each unless that is 0.
func (l *declaredChange) change(limit int) string {
	return cmp.Or(listed(l.Old, limit), "none") + " → " + cmp.Or(listed(l.New, limit), "none")
}

// texts returns the sentences of a line: added and removed values of the file, or the old and new values of crawlers.
func (l *declaredChange) texts(limit int) (texts []string) {
	if l.crawlers != nil {
		return []string{robots.Printable(title(l.Field) + " of " + nameList(l.crawlers) + ": " + l.change(limit))}
	}
	if removed := notIn(l.Old, l.New); len(removed) > 0 {
		texts = append(texts, robots.Printable(title(l.Field)+" removed: "+listed(removed, limit)))
	}
	if added := notIn(l.New, l.Old); len(added) > 0 {
		texts = append(texts, robots.Printable(title(l.Field)+" added: "+listed(added, limit)))
	}
	return texts
}
