package answer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/robotskit/robots/lint"
)

// limit keeps the most severe events, and counts the others by kind and crawler.
func (r *SiteReport) limit() {
	if len(r.Events) <= maxEvents {
		return
	}
	rank := map[string]int{lint.Error.String(): 0, lint.Warning.String(): 1, lint.Note.String(): 2}
	slices.SortStableFunc(r.Events, func(a, b WatchEvent) int { return rank[a.Severity] - rank[b.Severity] })
	rest := r.Events[maxEvents:]
	r.Events = r.Events[:maxEvents]
	total := map[string]int{} // by kind
	var kinds []string
	crawlers := map[string]map[string]int{} // by kind and crawler
	for _, e := range rest {
		if total[e.Kind] == 0 {
			kinds = append(kinds, e.Kind)
			crawlers[e.Kind] = map[string]int{}
		}
		total[e.Kind]++
		for _, name := range e.Crawlers {
			crawlers[e.Kind][name]++
		}
	}
	var parts []string
	for _, kind := range kinds {
		parts = append(parts, fmt.Sprintf("%d %s%s", total[kind], kind, counted(crawlers[kind])))
	}
	r.Events = append(r.Events, WatchEvent{
		Kind: "more", Severity: rest[0].Severity, Text: fmt.Sprintf("%d more: %s", len(rest), strings.Join(parts, ", ")),
	})
}

// counted lists the crawlers with most events, at most five.
func counted(counts map[string]int) string {
	const most = 5
	if len(counts) == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	var parts []string
	for _, name := range names[:min(most, len(names))] {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	if more := len(names) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d other crawlers", more))
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// listOrNone joins values.
func listOrNone(values []string) string {
	if len(values) == 0 {
		return "none"
	}
	return strings.Join(values, ", ")
}
