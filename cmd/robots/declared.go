package main

import (
	"cmp"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
)

// title writes the name of a field as files do, such as Crawl-delay.
func title(field string) string { return strings.ToUpper(field[:1]) + field[1:] }

// declaredChange returns the old and the new values, at most limit of each unless that is 0.
func declaredChange(d *answer.Declared, limit int) string {
	return cmp.Or(render.Listed(d.Old, limit), "none") + " → " + cmp.Or(render.Listed(d.New, limit), "none")
}

// declaredTexts returns sentences: added and removed values of the file, or the old and new
// values of crawlers.
func declaredTexts(d *answer.Declared, limit int) (texts []string) {
	if !d.OfFile() {
		return []string{robots.Printable(title(d.Field) + " of " + nameList(d.Crawlers) + ": " + declaredChange(d, limit))}
	}
	if removed := d.Removed(); len(removed) > 0 {
		texts = append(texts, robots.Printable(title(d.Field)+" removed: "+render.Listed(removed, limit)))
	}
	if added := d.Added(); len(added) > 0 {
		texts = append(texts, robots.Printable(title(d.Field)+" added: "+render.Listed(added, limit)))
	}
	return texts
}
