package page

import (
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/lint"
)

// Budgets in steps of package compare, some ten nanoseconds each, several times
// that in a browser: a person waits for the answer.
const (
	diffSteps    = 300_000 // of one crawler in one direction
	lintSteps    = 1_000_000
	decidesSteps = 300_000 // of one crawler
)

// findings says what is wrong with a file.
func findings(w *writer, args []string) string {
	f := robots.Parse([]byte(args[0]))
	r := lint.File(f, lint.Options{MaxSteps: lintSteps})
	w.yes("undecided", r.Undecided)
	const most = 500
	w.number("dropped", r.Dropped+max(0, len(r.Diagnostics)-most))
	w.list("findings")
	for _, d := range r.Diagnostics[:min(len(r.Diagnostics), most)] {
		w.open('{')
		w.text("id", d.Check.ID)
		w.text("name", d.Check.Name)
		w.text("severity", d.Severity.String())
		w.number("line", d.Line)
		w.number("column", d.Column)
		w.number("endLine", d.EndLine)
		w.number("endColumn", d.EndColumn)
		w.text("message", d.Message)
		w.text("advice", d.Advice)
		w.text("why", d.Check.Why)
		w.text("clause", d.Check.Clause)
		w.texts("dialects", d.Dialects)
		if d.Fix != nil {
			w.object("fix")
			w.yes("safe", d.Fix.Safe)
			w.text("change", d.Fix.Change)
			w.list("edits")
			for _, e := range d.Fix.Edits {
				w.open('{')
				w.number("start", e.Start)
				w.number("end", e.End)
				w.text("text", e.Text)
				w.close('}')
			}
			w.close(']')
			w.close('}')
		}
		w.close('}')
	}
	w.close(']')
	return ""
}

// mend returns the file after all fixes that are proved to change no verdict.
func mend(w *writer, args []string) string {
	mended, _, _ := lint.ApplyFixes([]byte(args[0]), lint.Options{MaxSteps: lintSteps}, false)
	w.text("text", string(mended))
	return ""
}

// diff proves for every crawler that two files answer alike, or shows URLs on
// which they do not. Crawlers that a file names and that are not asked for come
// behind those that are.
func diff(w *writer, args []string) string {
	before, after := robots.Parse([]byte(args[0])), robots.Parse([]byte(args[1]))
	list, wrong := readCrawlers(args[2])
	if wrong != "" {
		return wrong
	}
	asked := map[string]bool{}
	for _, c := range list {
		asked[strings.ToLower(c.tokens1())] = true
	}
	list = append([]crawler{}, list...)
	if !asked["*"] {
		list = append(list, crawler{robots.RFC9309, []string{"*"}})
	}
	named := append(before.Crawlers(robots.RFC9309), after.Crawlers(robots.RFC9309)...)
	slices.Sort(named)
	for _, name := range slices.Compact(named) {
		if len(list) == 2*MaxCrawlers {
			break
		}
		if !asked[strings.ToLower(name)] {
			list = append(list, known(name))
		}
	}
	w.number("budget", diffSteps)
	w.list("crawlers")
	for _, c := range list {
		r := compare.Rules(c.rules(before), c.rules(after), compare.Options{Steps: diffSteps})
		w.open('{')
		w.text("dialect", c.dialect.Name)
		w.texts("tokens", c.tokens)
		w.text("result", r.String())
		w.yes("complete", r.NewlyBlocked.Complete && r.NewlyAllowed.Complete)
		w.changes("blocked", r.NewlyBlocked)
		w.changes("opened", r.NewlyAllowed)
		w.close('}')
	}
	w.close(']')
	return ""
}

// tokens1 is the crawler's first token, * if it has none.
func (c crawler) tokens1() string {
	if len(c.tokens) == 0 {
		return "*"
	}
	return c.tokens[0]
}

func (w *writer) changes(name string, d compare.Direction) {
	const most = 20
	w.object(name)
	w.yes("complete", d.Complete)
	w.number("more", max(0, len(d.Changes)-most))
	w.list("changes")
	for _, c := range d.Changes[:min(len(d.Changes), most)] {
		w.open('{')
		w.text("path", c.Path)
		w.text("old", c.Old.String())
		w.text("new", c.New.String())
		w.number("oldLine", c.Old.Rule.Line())
		w.number("newLine", c.New.Rule.Line())
		w.close('}')
	}
	w.close(']')
	w.close('}')
}

// decides names the rules that never decide for any of the crawlers, whatever URL
// is asked for: proved, so a rule that is left undecided is not among them. A rule
// that none of them obeys is not either.
func decides(w *writer, args []string) string {
	f := robots.Parse([]byte(args[0]))
	list, wrong := readCrawlers(args[1])
	if wrong != "" {
		return wrong
	}
	seen := map[string]bool{}
	use := map[int]compare.Use{} // of a line: the most that it is for any crawler
	complete := true
	for _, c := range list {
		r := c.rules(f)
		key := c.dialect.Name + ":" + r.Group().Token()
		if seen[key] {
			continue // the same rules
		}
		seen[key] = true
		for _, e := range compare.Effects(r, compare.Options{Steps: decidesSteps}) {
			complete = complete && e.Use != compare.Undecided
			line := e.Rule.Line()
			if old, ok := use[line]; !ok || old > e.Use {
				use[line] = e.Use
			}
		}
	}
	lines := []int{}
	for line, u := range use {
		if u == compare.NeverDecides || u == compare.NeverMatches {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	w.integers("never", lines)
	w.yes("complete", complete)
	return ""
}
