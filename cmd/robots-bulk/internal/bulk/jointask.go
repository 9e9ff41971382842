package bulk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
)

// minJoinShards is the number of shards if there are as many lists.
const minJoinShards = 16

// JoinTask returns the task that evaluates the URLs of lists, each as of its time. The lists
// follow one another by name, as the files of an index do. A shard is some of them and their
// range of sites. It reads the bodies of that range, so there are only as many shards as
// keep that below the size of the lists.
func (o JoinOptions) JoinTask(dir, format, snapshot string, lists []string) (*Task, error) {
	if len(o.Paths) > 0 {
		return nil, errors.New("join evaluates the URLs of its lists, no other paths")
	}
	if _, err := o.normalize(); err != nil {
		return nil, err
	}
	o.At = o.At.UTC()
	parts, err := openSnapshot(snapshot)
	if err != nil {
		return nil, err
	}
	t := newTask(verbJoin, dir, format, tableJoined)
	lists = slices.Sorted(slices.Values(lists))
	lists = slices.Compact(lists)
	first, err := o.addLists(t, lists)
	if err != nil {
		return nil, err
	}
	t.addParts(parts)
	addJoinShards(t, parts, first)
	o.Lists = len(lists)
	if t.Options, err = json.Marshal(o); err != nil {
		return nil, err
	}
	if o.Sort {
		t.replaces = t.sortsListsOf
	}
	t.DoShard = func(ctx context.Context, s Shard, p *PartWriter) error {
		e, err := newEvaluator(o.EvaluationOptions)
		if err != nil {
			return err
		}
		j := &joiner{evaluator: e, JoinOptions: o, nextShardKey: s.To}
		return j.joinShard(ctx, t, parts, s, p)
	}
	return t, nil
}

// sortsListsOf reports whether an unfinished task differs from this one only in that its lists are not
// sorted first, as its error advises to do.
func (t *Task) sortsListsOf(old *Task) bool {
	var o JoinOptions
	if old.Verb != verbJoin || old.Engine != t.Engine || old.Format != t.Format || json.Unmarshal(old.Options, &o) != nil {
		return false
	}
	o.Sort = true
	options, err := json.Marshal(o)
	if err != nil || !bytes.Equal(options, t.Options) || !slices.Equal(old.Inputs, t.Inputs) {
		return false
	}
	status, err := old.survey(Share{})
	return err == nil && status.Done < status.Shards
}

// addLists adds lists to the inputs of a task, and returns the first site of each, "" if they are sorted
// later.
func (o *JoinOptions) addLists(t *Task, lists []string) (first []string, err error) {
	for _, name := range lists {
		if err := checkLocal(name); err != nil {
			return nil, err
		}
		in, _, _, err := describeInput(name, false)
		if err != nil {
			return nil, err
		}
		site := ""
		if !o.Sort {
			if site, err = firstSite(name); err != nil {
				return nil, err
			}
		}
		first = append(first, site)
		t.Inputs = append(t.Inputs, in)
	}
	return first, nil
}

// addJoinShards adds the shards of a task whose first inputs are lists, of which first are the first sites.
func addJoinShards(t *Task, parts []snapshotPart, first []string) {
	lists := len(first)
	snapshotBytes := int64(0)
	for _, p := range parts {
		snapshotBytes += p.captures.Size + p.bodies.Size
	}
	listBytes := int64(0)
	for _, in := range t.Inputs[:lists] {
		listBytes += in.Size
	}
	shards := min(lists, max(minJoinShards, int(listBytes/max(snapshotBytes, 1))))
	for i := range shards {
		from := i * lists / shards
		to := (i + 1) * lists / shards
		s := Shard{Number: i, From: cmp.Or(first[from:to]...), To: cmp.Or(first[to:]...)}
		for k := from; k < to; k++ {
			s.Inputs = append(s.Inputs, k)
			s.work += t.Inputs[k].Size
		}
		s.Inputs = append(s.Inputs, inputIndexes(overlapping(parts, s.From, keyAfter(s.To)))...)
		t.Shards = append(t.Shards, s)
	}
}

// keyAfter returns the first key after that of a site; "" is no bound.
func keyAfter(site string) string {
	if site == "" {
		return ""
	}
	return site + "\x00"
}
