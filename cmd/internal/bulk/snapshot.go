package bulk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// This file reads snapshots by body, or by site.

// A part is a part of a snapshot: its captures, and their bodies.
type part struct {
	captures, bodies Input
	from, to         string // the range of its sites, see Shard
	number           int    // of captures in the inputs of a task; bodies follow
}

// addParts appends the parts of a snapshot to the inputs of a task.
func (t *Task) addParts(parts []part) {
	for i := range parts {
		parts[i].number = len(t.Inputs)
		t.Inputs = append(t.Inputs, parts[i].captures, parts[i].bodies)
	}
}

// overlapping returns the parts that can have sites of a range; "" is no bound.
func overlapping(parts []part, from, before string) (found []part) {
	for _, p := range parts {
		if (before == "" || p.from < before) && (p.to == "" || p.to > from) {
			found = append(found, p)
		}
	}
	return found
}

// inputsOf returns the indexes of parts in the inputs of their task.
func inputsOf(parts []part) (inputs []int) {
	for _, p := range parts {
		inputs = append(inputs, p.number, p.number+1)
	}
	return inputs
}

// openSnapshot lists the parts of a snapshot. The hash of captures covers bodies, whose
// hashes they hold.
func openSnapshot(dir string) ([]part, error) {
	t, err := read(dir)
	if err != nil || t.Verb != verbPack {
		return nil, fmt.Errorf("%s is not a snapshot of robots-bulk pack", dir)
	}
	if t.Format == CSV {
		return nil, fmt.Errorf("%s is a snapshot in csv, which cannot be read: pack it as parquet or jsonl", dir)
	}
	var parts []part
	missing := 0
	for _, s := range t.Shards {
		name := t.Name(s)
		captures, _, err := describe(t.path(tableCaptures, name), false)
		if errors.Is(err, os.ErrNotExist) {
			missing++
			continue
		}
		if err != nil {
			return nil, err
		}
		captures.Hash, _, _ = strings.Cut(captures.Hash, "@") // the time of the file is no part of it
		bodies := t.path(tableBodies, name)
		info, err := os.Stat(bodies)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{captures: captures, bodies: Input{Name: filepath.ToSlash(bodies), Size: info.Size()}, from: s.From, to: s.To})
	}
	if missing > 0 {
		return nil, fmt.Errorf("%s lacks %d of %d parts: complete robots-bulk pack first", dir, missing, len(t.Shards))
	}
	return parts, nil
}

// A valued is a capture with the value that a function made of its body, nil without a body.
type valued struct {
	Capture
	value []byte
}

// evaluated yields the captures of a range of sites in order. It calls fn for the bodies of one
// part after another, once for each body, so only one body is in memory.
func evaluated(ctx context.Context, scratch string, parts []part, from, before string, fn func(body []byte, truncated bool) ([]byte, error)) iter.Seq2[valued, error] {
	one := func(in *part, yield func(valued, error) bool) (more bool, err error) {
		values := newSorter(scratch)
		defer values.close()
		if err := in.evaluate(ctx, scratch, from, before, fn, values); err != nil {
			return false, err
		}
		next, stop := iter.Pull2(values.all)
		defer stop()
		for c, err := range in.sites(ctx, from, before) {
			if err != nil {
				return false, err
			}
			v := valued{Capture: c}
			if c.hasBody() {
				pair, err, _ := next()
				if err != nil {
					return false, err
				}
				v.value = bytes.Clone(pair.value)
			}
			if !yield(v, nil) {
				return false, nil
			}
		}
		return true, nil
	}
	return func(yield func(valued, error) bool) {
		for i := range parts {
			more, err := one(&parts[i], yield)
			if err != nil {
				yield(valued{}, err)
			}
			if !more {
				return
			}
		}
	}
}

// sites yields the captures of a range of sites.
func (in *part) sites(ctx context.Context, from, before string) iter.Seq2[Capture, error] {
	return func(yield func(Capture, error) bool) {
		for c, err := range readTable[Capture](filepath.FromSlash(in.captures.Name)) {
			if err == nil {
				err = ctx.Err()
			}
			switch {
			case err == nil && c.SURT < from:
				continue
			case err == nil && before != "" && c.SURT >= before:
				return
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// evaluate sorts the values of the bodies of captures into the order of the captures.
func (in *part) evaluate(ctx context.Context, scratch, from, before string, fn func(body []byte, truncated bool) ([]byte, error), values *sorter) error {
	byHash := newSorter(scratch)
	defer byHash.close()
	rows := uint64(0)
	for c, err := range in.sites(ctx, from, before) {
		if err != nil {
			return err
		}
		if !c.hasBody() {
			continue
		}
		key, err := hex.DecodeString(c.SHA256)
		if err != nil || len(key) != sha256.Size {
			return fmt.Errorf("%s: %s at byte %d of %s has an invalid hash", in.captures.Name, c.URL, c.Offset, c.Input)
		}
		if c.Truncated {
			key = append(key, 1)
		}
		if err := byHash.add(key, binary.BigEndian.AppendUint64(nil, rows)); err != nil {
			return err
		}
		rows++
	}
	next, stop := iter.Pull2(readTable[Body](filepath.FromSlash(in.bodies.Name)))
	defer stop()
	var body Body
	var last, value []byte
	for pair, err := range byHash.all {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(pair.key, last) {
			last = append(last[:0], pair.key...)
			sum := hex.EncodeToString(last[:sha256.Size])
			for more := true; more && body.SHA256 < sum; {
				if body, err, more = next(); err != nil {
					return err
				}
			}
			if body.SHA256 != sum {
				return fmt.Errorf("%s lacks the body %s of %s", in.bodies.Name, sum, in.captures.Name)
			}
			if value, err = fn(body.Body, len(last) > sha256.Size); err != nil {
				return err
			}
		}
		if err := values.add(pair.value, value); err != nil {
			return err
		}
	}
	return nil
}

// A keyed holds the captures of a range of sites, each with the place of its body in a file.
type keyed struct {
	captures iter.Seq2[valued, error]
	bodies   *os.File
}

func gather(ctx context.Context, scratch string, parts []part, from, before string) (*keyed, error) {
	f, err := os.CreateTemp(scratch, "bodies-*")
	if err != nil {
		return nil, err
	}
	at := 0
	return &keyed{bodies: f, captures: evaluated(ctx, scratch, parts, from, before, func(body []byte, _ bool) ([]byte, error) {
		place := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(at)), uint64(len(body)))
		at += len(body)
		_, err := f.Write(body)
		return place, err
	})}, nil
}

// body reads the body of a capture.
func (k *keyed) body(c *valued) ([]byte, error) {
	at, n := binary.Uvarint(c.value)
	size, _ := binary.Uvarint(c.value[n:])
	body := make([]byte, size)
	_, err := k.bodies.ReadAt(body, int64(at))
	return body, err
}

func (k *keyed) close() { remove([]*os.File{k.bodies}) }
