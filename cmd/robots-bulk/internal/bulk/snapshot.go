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
		return nil, fmt.Errorf("%s is not a snapshot: name the output folder of robots-bulk pack", dir)
	}
	if err != nil {
		return nil, err
	}
	if t.Verb != verbPack {
		return nil, fmt.Errorf("%s is the output of robots-bulk %s, not a snapshot: name the output folder of robots-bulk pack", dir, t.Verb)
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
		return nil, fmt.Errorf("%s is a snapshot in csv, which cannot be read: pack it as parquet or jsonl", dir)
	}
	var parts []snapshotPart
	missing := 0
	for _, s := range t.Shards {
		name := t.PartName(s)
		if !t.isDone(name) {
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
			captures: captures, bodies: Input{Name: filepath.ToSlash(bodies), Size: info.Size()}, from: s.From, to: s.To,
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

// readCaptures yields the captures of a range of sites in order. It keeps the bodies of the parts,
// which have them by hash and not by site, in temporary files.
func readCaptures(ctx context.Context, tmp *tempFiles, parts []snapshotPart, from, before string) iter.Seq2[storedCapture, error] {
	return func(yield func(storedCapture, error) bool) {
		for _, in := range parts {
			bodies, err := tmp.writePairs(in.bodyPairs(ctx))
			if err != nil {
				yield(storedCapture{}, err)
				return
			}
			for c, err := range readTable[Capture](filepath.FromSlash(in.captures.Name)) {
				if err = cmp.Or(err, ctx.Err()); err == nil && c.SURT < from {
					continue
				}
				if err == nil && before != "" && c.SURT >= before {
					break
				}
				if !yield(storedCapture{c, bodies}, err) || err != nil {
					return
				}
			}
		}
	}
}

// bodyPairs yields the bodies of a part by hash.
func (in *snapshotPart) bodyPairs(ctx context.Context) iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		for b, err := range readTable[Body](filepath.FromSlash(in.bodies.Name)) {
			err = cmp.Or(err, ctx.Err())
			if !yield(pair{key: []byte(b.SHA256), value: s2.Encode(nil, b.Body)}, err) || err != nil {
				return
			}
		}
	}
}
