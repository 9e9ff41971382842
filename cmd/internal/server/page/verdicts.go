package page

import (
	"cmp"
	"slices"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/crawlers"
)

// A table has a column for each crawler and a row for each URL. Members are named as in answer.Check; those
// that are the same in a column stand there.
type table struct {
	Columns []column       `json:"columns"`
	Rows    []row          `json:"rows"`
	Rules   map[int]string `json:"rules"` // that decide a cell, by their lines
	Shown   []int          `json:"shown"` // the rows of the view in its order, from 0
	Site    string         `json:"site"`  // the host that the file is for, or most URLs are of; "" for none
}

// A column is a crawler, and how it reads the file.
type column struct {
	Name           string                 `json:"name"`            // in the table
	Dialect        string                 `json:"dialect"`         // in which the crawler reads the file, never auto
	Tokens         []string               `json:"tokens"`          // product tokens, most specific first
	Group          *answer.Group          `json:"group"`           // that applies
	Fallback       *crawlers.FurtherToken `json:"fallback"`        // whose group applies because no group names the crawler
	FallbackReason string                 `json:"fallback_reason"` // a sentence, "" without a fallback
	Binds          crawlers.Binds         `json:"binds"`           // whom the file addresses: yes, not-by-star or no
}

type row struct {
	URL   string `json:"url"`
	Error string `json:"error,omitempty"`
	Host  string `json:"host,omitempty"` // of the URL, if it is another one than that of the site
	Cells []cell `json:"cells"`
}

// A cell is a verdict.
type cell struct {
	Verdict   string   `json:"verdict,omitempty"`
	Line      int      `json:"line"` // of the rule, 0 without one
	Reason    string   `json:"reason,omitempty"`
	Differing []string `json:"differing,omitempty"` // current dialects with another verdict for the same tokens, if the view has them
	Error     string   `json:"error,omitempty"`
}

// groupLines limits the user-agent lines of a group that an answer lists.
const groupLines = 1000

// matrix returns the verdict for each crawler and URL. It is asked at each keystroke, so it asks other dialects only for a view
// that shows them.
func matrix(b *budget.Budget, args []string) (any, error) {
	f := robots.Parse([]byte(args[0]))
	who, err := readCrawlers(args[1])
	if err != nil {
		return nil, err
	}
	urls, err := readURLs(args[2])
	if err != nil {
		return nil, err
	}
	v, err := readView(args[3], len(who))
	if err != nil {
		return nil, err
	}
	t := table{Columns: []column{}, Rows: make([]row, len(urls)), Rules: map[int]string{}}
	paths := make([]robots.Path, len(urls))
	for n, url := range urls {
		r := &t.Rows[n]
		r.URL = url
		r.Cells = make([]cell, len(who))
		if paths[n], err = robots.ParsePath(url); err != nil {
			r.Error = err.Error()
		}
	}
	dialects := answer.CurrentDialects()
	var others []*robots.Rules // in these dialects, for the tokens of the crawler before
	for i := range who {
		c := &who[i]
		if v.Engines && (i == 0 || !slices.Equal(c.Tokens, who[i-1].Tokens)) {
			if err := b.Work(len(dialects) * budget.Reading(args[0])); err != nil {
				return nil, err
			}
			others = nil
			for _, d := range dialects {
				others = append(others, f.Rules(d, c.Tokens...))
			}
		}
		rules, err := rulesOf(b, f, c)
		if err != nil {
			return nil, err
		}
		t.Columns = append(t.Columns, newColumn(c, rules))
		if err := t.fill(b, c, i, rules, others, paths); err != nil {
			return nil, err
		}
	}
	t.markHosts(v.Site)
	t.Shown = t.rowsOf(v)
	return t, nil
}

func newColumn(c *answer.Crawler, r *robots.Rules) column {
	return column{
		Name: titleOf(c), Dialect: c.Dialect.Name, Tokens: append([]string{}, c.Tokens...), Group: answer.LimitedGroup(r.Group(), groupLines),
		Fallback: c.Fallback(r), FallbackReason: c.FallbackSentence(r), Binds: c.Binds(),
	}
}

// fill fills the cells of a column.
func (t *table) fill(
	b *budget.Budget, c *answer.Crawler, column int, rules *robots.Rules, others []*robots.Rules, paths []robots.Path,
) error {
	for n := range t.Rows {
		path, err := answer.Path(c.Dialect, t.Rows[n].URL)
		if err != nil {
			t.Rows[n].Cells[column].Error = err.Error()
			continue
		}
		v, work := rules.MatchWork(path)
		names, more := differing(v, others, paths[n])
		if err := b.Work(budget.Matching(work + more)); err != nil {
			return err
		}
		if line := v.Rule.Line(); line > 0 && t.Rules[line] == "" {
			t.Rules[line] = v.Rule.String()
		}
		t.Rows[n].Cells[column] = cell{Verdict: v.Word(), Line: v.Rule.Line(), Reason: v.Reason.String(), Differing: names}
	}
	return nil
}

// differing returns the dialects with another verdict, and the work of their matches.
func differing(v robots.Verdict, others []*robots.Rules, p robots.Path) (names []string, work int) {
	if p == (robots.Path{}) || v.Reason == robots.ReasonRobotsTxt || p.String() == "/robots.txt" {
		return nil, 0 // only google-cpp applies rules to the file itself
	}
	for _, r := range others {
		o, more := r.MatchWork(p)
		work += more
		if o.Allowed != v.Allowed && o.Dialect != v.Dialect {
			names = append(names, o.Dialect)
		}
	}
	return names, work
}

// An explanation is that of the answer, with the verdicts of all dialects.
type explanation struct {
	answer.Explanation
	FallbackReason string           `json:"fallback_reason"` // a sentence, "" without a fallback
	NearMisses     int              `json:"near"`            // their number: the notes begin with them
	Dialects       []dialectVerdict `json:"dialects"`        // for the same tokens
}

type dialectVerdict struct {
	Dialect string `json:"dialect"`
	Verdict string `json:"verdict"`
	Line    int    `json:"line"`    // of the rule, 0 without one
	Current bool   `json:"current"` // of a crawler of today; the others are historic, or of a library
}

var explainLimits = answer.ExplainLimits{Check: robots.JSONLimits{Lines: groupLines, Rates: 100, Sitemaps: 100}, Matches: 100, Signals: 100}

// explain returns the steps of one verdict, and the verdicts in all dialects.
func explain(b *budget.Budget, args []string) (any, error) {
	f := robots.Parse([]byte(args[0]))
	c, err := readCrawler(args[1])
	if err != nil {
		return nil, err
	}
	path, err := readURL(&c, args[2])
	if err != nil {
		return nil, err
	}
	rules, err := rulesOf(b, f, &c)
	if err != nil {
		return nil, err
	}
	steps, bytes := answer.ExplainCost(rules, path)
	if err := cmp.Or(b.Work(steps), b.Hold(bytes)); err != nil {
		return nil, err
	}
	e := explanation{
		Explanation:    answer.Explain(rules, &c, path, args[2], c.Echo(), explainLimits),
		FallbackReason: c.FallbackSentence(rules), Dialects: []dialectVerdict{},
	}
	e.NearMisses = e.Near
	current := answer.CurrentDialects()
	for _, d := range robots.Dialects() {
		path, err := answer.Path(d, args[2])
		if err != nil {
			continue
		}
		other := answer.InDialect(d, "", c.Tokens...)
		rules, err := rulesOf(b, f, &other)
		if err != nil {
			return nil, err
		}
		v, work := rules.MatchWork(path)
		if err := b.Work(budget.Matching(work)); err != nil {
			return nil, err
		}
		e.Dialects = append(e.Dialects, dialectVerdict{
			Dialect: d.Name, Verdict: v.Word(), Line: v.Rule.Line(),
			Current: slices.ContainsFunc(current, func(c robots.Dialect) bool { return c.Name == d.Name }),
		})
	}
	return e, nil
}
