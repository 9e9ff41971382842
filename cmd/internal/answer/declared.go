package answer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/budget"
)

// A Declared is a field other than rules whose usable values differ for some crawlers.
type Declared struct {
	Field    string   `json:"field"` // such as crawl-delay
	Old      []string `json:"old"`   // usable values
	New      []string `json:"new"`   // likewise
	Crawlers []string `json:"-"`     // nil if the field applies to the whole file
}

func (c *Declared) textBytes() (n int) {
	for _, value := range slices.Concat(c.Old, c.New) {
		n += entryBytes/10 + len(value)
	}
	return n + entryBytes
}

// fieldsOfFile are the fields that apply to all crawlers, whatever group they are in.
var fieldsOfFile = []string{robots.FieldSitemap.String(), robots.FieldHost.String(), robots.FieldCleanParam.String()}

// OfFile reports whether the field applies to all crawlers.
func (c *Declared) OfFile() bool { return slices.Contains(fieldsOfFile, c.Field) }

// FieldTitle writes the name of a field as files do, such as Crawl-delay.
func FieldTitle(field string) string { return strings.ToUpper(field[:1]) + field[1:] }

// Removed returns the values that only the old side has, and Added those of the new one.
func (c *Declared) Removed() []string { return without(c.Old, c.New) }

// Added returns the values that only the new side has.
func (c *Declared) Added() []string { return without(c.New, c.Old) }

// declare compares the fields other than rules of two files for a crawler. The order of values
// and repeated values make no difference.
func (d *Difference) declare(rules [2]*robots.Rules) []*Declared {
	changes := []*Declared{}
	before := d.declarations(rules[0])
	after := d.declarations(rules[1])
	for f := range before {
		if len(without(before[f], after[f]))+len(without(after[f], before[f])) == 0 {
			continue
		}
		field := robots.Field(f).String()
		same := func(c *Declared) bool {
			return c.Field == field && slices.Equal(c.Old, before[f]) && slices.Equal(c.New, after[f])
		}
		i := slices.IndexFunc(d.Declared, same)
		if i < 0 {
			i = len(d.Declared)
			d.Declared = append(d.Declared, &Declared{Field: field, Old: append([]string{}, before[f]...), New: append([]string{}, after[f]...)})
		}
		changes = append(changes, d.Declared[i])
	}
	return changes
}

// without returns the values that are not among others.
func without(values, others []string) []string {
	has := map[string]bool{}
	for _, v := range others {
		has[v] = true
	}
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return has[v] })
}

// declaredValues are the usable values by field, each once.
type declaredValues [robots.FieldLicense + 1][]string

// fileRecords is what is known of the fields other than rules of a file in a dialect.
type fileRecords struct {
	lines    int
	inGroups bool            // some are in a group, or can be
	values   *declaredValues // of all crawlers if none is in a group, nil before the first
}

// A dialectFile is a file in a dialect.
type dialectFile struct {
	file    *robots.File
	dialect robots.Dialect
}

// recordsOf returns what is known of the fields other than rules of the file that rules are from.
func (d *Difference) recordsOf(r *robots.Rules) *fileRecords {
	read := dialectFile{r.File(), r.Dialect()}
	records := d.records[read]
	if records != nil {
		return records
	}
	records = &fileRecords{}
	d.Steps += budget.Reading(r.File().Bytes())
	for line := range r.File().Lines(r.Dialect()) {
		records.lines++
		records.inGroups = records.inGroups || line.Field > robots.FieldDisallow && !slices.Contains(fieldsOfFile, line.Field.String())
	}
	if d.records == nil {
		d.records = map[dialectFile]*fileRecords{}
	}
	d.records[read] = records
	return records
}

// declarations returns the usable values by field.
func (d *Difference) declarations(r *robots.Rules) declaredValues {
	records := d.recordsOf(r)
	if records.inGroups {
		return d.readDeclarations(r)
	}
	if records.values == nil {
		values := d.readDeclarations(r)
		records.values = &values
	}
	return *records.values
}

// readDeclarations reads the file. The largest delay counts (D-44).
func (d *Difference) readDeclarations(r *robots.Rules) (values declaredValues) {
	seen := map[[2]string]bool{}
	delay := -1.0
	d.Steps += len(r.File().Bytes())/16 + d.recordsOf(r).lines/2
	for rec := range r.Records() {
		value := rec.Value
		d.Steps += 40 + len(value)/2
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
