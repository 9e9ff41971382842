package bulk

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// This file reads snapshots by body, or by site.

// A part is a part of a snapshot: its captures, and their bodies.
type part struct {
	captures, bodies Input
	from, to         string // the range of its sites, see Shard
}

// overlaps reports whether a part can have sites of a range; "" is no bound.
func (in *part) overlaps(from, before string) bool {
	return (before == "" || in.from < before) && (in.to == "" || in.to > from)
}

// addParts appends the parts of a snapshot to the inputs of a task.
func (t *Task) addParts(parts []part) {
	for _, p := range parts {
		t.Inputs = append(t.Inputs, p.captures, p.bodies)
	}
}

// inputsOf returns the indexes of those of parts that overlap a range, of which the first has
// an index in the inputs of a task.
func inputsOf(parts []part, first int, from, before string) (inputs []int) {
	for i := range parts {
		if parts[i].overlaps(from, before) {
			inputs = append(inputs, first+2*i, first+2*i+1)
		}
	}
	return inputs
}

// partsOf returns the parts of a snapshot among the inputs of a shard.
func (t *Task) partsOf(inputs []int) (parts []part) {
	for pair := range slices.Chunk(inputs, 2) {
		parts = append(parts, part{captures: t.Inputs[pair[0]], bodies: t.Inputs[pair[1]]})
	}
	return parts
}

// openSnapshot lists the parts of a snapshot. The hash of captures covers bodies, whose
// hashes they hold.
func openSnapshot(dir string) ([]part, error) {
	t, _, err := read(dir)
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
		parts = append(parts, part{captures, Input{Name: filepath.ToSlash(bodies), Size: info.Size()}, s.From, s.To})
	}
	if missing > 0 {
		return nil, fmt.Errorf("%s lacks %d of %d parts: complete robots-bulk pack first", dir, missing, len(t.Shards))
	}
	return parts, nil
}

// eachBody calls want with every capture. For those for which it returns bytes, it calls fn
// once per distinct body, and put with the results of want and fn for each capture. It holds
// one body at a time.
func (in *part) eachBody(ctx context.Context, scratch string, want func(c *Capture) ([]byte, error), fn func(body []byte, truncated bool) ([]byte, error), put func(wanted, value []byte) error) error {
	byHash := newSorter(scratch)
	defer byHash.close()
	var key []byte
	row := 0
	for c, err := range readTable[Capture](filepath.FromSlash(in.captures.Name)) {
		if err == nil && row%1024 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		row++
		wanted, err := want(&c)
		if errors.Is(err, errEnough) {
			break
		}
		if err != nil {
			return err
		}
		if wanted == nil {
			continue
		}
		sum, err := hex.DecodeString(c.SHA256)
		if err != nil || len(sum) != sha256.Size {
			return fmt.Errorf("%s: %s at byte %d of %s has an invalid hash", in.captures.Name, c.URL, c.Offset, c.Input)
		}
		key = append(append(key[:0], sum...), 0)
		if c.Truncated {
			key[sha256.Size] = 1
		}
		if err := byHash.add(key, wanted); err != nil {
			return err
		}
	}
	next, stop := iter.Pull2(readTable[Body](filepath.FromSlash(in.bodies.Name)))
	defer stop()
	var body Body
	var last, value []byte
	return byHash.each(func(key, wanted []byte) error {
		if !bytes.Equal(key, last) {
			if err := ctx.Err(); err != nil {
				return err
			}
			last = append(last[:0], key...)
			sum := hex.EncodeToString(key[:sha256.Size])
			for body.SHA256 < sum {
				b, err, more := next()
				if err != nil {
					return err
				}
				if !more {
					break
				}
				body = b
			}
			if body.SHA256 != sum {
				return fmt.Errorf("%s lacks the body %s of %s", in.bodies.Name, sum, in.captures.Name)
			}
			var err error
			if value, err = fn(body.Body, key[sha256.Size] == 1); err != nil {
				return err
			}
		}
		return put(wanted, value)
	})
}

// errEnough ends a loop.
var errEnough = errors.New("enough")

// A keyed holds the captures of a range of sites in order, and their bodies in a file.
type keyed struct {
	rows   *sorter
	bodies *os.File
}

// A held is a capture with the place of its body.
type held struct {
	Capture
	Place int64 // -1: no body
	Size  int64
	at    int64 // Fetched in milliseconds since 1970
}

// gather makes the captures of sites from one key on, and before another, available in
// order. "" is no bound.
func gather(ctx context.Context, scratch string, parts []part, from, before string) (k *keyed, err error) {
	k = &keyed{rows: newSorter(scratch)}
	defer func() {
		if err != nil {
			k.close()
		}
	}()
	if k.bodies, err = os.CreateTemp(scratch, "bodies-*"); err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(k.bodies, 64<<10)
	at := int64(0)
	for number, in := range parts {
		put := func(h held) error {
			row, err := json.Marshal(h)
			if err != nil {
				return err
			}
			return k.rows.add(h.sortKey(uint32(number)), row)
		}
		if err = in.eachBody(ctx, scratch, func(c *Capture) ([]byte, error) {
			switch {
			case c.SURT < from:
				return nil, nil
			case before != "" && c.SURT >= before:
				return nil, errEnough
			case c.SHA256 == "":
				return nil, put(held{Capture: *c, Place: -1})
			}
			return json.Marshal(c)
		}, func(body []byte, _ bool) ([]byte, error) {
			place := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(at)), uint64(len(body)))
			at += int64(len(body))
			_, err := out.Write(body)
			return place, err
		}, func(row, place []byte) error {
			var h held
			if err := json.Unmarshal(row, &h.Capture); err != nil {
				return err
			}
			first, n := binary.Uvarint(place)
			size, _ := binary.Uvarint(place[n:])
			h.Place, h.Size = int64(first), int64(size)
			return put(h)
		}); err != nil {
			return nil, err
		}
	}
	return k, out.Flush()
}

// all yields the captures in order.
func (k *keyed) all() iter.Seq2[held, error] {
	return func(yield func(held, error) bool) {
		err := k.rows.each(func(_, row []byte) error {
			var h held
			if err := json.Unmarshal(row, &h); err != nil {
				return err
			}
			if h.at = h.Fetched.UnixMilli(); !yield(h, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(held{}, err)
		}
	}
}

// body reads the body of a capture.
func (k *keyed) body(h *held) ([]byte, error) {
	body := make([]byte, h.Size)
	_, err := k.bodies.ReadAt(body, h.Place)
	if h.Size == 0 {
		err = nil
	}
	return body, err
}

func (k *keyed) close() {
	k.rows.close()
	if k.bodies != nil {
		remove([]*os.File{k.bodies})
	}
}
