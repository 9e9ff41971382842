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

	"github.com/klauspost/compress/s2"
	"github.com/robotskit/robots"
)

// A run is the file that one shard of pack read writes: everything that its inputs hold,
// sorted, so that pack resolve can merge runs by site and find an answer in any of them.
// It has three sections:
//
//	bodies   compressed by s2, each behind its length
//	answers  pairs of a key and an answer as JSON, then of a record ID and the key of an answer
//	index    runIndex as JSON, and its length in 8 bytes

// A runIndex is the last section of a run.
type runIndex struct {
	Bodies  int64 // where they end, and the answers begin
	End     int64 // of the answers
	Blocks  []pairBlock
	Damaged []Damaged
}

// The key of an answer is its SURT key, origin, and a hash of its URL; then its time, whether
// it is a revisit, its input, and its member and offset there. So all requests for one robots.txt are
// neighbors, in the order of time.

// urlKey returns the beginning of the keys of all answers to a URL.
func urlKey(url string) ([]byte, error) {
	origin, _, err := robots.ParseURL(url)
	if err != nil {
		return nil, err
	}
	return hashed(SURT(origin)+"\x00"+origin.String()+"\x00", url), nil
}

// idKey returns the beginning of the keys of a record ID.
func idKey(id string) []byte { return hashed(behindSites, id) }

// behindSites is behind the SURT keys of all sites.
const behindSites = "\xff"

func hashed(prefix, name string) []byte {
	sum := sha256.Sum256([]byte(name))
	return append([]byte(prefix), sum[:16]...)
}

const signBit = 1 << 63 // makes times before 1970 sort first

// atTime returns a key that sorts before those of a time and after all earlier ones.
func atTime(prefix []byte, at int64) []byte {
	return binary.BigEndian.AppendUint64(slices.Clip(prefix), uint64(at)^signBit)
}

// keyTail is the size of what follows the prefix.
const keyTail = 8 + 1 + 8 + 8

// key appends to a prefix what distinguishes an answer.
func (a *archivedResponse) key(prefix []byte, in source) []byte {
	b := append(atTime(prefix, a.At), 0)
	if a.Revisit != nil {
		b[len(b)-1] = 1
	}
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, uint64(in)), uint64(a.Offset))
}

// A source is the number of an input, and that of a member in it.
type source uint64

func sourceOf(input int, member uint32) source { return source(input)<<32 | source(member) }

// keySource returns the source in a key.
func keySource(key []byte) source {
	return source(binary.BigEndian.Uint64(key[len(key)-16:]))
}

// momentOf returns the time in a key, false if the key has another prefix.
func momentOf(key, prefix []byte) (at int64, ok bool) {
	if len(key) != len(prefix)+keyTail || !bytes.HasPrefix(key, prefix) {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(key[len(prefix):]) ^ signBit), true
}

// surtOf returns the SURT key in a key.
func surtOf(key []byte) string {
	surt, _, _ := bytes.Cut(key, []byte{0})
	return string(surt)
}

// maxSeen bounds the bodies that a shard remembers in order to write each once. A body that
// returns later is written again, until pack resolve.
const maxSeen = 100_000

// A runWriter writes a run.
type runWriter struct {
	index  runIndex
	out    *bufio.Writer
	seen   map[string]int64 // places of bodies by hash
	packed []byte
	sorted *sorter
	lost   []sources // in order: their answers are dropped

	answers int64 // written
}

// A sources is a range of sources.
type sources struct{ from, to source }

// lose drops the answers of a range that ends with the last source.
func (w *runWriter) lose(s sources) {
	for n := len(w.lost); n > 0 && w.lost[n-1].from >= s.from; n-- {
		w.lost = w.lost[:n-1]
	}
	w.lost = append(w.lost, s)
}

// isLost reports whether the answers of a source are dropped.
func (w *runWriter) isLost(s source) bool {
	_, found := slices.BinarySearchFunc(w.lost, s, func(r sources, s source) int {
		switch {
		case r.to < s:
			return -1
		case r.from > s:
			return 1
		}
		return 0
	})
	return found
}

// writeRun reads inputs and writes what they hold as a run.
func writeRun(ctx context.Context, t *Task, s Shard, o PackOptions, p *Part) (counts Counts, err error) {
	file, err := p.Create(tableRuns)
	if err != nil {
		return counts, err
	}
	w := &runWriter{out: bufio.NewWriterSize(file, 64<<10), seen: map[string]int64{}, sorted: newSorter(&p.scratch)}
	for _, number := range s.Inputs {
		in := t.Inputs[number]
		log := &damageLog{last: map[string]int{}, counts: map[string]int64{}}
		answers := 0
		r := &inputReader{files: o.Files, damaged: log.add}
		r.answer = func(a *archivedResponse, body []byte) error {
			answers++
			return w.add(a, body, sourceOf(number, r.member))
		}
		r.lost = func(from uint32) { w.lose(sources{sourceOf(number, from), sourceOf(number, r.member)}) }
		if err := r.read(ctx, in); err != nil {
			return counts, err
		}
		if answers == 0 && log.counts[noArchive] == 0 {
			log.add(Damaged{Input: in.Name, Kind: "no-capture", Detail: "it has no response of a site"})
		}
		w.index.Damaged = append(w.index.Damaged, log.rows...)
	}
	err = w.close(ctx)
	counts.Captures = w.answers
	return counts, err
}

// add adds an answer and writes its body.
func (w *runWriter) add(a *archivedResponse, body []byte, in source) error {
	if a.SHA256 != "" {
		at, ok := w.seen[a.SHA256]
		if !ok {
			w.packed = s2.Encode(w.packed[:cap(w.packed)], body)
			n, _ := w.out.Write(binary.AppendUvarint(nil, uint64(len(w.packed)))) // its error is sticky
			if _, err := w.out.Write(w.packed); err != nil {
				return err
			}
			at = w.index.Bodies
			w.index.Bodies += int64(n + len(w.packed))
			if len(w.seen) == maxSeen {
				clear(w.seen)
			}
			w.seen[a.SHA256] = at
		}
		a.Body = at
	}
	prefix, err := urlKey(a.URL)
	if err != nil {
		return err
	}
	row, err := json.Marshal(a)
	if err != nil {
		return err
	}
	key := a.key(prefix, in)
	if a.ID != "" && a.Revisit == nil {
		if err := w.sorted.add(a.key(idKey(a.ID), in), key); err != nil {
			return err
		}
	}
	return w.sorted.add(key, row)
}

// close writes the answers and the index.
func (w *runWriter) close(ctx context.Context) error {
	answers := &pairWriter{out: w.out, end: w.index.Bodies}
	for p, err := range w.sorted.all {
		if err = cmp.Or(err, ctx.Err()); err == nil {
			if w.isLost(keySource(p.key)) {
				continue
			}
			if surtOf(p.key) < behindSites {
				w.answers++
			}
			err = answers.add(p)
		}
		if err != nil {
			return err
		}
	}
	w.index.Blocks, w.index.End = answers.blocks, answers.end
	text, err := json.Marshal(w.index)
	if err != nil {
		return err
	}
	_, _ = w.out.Write(text) // its error is sticky
	_, _ = w.out.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
	return w.out.Flush()
}

var errRun = errors.New("the run is malformed")

// A runFile is a run that is read. It is safe for concurrent use.
type runFile struct {
	*os.File
	*pairFile // of answers
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
	r.pairFile = &pairFile{f, r.Blocks, r.End}
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

// body reads the body at a place.
func (r *runFile) body(at int64) ([]byte, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(r, at, r.Bodies-at), 4<<10)
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, err
	}
	if n > uint64(r.Bodies-at) {
		return nil, errRun
	}
	packed := make([]byte, n)
	if _, err := io.ReadFull(in, packed); err != nil {
		return nil, err
	}
	return s2.Decode(nil, packed)
}

// bounds returns parts-1 sites that divide the answers of runs into parts of about one size.
func bounds(runs []*runFile, parts int) []string {
	type piece struct {
		surt string
		size int64
	}
	var pieces []piece
	total := int64(0)
	for _, r := range runs {
		for i, b := range r.Blocks {
			end := r.End
			if i+1 < len(r.Blocks) {
				end = r.Blocks[i+1].Place
			}
			if surt := surtOf(b.Key); surt < behindSites {
				pieces = append(pieces, piece{surt, end - b.Place})
				total += end - b.Place
			}
		}
	}
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.surt, b.surt) })
	list := make([]string, 0, parts)
	sum, i := int64(0), 0
	for n := 1; n < parts; n++ {
		for i < len(pieces) && sum < total*int64(n)/int64(parts) {
			sum += pieces[i].size
			i++
		}
		bound := "~" // after all sites
		if i < len(pieces) {
			bound = pieces[i].surt
		}
		list = append(list, bound)
	}
	return list
}
