package page

import (
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/lint"
)

// A reference has what is the same for all files.
type reference struct {
	Dialects []string              `json:"dialects"` // their names
	Crawlers []answer.CrawlerEntry `json:"crawlers"` // of the directory
	Checks   []check               `json:"checks"`   // of lint
}

// A check is why a finding matters.
type check struct {
	ID     string `json:"id"`
	Why    string `json:"why"`    // one or two sentences
	Clause string `json:"clause"` // behind it, can be empty
}

// directory returns the names of the dialects, the crawlers of the directory and the checks.
func directory(*budget.Budget, []string) (any, error) {
	r := reference{}
	for _, d := range robots.Dialects() {
		r.Dialects = append(r.Dialects, d.Name)
	}
	for _, c := range crawlers.All() {
		r.Crawlers = append(r.Crawlers, answer.NewCrawlerEntry(c))
	}
	for _, c := range lint.Checks {
		r.Checks = append(r.Checks, check{ID: c.ID, Why: c.Why, Clause: c.Clause})
	}
	return r, nil
}

// An accessTable is the access of crawlers.
type accessTable struct {
	Crawlers   []answer.CrawlerAccess  `json:"crawlers"`
	Categories []answer.AccessCategory `json:"categories"` // of their purposes
}

// access returns the access of AI crawlers and search engines in use.
func access(b *budget.Budget, args []string) (any, error) {
	if err := b.Work(len(answer.CurrentDialects()) * budget.Reading(args[0])); err != nil {
		return nil, err
	}
	purposes := []crawlers.Purpose{crawlers.AITraining, crawlers.AISearch, crawlers.AIUser, crawlers.Search}
	var names []string
	for _, p := range purposes {
		names = append(names, string(p))
	}
	who, _, err := ask.ChooseCrawlers(names, "", false)
	if err != nil {
		return nil, err
	}
	table, steps := answer.AccessTable(robots.Parse([]byte(args[0])), who, nil, b.Left(accessSteps))
	return accessTable{table, answer.AccessCategories(table, purposes)}, b.Work(steps)
}
