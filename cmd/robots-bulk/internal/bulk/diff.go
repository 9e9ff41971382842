package bulk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/fetch"
)

// DiffOptions are those of a diff as its manifest has them.
type DiffOptions struct {
	AskOptions
	Before int `json:"parts_before"` // parts of the first snapshot
}

const (
	verbDiff     = "diff"
	tableChanges = "changes"
)

// DiffTask returns the task that compares the last answers of each site in two snapshots.
func (o AskOptions) DiffTask(dir, format, before, after string) (*Task, error) {
	if len(o.Paths) > 0 {
		return nil, errors.New("diff compares whole sites, not paths")
	}
	if _, err := o.canonical(); err != nil {
		return nil, err
	}
	t := newTask(verbDiff, dir, format, tableChanges)
	var sides [2][]part
	for i, snapshot := range []string{before, after} {
		var err error
		if sides[i], err = openSnapshot(snapshot); err != nil {
			return nil, err
		}
		t.addParts(sides[i])
	}
	ranges := sides[0] // those of the snapshot with more parts
	if len(sides[1]) > len(ranges) {
		ranges = sides[1]
	}
	for i, r := range ranges {
		s := Shard{Number: i, From: r.from, To: r.to}
		for _, parts := range sides {
			s.Inputs = append(s.Inputs, inputsOf(overlapping(parts, r.from, r.to))...)
		}
		t.Shards = append(t.Shards, s)
	}
	var err error
	if t.Options, err = json.Marshal(DiffOptions{o, len(sides[0])}); err != nil {
		return nil, err
	}
	t.Do = func(ctx context.Context, s Shard, p *Part) (Counts, error) {
		a, err := newEvaluator(o)
		if err != nil {
			return Counts{}, err
		}
		return a.diff(ctx, sides, s, t.Format, p)
	}
	return t, nil
}

// A side is one snapshot, read a site at a time.
type side struct {
	next func() (held, error, bool)
	now  held // the decisive capture of the current site
	more bool // there is one
}

// advance goes to the next site.
func (s *side) advance() (err error) {
	s.now, err, s.more = s.next()
	return err
}

// decisive yields one of the captures of each site: the last answer, else the last failure, else
// the last capture.
func decisive(all iter.Seq2[held, error]) iter.Seq2[held, error] {
	rank := func(c *held) int {
		switch {
		case c.hasBody() || c.Outcome == fetch.Unavailable.String():
			return 2
		case c.Answered():
			return 1
		}
		return 0
	}
	return func(yield func(held, error) bool) {
		var best held
		for c, err := range all {
			switch {
			case err != nil:
				yield(c, err)
				return
			case best.Origin == "" || c.Origin == best.Origin:
				if rank(&c) >= rank(&best) {
					best = c
				}
			case !yield(best, nil):
				return
			default:
				best = c
			}
		}
		if best.Origin != "" {
			yield(best, nil)
		}
	}
}

// diff makes the rows of a range of sites.
func (a *evaluator) diff(ctx context.Context, parts [2][]part, s Shard, format string, p *Part) (counts Counts, err error) {
	w, err := createTable[Diff](p, tableChanges, format)
	if err != nil {
		return counts, err
	}
	var sides [2]side
	for i := range sides {
		next, stop := iter.Pull2(decisive(captures(ctx, &p.scratch, overlapping(parts[i], s.From, s.To), s.From, s.To)))
		defer stop()
		sides[i].next = next
		if err := sides[i].advance(); err != nil {
			return counts, err
		}
	}
	before, after := &sides[0], &sides[1]
	for before.more || after.more {
		order := cmp.Or(strings.Compare(before.now.SURT, after.now.SURT), strings.Compare(before.now.Origin, after.now.Origin))
		var rows []Diff
		switch {
		case !after.more || before.more && order < 0:
			rows = a.every(before.now.Origin, Gone)
			err = before.advance()
		case !before.more || order > 0:
			rows = a.every(after.now.Origin, Appeared)
			err = after.advance()
		default:
			if rows, err = a.changes(before, after); err == nil {
				err = errors.Join(before.advance(), after.advance())
			}
			counts.Captures++
		}
		if err != nil {
			return counts, err
		}
		counts.Captures++
		for i := range rows {
			if err := w.Write(&rows[i]); err != nil {
				return counts, err
			}
		}
	}
	return counts, w.Close()
}

// every returns rows with one change for all crawlers and dialects.
func (a *evaluator) every(origin, change string) (rows []Diff) {
	for _, c := range a.crawlers {
		rows = append(rows, Diff{Origin: origin, Agent: c.name, Dialect: c.dialect.Name, Change: change})
	}
	return rows
}

// changes compares the captures of the current site.
func (a *evaluator) changes(before, after *side) ([]Diff, error) {
	one, two := &before.now, &after.now
	if !one.Answered() || !two.Answered() {
		return a.every(one.Origin, Undecided), nil
	}
	if one.hasBody() && two.hasBody() && one.SHA256 == two.SHA256 && one.Truncated == two.Truncated {
		return a.every(one.Origin, Same), nil
	}
	var rules [2][]*robots.Rules
	for i, c := range []*held{one, two} {
		var err error
		if rules[i], _, err = a.rules(c); err != nil {
			return nil, err
		}
	}
	results, _ := compare.Each(rules[0], rules[1], compare.Options{Steps: min(a.Steps, compare.DefaultSteps), SkipRobotsTxt: true})
	rows := make([]Diff, 0, len(a.crawlers))
	for i, c := range a.crawlers {
		row := changeOf(rules[0][i], rules[1][i], results[i])
		row.Origin, row.Agent, row.Dialect = one.Origin, c.name, c.dialect.Name
		rows = append(rows, row)
	}
	return rows, nil
}

// changeOf returns the change of a crawler. The result for one does not depend on the others, as
// the steps limit each comparison.
func changeOf(before, after *robots.Rules, r *compare.Result) Diff {
	root := robots.RawPath("/")
	if before.Match(root).Undecided() || after.Match(root).Undecided() || isCut(before) || isCut(after) {
		return Diff{Change: Undecided}
	}
	switch {
	case r.Same():
		return Diff{Change: Same}
	case !r.Differs():
		return Diff{Change: Undecided}
	}
	var first compare.Change
	for _, d := range []compare.Direction{r.NewlyBlocked, r.NewlyAllowed} {
		if len(d.Changes) > 0 && (first.Path == "" || len(d.Changes[0].Path) < len(first.Path)) {
			first = d.Changes[0]
		}
	}
	line := func(v robots.Verdict) int32 {
		if v.Rule.IsZero() {
			return 0
		}
		return int32(v.Rule.Line())
	}
	return Diff{Change: Changed, Witness: first.Path, LineBefore: line(first.Old), LineAfter: line(first.New)}
}
