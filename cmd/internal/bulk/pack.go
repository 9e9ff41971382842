package bulk

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// A snapshot is made in three tasks, of which the first two are in a hidden folder of it
// until it is complete:
//
//	.pack/read   a shard an input: its answers, whatever their URL, their bodies, and the keys by
//	             which they are found
//	.pack/index  a shard a range of keys: the keys of all inputs, sorted
//	.            a shard an input, or one for all: captures, of which redirects and
//	             revisits are looked up in the index, and their bodies
const (
	packDir  = ".pack"
	readDir  = "read"
	indexDir = "index"

	verbRead  = "pack-read"
	verbIndex = "pack-index"
	verbPack  = "pack"

	tableAnswers  = "answers"
	tableBodies   = "bodies"
	tableDamage   = "damage"
	tableKeys     = "keys"
	tableIndex    = "index"
	tableCaptures = "captures"
	hiddenFormat  = "bin"
)

// indexBytes is about how large a part of the index is.
const indexBytes = 16 << 20

// PackOptions say how a snapshot is made. All of them are part of its manifest.
type PackOptions struct {
	Window       time.Duration `json:"redirect_window"` // between an answer and what it leads to; 0 is 24 h
	Merge        bool          `json:"merge,omitempty"` // one part for all inputs
	AllowPrivate bool          `json:"allow_private,omitempty"`
	UserAgent    string        `json:"user_agent,omitempty"` // of requests to servers of archives
}

func (o *PackOptions) defaults() {
	if o.Window <= 0 {
		o.Window = 24 * time.Hour
	}
}

// PackTask returns the task that makes a snapshot in a folder. Its inputs come from
// Inputs.
func (o PackOptions) PackTask(dir, format string, inputs []Input) (*Task, error) {
	o.defaults()
	options, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	t := &Task{
		Verb: verbPack, Dir: dir, Format: format, Options: options, Inputs: inputs,
		Tables: []string{tableBodies, tableCaptures},
		Shards: shardsOf(inputs),
	}
	if o.Merge {
		all := Shard{}
		for i := range inputs {
			all.Inputs = append(all.Inputs, i)
		}
		t.Shards = []Shard{all}
	}
	return t, t.resolve()
}

// Known returns the inputs of what a folder holds, none if it holds nothing.
func Known(dir string) []Input {
	t, _, err := read(dir)
	if err != nil {
		return nil // what is wrong with it is said when it is used
	}
	return t.Inputs
}

func shardsOf(inputs []Input) []Shard {
	shards := make([]Shard, len(inputs))
	for i := range inputs {
		shards[i] = Shard{Number: i, Inputs: []int{i}}
	}
	return shards
}

// readTask returns the first task of a snapshot.
func readTask(t *Task) *Task {
	return &Task{
		Verb: verbRead, Dir: filepath.Join(t.Dir, packDir, readDir), Format: hiddenFormat,
		Tables:  []string{tableBodies, tableAnswers, tableDamage, tableKeys},
		Options: t.Options, Inputs: t.Inputs, Shards: shardsOf(t.Inputs),
	}
}

// indexTask returns the second. How many shards it has depends on what the first made.
func indexTask(t *Task) (*Task, error) {
	first := readTask(t)
	size := int64(0)
	lost := []Input{} // which failed: the index is without them, and another one when they are there
	for _, s := range first.Shards {
		info, err := os.Stat(first.path(tableKeys, first.Name(s)))
		if errors.Is(err, fs.ErrNotExist) {
			lost = append(lost, t.Inputs[s.Number])
			continue
		}
		if err != nil {
			return nil, err
		}
		size += info.Size()
	}
	index := &Task{
		Verb: verbIndex, Dir: filepath.Join(t.Dir, packDir, indexDir), Format: hiddenFormat,
		Tables: []string{tableIndex}, Options: t.Options,
		Inputs: lost,
	}
	parts := uint64(size/indexBytes) + 1
	for i := range parts {
		index.Shards = append(index.Shards, Shard{Number: int(i), From: bound(i, parts), To: bound(i+1, parts)})
	}
	return index, nil
}

// bound returns the first hash of one of equal parts as 16 digits, "" behind the last.
func bound(i, parts uint64) string {
	if i >= parts {
		return ""
	}
	return fmt.Sprintf("%016x", ^uint64(0)/parts*i)
}

// Pack makes a snapshot. It may be called again after whatever stopped it.
func Pack(ctx context.Context, t *Task, o RunOptions) error {
	if err := t.claim(); err != nil {
		return err
	}
	hidden := filepath.Join(t.Dir, packDir)
	if st, err := t.survey(Slice{}); err != nil || st.done == st.shards {
		return errors.Join(err, os.RemoveAll(hidden))
	}
	first := readTask(t)
	failed, err := runPhase(ctx, first, o)
	if err != nil {
		return err
	}
	if st, err := first.survey(Slice{}); err != nil || len(st.todo) > 0 {
		return cmp.Or(err, error(&PhaseError{len(st.todo), st.shards}))
	}
	index, err := indexTask(t)
	if err != nil {
		return err
	}
	if _, other := errors.AsType[*OtherTaskError](index.claim()); other {
		// An input failed before and is there now, so redirects into it lead somewhere.
		for _, dir := range []string{index.Dir, filepath.Join(t.Dir, tableCaptures), filepath.Join(t.Dir, tableBodies)} {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	whole := o
	whole.Slice = Slice{} // it is little work, and nothing can go on before it is done
	if err := Run(ctx, index, whole); err != nil {
		return err
	}
	if err := errors.Join(Run(ctx, t, o), failed); err != nil {
		return err
	}
	if st, err := t.survey(Slice{}); err != nil || st.done < st.shards {
		return err // others are at it
	}
	return os.RemoveAll(hidden)
}

// A PhaseError says that a share of the work is done, and what follows needs the others.
type PhaseError struct{ Missing, Shards int }

func (e *PhaseError) Error() string {
	return fmt.Sprintf("this share is done; %d of %d inputs are other shares': when they are done, run the same again", e.Missing, e.Shards)
}

// runPhase runs a task, and returns beside an error that it was done but for shards that
// failed.
func runPhase(ctx context.Context, t *Task, o RunOptions) (failed, err error) {
	err = Run(ctx, t, o)
	if given, ok := errors.AsType[*FailedError](err); ok {
		return given, nil
	}
	return nil, err
}

func init() {
	register(verbRead, func(t *Task) (Do, error) {
		_, client, err := packOptions(t)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, s Shard, p *Part) (Counts, error) {
			return readShard(ctx, t.Inputs[s.Inputs[0]], client, p)
		}, nil
	})
	register(verbIndex, func(t *Task) (Do, error) {
		first, _, err := read(filepath.Join(filepath.Dir(t.Dir), readDir))
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, s Shard, p *Part) (Counts, error) {
			return indexShard(ctx, first, s, p)
		}, nil
	})
	register(verbPack, func(t *Task) (Do, error) {
		o, _, err := packOptions(t)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, s Shard, p *Part) (Counts, error) {
			return packShard(ctx, t, s, o, p)
		}, nil
	})
}

func packOptions(t *Task) (o PackOptions, client *downloader, err error) {
	if err := json.Unmarshal(t.Options, &o); err != nil {
		return o, nil, fmt.Errorf("options of %s: %w", t.Dir, err)
	}
	o.defaults()
	client, err = o.client()
	return o, client, err
}

// An answer is what an archive holds about one request, judged: a row of the hidden table
// answers.
type answer struct {
	URL string
	At  int64 // milliseconds since 1970

	Outcome string // none of a redirect and of a revisit
	Cause   string
	Status  int32
	Next    string // where a redirect leads

	SHA256    string
	Body      int64 // where it is in the table of bodies, -1 for none
	Bytes     int64
	Truncated bool
	Kind      string

	Input  string
	Offset int64
	ID     string // of the record

	Revisit *revisit
	from    int // the shard that read it
}

// A revisit is what a record refers to that says only that nothing has changed.
type revisit struct {
	URL string
	At  int64 // milliseconds since 1970
	ID  string
}

// robots reports whether the answer is to a request for a robots.txt.
func (a *answer) robots() bool {
	return strings.HasSuffix(a.URL, "/robots.txt") && strings.Count(a.URL, "/") == 3
}

// A key is how an answer is found: by its URL or by the id of its record. In files it is
// its four numbers in order, so that bytes sort as they do.
type key struct {
	hash  uint64
	at    int64 // milliseconds since 1970
	shard uint32
	place int64 // in the shard's answers
}

const (
	keySize   = 8 + 8 + 8 // of one shard
	indexSize = keySize + 4
)

func hashOf(kind byte, name string) uint64 {
	sum := sha256.Sum256(append([]byte{kind}, name...))
	return binary.BigEndian.Uint64(sum[:])
}

const (
	byURL = 'u'
	byID  = 'i'
)

const signBit = 1 << 63 // so that times before 1970 come first

func (k key) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, k.hash)
	b = binary.BigEndian.AppendUint64(b, uint64(k.at)^signBit)
	b = binary.BigEndian.AppendUint32(b, k.shard)
	return binary.BigEndian.AppendUint64(b, uint64(k.place))
}

func parseKey(b []byte) key {
	return key{
		binary.BigEndian.Uint64(b), int64(binary.BigEndian.Uint64(b[8:]) ^ signBit),
		binary.BigEndian.Uint32(b[16:]), int64(binary.BigEndian.Uint64(b[20:])),
	}
}

// mostSeen is how many bodies a shard remembers, so as not to keep them twice; what comes
// back later is kept again until the end.
const mostSeen = 100_000

// readShard reads an input.
func readShard(ctx context.Context, in Input, client *downloader, p *Part) (Counts, error) {
	counts := Counts{Bytes: in.Size, ByKind: map[string]int64{}}
	var outs [3]*bufio.Writer
	for i, table := range []string{tableBodies, tableAnswers, tableKeys} {
		w, err := p.Create(table)
		if err != nil {
			return counts, err
		}
		outs[i] = bufio.NewWriterSize(w, 64<<10)
	}
	bodies, answers, keys := outs[0], outs[1], outs[2]
	sorted := newSorter(p.Scratch())
	defer sorted.close()

	var place, bodyPlace int64
	seen := map[string]int64{}
	var packed, row []byte
	r := &inputReader{client: client, scratch: p.Scratch()}
	r.answer = func(a *answer, body []byte) error {
		if a.SHA256 != "" {
			at, ok := seen[a.SHA256]
			if !ok {
				packed = s2.Encode(packed[:cap(packed)], body)
				n, err := writeRow(bodies, packed)
				if err != nil {
					return err
				}
				at, bodyPlace = bodyPlace, bodyPlace+n
				if len(seen) == mostSeen {
					clear(seen)
				}
				seen[a.SHA256] = at
			}
			a.Body = at
		}
		for _, hash := range []uint64{hashOf(byURL, a.URL), hashOf(byID, a.ID)}[:1+min(len(a.ID), 1)] {
			if err := sorted.add(key{hash, a.At, 0, place}.append(nil), nil); err != nil {
				return err
			}
		}
		row = a.encode(row[:0])
		n, err := writeRow(answers, row)
		place += n
		return err
	}
	log := &damageLog{last: map[string]int{}, counts: map[string]int64{}}
	r.damaged = log.add
	if err := r.read(ctx, in); err != nil {
		return counts, err
	}
	if place == 0 {
		log.add(Damaged{Input: in.Name, Kind: "no-capture", Detail: "no answer of a site is in it"})
	}
	if err := sorted.each(func(k, _ []byte) error {
		_, _ = keys.Write(k[:16]) // its error comes again
		_, err := keys.Write(k[20:])
		return err
	}); err != nil {
		return counts, err
	}
	if err := writeRows(p, tableDamage, log.rows); err != nil {
		return counts, err
	}
	for _, out := range outs {
		if err := out.Flush(); err != nil {
			return counts, err
		}
	}
	return counts, nil
}

// writeRow writes a row behind its length, for readRow, and returns how long both are.
func writeRow(out *bufio.Writer, row []byte) (int64, error) {
	n, _ := out.Write(binary.AppendUvarint(nil, uint64(len(row)))) // its error comes again
	m, err := out.Write(row)
	return int64(n + m), err
}

// A damageLog keeps what was damaged: so many of a kind, and how many more there were.
type damageLog struct {
	rows   []Damaged
	last   map[string]int // by kind, in rows
	counts map[string]int64
}

const damagesOfKind = 100

func (l *damageLog) add(d Damaged) {
	d.Count = 1
	d.Detail = clip(d.Detail)
	if l.counts[d.Kind]++; l.counts[d.Kind] <= damagesOfKind {
		l.last[d.Kind] = len(l.rows)
		l.rows = append(l.rows, d)
		return
	}
	l.rows[l.last[d.Kind]].Count++
}

// indexShard makes a part of the index from the keys of all inputs.
func indexShard(ctx context.Context, first *Task, s Shard, p *Part) (Counts, error) {
	var counts Counts
	sorted := newSorter(p.Scratch())
	defer sorted.close()
	from, err := strconv.ParseUint(s.From, 16, 64)
	if err != nil {
		return counts, fmt.Errorf("a range from %q: %w", s.From, err)
	}
	to, last := uint64(0), s.To == ""
	if !last {
		if to, err = strconv.ParseUint(s.To, 16, 64); err != nil {
			return counts, fmt.Errorf("a range to %q: %w", s.To, err)
		}
	}
	for _, shard := range first.Shards {
		if err := ctx.Err(); err != nil {
			return counts, err
		}
		err := keysOf(first.path(tableKeys, first.Name(shard)), from, func(k []byte) (bool, error) {
			if !last && binary.BigEndian.Uint64(k) >= to {
				return false, nil
			}
			counts.Rows++
			entry := binary.BigEndian.AppendUint32(bytes.Clone(k[:16]), uint32(shard.Number))
			return true, sorted.add(append(entry, k[16:]...), nil)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // an input that failed has none
			return counts, err
		}
	}
	w, err := p.Create(tableIndex)
	if err != nil {
		return counts, err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	if err := sorted.each(func(k, _ []byte) error { _, err := out.Write(k); return err }); err != nil {
		return counts, err
	}
	return counts, out.Flush()
}

// keysOf calls fn with the keys of a file from a hash on, until it says false.
func keysOf(path string, from uint64, fn func(k []byte) (bool, error)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	at, err := search(f, keySize, func(k []byte) bool { return binary.BigEndian.Uint64(k) >= from })
	if err != nil {
		return err
	}
	if _, err := f.Seek(at*keySize, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReaderSize(f, 16<<10)
	for k := make([]byte, keySize); ; {
		if _, err := io.ReadFull(in, k); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if more, err := fn(k); err != nil || !more {
			return err
		}
	}
}

// packShard makes captures and bodies of the answers of one input or of all.
func packShard(ctx context.Context, t *Task, s Shard, o PackOptions, p *Part) (Counts, error) {
	counts := Counts{ByKind: map[string]int64{}}
	archive, err := openArchive(t, o)
	if err != nil {
		return counts, err
	}
	defer archive.close()
	rows, texts := newSorter(p.Scratch()), newSorter(p.Scratch())
	defer rows.close()
	defer texts.close()
	damage, err := archive.gather(ctx, t, s, rows, texts, &counts)
	if err != nil {
		return counts, err
	}
	if len(damage) > 0 {
		if err := writeRows(p, errorsDir, damage); err != nil {
			return counts, err
		}
	}
	var held []byte
	if err := writeAll(p, tableBodies, t.Format, []string{"sha256"}, func(put func(Body) error) error {
		return texts.each(func(sum, place []byte) error {
			if bytes.Equal(sum, held) {
				return ctx.Err()
			}
			held = append(held[:0], sum...)
			counts.Bodies++
			body, err := archive.body(int(binary.BigEndian.Uint32(place)), int64(binary.BigEndian.Uint64(place[4:])))
			if err != nil {
				return err
			}
			return put(Body{hex.EncodeToString(sum), body})
		})
	}); err != nil {
		return counts, err
	}
	return counts, writeAll(p, tableCaptures, t.Format, []string{"surt", "origin", "fetched"}, func(put func(Capture) error) error {
		return rows.each(func(_, row []byte) error {
			var c Capture
			if err := c.decode(row); err != nil {
				return err
			}
			return put(c)
		})
	})
}

// gather puts the captures of the inputs of a shard into rows, in the order in which they are
// written, and into texts, by hash, where their bodies are. It returns what was damaged.
func (v *archive) gather(ctx context.Context, t *Task, s Shard, rows, texts *sorter, counts *Counts) (damage []Damaged, err error) {
	seen := map[string]bool{}
	var row []byte
	for _, i := range s.Inputs {
		counts.Bytes += t.Inputs[i].Size
		damaged, err := copyDamage(v.first.path(tableDamage, v.first.Name(v.first.Shards[i])), counts)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s could not be read", t.Inputs[i].Name)
		} else if err != nil {
			return nil, err
		}
		damage = append(damage, damaged...)
		err = v.answers(i, func(a *answer) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !a.robots() {
				return nil
			}
			c, last, err := v.resolve(a)
			if err != nil {
				return err
			}
			row = c.encode(row[:0])
			if err := rows.add(c.sortKey(i), row); err != nil {
				return err
			}
			counts.count(c)
			if last == nil || last.SHA256 == "" || seen[last.SHA256] {
				return nil
			}
			if len(seen) == mostSeen {
				clear(seen)
			}
			seen[last.SHA256] = true
			sum, err := hex.DecodeString(last.SHA256)
			if err != nil {
				return err
			}
			place := binary.BigEndian.AppendUint32(nil, uint32(last.from)) // of the body, which is read when it is written
			return texts.add(sum, binary.BigEndian.AppendUint64(place, uint64(last.Body)))
		})
		if err != nil {
			return nil, err
		}
	}
	return damage, nil
}

// writeAll writes a table of a part.
func writeAll[T any](p *Part, table, format string, sorted []string, each func(put func(T) error) error) error {
	out, err := p.Create(table)
	if err != nil {
		return err
	}
	w, err := writeTable[T](out, format, sorted...)
	if err != nil {
		return err
	}
	if err := each(func(row T) error { return w.Write(&row) }); err != nil {
		return err
	}
	return w.Close()
}

// writeRows writes a table of a part as JSON Lines.
func writeRows[T any](p *Part, table string, rows []T) error {
	out, err := p.Create(table)
	if err != nil {
		return err
	}
	w, err := writeTable[T](out, JSONL)
	if err != nil {
		return err
	}
	for i := range rows {
		if err := w.Write(&rows[i]); err != nil {
			return err
		}
	}
	return w.Close()
}

// copyDamage returns what was damaged of an input, and counts it.
func copyDamage(path string, counts *Counts) (list []Damaged, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	err = readLines(f, func(d Damaged) bool {
		list = append(list, d)
		counts.Damaged += d.Count
		counts.ByKind[d.Kind] += d.Count
		return true
	})
	return list, err
}

// count counts a capture by what it came to.
func (n *Counts) count(c *Capture) {
	n.Captures++
	n.Rows++
	if !c.Answered() {
		n.ByKind[c.Outcome]++
	}
	if c.Location != "" {
		n.ByKind["redirect"]++
	}
}

// sortKey is the order of captures: by site, then time, then place in the archives.
func (c *Capture) sortKey(input int) []byte {
	b := append([]byte(c.SURT), 0)
	b = append(append(b, c.Origin...), 0)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Fetched.UnixMilli())^signBit)
	b = binary.BigEndian.AppendUint32(b, uint32(input))
	return binary.BigEndian.AppendUint64(b, uint64(c.Offset))
}

// captureOf returns the row of an answer, without what comes of it.
func captureOf(a *answer) (*Capture, robots.Origin, error) {
	origin, _, err := robots.ParseURL(a.URL)
	if err != nil {
		return nil, origin, err
	}
	return &Capture{
		SURT: SURT(origin), Origin: origin.String(), URL: a.URL, Fetched: time.UnixMilli(a.At).UTC(),
		Location: a.Next, Input: a.Input, Offset: a.Offset,
	}, origin, nil
}

// take gives the row what the last answer of its chain says.
func (c *Capture) take(a *answer) {
	c.Outcome, c.Cause, c.Status = a.Outcome, a.Cause, a.Status
	c.SHA256, c.Bytes, c.Truncated, c.Kind = a.SHA256, a.Bytes, a.Truncated, a.Kind
}

// packLimits are those of a fetch: of a file that is longer the beginning is kept.
var packLimits fetch.Limits
