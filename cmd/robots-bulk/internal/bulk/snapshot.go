package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/s2"
)

// This file reads snapshots.

// A snapshotPart is a part of a snapshot: its captures, and their bodies.
type snapshotPart struct {
	captures, bodies Input
	from, to         string // the range of its sites, see Shard
	inputIndex       int    // of captures in the inputs of a task; bodies follow
	record           partRecord
}

// A siteRange is the range of sites of a shard, and about how many captures it has.
type siteRange struct {
	from, to string
	captures int64
}

// ranges divides a part into ranges of about so many captures, but at least captureInterval.
func (p *snapshotPart) ranges(captures int64) (ranges []siteRange) {
	interval := int64(captureInterval)
	step := max(captures/interval, 1)
	keys := p.record.Keys
	from := p.from
	rest := p.record.Captures
	n := int64(0)
	for i := range keys {
		n += interval
		if n < step*interval || keys[i] <= from {
			continue
		}
		ranges = append(ranges, siteRange{from: from, to: keys[i], captures: n})
		from = keys[i]
		rest -= n
		n = 0
	}
	return append(ranges, siteRange{from: from, to: p.to, captures: rest})
}

// addParts appends the parts of a snapshot to the inputs of a task.
func (t *Task) addParts(parts []snapshotPart) {
	for i := range parts {
		parts[i].inputIndex = len(t.Inputs)
		t.Inputs = append(t.Inputs, parts[i].captures, parts[i].bodies)
	}
}

// overlapping returns the parts that can have sites of a range; "" is no bound.
func overlapping(parts []snapshotPart, from, before string) (found []snapshotPart) {
	for _, p := range parts {
		if (before == "" || p.from < before) && (p.to == "" || p.to > from) {
			found = append(found, p)
		}
	}
	return found
}

// inputIndexes returns the indexes of parts in the inputs of their task.
func inputIndexes(parts []snapshotPart) (inputs []int) {
	for _, p := range parts {
		inputs = append(inputs, p.inputIndex, p.inputIndex+1)
	}
	return inputs
}

// readSnapshotManifest returns the task that makes or made a snapshot, without its Do.
func readSnapshotManifest(dir string) (*Task, error) {
	if err := checkLocal(dir); err != nil {
		return nil, err
	}
	t, err := readManifest(dir)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := readManifest(filepath.Join(dir, runsDir)); err == nil {
			return nil, fmt.Errorf(
				"%s is an unfinished snapshot: run its robots-bulk pack command again, or pack resolve after all jobs of pack read", dir,
			)
		}
		return nil, fmt.Errorf("%s is not a snapshot; name the output folder of robots-bulk pack", dir)
	}
	if err != nil {
		return nil, err
	}
	if t.Verb != verbPack {
		return nil, fmt.Errorf("%s is the output of robots-bulk %s, not a snapshot; name the output folder of robots-bulk pack", dir, t.Verb)
	}
	return t, nil
}

// openSnapshot lists the parts of a snapshot. The hash of captures covers bodies, whose
// hashes they hold.
func openSnapshot(dir string) ([]snapshotPart, error) {
	t, err := readSnapshotManifest(dir)
	if err != nil {
		return nil, err
	}
	if t.Format == CSV {
		return nil, fmt.Errorf("%s is a snapshot in csv, which cannot be read; pack it as parquet or jsonl", dir)
	}
	var parts []snapshotPart
	missing := 0
	for _, s := range t.Shards {
		name := t.PartName(s)
		record, ok := t.doneRecord(name)
		if !ok {
			missing++
			continue
		}
		captures, _, _, err := describeInput(t.partPath(tableCaptures, name), false)
		if err != nil {
			return nil, err
		}
		bodies := t.partPath(tableBodies, name)
		info, err := os.Stat(bodies)
		if err != nil {
			return nil, err
		}
		parts = append(parts, snapshotPart{
			captures: captures, bodies: Input{Name: filepath.ToSlash(bodies), Size: info.Size()}, from: s.From, to: s.To, record: record,
		})
	}
	if missing > 0 {
		return nil, fmt.Errorf("%s is an unfinished snapshot, which lacks %d of %d parts: run its robots-bulk pack command again",
			dir, missing, len(t.Shards))
	}
	return parts, nil
}

// A storedCapture is a capture and where its body is.
type storedCapture struct {
	Capture
	bodies *pairFile // by hash
}

// body reads the body of a capture.
func (c *storedCapture) body() ([]byte, error) {
	_, p, err := c.bodies.neighbors([]byte(c.SHA256))
	if err != nil {
		return nil, err
	}
	if string(p.key) != c.SHA256 {
		return nil, fmt.Errorf("the snapshot lacks the body %s of %s at byte %d of %s", c.SHA256, c.URL, c.Offset, c.Input)
	}
	return s2.Decode(nil, p.value)
}

// readCaptures yields the captures of a range of sites in order. Their bodies can be read until the
// writer is closed.
func (p *PartWriter) readCaptures(ctx context.Context, parts []snapshotPart, from, before string) iter.Seq2[storedCapture, error] {
	return func(yield func(storedCapture, error) bool) {
		for i := range parts {
			if !p.readPart(ctx, &parts[i], from, before, yield) {
				return
			}
		}
	}
}

// readPart yields the captures of a range of sites in one part, and reports whether there can be more.
func (p *PartWriter) readPart(ctx context.Context, in *snapshotPart, from, before string, yield func(storedCapture, error) bool) bool {
	bodies, err := p.task.bodies.acquire(ctx, in)
	if err != nil {
		yield(storedCapture{}, err)
		return false
	}
	p.bodies = append(p.bodies, bodies)
	for c, err := range readTable[Capture](filepath.FromSlash(in.captures.Name)) {
		err = cmp.Or(err, ctx.Err())
		switch {
		case err == nil && c.SURT < from:
			continue
		case err == nil && before != "" && c.SURT >= before:
			return true
		case !yield(storedCapture{c, bodies.pairs}, err) || err != nil:
			return false
		}
	}
	return true
}
