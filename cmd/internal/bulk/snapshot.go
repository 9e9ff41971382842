package bulk

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
)

// This file reads snapshots: in the order of bodies, or in that of sites.

// A part is a part of a snapshot: its captures, and the bodies of them.
type part struct{ captures, bodies Input }

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
		captures, err := hashed(t.path(tableCaptures, name))
		if errors.Is(err, os.ErrNotExist) {
			if _, err := os.Stat(t.errorFile(name)); err != nil {
				missing++
			}
			continue // what was given up is not part of the snapshot
		}
		if err != nil {
			return nil, err
		}
		bodies := t.path(tableBodies, name)
		info, err := os.Stat(bodies)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{captures, Input{Name: filepath.ToSlash(bodies), Size: info.Size()}})
	}
	if missing > 0 {
		return nil, fmt.Errorf("%s lacks %d of %d parts: complete robots-bulk pack first", dir, missing, len(t.Shards))
	}
	return parts, nil
}

// hashed describes a file.
func hashed(name string) (Input, error) {
	in := Input{Name: filepath.ToSlash(name)}
	f, err := os.Open(name)
	if err != nil {
		return in, err
	}
	defer f.Close()
	sum := sha256.New()
	in.Size, err = io.Copy(sum, f)
	in.Hash = hex.EncodeToString(sum.Sum(nil))
	return in, err
}

// eachBody calls fn with the body of every capture for which want returns something, once
// for all captures with it, and then put for each of them with what want and fn returned.
// It sorts by hash and never holds more than one body. Captures of sites before a key may
// be left out.
func (in *part) eachBody(ctx context.Context, scratch, from string, want func(c *Capture) ([]byte, error), fn func(body []byte, truncated bool) ([]byte, error), put func(wanted, value []byte) error) error {
	byHash := newSorter(scratch)
	defer byHash.close()
	var key []byte
	row := 0
	for c, err := range readTableFrom[Capture](filepath.FromSlash(in.captures.Name), "surt", from) {
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
			return fmt.Errorf("%s: %s at byte %d of %s has no hash of a body", in.captures.Name, c.URL, c.Offset, c.Input)
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
				return fmt.Errorf("%s lacks the body %s, of which %s speaks", in.bodies.Name, sum, in.captures.Name)
			}
			var err error
			if value, err = fn(body.Body, key[sha256.Size] == 1); err != nil {
				return err
			}
		}
		return put(wanted, value)
	})
}

// errEnough is what want of eachBody returns for a capture that is of no interest, as are
// all behind it.
var errEnough = errors.New("enough")

// A keyed is the captures of a range of sites, by site and time, with their bodies in a
// file: what several parts of a snapshot hold of it.
type keyed struct {
	rows   *sorter
	bodies *os.File
	Read   int64 // bytes of parts
}

// A held is a capture with the place of its body, of which those with the same body in one
// part have the same.
type held struct {
	Capture
	Place int64 // -1: none
	Size  int64
	at    int64 // when it was fetched, in milliseconds since 1970
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
	var row []byte
	for number, in := range parts {
		k.Read += in.captures.Size
		some := false
		if err = in.eachBody(ctx, scratch, from, func(c *Capture) ([]byte, error) {
			switch {
			case c.SURT < from:
				return nil, nil
			case before != "" && c.SURT >= before:
				return nil, errEnough
			}
			row = c.encode(row[:0])
			key := c.sortKey(uint32(number))
			if c.SHA256 != "" {
				some = true
				return append(binary.AppendUvarint(nil, uint64(len(key))), append(key, row...)...), nil
			}
			return nil, k.rows.add(key, append(binary.AppendUvarint(binary.AppendVarint(nil, -1), 0), row...))
		}, func(body []byte, _ bool) ([]byte, error) {
			place := binary.AppendUvarint(binary.AppendVarint(nil, at), uint64(len(body)))
			at += int64(len(body))
			_, err := out.Write(body)
			return place, err
		}, func(wanted, place []byte) error {
			n, size := binary.Uvarint(wanted)
			key, row := wanted[size:][:n], wanted[size:][n:]
			return k.rows.add(key, append(bytes.Clone(place), row...))
		}); err != nil {
			return nil, err
		}
		if some {
			k.Read += in.bodies.Size
		}
	}
	return k, out.Flush()
}

// all yields the captures in order.
func (k *keyed) all() iter.Seq2[held, error] {
	return func(yield func(held, error) bool) {
		err := k.rows.each(func(_, value []byte) error {
			var h held
			place, n := binary.Varint(value)
			size, m := binary.Uvarint(value[n:])
			if err := h.decode(value[n+m:]); err != nil {
				return err
			}
			if h.Place, h.Size, h.at = place, int64(size), h.Fetched.UnixMilli(); !yield(h, nil) {
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
