package bulk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"sync"

	"github.com/robotskit/robots"
)

// A Task is work divided into shards; each makes one part of each table. Its JSON is the
// manifest: everything that determines the parts.
type Task struct {
	Schema  int             `json:"schema"` // 1
	Verb    string          `json:"verb"`   // pack-read, pack, ask, join, diff
	Engine  string          `json:"engine"`
	Format  string          `json:"format"` // extension of the parts: parquet, jsonl, jsonl.zst, csv
	Tables  []string        `json:"tables"` // folders below Dir that get a part of each shard
	Options json.RawMessage `json:"options"`
	Inputs  []Input         `json:"inputs"` // all
	Shards  []Shard         `json:"shards"` // Shards[i].Number is i

	Dir     string    `json:"-"` // the output folder
	DoShard ShardFunc `json:"-"`

	replaces    func(old *Task) bool // whether the parts of another task in the folder are removed; nil: no
	workIsCount bool                 // Shard.work is how much a shard counts
	bodies      bodyStore

	seedOnce sync.Once
	seed     [sha256.Size]byte
}

// newTask returns a task of this program without options, inputs and shards.
func newTask(verb, dir, format string, tables ...string) *Task {
	t := &Task{Schema: 1, Verb: verb, Engine: Engine(), Format: format, Tables: tables, Dir: dir}
	t.bodies.task = t
	return t
}

// countUnit returns what the shards of a task count for its progress.
func (t *Task) countUnit() string {
	switch t.Verb {
	case verbJoin:
		return "URLs"
	case verbDiff:
		return "sites"
	}
	return "captures"
}

// ShardFunc does one shard. Repeated for the same shard, it writes the same bytes. An error of the
// context is no failure of the shard.
type ShardFunc func(ctx context.Context, s Shard, p *PartWriter) error

// An Input is a file. Hash identifies its content.
type Input struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Hash string `json:"hash,omitempty"`
}

// A Shard is a part of the work. Its inputs are indexes into those of its task; From and
// To bound its sites if a shard is a range of them: From <= SURT < To, "" is no bound.
type Shard struct {
	Number int    `json:"number"`
	Inputs []int  `json:"inputs,omitempty"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`

	work int64 // estimated, in any unit
}

// PartName returns the name of the parts of a shard, without extension: its number, and four
// bytes of a hash of everything that determines their content.
func (t *Task) PartName(s Shard) string {
	t.seedOnce.Do(func() {
		h := sha256.New()
		enc := json.NewEncoder(h)                                                                   // these types cannot fail
		_ = enc.Encode([]any{t.Verb, t.Engine, t.Format, t.Tables, append([]Input{}, t.Inputs...)}) // never null, as in the manifest
		var options bytes.Buffer
		_ = json.Compact(&options, t.Options) // it is JSON, which a manifest indents
		h.Write(options.Bytes())
		h.Sum(t.seed[:0])
	})
	text, _ := json.Marshal(s)
	sum := sha256.Sum256(append(t.seed[:], text...))
	return fmt.Sprintf("%05d-%s", s.Number, hex.EncodeToString(sum[:4]))
}

// partPath returns the final path of a part of a table.
func (t *Task) partPath(table, name string) string {
	if table == errorsDir {
		return filepath.Join(t.Dir, table, name+".damaged.jsonl")
	}
	return filepath.Join(t.Dir, table, name+"."+t.Format)
}

// Version is that of the program as Go gives it: v1.2.3 where that tag is, a pseudo-version
// between tags.
var Version = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
})

// Engine identifies the rules for verdicts: the version of the program and, after a plus, a
// hash of the dialects.
var Engine = sync.OnceValue(func() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", robots.Dialects()))
	return Version() + "+" + hex.EncodeToString(sum[:4])
})

// RunOptions are the options of a run. The zero value is one worker.
type RunOptions struct {
	Workers int   // shards at a time in this process; 0 is one
	Share   Share // the shards of this process; the zero value is all

	Progress *Progress // may be nil
}

func (o *RunOptions) defaults() {
	if o.Workers <= 0 {
		o.Workers = 1
	}
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
}
