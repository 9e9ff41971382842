package bulk

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"

	"github.com/klauspost/compress/s2"
)

// A run is the file that one shard of pack read writes: everything that its inputs hold,
// sorted, so that pack resolve can merge runs by site and find an answer in any of them.
// It has four sections:
//
//	bodies   compressed by s2, each behind its length
//	answers  pairs in the order of answer.sortKey
//	keys     of keySize bytes, sorted: where the answers to a URL are
//	index    runIndex as JSON, and its length in 8 bytes

// A runIndex is the last section of a run.
type runIndex struct {
	Answers, Keys, End int64 // where answers and keys begin, and where keys end
	Marks              []mark
	Step               int64    // bytes of answers and bodies between two marks
	Fence              []uint64 // the first 8 bytes of every fenceKeys-th key
	Damaged            []Damaged
}

// A mark is where an answer begins in the run.
type mark struct {
	SURT  string
	Place int64
}

const (
	fenceKeys = 16
	maxMarks  = 4096
	firstStep = 4 << 10
)

// A key says where the answer for a URL or a record ID is. Bytes of keys sort by hash, time,
// input and place.
type key struct {
	hash  [16]byte
	at    int64 // milliseconds since 1970
	input uint32
	place int64 // in the run
}

const keySize = 16 + 8 + 4 + 8

// What a key is the hash of: the URL of an answer, the URL of a revisit, a record ID.
const (
	byURL     = 'u'
	byRevisit = 'r'
	byID      = 'i'
)

func hashOf(kind byte, name string) (hash [16]byte) {
	sum := sha256.Sum256(append([]byte{kind}, name...))
	copy(hash[:], sum[:])
	return hash
}

const signBit = 1 << 63 // makes times before 1970 sort first

func (k key) append(b []byte) []byte {
	b = append(b, k.hash[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(k.at)^signBit)
	b = binary.BigEndian.AppendUint32(b, k.input)
	return binary.BigEndian.AppendUint64(b, uint64(k.place))
}

func parseKey(b []byte) (k key) {
	copy(k.hash[:], b)
	k.at = int64(binary.BigEndian.Uint64(b[16:]) ^ signBit)
	k.input, k.place = binary.BigEndian.Uint32(b[24:]), int64(binary.BigEndian.Uint64(b[28:]))
	return k
}

// maxSeen bounds the bodies that a shard remembers in order to write each once. A body that
// returns later is written again, until pack resolve.
const maxSeen = 100_000

// writeRun reads inputs and writes what they hold as a run.
func writeRun(ctx context.Context, t *Task, s Shard, o PackOptions, p *Part) (counts Counts, err error) {
	file, err := p.Create(tableRuns)
	if err != nil {
		return counts, err
	}
	out := bufio.NewWriterSize(file, 64<<10)
	sorted := newSorter(p.Scratch())
	defer sorted.close()
	var index runIndex
	seen := map[string]int64{}
	var packed []byte
	for _, number := range s.Inputs {
		in := t.Inputs[number]
		log := &damageLog{last: map[string]int{}, counts: map[string]int64{}}
		answers := 0
		r := &inputReader{files: o.Files, damaged: log.add}
		r.answer = func(a *answer, body []byte) error {
			if a.SHA256 != "" {
				at, ok := seen[a.SHA256]
				if !ok {
					packed = s2.Encode(packed[:cap(packed)], body)
					n, _ := out.Write(binary.AppendUvarint(nil, uint64(len(packed)))) // its error is sticky
					if _, err := out.Write(packed); err != nil {
						return err
					}
					at = index.Answers
					index.Answers += int64(n + len(packed))
					if len(seen) == maxSeen {
						clear(seen)
					}
					seen[a.SHA256] = at
				}
				a.Body = at
			}
			answers++
			row, err := json.Marshal(a)
			if err != nil {
				return err
			}
			key, err := a.sortKey(uint32(number))
			if err != nil {
				return err
			}
			return sorted.add(key, row)
		}
		if err := r.read(ctx, in); err != nil {
			return counts, err
		}
		if answers == 0 && log.counts[noArchive] == 0 {
			log.add(Damaged{Input: in.Name, Kind: "no-capture", Detail: "it has no response of a site"})
		}
		index.Damaged = append(index.Damaged, log.rows...)
		counts.Captures += int64(answers)
	}
	if err := index.writeAnswers(ctx, out, sorted, p.Scratch()); err != nil {
		return counts, err
	}
	text, err := json.Marshal(index)
	if err != nil {
		return counts, err
	}
	_, _ = out.Write(text) // its error is sticky
	_, _ = out.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
	return counts, out.Flush()
}

// writeAnswers writes the sections answers and keys.
func (x *runIndex) writeAnswers(ctx context.Context, out *bufio.Writer, sorted *sorter, scratch string) error {
	keys := newSorter(scratch)
	defer keys.close()
	place, weight := x.Answers, int64(0)
	x.Step = firstStep
	var text []byte
	for p, err := range sorted.all {
		if err == nil {
			err = ctx.Err()
		}
		var a answer
		if err == nil {
			err = json.Unmarshal(p.value, &a)
		}
		if err != nil {
			return err
		}
		if weight >= x.Step || len(x.Marks) == 0 {
			weight = 0
			if x.Marks = append(x.Marks, mark{surtOf(p.key), place}); len(x.Marks) == maxMarks {
				x.thin()
			}
		}
		weight += int64(len(p.value)) + min(a.Bytes, maxKept)
		k := key{hashOf(byURL, a.URL), a.At, inputOf(p.key), place}
		if a.Revisit != nil {
			k.hash = hashOf(byRevisit, a.URL)
		}
		if err := keys.add(k.append(nil), nil); err != nil {
			return err
		}
		if a.ID != "" && a.Revisit == nil {
			k.hash = hashOf(byID, a.ID)
			if err := keys.add(k.append(nil), nil); err != nil {
				return err
			}
		}
		text = appendPair(text[:0], p)
		place += int64(len(text))
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	x.Keys, x.End = place, place
	n := 0
	for p, err := range keys.all {
		if err != nil {
			return err
		}
		if n%fenceKeys == 0 {
			x.Fence = append(x.Fence, binary.BigEndian.Uint64(p.key))
		}
		n++
		x.End += keySize
		if _, err := out.Write(p.key); err != nil {
			return err
		}
	}
	return nil
}

// thin drops every second mark.
func (x *runIndex) thin() {
	for i := range len(x.Marks) / 2 {
		x.Marks[i] = x.Marks[2*i]
	}
	x.Marks = x.Marks[:len(x.Marks)/2]
	x.Step *= 2
}

var errRun = errors.New("the run is malformed")

// A runFile is a run that is read. It is safe for concurrent use.
type runFile struct {
	*os.File
	runIndex
	number int // among the runs of the archive
}

func openRun(name string) (*runFile, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	r := &runFile{File: f}
	if err := r.readIndex(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

func (r *runFile) readIndex() error {
	info, err := r.Stat()
	if err != nil {
		return err
	}
	var tail [8]byte
	if _, err := r.ReadAt(tail[:], info.Size()-8); err != nil {
		return err
	}
	size := int64(binary.BigEndian.Uint64(tail[:]))
	if size < 0 || size > info.Size()-8 {
		return errRun
	}
	text := make([]byte, size)
	if _, err := r.ReadAt(text, info.Size()-8-size); err != nil {
		return err
	}
	return json.Unmarshal(text, &r.runIndex)
}

// from returns a reader of answers that begins at or before a site.
func (r *runFile) from(surt string) io.Reader {
	at := r.Answers
	if i := sort.Search(len(r.Marks), func(i int) bool { return r.Marks[i].SURT >= surt }) - 1; i >= 0 {
		at = r.Marks[i].Place
	}
	return io.NewSectionReader(r, at, r.Keys-at)
}

// body reads the body at a place.
func (r *runFile) body(at int64) ([]byte, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(r, at, r.Answers-at), 4<<10)
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, err
	}
	if n > uint64(r.Answers-at) {
		return nil, errRun
	}
	packed := make([]byte, n)
	if _, err := io.ReadFull(in, packed); err != nil {
		return nil, err
	}
	return s2.Decode(nil, packed)
}

// at reads the answer at a place.
func (r *runFile) at(place int64) (*answer, error) {
	var p pair
	if err := readPair(bufio.NewReaderSize(io.NewSectionReader(r, place, r.Keys-place), 2<<10), &p); err != nil {
		return nil, err
	}
	a := &answer{run: r}
	return a, json.Unmarshal(p.value, a)
}

// find returns the key of a hash that is nearest to a time, at most a window away; of two
// equally near ones the earlier, of those of one moment the first.
func (r *runFile) find(hash [16]byte, at, window int64) (k key, ok bool, err error) {
	after, err := r.search(key{hash: hash, at: at})
	if err != nil {
		return k, false, err
	}
	for i, place := range []int64{after - 1, after} { // the earlier one first
		found, err := r.key(place)
		if errors.Is(err, io.EOF) || err == nil && (found.hash != hash || max(found.at-at, at-found.at) > window) {
			continue
		}
		if err == nil && i == 0 {
			if place, err = r.search(key{hash: hash, at: found.at}); err == nil {
				found, err = r.key(place)
			}
		}
		if err != nil {
			return k, false, err
		}
		if !ok || found.nearer(k, at) {
			k, ok = found, true
		}
	}
	return k, ok, nil
}

// nearer reports whether a key is to be preferred to another of the same hash.
func (k key) nearer(other key, at int64) bool {
	return cmp.Or(
		cmp.Compare(max(k.at-at, at-k.at), max(other.at-at, at-other.at)),
		cmp.Compare(k.at, other.at), cmp.Compare(k.input, other.input)) < 0
}

// key reads a key by its number; io.EOF means that there is none.
func (r *runFile) key(number int64) (key, error) {
	at := r.Keys + number*keySize
	if number < 0 || at >= r.End {
		return key{}, io.EOF
	}
	var b [keySize]byte
	_, err := r.ReadAt(b[:], at)
	return parseKey(b[:]), err
}

// search returns the number of the first key that is not before another.
func (r *runFile) search(k key) (number int64, err error) {
	want := k.append(nil)
	prefix := binary.BigEndian.Uint64(want)
	low := fenceKeys * max(sort.Search(len(r.Fence), func(i int) bool { return r.Fence[i] >= prefix })-1, 0)
	high := fenceKeys * sort.Search(len(r.Fence), func(i int) bool { return r.Fence[i] > prefix })
	high = min(high, int(r.End-r.Keys)/keySize)
	var found [keySize]byte
	low += sort.Search(high-low, func(i int) bool {
		if err == nil {
			_, err = r.ReadAt(found[:], r.Keys+int64(low+i)*keySize)
		}
		return err != nil || bytes.Compare(found[:], want) >= 0
	})
	return int64(low), err
}

// bounds returns parts-1 sites that divide the answers of runs into parts of about one size.
func bounds(runs []*runFile, parts int) []string {
	type weighted struct {
		surt   string
		weight int64
	}
	var marks []weighted
	total := int64(0)
	for _, r := range runs {
		for _, m := range r.Marks {
			marks = append(marks, weighted{m.SURT, r.Step})
			total += r.Step
		}
	}
	slices.SortFunc(marks, func(a, b weighted) int { return cmp.Compare(a.surt, b.surt) })
	list := make([]string, 0, parts)
	sum, i := int64(0), 0
	for n := 1; n < parts; n++ {
		for i < len(marks) && sum < total*int64(n)/int64(parts) {
			sum += marks[i].weight
			i++
		}
		bound := "~" // after all sites
		if i < len(marks) {
			bound = marks[i].surt
		}
		list = append(list, bound)
	}
	return list
}
