package page

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
)

// A view selects rows of a table, and orders them. The zero value shows all as they are.
type view struct {
	Show       string `json:"show"`       // one of the constants below
	Crawler    *int   `json:"crawler"`    // the column that Show and Sort are about, null for any
	Text       string `json:"text"`       // in the URL, in any case
	Sort       string `json:"sort"`       // "", url or verdict: blocked first, then by lines
	Descending bool   `json:"descending"` // the other way round
	Engines    bool   `json:"engines"`    // name the dialects that differ, which takes five times as long
	Site       string `json:"site"`       // the host that the file was fetched from, "" if that is unknown
}

// The values of view.Show.
const (
	showAll       = ""
	showBlocked   = "blocked"   // for some crawler, or that of the column
	showAllowed   = "allowed"   // likewise
	showDiffering = "differing" // not the same verdict for all crawlers
	showEngines   = "engines"   // another engine has another verdict for the same name
	showOdd       = "odd"       // invalid, or of another host
)

// readView reads a view of a table with a number of columns.
func readView(text string, columns int) (v view, err error) {
	if text == "" {
		return v, nil
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return v, errors.New("the view is not valid")
	}
	v.Engines = v.Engines || v.Show == showEngines
	switch {
	case !slices.Contains([]string{showAll, showBlocked, showAllowed, showDiffering, showEngines, showOdd}, v.Show):
		return v, errors.New("unknown view " + strconv.Quote(clip(v.Show)))
	case !slices.Contains([]string{"", "url", "verdict"}, v.Sort):
		return v, errors.New("unknown order " + strconv.Quote(clip(v.Sort)))
	case v.Crawler != nil && (*v.Crawler < 0 || *v.Crawler >= columns):
		v.Crawler = nil // of a column that was removed
	}
	return v, nil
}

// markHosts sets the site, and the hosts of URLs of other ones. If the site is unknown, it is the host of most URLs, the first of
// several.
func (t *table) markHosts(site string) {
	hosts := make([]string, len(t.Rows))
	count := map[string]int{}
	for i := range t.Rows {
		if origin, _, err := robots.ParseURL(t.Rows[i].URL); err == nil {
			hosts[i] = origin.Host()
			count[hosts[i]]++
		}
	}
	t.Site = site
	if t.Site == "" {
		for _, host := range hosts {
			if host != "" && count[host] > count[t.Site] {
				t.Site = host
			}
		}
	}
	for i, host := range hosts {
		if host != t.Site {
			t.Rows[i].Host = host
		}
	}
}

// rowsOf returns the indexes of the rows that a view shows.
func (t *table) rowsOf(v view) []int {
	shown := []int{}
	text := strings.ToLower(v.Text)
	for i := range t.Rows {
		if strings.Contains(strings.ToLower(t.Rows[i].URL), text) && t.Rows[i].matches(v) {
			shown = append(shown, i)
		}
	}
	if v.Sort == "" {
		return shown
	}
	slices.SortStableFunc(shown, func(a, b int) int {
		order := 0
		if v.Sort == "url" {
			order = cmp.Compare(t.Rows[a].URL, t.Rows[b].URL)
		} else {
			order = compareCells(t.Rows[a].cellsOf(v), t.Rows[b].cellsOf(v))
		}
		if v.Descending {
			return -order
		}
		return order
	})
	return shown
}

// cellsOf returns the cells that a view is about.
func (r *row) cellsOf(v view) []cell {
	if v.Crawler != nil {
		return r.Cells[*v.Crawler : *v.Crawler+1]
	}
	return r.Cells
}

func (r *row) matches(v view) bool {
	has := func(verdict string) bool {
		return slices.ContainsFunc(r.cellsOf(v), func(c cell) bool { return c.Verdict == verdict })
	}
	switch v.Show {
	case showBlocked:
		return has("disallow")
	case showAllowed:
		return has("allow")
	case showDiffering:
		return slices.ContainsFunc(r.Cells, func(c cell) bool { return c.Verdict != r.Cells[0].Verdict })
	case showEngines:
		return slices.ContainsFunc(r.cellsOf(v), func(c cell) bool { return len(c.Differing) > 0 })
	case showOdd:
		return r.Error != "" || r.Host != ""
	}
	return true
}

// verdictOrder has the verdicts in the order in which a table is sorted; an error follows them.
var verdictOrder = []string{"disallow", "undefined", "allow"}

// compareCells compares rows by the verdict of the first cell in which they differ, then by the line that decides.
func compareCells(a, b []cell) int {
	rank := func(c cell) int {
		if i := slices.Index(verdictOrder, c.Verdict); i >= 0 {
			return i
		}
		return len(verdictOrder)
	}
	return slices.CompareFunc(a, b, func(x, y cell) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x.Line, y.Line))
	})
}
