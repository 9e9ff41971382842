package main

import (
	"cmp"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
)

// title writes the name of a field as files do, such as Crawl-delay.
func title(field string) string { return strings.ToUpper(field[:1]) + field[1:] }

// declaredChange returns the old and the new values, at most limit of each unless that is 0.
func declaredChange(d *answer.Declared, limit int) string {
	return cmp.Or(listed(d.Old, limit), "none") + " → " + cmp.Or(listed(d.New, limit), "none")
}

// declaredTexts returns sentences: added and removed values of the file, or the old and new
// values of crawlers.
func declaredTexts(d *answer.Declared, limit int) (texts []string) {
	if !d.OfFile() {
		return []string{robots.Printable(title(d.Field) + " of " + nameList(d.Crawlers) + ": " + declaredChange(d, limit))}
	}
	if removed := d.Removed(); len(removed) > 0 {
		texts = append(texts, robots.Printable(title(d.Field)+" removed: "+listed(removed, limit)))
	}
	if added := d.Added(); len(added) > 0 {
		texts = append(texts, robots.Printable(title(d.Field)+" added: "+listed(added, limit)))
	}
	return texts
}
