package render

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/robotskit/robots/cmd/internal/answer"

	"github.com/robotskit/robots/crawlers"
)

// crawlerWords are the words for a status or obedience: a remark in a table, and a fact, "" if the
// value is one.
var crawlerWords = map[any][2]string{
	crawlers.OptOut:        {"opt-out, sends no requests", "sends no requests: it controls the use of pages that others fetch"},
	crawlers.Token:         {"applies to other crawlers", "sends no requests: it applies to crawlers with other names"},
	crawlers.Former:        {"no longer in use", "no longer in use"},
	crawlers.Mistake:       {"not the name of a crawler", "no crawler looks for this name"},
	crawlers.ObeysNo:       {"does not obey"},
	crawlers.ObeysNamed:    {"ignores the group of *", "only a group that names it, not that of *"},
	crawlers.UserInitiated: {"user-initiated, might not obey", "might not, as a user starts its fetches"},
	crawlers.ObeysYes:      {"obeys"},
}

// CrawlerRemark returns whether a crawler sends requests and obeys robots.txt. Without all, it
// leaves out that a crawler obeys.
func CrawlerRemark(e crawlers.Crawler, all bool) string {
	obeys := crawlerWords[e.Obeys][0]
	if !all && e.Obeys == crawlers.ObeysYes {
		obeys = ""
	}
	return strings.Trim(crawlerWords[e.Status][0]+"; "+obeys, "; ")
}

// purposeTitles makes headings of the names of purposes.
var purposeTitles = strings.NewReplacer("ai-", "AI ", "seo", "SEO", crawlers.Unknown, "unclassified")

// CrawlerEntry writes the facts about one crawler.
func CrawlerEntry(w io.Writer, colors Palette, e crawlers.Crawler) {
	fmt.Fprintln(w, colors.Paint(Bold, e.Name))
	dialect := e.Dialect
	if dialect == crawlers.Unknown {
		dialect += ", judged by " + e.ReadAs().Name
	}
	rival := ""
	if e.Rival != "" {
		rival = "obeys the group of " + e.Rival + ", a crawler of another operator"
	}
	for _, fact := range [][2]string{
		{"operator", e.Operator},
		{"purpose", string(e.Purpose)},
		{"status", cmp.Or(crawlerWords[e.Status][1], string(e.Status))},
		{"tokens", strings.Join(e.Tokens, ", else ")},
		{"rival", rival},
		{"spellings", strings.Join(e.Spellings, ", ")},
		{"Google reads", e.GoogleReads},
		{"obeys", cmp.Or(crawlerWords[e.Obeys][1], string(e.Obeys))},
		{"dialect", dialect},
		{"Crawl-delay", e.CrawlDelay},
		{"Request-rate", e.RequestRate},
		{"reverse DNS", e.ReverseDNS},
		{"addresses", e.Addresses},
		{"note", e.Note},
	} {
		if fact[1] != "" {
			Wrap(w, fmt.Sprintf("  %-13s ", fact[0]), fact[1])
		}
	}
	fmt.Fprintln(w, "  sources")
	for _, s := range e.Sources {
		seen := "seen " + s.Seen
		if s.Seen == crawlers.Unknown {
			seen = "of unknown date"
		}
		fmt.Fprintf(w, "    %s, %s\n      %s\n", s.Document, seen, colors.Paint(Faint, strings.Join(s.Says, ", ")))
	}
}

// CrawlerList writes entries of the directory, and how many were omitted.
func CrawlerList(w io.Writer, colors Palette, list []crawlers.Crawler, omitted int) {
	for from, to := range sections(list, func(e *crawlers.Crawler) crawlers.Purpose { return e.Purpose }) {
		var rows [][]string
		for _, e := range list[from:to] {
			rows = append(rows, []string{"  " + e.Name, e.Operator, colors.Paint(Faint, CrawlerRemark(e, true))})
		}
		title := fmt.Sprintf("%s: %d", purposeTitles.Replace(string(list[from].Purpose)), to-from)
		writeSection(w, colors, from == 0, title, rows)
	}
	writeOmitted(w, colors, omitted)
}

// sections yields the bounds of each run of entries with one purpose.
func sections[T any](list []T, purpose func(*T) crawlers.Purpose) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		from := 0
		for to := range list {
			if purpose(&list[to]) == purpose(&list[from]) {
				continue
			}
			if !yield(from, to) {
				return
			}
			from = to
		}
		if from < len(list) {
			yield(from, len(list))
		}
	}
}

// writeSection writes rows below a title.
func writeSection(w io.Writer, colors Palette, first bool, title string, rows [][]string) {
	if !first {
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, colors.Paint(Bold, title))
	Align(w, rows)
}

// writeOmitted writes how many crawlers were omitted.
func writeOmitted(w io.Writer, colors Palette, omitted int) {
	if omitted > 0 {
		fmt.Fprintf(w, "\n%s\n", colors.Paint(Faint, "Omitted: "+Count(omitted, "crawler")+" not in use (--all includes them)"))
	}
}

// CrawlerListCSV returns the cells of entries of the directory, after a header.
func CrawlerListCSV(list []crawlers.Crawler) [][]string {
	cells := [][]string{append(slices.Clone(factColumns), "status")}
	for _, e := range list {
		cells = append(cells, append(factCells(answer.NewCrawlerEntry(e).CrawlerFacts), string(e.Status)))
	}
	return cells
}

// factColumns are the columns of facts in CSV.
var factColumns = []string{"name", "tokens", "operator", "purpose", "dialect", "obeys"}

func factCells(f answer.CrawlerFacts) []string {
	return []string{f.Name, strings.Join(f.Tokens, " > "), f.Operator, string(f.Purpose), f.Dialect, string(f.Obeys)}
}
