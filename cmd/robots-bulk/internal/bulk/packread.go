package bulk

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
)

// PackRead makes the runs of a snapshot: shard number i of the task reads the i-th share of
// the inputs. It does the shards of run.Share.
func PackRead(ctx context.Context, dir string, o PackOptions, inputs []Input, shards int, run RunOptions) error {
	snapshot, err := readManifest(dir)
	if err == nil && isComplete(snapshot) {
		if inputs, err = snapshot.identifyShare(inputs, shards, run.Share); err != nil {
			return err
		}
		return snapshot.claimSnapshot(snapshot.Format, inputs, func(old *PackOptions) { old.LooseFiles = o.LooseFiles })
	}
	t, err := o.readTask(dir, inputs, shards)
	if err != nil {
		return err
	}
	if err := t.checkRuns(run.Share); err != nil {
		return err
	}
	return Run(ctx, t, run)
}

// shareOfInputs returns the range of the inputs that a shard of pack read reads.
func shareOfInputs(shard, inputs, shards int) (from, to int) {
	return shard * inputs / shards, (shard + 1) * inputs / shards
}

// identifyShare returns the inputs of a complete snapshot with the hashes of those in a share. The others
// have those of the snapshot, as they are not opened.
func (t *Task) identifyShare(inputs []Input, shards int, share Share) ([]Input, error) {
	hashes := map[Input]string{} // by name and size
	for _, in := range t.Inputs {
		hashes[Input{Name: in.Name, Size: in.Size}] = in.Hash
	}
	all := slices.Clone(inputs)
	for shard := range shards {
		from, to := shareOfInputs(shard, len(all), shards)
		if share.includes(shard, shards) {
			identified, err := identifyInputs(all[from:to])
			if err != nil {
				return nil, err
			}
			copy(all[from:to], identified)
			continue
		}
		for i := range all[from:to] {
			all[from+i].Hash = hashes[Input{Name: all[from+i].Name, Size: all[from+i].Size}]
		}
	}
	return all, nil
}

// checkRuns returns an error if an input of a share has changed since its run was written.
func (t *Task) checkRuns(share Share) error {
	for _, s := range t.Shards {
		name := t.PartName(s)
		if !share.includes(s.Number, len(t.Shards)) || !t.isDone(name) {
			continue
		}
		run, err := openSortedRun(t.partPath(tableRuns, name))
		if err != nil {
			return err
		}
		run.Close()
		var inputs []Input
		for _, i := range s.Inputs {
			inputs = append(inputs, t.Inputs[i])
		}
		if inputs, err = identifyInputs(inputs); err != nil {
			return err
		}
		if d := differentInputs(run.Inputs, inputs); d != "" {
			return &OtherTaskError{filepath.Dir(t.Dir), d}
		}
	}
	return nil
}

// readTask returns the task of pack read.
func (o PackOptions) readTask(dir string, inputs []Input, shards int) (*Task, error) {
	options, err := json.Marshal(PackOptions{LooseFiles: o.LooseFiles})
	if err != nil {
		return nil, err
	}
	t := newTask(verbRead, filepath.Join(dir, runsDir), runFormat, tableRuns)
	t.Options = options
	t.Inputs = inputs
	for i := range shards {
		shard := Shard{Number: i}
		from, to := shareOfInputs(i, len(inputs), shards)
		for input := from; input < to; input++ {
			shard.Inputs = append(shard.Inputs, input)
			shard.work += inputs[input].Size
		}
		t.Shards = append(t.Shards, shard)
	}
	t.DoShard = func(ctx context.Context, shard Shard, p *PartWriter) error {
		return writeRun(ctx, t, shard, o, p)
	}
	return t, nil
}
