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

// A pair is a key and a value, valid until the next pair is read.
type pair struct{ key, value []byte }

// appendPair appends the form of a pair in files.
func appendPair(b []byte, p pair) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(len(p.key))), uint64(len(p.value)))
	return append(append(b, p.key...), p.value...)
}

// readPair reads a pair into the memory of another.
func readPair(in *bufio.Reader, p *pair) error {
	key, err := binary.ReadUvarint(in)
	if err != nil {
		return err
	}
	value, err := binary.ReadUvarint(in)
	if err != nil {
		return err
	}
	p.key = slices.Grow(p.key[:0], int(key))[:key]
	p.value = slices.Grow(p.value[:0], int(value))[:value]
	if _, err = io.ReadFull(in, p.key); err == nil {
		_, err = io.ReadFull(in, p.value)
	}
	return err
}

// A sorter sorts pairs in bounded memory: those that do not fit go to sorted files in a
// folder, which are merged at the end. Pairs with equal keys keep their order.
type sorter struct {
	dir   string
	limit int // bytes in memory
	arena []byte
	spans []span
	files []*os.File
}

// A span is the place of a pair in the arena, and the lengths of its key and value.
type span struct{ at, key, value int }

const (
	sortMemory = 8 << 20
	maxMerged  = 64 // files that are merged at once
)

func newSorter(dir string) *sorter { return &sorter{dir: dir, limit: sortMemory} }

// add adds a copy of a pair.
func (s *sorter) add(key, value []byte) error {
	if len(s.spans) > 0 && len(s.arena)+len(key)+len(value)+24*len(s.spans) > s.limit {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.spans = append(s.spans, span{len(s.arena), len(key), len(value)})
	s.arena = append(append(s.arena, key...), value...)
	return nil
}

func (s *sorter) pair(at span) pair {
	b := s.arena[at.at:]
	return pair{b[:at.key], b[at.key : at.key+at.value]}
}

// inMemory yields the pairs in memory in order.
func (s *sorter) inMemory(yield func(pair, error) bool) {
	slices.SortFunc(s.spans, func(a, b span) int {
		return cmp.Or(bytes.Compare(s.pair(a).key, s.pair(b).key), cmp.Compare(a.at, b.at))
	})
	for _, at := range s.spans {
		if !yield(s.pair(at), nil) {
			return
		}
	}
}

// flush moves the pairs in memory to a file.
func (s *sorter) flush() error {
	if err := s.write(s.inMemory); err != nil {
		return err
	}
	s.arena, s.spans = s.arena[:0], s.spans[:0]
	return nil
}

// write writes sorted pairs to a file.
func (s *sorter) write(pairs iter.Seq2[pair, error]) error {
	f, err := os.CreateTemp(s.dir, "sort-*")
	if err != nil {
		return err
	}
	s.files = append(s.files, f)
	out := bufio.NewWriterSize(f, 64<<10)
	var text []byte
	for p, err := range pairs {
		if err != nil {
			return err
		}
		text = appendPair(text[:0], p)
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return out.Flush()
}

// all yields all pairs in order. Nothing can be added afterwards.
func (s *sorter) all(yield func(pair, error) bool) {
	if len(s.files) == 0 {
		s.inMemory(yield)
		return
	}
	err := s.flush()
	s.arena, s.spans = nil, nil
	for err == nil && len(s.files) > maxMerged { // the first ones, and their result in their place
		files := s.files
		s.files = nil
		for part := range slices.Chunk(files, maxMerged) {
			if err == nil {
				err = s.write(mergeFiles(part))
			}
			remove(part)
		}
	}
	if err != nil {
		yield(pair{}, err)
		return
	}
	mergeFiles(s.files)(yield)
}

// close removes the files.
func (s *sorter) close() {
	remove(s.files)
	*s = sorter{dir: s.dir, limit: s.limit}
}

func remove(files []*os.File) {
	for _, f := range files {
		f.Close()
		os.Remove(f.Name())
	}
}

func mergeFiles(files []*os.File) iter.Seq2[pair, error] {
	inputs := make([]io.Reader, len(files))
	for i, f := range files {
		inputs[i] = io.NewSectionReader(f, 0, 1<<62)
	}
	return merge(inputs)
}

// merge yields all pairs of sorted inputs in order; equal keys in the order of inputs.
func merge(inputs []io.Reader) iter.Seq2[pair, error] {
	type source struct {
		pair
		in     *bufio.Reader
		number int
	}
	return func(yield func(pair, error) bool) {
		var sources []*source // sorted by their next pair
		order := func(a, b *source) int { return cmp.Or(bytes.Compare(a.key, b.key), cmp.Compare(a.number, b.number)) }
		advance := func(s *source) error {
			err := readPair(s.in, &s.pair)
			if err == nil {
				i, _ := slices.BinarySearchFunc(sources, s, order)
				sources = slices.Insert(sources, i, s)
			}
			return err
		}
		for i, in := range inputs {
			if err := advance(&source{in: bufio.NewReaderSize(in, 32<<10), number: i}); err != nil && !errors.Is(err, io.EOF) {
				yield(pair{}, err)
				return
			}
		}
		for len(sources) > 0 {
			s := sources[0]
			if !yield(s.pair, nil) {
				return
			}
			sources = slices.Delete(sources, 0, 1)
			if err := advance(s); err != nil && !errors.Is(err, io.EOF) {
				yield(pair{}, err)
				return
			}
		}
	}
}
