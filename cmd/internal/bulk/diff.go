package bulk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/fetch"
)

// DiffOptions are those of a diff as its manifest has them.
type DiffOptions struct {
	AskOptions
	Before int `json:"parts_before"` // how many parts the first snapshot has
}

const (
	verbDiff     = "diff"
	tableChanges = "changes"
)

// A range of sites of a diff is made for so many bytes of captures, and there are so many
// ranges at most: each reads all bodies.
var diffBytes int64 = 64 << 20

const mostDiffShards = 64

// DiffTask returns the task that compares what two snapshots say of each site: the last
// answer in each of them.
func (o AskOptions) DiffTask(dir, format, before, after string) (*Task, error) {
	if len(o.Paths) > 0 {
		return nil, errors.New("a diff compares whole sites, and no paths")
	}
	if _, err := o.canonical(); err != nil {
		return nil, err
	}
	t := &Task{Verb: verbDiff, Dir: dir, Format: format, Tables: []string{tableChanges}}
	size, first := int64(0), 0
	var parts []part
	for i, snapshot := range []string{before, after} {
		list, err := openSnapshot(snapshot)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			first = len(list)
		}
		for _, p := range list {
			t.Inputs = append(t.Inputs, p.captures, p.bodies)
			size += p.captures.Size
		}
		parts = append(parts, list...)
	}
	bounds, err := rangesOf(parts, int(min(size/diffBytes, mostDiffShards-1)))
	if err != nil {
		return nil, err
	}
	for i := range len(bounds) + 1 {
		s := Shard{Number: i}
		if i > 0 {
			s.From = bounds[i-1]
		}
		if i < len(bounds) {
			s.To = bounds[i]
		}
		t.Shards = append(t.Shards, s)
	}
	if len(t.Shards) == 1 { // of several each would list all inputs
		for i := range t.Inputs {
			t.Shards[0].Inputs = append(t.Shards[0].Inputs, i)
		}
	}
	if t.Options, err = json.Marshal(DiffOptions{o, first}); err != nil {
		return nil, err
	}
	return t, t.resolve()
}

// rangesOf returns keys that cut the sites of parts into ranges of about one size, one
// more than n.
func rangesOf(parts []part, n int) (bounds []string, err error) {
	if n == 0 {
		return nil, nil
	}
	const enough = 100_000
	var keys []string
	if len(parts) <= 2 { // each sorted, and with many groups
		for _, p := range parts {
			starts, err := groupStarts(filepath.FromSlash(p.captures.Name), "surt")
			if err != nil {
				return nil, err
			}
			keys = append(keys, starts...)
		}
	} else {
		for _, p := range parts[:min(len(parts), 10)] { // any part has sites of all ranges
			for c, err := range readTable[Capture](filepath.FromSlash(p.captures.Name)) {
				if err != nil {
					return nil, err
				}
				if keys = append(keys, c.SURT); len(keys)%enough == 0 {
					break
				}
			}
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	for i := 1; i <= n && len(keys) > 0; i++ {
		if k := keys[i*len(keys)/(n+1)]; k > keys[0] && (len(bounds) == 0 || k > bounds[len(bounds)-1]) {
			bounds = append(bounds, k)
		}
	}
	return bounds, nil
}

func init() {
	register(verbDiff, func(t *Task) (Do, error) {
		var o DiffOptions
		if err := json.Unmarshal(t.Options, &o); err != nil || 2*o.Before > len(t.Inputs) {
			return nil, fmt.Errorf("options of %s: %w", t.Dir, cmp.Or(err, errors.New("more parts than inputs")))
		}
		if _, err := newAsker(o.AskOptions); err != nil {
			return nil, err
		}
		sides := [2][]part{partsOf(t.Inputs[:2*o.Before]), partsOf(t.Inputs[2*o.Before:])}
		return func(ctx context.Context, s Shard, p *Part) (Counts, error) {
			a, err := newAsker(o.AskOptions)
			if err != nil {
				return Counts{}, err
			}
			return a.diff(ctx, sides, s, t.Format, p)
		}, nil
	})
}

// A side is the captures of one snapshot, a site at a time.
type side struct {
	*keyed
	next  func() (held, error, bool)
	ahead held
	more  bool
}

// site returns the capture of the next site that speaks for it, false if there is none: the
// last answer, else the last failure, else what is last.
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
func (a *asker) diff(ctx context.Context, parts [2][]part, s Shard, format string, p *Part) (Counts, error) {
	counts := Counts{ByKind: map[string]int64{}}
	out, err := p.Create(tableChanges)
	if err != nil {
		return counts, err
	}
	w, err := writeTable[Diff](out, format)
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
		counts.Bytes += k.Read
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
			counts.ByKind[rows[i].Change]++
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

// every returns a row of each crawler and dialect that says the same.
func (a *asker) every(origin, change string) (rows []Diff) {
	for _, agent := range a.names {
		for _, d := range a.dialects {
			rows = append(rows, Diff{Origin: origin, Agent: agent, Dialect: d.Name, Change: change})
		}
	}
	return rows
}

// changes compares two captures of one site.
func (a *asker) changes(sides *[2]side, of *[2]held) ([]Diff, error) {
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

// compared compares two rules. The steps bound each comparison: that of one crawler may not
// depend on who else is asked for.
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
