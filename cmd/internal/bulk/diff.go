package bulk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sort"
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
	t := &Task{Verb: verbDiff, Dir: dir, Format: format, Tables: []string{tableChanges}}
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
		t.Shards = append(t.Shards, Shard{
			Number: i, From: r.from, To: r.to,
			Inputs: append(inputsOf(sides[0], 0, r.from, r.to), inputsOf(sides[1], 2*len(sides[0]), r.from, r.to)...),
		})
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
		n := sort.SearchInts(s.Inputs, 2*len(sides[0]))
		return a.diff(ctx, [2][]part{t.partsOf(s.Inputs[:n]), t.partsOf(s.Inputs[n:])}, s, t.Format, p)
	}
	return t, nil
}

// A side is the captures of one snapshot, a site at a time.
type side struct {
	*keyed
	next  func() (held, error, bool)
	ahead held
	more  bool
}

// site returns the decisive capture of the next site, false if there is none: the last
// answer, else the last failure, else the last capture.
func (s *side) site() (last held, ok bool, err error) {
	rank := func(h *held) int {
		switch {
		case h.Outcome == fetch.Success.String() || h.Outcome == fetch.Unavailable.String():
			return 2
		case h.Answered():
			return 1
		}
		return 0
	}
	if !s.more {
		return held{}, false, nil
	}
	last = s.ahead
	for {
		if s.ahead, err, s.more = s.next(); err != nil {
			return held{}, false, err
		}
		if !s.more || s.ahead.SURT != last.SURT || s.ahead.Origin != last.Origin {
			return last, true, nil
		}
		if rank(&s.ahead) >= rank(&last) {
			last = s.ahead
		}
	}
}

// diff makes the rows of a range of sites.
func (a *evaluator) diff(ctx context.Context, parts [2][]part, s Shard, format string, p *Part) (Counts, error) {
	var counts Counts
	w, err := createTable[Diff](p, tableChanges, format)
	if err != nil {
		return counts, err
	}
	var sides [2]side
	var now [2]held
	var has [2]bool
	for i := range sides {
		k, err := gather(ctx, p.Scratch(), parts[i], s.From, s.To)
		if err != nil {
			return counts, err
		}
		defer k.close()
		next, stop := iter.Pull2(k.all())
		defer stop()
		sides[i] = side{keyed: k, next: next}
		if sides[i].ahead, err, sides[i].more = next(); err != nil {
			return counts, err
		}
		if now[i], has[i], err = sides[i].site(); err != nil {
			return counts, err
		}
	}
	for has[0] || has[1] {
		order := 0
		switch {
		case !has[1]:
			order = -1
		case !has[0]:
			order = 1
		default:
			order = cmp.Or(strings.Compare(now[0].SURT, now[1].SURT), strings.Compare(now[0].Origin, now[1].Origin))
		}
		var rows []Diff
		switch {
		case order < 0:
			rows = a.every(now[0].Origin, Gone)
		case order > 0:
			rows = a.every(now[1].Origin, Appeared)
		default:
			if rows, err = a.changes(&sides, &now); err != nil {
				return counts, err
			}
		}
		for i := range rows {
			if err := w.Write(&rows[i]); err != nil {
				return counts, err
			}
		}
		counts.Rows += int64(len(rows))
		for i := range sides {
			if i == 0 && order <= 0 || i == 1 && order >= 0 {
				counts.Captures++
				if now[i], has[i], err = sides[i].site(); err != nil {
					return counts, err
				}
			}
		}
		if err := ctx.Err(); err != nil {
			return counts, err
		}
	}
	return counts, w.Close()
}

// every returns rows with one change for all crawlers and dialects.
func (a *evaluator) every(origin, change string) (rows []Diff) {
	for _, agent := range a.names {
		for _, d := range a.dialects {
			rows = append(rows, Diff{Origin: origin, Agent: agent, Dialect: d.Name, Change: change})
		}
	}
	return rows
}

// changes compares two captures of one site.
func (a *evaluator) changes(sides *[2]side, of *[2]held) ([]Diff, error) {
	origin := of[0].Origin
	if !of[0].Answered() || !of[1].Answered() {
		return a.every(origin, Undecided), nil
	}
	if of[0].Place >= 0 && of[1].Place >= 0 && of[0].SHA256 == of[1].SHA256 && of[0].Truncated == of[1].Truncated {
		return a.every(origin, Same), nil
	}
	var rules [2][]*robots.Rules
	for i := range of {
		if of[i].Place < 0 {
			var err error
			if rules[i], err = a.captureRules(&of[i].Capture); err != nil {
				return nil, err
			}
			continue
		}
		body, err := sides[i].body(&of[i])
		if err != nil {
			return nil, err
		}
		rules[i] = a.bodyRules(body, of[i].Truncated)
	}
	type pair struct{ before, after *robots.Rules }
	known := map[pair]Diff{}
	n := len(a.names)
	rows := make([]Diff, 0, n*len(a.dialects))
	for agent, name := range a.names {
		for d := range a.dialects {
			p := pair{rules[0][d*n+agent], rules[1][d*n+agent]}
			row, ok := known[p]
			if !ok {
				row = compared(p.before, p.after, a.Steps)
				known[p] = row
			}
			row.Origin, row.Agent, row.Dialect = origin, name, a.dialects[d].Name
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// compared compares two rules. The steps limit each comparison, so that the result for one
// crawler does not depend on the others.
func compared(before, after *robots.Rules, steps int) Diff {
	root := robots.RawPath("/")
	if before.Match(root).Undecided() || after.Match(root).Undecided() || isCut(before) || isCut(after) {
		return Diff{Change: Undecided}
	}
	r := compare.Rules(before, after, compare.Options{Steps: min(steps, compare.DefaultSteps), SkipRobotsTxt: true})
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
