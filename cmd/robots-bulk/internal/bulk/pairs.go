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
	"sort"
)

// This file sorts pairs in bounded memory, and finds them in sorted files.

// A pair is a key and a value, valid until the next pair is read.
type pair struct {
	key, value []byte
	input      int // the merged input that has it
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

// A pairWriter writes pairs, which come in order.
type pairWriter struct {
	out     *bufio.Writer
	blocks  []pairBlock
	end     int64
	lengths []byte
}

// A pairBlock is some pairs of a file: it begins at the first pair and ends where the next begins.
type pairBlock struct {
	Key    []byte
	Offset int64 `json:"Place"` // in the file
}

// blockBytes is the size of a block. Its beginning is in memory, and one is read to find a pair.
const blockBytes = 16 << 10

func (w *pairWriter) add(p pair) error {
	if n := len(w.blocks); n == 0 || w.end-w.blocks[n-1].Offset >= blockBytes {
		w.blocks = append(w.blocks, pairBlock{bytes.Clone(p.key), w.end})
	}
	w.lengths = binary.AppendUvarint(binary.AppendUvarint(w.lengths[:0], uint64(len(p.key))), uint64(len(p.value)))
	w.end += int64(len(w.lengths) + len(p.key) + len(p.value))
	for _, text := range [][]byte{w.lengths, p.key, p.value} {
		if _, err := w.out.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// A pairFile is sorted pairs in a file. It is safe for concurrent use.
type pairFile struct {
	in     io.ReaderAt
	blocks []pairBlock
	end    int64
}

func (w *pairWriter) pairFile(in io.ReaderAt) *pairFile { return &pairFile{in, w.blocks, w.end} }

// readFrom returns a reader of the pairs from a key on, and some before.
func (f *pairFile) readFrom(key []byte) io.Reader {
	i := sort.Search(len(f.blocks), func(i int) bool { return bytes.Compare(f.blocks[i].Key, key) >= 0 })
	if len(f.blocks) == 0 {
		return bytes.NewReader(nil)
	}
	at := f.blocks[max(i-1, 0)].Offset
	return io.NewSectionReader(f.in, at, f.end-at)
}

// neighbors returns the last pair before a key and the first one from it on. One that does not
// exist has no key.
func (f *pairFile) neighbors(key []byte) (before, from pair, err error) {
	in := bufio.NewReaderSize(f.readFrom(key), 4<<10)
	for {
		if err := readPair(in, &from); errors.Is(err, io.EOF) {
			return before, pair{}, nil
		} else if err != nil || bytes.Compare(from.key, key) >= 0 {
			return before, from, err
		}
		before, from = from, before
	}
}

// A sorter sorts pairs in bounded memory: those that do not fit go to sorted files, which are
// merged at the end. Pairs with equal keys keep their order.
type sorter struct {
	scratch     *tempFiles
	memoryLimit int // bytes in memory
	memory      int
	pairs       []pair
	files       []*pairFile
}

const (
	sorterMemory   = 8 << 20
	pairMemory     = 64 // bytes of a pair besides its key and value
	maxMergedFiles = 64 // files that are merged at once
)

func newSorter(s *tempFiles) *sorter { return &sorter{scratch: s, memoryLimit: sorterMemory} }

// add adds a copy of a pair.
func (s *sorter) add(key, value []byte) error {
	if s.memory > s.memoryLimit {
		if err := s.flush(); err != nil {
			return err
		}
	}
	text := slices.Concat(key, value)
	s.pairs = append(s.pairs, pair{key: text[:len(key):len(key)], value: text[len(key):]})
	s.memory += len(text) + pairMemory
	return nil
}

// pairsInMemory yields the pairs in memory in order.
func (s *sorter) pairsInMemory(yield func(pair, error) bool) {
	slices.SortStableFunc(s.pairs, func(a, b pair) int { return bytes.Compare(a.key, b.key) })
	for _, p := range s.pairs {
		if !yield(p, nil) {
			return
		}
	}
}

// flush moves the pairs in memory to a file.
func (s *sorter) flush() error {
	f, err := s.scratch.writePairs(s.pairsInMemory)
	clear(s.pairs)
	s.files = append(s.files, f)
	s.pairs = s.pairs[:0]
	s.memory = 0
	return err
}

// sortedPairs yields all pairs in order. Nothing can be added afterwards.
func (s *sorter) sortedPairs(yield func(pair, error) bool) {
	if len(s.files) == 0 {
		s.pairsInMemory(yield)
		return
	}
	err := s.flush()
	for err == nil && len(s.files) > maxMergedFiles {
		var merged []*pairFile
		for part := range slices.Chunk(s.files, maxMergedFiles) {
			f, failed := s.scratch.writePairs(mergePairs(part, nil))
			merged = append(merged, f)
			err = cmp.Or(err, failed)
			for _, f := range part {
				err = cmp.Or(err, f.in.(*os.File).Truncate(0)) // it is read no more
			}
		}
		s.files = merged
	}
	if err != nil {
		yield(pair{}, err)
		return
	}
	mergePairs(s.files, nil)(yield)
}

// mergePairs yields the pairs of sorted files from a key on, and some before, in order; equal keys
// in the order of the files.
func mergePairs(files []*pairFile, from []byte) iter.Seq2[pair, error] {
	type mergedFile struct {
		pair
		in *bufio.Reader
	}
	return func(yield func(pair, error) bool) {
		var merged []*mergedFile // sorted by their next pair
		order := func(a, b *mergedFile) int { return cmp.Or(bytes.Compare(a.key, b.key), cmp.Compare(a.input, b.input)) }
		advance := func(s *mergedFile) bool {
			err := readPair(s.in, &s.pair)
			switch {
			case err == nil:
				i, _ := slices.BinarySearchFunc(merged, s, order)
				merged = slices.Insert(merged, i, s)
			case !errors.Is(err, io.EOF):
				yield(pair{}, err)
				return false
			}
			return true
		}
		for i, f := range files {
			if !advance(&mergedFile{pair{input: i}, bufio.NewReaderSize(f.readFrom(from), 32<<10)}) {
				return
			}
		}
		for len(merged) > 0 {
			s := merged[0]
			if !yield(s.pair, nil) {
				return
			}
			merged = slices.Delete(merged, 0, 1)
			if !advance(s) {
				return
			}
		}
	}
}
