package bulk

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
)

// A sorter sorts pairs of bytes in bounded memory: sorted runs that do not fit go to files
// in a folder and are merged at the end. Pairs with equal keys keep their order.
type sorter struct {
	dir   string
	limit int // bytes in memory
	arena []byte
	pairs []pair
	runs  []*os.File
}

// A sorted is a pair that all yields.
type sorted struct{ key, value []byte }

// A pair is the place in the arena and the lengths of a key and a value.
type pair struct{ at, key, value int }

const (
	sortMemory = 8 << 20
	maxMerged  = 64 // files that are merged at once
)

func newSorter(dir string) *sorter { return &sorter{dir: dir, limit: sortMemory} }

// add adds a copy of a pair.
func (s *sorter) add(key, value []byte) error {
	if len(s.pairs) > 0 && len(s.arena)+len(key)+len(value)+24*len(s.pairs) > s.limit {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.pairs = append(s.pairs, pair{len(s.arena), len(key), len(value)})
	s.arena = append(append(s.arena, key...), value...)
	return nil
}

func (s *sorter) keyOf(p pair) []byte   { return s.arena[p.at : p.at+p.key] }
func (s *sorter) valueOf(p pair) []byte { return s.arena[p.at+p.key : p.at+p.key+p.value] }

func (s *sorter) sort() {
	slices.SortFunc(s.pairs, func(a, b pair) int {
		return cmp.Or(bytes.Compare(s.keyOf(a), s.keyOf(b)), cmp.Compare(a.at, b.at))
	})
}

// flush writes the pairs in memory to a file.
func (s *sorter) flush() error {
	s.sort()
	return s.write(func(put func(key, value []byte) error) error {
		for _, p := range s.pairs {
			if err := put(s.keyOf(p), s.valueOf(p)); err != nil {
				return err
			}
		}
		s.arena, s.pairs = s.arena[:0], s.pairs[:0]
		return nil
	})
}

// write writes a run.
func (s *sorter) write(each func(put func(key, value []byte) error) error) error {
	f, err := os.CreateTemp(s.dir, "sort-*")
	if err != nil {
		return err
	}
	s.runs = append(s.runs, f)
	out := bufio.NewWriterSize(f, 64<<10)
	var head []byte
	err = each(func(key, value []byte) error {
		head = binary.AppendUvarint(binary.AppendUvarint(head[:0], uint64(len(key))), uint64(len(value)))
		for _, part := range [][]byte{head, key, value} {
			if _, err := out.Write(part); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = out.Flush()
	}
	return err
}

// all yields all pairs in order. The slices are valid until the next pair.
func (s *sorter) all() iter.Seq2[sorted, error] {
	return func(yield func(sorted, error) bool) {
		err := s.each(func(key, value []byte) error {
			if !yield(sorted{key, value}, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(sorted{}, err)
		}
	}
}

// errEnough ends a loop.
var errEnough = errors.New("enough")

// each calls fn with all pairs in order. The slices are valid until it returns.
func (s *sorter) each(fn func(key, value []byte) error) error {
	if len(s.runs) == 0 {
		s.sort()
		for _, p := range s.pairs {
			if err := fn(s.keyOf(p), s.valueOf(p)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(s.pairs) > 0 {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.arena, s.pairs = nil, nil
	for len(s.runs) > maxMerged { // neighbors, which keeps the order of equal keys
		runs := s.runs
		s.runs = nil
		for part := range slices.Chunk(runs, maxMerged) {
			if err := s.write(func(put func(key, value []byte) error) error { return mergeFiles(part, put) }); err != nil {
				s.runs = append(s.runs, runs...)
				return err
			}
			remove(part)
		}
	}
	return mergeFiles(s.runs, fn)
}

// close removes the files.
func (s *sorter) close() {
	remove(s.runs)
	*s = sorter{dir: s.dir, limit: s.limit}
}

func remove(files []*os.File) {
	for _, f := range files {
		f.Close()
		os.Remove(f.Name())
	}
}

// A run is a sorted file that is read.
type run struct {
	in         *bufio.Reader
	number     int
	key, value []byte
}

// next reads the next pair.
func (r *run) next() error {
	key, err := binary.ReadUvarint(r.in)
	if err != nil {
		return err
	}
	value, err := binary.ReadUvarint(r.in)
	if err != nil {
		return err
	}
	r.key = slices.Grow(r.key[:0], int(key))[:key]
	r.value = slices.Grow(r.value[:0], int(value))[:value]
	if _, err = io.ReadFull(r.in, r.key); err == nil {
		_, err = io.ReadFull(r.in, r.value)
	}
	return err
}

// mergeFiles calls fn with all pairs of sorted files, in order.
func mergeFiles(files []*os.File, fn func(key, value []byte) error) error {
	inputs := make([]*bufio.Reader, len(files))
	for i, f := range files {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		inputs[i] = bufio.NewReaderSize(f, 32<<10)
	}
	return merge(inputs, fn)
}

// merge calls fn with all pairs of sorted inputs, in order; equal keys in the order of inputs.
func merge(inputs []*bufio.Reader, fn func(key, value []byte) error) error {
	var heap []*run // sorted by next pair
	order := func(a, b *run) int { return cmp.Or(bytes.Compare(a.key, b.key), cmp.Compare(a.number, b.number)) }
	put := func(r *run) error {
		if err := r.next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		i, _ := slices.BinarySearchFunc(heap, r, order)
		heap = slices.Insert(heap, i, r)
		return nil
	}
	for i, in := range inputs {
		if err := put(&run{in: in, number: i}); err != nil {
			return err
		}
	}
	for len(heap) > 0 {
		r := heap[0]
		if err := fn(r.key, r.value); err != nil {
			return err
		}
		heap = slices.Delete(heap, 0, 1)
		if err := put(r); err != nil {
			return err
		}
	}
	return nil
}
