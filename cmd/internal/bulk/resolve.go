package bulk

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/klauspost/compress/s2"
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/warc"
	"github.com/robotskit/robots/fetch"
)

// This file follows redirects inside the archives, across all inputs, and what revisits
// refer to. Nothing is sorted by URL and joined, round after round: keys of all answers are
// sorted once, and a hop is a search in a file of them.

// An archive finds answers among those of all inputs.
type archive struct {
	first, index *Task
	window       int64 // milliseconds
	files        map[string]*os.File
}

// openFiles bounds the files that a search has open.
const openFiles = 100

func openArchive(t *Task, o PackOptions) (*archive, error) {
	first, _, err := read(filepath.Join(t.Dir, packDir, readDir))
	if err != nil {
		return nil, err
	}
	index, _, err := read(filepath.Join(t.Dir, packDir, indexDir))
	if err != nil {
		return nil, err
	}
	return &archive{first: first, index: index, window: o.Window.Milliseconds(), files: map[string]*os.File{}}, nil
}

func (v *archive) close() {
	for name, f := range v.files {
		f.Close()
		delete(v.files, name)
	}
}

// file opens a part, or returns it as it was opened before.
func (v *archive) file(t *Task, table string, number int) (*os.File, error) {
	name := t.path(table, t.Name(t.Shards[number]))
	if f := v.files[name]; f != nil {
		return f, nil
	}
	if len(v.files) >= openFiles {
		v.close()
	}
	f, err := os.Open(name)
	if err == nil {
		v.files[name] = f
	}
	return f, err
}

// answers calls fn with all answers of an input.
func (v *archive) answers(input int, fn func(a *answer) error) error {
	f, err := os.Open(v.first.path(tableAnswers, v.first.Name(v.first.Shards[input])))
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	var row []byte
	for {
		if _, err := in.Peek(1); errors.Is(err, io.EOF) {
			return nil
		}
		if row, err = readRow(in, row); err != nil {
			return err
		}
		a := &answer{from: input}
		if err := a.decode(row); err != nil {
			return err
		}
		if err := fn(a); err != nil {
			return err
		}
	}
}

// readRow reads a row behind its length, into room for it.
func readRow(in *bufio.Reader, room []byte) ([]byte, error) {
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, err
	}
	if n > maxRow {
		return nil, errRow
	}
	row := slices.Grow(room[:0], int(n))[:n]
	_, err = io.ReadFull(in, row)
	return row, err
}

// maxRow is longer than any row: of a URL, where it leads, and names, each of a header.
const maxRow = 1 << 30

// at reads the answer to which a key leads.
func (v *archive) at(k key) (*answer, error) {
	f, err := v.file(v.first, tableAnswers, int(k.shard))
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(io.NewSectionReader(f, k.place, 1<<62-k.place), 2<<10)
	row, err := readRow(in, nil)
	if err != nil {
		return nil, err
	}
	a := &answer{from: int(k.shard)}
	return a, a.decode(row)
}

// body reads the body at a place of those of an input.
func (v *archive) body(input int, at int64) ([]byte, error) {
	f, err := v.file(v.first, tableBodies, input)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(io.NewSectionReader(f, at, 1<<62-at), 4<<10)
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, err
	}
	if n > maxRow {
		return nil, errRow
	}
	packed := make([]byte, n)
	if _, err := io.ReadFull(in, packed); err != nil {
		return nil, err
	}
	return s2.Decode(nil, packed)
}

// search returns the number of the first entry of a sorted file that is not before what
// is looked for.
func search(f *os.File, size int64, reached func(entry []byte) bool) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	entry := make([]byte, size)
	at := sort.Search(int(info.Size()/size), func(i int) bool {
		if err == nil {
			_, err = f.ReadAt(entry, int64(i)*size)
		}
		return err != nil || reached(entry)
	})
	return int64(at), err
}

// mostLooked is how many answers a search reads before it gives up. Only answers of
// equal hash that are not what is looked for make it read more than one.
const mostLooked = 16

// find returns the answer of a hash that is nearest in time, among those that are right
// and at most so far from it, nil if there is none. Of two that are equally near it is the
// earlier, of those of one moment the first in the archives.
func (v *archive) find(hash uint64, at, window int64, right func(*answer) bool) (*answer, error) {
	text := fmt.Sprintf("%016x", hash)
	parts := v.index.Shards
	f, err := v.file(v.index, tableIndex, sort.Search(len(parts), func(i int) bool { return parts[i].From > text })-1)
	if err != nil {
		return nil, err
	}
	begin := func(at int64) (int64, error) {
		from := key{hash: hash, at: at}.append(nil)[:16]
		return search(f, indexSize, func(entry []byte) bool { return bytes.Compare(entry[:16], from) >= 0 })
	}
	entry := make([]byte, indexSize)
	near := func(place int64) (k key, ok bool) { // whether there is one that may be meant
		if place < 0 {
			return k, false
		}
		if _, readErr := f.ReadAt(entry, place*indexSize); readErr != nil {
			if !errors.Is(readErr, io.EOF) {
				err = readErr
			}
			return k, false
		}
		k = parseKey(entry)
		return k, k.hash == hash && max(k.at-at, at-k.at) <= window
	}
	after, err := begin(at)
	if err != nil {
		return nil, err
	}
	for before, looked := after-1, 0; looked < mostLooked; {
		late, isLate := near(after)
		early, isEarly := near(before)
		if err != nil || !isLate && !isEarly {
			return nil, err
		}
		from, to := after, after+1
		if isEarly && (!isLate || at-early.at <= late.at-at) {
			if from, err = begin(early.at); err != nil {
				return nil, err
			}
			to, before = before+1, from-1
		} else {
			after++
		}
		for ; from < to && looked < mostLooked; from++ {
			looked++
			k, ok := near(from)
			if !ok {
				return nil, err
			}
			if a, err := v.at(k); err != nil || right(a) {
				return a, err
			}
		}
	}
	return nil, nil
}

// resolve returns the row of an answer, and the answer that has its body.
func (v *archive) resolve(a *answer) (*Capture, *answer, error) {
	c, _, err := captureOf(a)
	if err != nil {
		return nil, nil, err
	}
	hops := []fetch.Hop{{URL: a.URL, Status: int(a.Status)}}
	for {
		if a.Revisit != nil {
			told, err := v.told(a)
			if err != nil {
				return nil, nil, err
			}
			if told == nil {
				c.Outcome, c.Cause, c.Status = RevisitUnresolved, RevisitUnresolved, a.Status
				return c, nil, nil
			}
			a = told
			if len(hops) == 1 {
				c.Location = a.Next
			}
		}
		if a.Next == "" {
			c.take(a)
			return c, a, nil
		}
		if cause := packLimits.Redirected(hops, a.Next); cause != fetch.CauseNone {
			c.Outcome, c.Cause, c.Status = cause.Outcome().String(), cause.String(), a.Status
			return c, nil, nil
		}
		next, err := v.find(hashOf(byURL, a.Next), c.Fetched.UnixMilli(), v.window, func(b *answer) bool { return b.URL == a.Next })
		if err != nil {
			return nil, nil, err
		}
		if next == nil {
			c.Outcome, c.Cause, c.Status = Unresolved, NotArchived, a.Status
			return c, nil, nil
		}
		a = next
		hops = append(hops, fetch.Hop{URL: a.URL, Status: int(a.Status)})
		c.Hops, c.ResolvedFrom = int32(len(hops)-1), a.URL
	}
}

// told returns what the answer to which a revisit refers says, nil if it is not there.
func (v *archive) told(a *answer) (*answer, error) {
	r := a.Revisit
	if r.ID != "" {
		found, err := v.find(hashOf(byID, r.ID), a.At, 1<<62, func(b *answer) bool { return b.ID == r.ID && b.Revisit == nil })
		if err != nil || found != nil {
			return found, err
		}
	}
	if r.URL == "" || r.At == 0 {
		return nil, nil
	}
	// Dates of records may have fractions of a second where those that refer to them have none.
	return v.find(hashOf(byURL, r.URL), r.At, 999, func(b *answer) bool { return b.URL == r.URL && b.Revisit == nil })
}

// revisited returns what a record says that refers to another one.
func revisited(record *warc.Record, name string) (*answer, error) {
	url, err := canonical(record.URI)
	if err != nil {
		return nil, err
	}
	a := &answer{URL: url, At: record.Date.UTC().UnixMilli(), Input: name, Offset: record.Offset, ID: record.ID, Body: -1, Revisit: &revisit{}}
	refers := bare(record.RefersTo.URI)
	if refers == "" {
		refers = record.URI
	}
	if a.Revisit.URL, err = canonical(refers); err != nil {
		return nil, err
	}
	if at, err := warc.ParseDate(record.RefersTo.Date); err == nil {
		a.Revisit.At = at.UnixMilli()
	}
	a.Revisit.ID = record.RefersTo.ID
	return a, nil
}

func bare(uri string) string {
	if len(uri) > 1 && uri[0] == '<' && uri[len(uri)-1] == '>' {
		return uri[1 : len(uri)-1]
	}
	return uri
}

// canonical returns a URL in the form that answers have.
func canonical(url string) (string, error) {
	origin, _, err := robots.ParseURL(url)
	if err != nil {
		return "", err
	}
	r, _, err := packLimits.Judge(origin, &fetch.Answer{URL: url, Status: http.StatusNotFound})
	if err != nil {
		return "", err
	}
	return r.URL, nil
}
