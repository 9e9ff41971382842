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
	EvaluationOptions
	Before int `json:"parts_before"` // parts of the first snapshot
}

const (
	verbDiff     = "diff"
	tableChanges = "changes"
)

// DiffTask returns the task that compares the last answers of each site in two snapshots.
func (o EvaluationOptions) DiffTask(dir, format, before, after string) (*Task, error) {
	if len(o.Paths) > 0 {
		return nil, errors.New("diff compares whole sites, not paths")
	}
	if _, err := o.normalize(); err != nil {
		return nil, err
	}
	e, err := newEvaluator(o)
	if err != nil {
		return nil, err
	}
	t := newTask(verbDiff, dir, format, tableChanges)
	var sides [2][]snapshotPart
	for i, snapshot := range []string{before, after} {
		if sides[i], err = openSnapshot(snapshot); err != nil {
			return nil, err
		}
		t.addParts(sides[i])
	}
	divided := sides[0] // the snapshot with more captures
	if countCaptures(sides[1]) > countCaptures(divided) {
		divided = sides[1]
	}
	for i := range divided {
		for _, r := range divided[i].ranges(e.capturesPerShard() / 2) { // as two snapshots are read
			s := Shard{Number: len(t.Shards), From: r.from, To: r.to, work: 2 * r.captures}
			for _, parts := range sides {
				s.Inputs = append(s.Inputs, inputIndexes(overlapping(parts, r.from, r.to))...)
			}
			t.Shards = append(t.Shards, s)
		}
	}
	if t.Options, err = json.Marshal(DiffOptions{o, len(sides[0])}); err != nil {
		return nil, err
	}
	t.DoShard = func(ctx context.Context, s Shard, p *PartWriter) error {
		e, err := newEvaluator(o)
		if err != nil {
			return err
		}
		return e.diffRange(ctx, sides, s, p)
	}
	return t, nil
}

// countCaptures returns how many captures some parts have.
func countCaptures(parts []snapshotPart) (n int64) {
	for i := range parts {
		n += parts[i].record.Captures
	}
	return n
}

// A siteCaptures is one snapshot, read a site at a time.
type siteCaptures struct {
	next    func() (storedCapture, error, bool)
	capture storedCapture // the decisive capture of the current site
	ok      bool          // there is one
}

// advance goes to the next site.
func (s *siteCaptures) advance() (err error) {
	s.capture, err, s.ok = s.next()
	return err
}

// decisiveCaptures yields one of the captures of each site: the last answer, else the last failure, else
// the last capture.
func decisiveCaptures(all iter.Seq2[storedCapture, error]) iter.Seq2[storedCapture, error] {
	rank := func(c *storedCapture) int {
		switch {
		case c.hasBody() || c.Outcome == fetch.Unavailable.String():
			return 2
		case c.HasAnswer():
			return 1
		}
		return 0
	}
	return func(yield func(storedCapture, error) bool) {
		var best storedCapture
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

// diffRange makes the rows of a range of sites.
func (e *evaluator) diffRange(ctx context.Context, parts [2][]snapshotPart, s Shard, p *PartWriter) error {
	changes, err := createTablePart[AccessChange](p, tableChanges, p.task.Format)
	if err != nil {
		return err
	}
	var sides [2]siteCaptures
	for i := range sides {
		next, stop := iter.Pull2(decisiveCaptures(p.readCaptures(ctx, overlapping(parts[i], s.From, s.To), s.From, s.To)))
		defer stop()
		sides[i].next = next
		if err := sides[i].advance(); err != nil {
			return err
		}
	}
	before := &sides[0]
	after := &sides[1]
	for before.ok || after.ok {
		order := cmp.Or(strings.Compare(before.capture.SURT, after.capture.SURT), strings.Compare(before.capture.Origin, after.capture.Origin))
		var rows []AccessChange
		switch {
		case !after.ok || before.ok && order < 0:
			rows = e.changeForAllCrawlers(&before.capture.Capture, ChangeGone)
			err = before.advance()
		case !before.ok || order > 0:
			rows = e.changeForAllCrawlers(&after.capture.Capture, ChangeAppeared)
			err = after.advance()
		default:
			if rows, err = e.compareCaptures(before, after); err == nil {
				err = errors.Join(before.advance(), after.advance())
			}
			p.advance(0, 1)
		}
		if err != nil {
			return err
		}
		p.advance(1, 1)
		for i := range rows {
			if err := changes.Write(&rows[i]); err != nil {
				return err
			}
		}
	}
	return changes.Close()
}

// changeForAllCrawlers returns rows with one change of a site for all crawlers and dialects.
func (e *evaluator) changeForAllCrawlers(capture *Capture, change string) (rows []AccessChange) {
	for _, c := range e.crawlers {
		rows = append(rows, AccessChange{
			Origin: capture.Origin, Agent: c.name, Dialect: c.dialect.Name, Change: change, Site: capture.Site,
		})
	}
	return rows
}

// compareCaptures compares the captures of the current site.
func (e *evaluator) compareCaptures(before, after *siteCaptures) ([]AccessChange, error) {
	one := &before.capture
	two := &after.capture
	if !one.HasAnswer() || !two.HasAnswer() {
		return e.changeForAllCrawlers(&one.Capture, ChangeUndecided), nil
	}
	if one.hasBody() && two.hasBody() && one.SHA256 == two.SHA256 && one.Truncated == two.Truncated {
		return e.changeForAllCrawlers(&one.Capture, ChangeSame), nil
	}
	var rules [2][]*robots.Rules
	for i, c := range []*storedCapture{one, two} {
		var err error
		if rules[i], _, err = e.readRules(c); err != nil {
			return nil, err
		}
	}
	results, _ := compare.Each(rules[0], rules[1], compare.Options{Steps: min(e.Steps, compare.DefaultSteps), SkipRobotsTxt: true})
	rows := make([]AccessChange, 0, len(e.crawlers))
	for i, c := range e.crawlers {
		row := newAccessChange(rules[0][i], rules[1][i], results[i])
		row.Origin = one.Origin
		row.Site = one.Site
		row.Agent = c.name
		row.Dialect = c.dialect.Name
		rows = append(rows, row)
	}
	return rows, nil
}

// newAccessChange returns the change of a crawler. The result for one does not depend on the others, as
// the steps limit each comparison.
func newAccessChange(before, after *robots.Rules, r *compare.Result) AccessChange {
	root := robots.RawPath("/")
	if before.Match(root).Undecided() || after.Match(root).Undecided() || isTruncated(before) || isTruncated(after) {
		return AccessChange{Change: ChangeUndecided}
	}
	switch {
	case r.Same():
		return AccessChange{Change: ChangeSame}
	case !r.Differs():
		return AccessChange{Change: ChangeUndecided}
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
	return AccessChange{Change: ChangeChanged, Witness: first.Path, LineBefore: line(first.Old), LineAfter: line(first.New)}
}
