package bulk

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// A snapshot is made by two tasks. The first is in a hidden folder of it until it is
// complete:
//
//	.pack  a shard is some of the inputs, and makes one run (runfile.go)
//	.      a shard is a range of sites, and makes a part of captures and a part of bodies
const (
	packDir = ".pack"

	verbRead = "pack-read"
	verbPack = "pack"

	tableRuns     = "runs"
	tableBodies   = "bodies"
	tableCaptures = "captures"
	runFormat     = "run"
)

const (
	// MaxRuns is how many runs plain pack makes at most: every redirect is looked up in each.
	MaxRuns = 64
	// runBytesPerPart become about 256 MB of Parquet.
	runBytesPerPart = 512 << 20
)

// PackOptions decide what a snapshot holds. They are part of its manifest.
type PackOptions struct {
	Window time.Duration `json:"redirect_window"` // between a redirect and its target; 0 is 24 h
	Files  bool          `json:"files,omitempty"` // read loose robots.txt files, also in tar and zip
	Parts  int           `json:"parts,omitempty"` // 0: by size
}

// PackRead makes the runs of a snapshot: shard number i of the task reads the i-th share of
// the inputs. It does the shards of run.Slice.
func PackRead(ctx context.Context, dir string, o PackOptions, inputs []Input, shards int, run RunOptions) error {
	if t, err := read(dir); err == nil && complete(t) {
		return t.claimAs(t.Format, inputs, func(made *PackOptions) { made.Files = o.Files })
	}
	t, err := o.readTask(dir, inputs, shards)
	if err != nil {
		return err
	}
	return Run(ctx, t, run)
}

// claimAs returns an error unless a snapshot has this format, these inputs, and its options after change.
func (t *Task) claimAs(format string, inputs []Input, change func(*PackOptions)) error {
	var o PackOptions
	if err := json.Unmarshal(t.Options, &o); err != nil {
		return fmt.Errorf("options of %s: %w", t.Dir, err)
	}
	change(&o)
	mine, err := o.task(t.Dir, format, inputs)
	if err != nil {
		return err
	}
	mine.Shards = t.Shards
	return mine.claim()
}

func (o PackOptions) readTask(dir string, inputs []Input, shards int) (*Task, error) {
	options, err := json.Marshal(PackOptions{Files: o.Files})
	if err != nil {
		return nil, err
	}
	t := newTask(verbRead, filepath.Join(dir, packDir), runFormat, tableRuns)
	t.Options, t.Inputs = options, inputs
	for i := range shards {
		s := Shard{Number: i}
		for k := i * len(inputs) / shards; k < (i+1)*len(inputs)/shards; k++ {
			s.Inputs = append(s.Inputs, k)
		}
		t.Shards = append(t.Shards, s)
	}
	t.Do = func(ctx context.Context, s Shard, p *Part) (Counts, error) { return writeRun(ctx, t, s, o, p) }
	return t, nil
}

// PackResolve makes the parts of a snapshot of its runs. It does the shards of run.Slice,
// and of the options it takes Window and Parts.
func PackResolve(ctx context.Context, dir, format string, o PackOptions, run RunOptions) error {
	t, err := read(dir)
	if err == nil && complete(t) {
		err := t.claimAs(format, t.Inputs, func(made *PackOptions) {
			made.Window = cmp.Or(o.Window, made.Window)
			if run.Slice.Of > 0 {
				made.Parts = run.Slice.Of
			}
		})
		if err != nil {
			return err
		}
		return errors.Join(Run(ctx, t, run), removeRuns(t)) // it has nothing to do
	}
	first, err := read(filepath.Join(dir, packDir))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has no runs: start pack read first", dir)
	}
	if err != nil {
		return err
	}
	if first.Engine != Engine() {
		return &OtherTaskError{first.Dir, "engine"}
	}
	st, err := first.survey(Slice{})
	if err != nil {
		return err
	}
	if missing := st.Shards - st.Done; missing > 0 {
		return &PhaseError{missing, st.Shards}
	}
	v, err := openArchive(first)
	if err != nil {
		return err
	}
	t, err = v.task(dir, format, o, first)
	if err == nil {
		err = Run(ctx, t, run)
	}
	v.close()
	if err != nil {
		return err
	}
	return removeRuns(t)
}

// task returns the task that makes a snapshot of the runs of another.
func (v *archive) task(dir, format string, o PackOptions, first *Task) (*Task, error) {
	var read PackOptions
	if err := json.Unmarshal(first.Options, &read); err != nil {
		return nil, fmt.Errorf("options of %s: %w", first.Dir, err)
	}
	o.Files = read.Files
	t, err := o.task(dir, format, first.Inputs)
	if err != nil {
		return nil, err
	}
	v.window = o.Window.Milliseconds()
	parts := o.Parts
	if parts == 0 {
		size := int64(0)
		for _, r := range v.runs {
			size += r.End
		}
		parts = int(size/runBytesPerPart) + 1
	}
	from := ""
	for i, to := range append(bounds(v.runs, parts), "") {
		t.Shards = append(t.Shards, Shard{Number: i, From: from, To: to})
		from = to
	}
	t.Do = func(ctx context.Context, s Shard, p *Part) (Counts, error) { return v.part(ctx, t, s, p) }
	return t, nil
}

// task returns the task that makes a snapshot, without its shards. It fills in defaults.
func (o *PackOptions) task(dir, format string, inputs []Input) (t *Task, err error) {
	if o.Window <= 0 {
		o.Window = 24 * time.Hour
	}
	t = newTask(verbPack, dir, format, tableBodies, tableCaptures)
	t.Inputs = inputs
	t.Options, err = json.Marshal(o)
	return t, err
}

// Pack makes a snapshot. It may be called again after whatever stopped it.
func Pack(ctx context.Context, dir, format string, o PackOptions, inputs []Input, run RunOptions) error {
	switch old, err := read(dir); {
	case err == nil: // its options and inputs must be the same
		if err := old.claimAs(format, inputs, func(made *PackOptions) { *made = o }); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := PackRead(ctx, dir, o, inputs, min(len(inputs), MaxRuns), run); err != nil {
		return err
	}
	return PackResolve(ctx, dir, format, o, run)
}

// A PhaseError reports that pack resolve was started before pack read was done.
type PhaseError struct{ Missing, Shards int }

func (e *PhaseError) Error() string {
	return fmt.Sprintf("%d of %d runs are missing: wait until each pack read has ended", e.Missing, e.Shards)
}

// complete reports whether all parts of a snapshot are there.
func complete(t *Task) bool {
	st, err := t.survey(Slice{})
	return err == nil && t.Verb == verbPack && st.Done == st.Shards
}

// removeRuns removes the runs of a snapshot that is complete.
func removeRuns(t *Task) error {
	if !complete(t) {
		return nil
	}
	return os.RemoveAll(filepath.Join(t.Dir, packDir))
}

// An archivedResponse is what an archive holds about one request, judged: a row of a run.
type archivedResponse struct {
	URL string
	At  int64 // milliseconds since 1970

	Outcome string // none of a redirect and of a revisit
	Cause   string
	Status  int32
	Next    string // where a redirect leads

	SHA256    string
	Body      int64 // its place in the run, -1 for none
	Bytes     int64 // of the whole body
	Truncated bool
	Kind      string

	Input  string
	Offset int64
	ID     string // of the record

	Revisit *revisit
	run     *runFile // that holds it
}

// A revisit is the reference of a record that reports an unchanged response.
type revisit struct {
	URL string
	At  int64 // milliseconds since 1970
	ID  string
}

// robots reports whether the answer is to a request for a robots.txt.
func (a *archivedResponse) robots() bool {
	return strings.HasSuffix(a.URL, "/robots.txt") && strings.Count(a.URL, "/") == 3
}

// A damageLog keeps damagesOfKind records of each kind, and counts the others in the last.
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

// part makes the captures and bodies of a range of sites.
func (v *archive) part(ctx context.Context, t *Task, s Shard, p *Part) (counts Counts, err error) {
	bodies := newSorter(&p.scratch)
	if s.Number == 0 {
		if err := v.writeDamage(p); err != nil {
			return counts, err
		}
	}
	captures, err := createTable[Capture](p, tableCaptures, t.Format, "surt", "origin", "fetched")
	if err != nil {
		return counts, err
	}
	for a, err := range v.answers(ctx, s.From, s.To) {
		if err != nil {
			return counts, err
		}
		if !a.robots() {
			continue
		}
		c, last, err := v.resolve(a)
		if err != nil {
			return counts, err
		}
		counts.Captures++
		if last != nil && last.SHA256 != "" {
			sum, err := hex.DecodeString(last.SHA256)
			if err != nil {
				return counts, err
			}
			place := binary.BigEndian.AppendUint32(nil, uint32(last.run.number))
			if err := bodies.add(sum, binary.BigEndian.AppendUint64(place, uint64(last.Body))); err != nil {
				return counts, err
			}
		}
		if err := captures.Write(c); err != nil {
			return counts, err
		}
	}
	if err := captures.Close(); err != nil {
		return counts, err
	}
	return counts, v.writeBodies(ctx, p, t.Format, bodies)
}

// writeBodies writes bodies, each once, from their sorted hashes and places.
func (v *archive) writeBodies(ctx context.Context, p *Part, format string, sorted *sorter) error {
	w, err := createTable[Body](p, tableBodies, format, "sha256")
	if err != nil {
		return err
	}
	last := ""
	for pair, err := range sorted.all {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		sum := hex.EncodeToString(pair.key)
		if sum == last {
			continue
		}
		last = sum
		run, place := binary.BigEndian.Uint32(pair.value), binary.BigEndian.Uint64(pair.value[4:])
		body, err := v.runs[run].body(int64(place))
		if err != nil {
			return err
		}
		if err := w.Write(&Body{sum, body}); err != nil {
			return err
		}
	}
	return w.Close()
}

// writeDamage writes what the inputs of all runs have that cannot be read.
func (v *archive) writeDamage(p *Part) error {
	var rows []Damaged
	for _, r := range v.runs {
		rows = append(rows, r.Damaged...)
	}
	if len(rows) == 0 {
		return nil
	}
	w, err := createTable[Damaged](p, errorsDir, JSONL)
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

// createTable creates the part of a table.
func createTable[T any](p *Part, name, format string, sorted ...string) (*table[T], error) {
	out, err := p.Create(name)
	if err != nil {
		return nil, err
	}
	return writeTable[T](out, format, sorted...)
}

// captureOf returns the row of an answer without its outcome.
func captureOf(a *archivedResponse) (*Capture, error) {
	origin, _, err := robots.ParseURL(a.URL)
	if err != nil {
		return nil, err
	}
	return &Capture{
		SURT: SURT(origin), Origin: origin.String(), URL: a.URL, Fetched: time.UnixMilli(a.At).UTC(),
		Location: a.Next, Input: a.Input, Offset: a.Offset,
	}, nil
}

// take copies the outcome of the last answer of the redirect chain.
func (c *Capture) take(a *archivedResponse) {
	c.Outcome, c.Cause, c.Status = a.Outcome, a.Cause, a.Status
	c.SHA256, c.Bytes, c.Truncated, c.Kind = a.SHA256, a.Bytes, a.Truncated, a.Kind
}

// packLimits are those of a fetch: only the beginning of a longer file is kept.
var packLimits fetch.Limits
