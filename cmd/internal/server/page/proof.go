package page

import (
	"cmp"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/lint"
)

// Limits in steps of package compare, about ten nanoseconds each and several times that in a
// browser: a person waits for the answer.
const (
	diffSteps    = 300_000 // per crawler and direction
	lintSteps    = 1_000_000
	decidesSteps = 300_000 // per crawler
)

// findings returns the mistakes in a file.
func findings(b *budget.Budget, args []string) (any, error) {
	r := lint.File(robots.Parse([]byte(args[0])), lint.Options{MaxSteps: b.Left(lintSteps)})
	if err := b.Work(r.Steps); err != nil {
		return nil, err
	}
	const most = 500
	all := []object{}
	for _, d := range r.Diagnostics[:min(len(r.Diagnostics), most)] {
		all = append(all, object{
			"id": d.Check.ID, "severity": d.Severity.String(), "line": d.Line, "column": d.Column,
			"endLine": d.EndLine, "endColumn": d.EndColumn, "message": d.Message, "advice": d.Advice, "why": d.Check.Why,
			"clause": d.Check.Clause, "dialects": list(d.Dialects), "fix": answer.NewFix(d.Fix),
		})
	}
	return object{"undecided": r.Undecided, "dropped": r.Dropped + max(0, len(r.Diagnostics)-most), "findings": all}, nil
}

// fix returns the file after all safe fixes, in base64 because it can have any bytes.
func fix(b *budget.Budget, args []string) (any, error) {
	fixed, _, left := lint.ApplyFixes([]byte(args[0]), lint.Options{MaxSteps: b.Left(lintSteps)}, false)
	if err := b.Work(left.Steps); err != nil {
		return nil, err
	}
	return object{"body": fixed}, nil
}

// diff compares two files for each crawler over all URLs: those of the question, then others for
// which the files can differ.
func diff(b *budget.Budget, args []string) (any, error) {
	before, after := robots.Parse([]byte(args[0])), robots.Parse([]byte(args[1]))
	crawlers, err := readCrawlers(args[2])
	if err != nil {
		return nil, err
	}
	key := func(c crawler) string { return strings.ToLower(c.Dialect.Name + "\t" + strings.Join(c.Tokens, "\t")) }
	given := map[string]bool{}
	star := false // given in some dialect
	for _, c := range crawlers {
		given[key(c)] = true
		star = star || c.first() == "*"
	}
	for _, c := range compare.Crawlers(before, after) {
		if len(crawlers) == 2*MaxCrawlers {
			break
		}
		if c := known(c.Name); !given[key(c)] && (c.first() != "*" || !star) {
			crawlers = append(crawlers, c)
		}
	}
	all := []object{}
	for _, c := range crawlers {
		if err := b.Work(budget.Reading(len(args[0]) + len(args[1]))); err != nil {
			return nil, err
		}
		r := compare.Rules(c.rules(before), c.rules(after), compare.Options{Steps: b.Left(diffSteps)})
		if err := b.Work(r.NewlyBlocked.Steps + r.NewlyAllowed.Steps); err != nil {
			return nil, err
		}
		if err := cmp.Or(b.Hold(sizeOfChanges(r.NewlyBlocked)), b.Hold(sizeOfChanges(r.NewlyAllowed))); err != nil {
			return nil, err
		}
		all = append(all, object{
			"dialect": c.Dialect.Name, "tokens": list(c.Tokens), "result": r.String(), "complete": r.NewlyBlocked.Complete && r.NewlyAllowed.Complete,
			"blocked": changesOf(r.NewlyBlocked), "opened": changesOf(r.NewlyAllowed),
		})
	}
	return object{"budget": diffSteps, "crawlers": all}, nil
}

// first returns the first token, * if there is none.
func (c crawler) first() string {
	if len(c.Tokens) == 0 {
		return "*"
	}
	return c.Tokens[0]
}

// mostChanges limits the changes of a direction in an answer.
const mostChanges = 20

// sizeOfChanges returns the largest size of changesOf in JSON.
func sizeOfChanges(d compare.Direction) (n int) {
	for _, c := range d.Changes[:min(len(d.Changes), mostChanges)] {
		n += 1<<8 + 6*(len(c.Path)+len(c.Old.Rule.Path())+len(c.New.Rule.Path()))
	}
	return n
}

func changesOf(d compare.Direction) object {
	changes := []object{}
	for _, c := range d.Changes[:min(len(d.Changes), mostChanges)] {
		changes = append(changes, object{"path": c.Path, "old": c.Old.String(), "new": c.New.String()})
	}
	return object{"complete": d.Complete, "more": max(0, len(d.Changes)-mostChanges), "changes": changes}
}

// decides returns the lines of rules that are proved never to decide for any of the crawlers. A
// rule outside their groups is not among them.
func decides(b *budget.Budget, args []string) (any, error) {
	f := robots.Parse([]byte(args[0]))
	crawlers, err := readCrawlers(args[1])
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	use := map[int]compare.Use{} // of a line, for the crawler that needs it most
	complete := true
	for _, c := range crawlers {
		if err := b.Work(budget.Reading(len(args[0]))); err != nil {
			return nil, err
		}
		r := c.rules(f)
		key := c.Dialect.Name + ":" + r.Group().Token()
		if seen[key] {
			continue // the same rules
		}
		seen[key] = true
		const effects = 16 // times the steps that compare.Effects uses at most
		for _, e := range compare.Effects(r, compare.Options{Steps: max(1, b.Left(effects*decidesSteps)/effects)}) {
			if err := b.Work(e.Steps); err != nil {
				return nil, err
			}
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
	return object{"never": lines, "complete": complete}, nil
}
