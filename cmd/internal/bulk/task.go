package bulk

import (
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

// A Task is work that is cut into shards, each of which makes one part a table.
type Task struct {
	Verb    string          // pack, ask, join, diff: the key of what does it (register)
	Dir     string          // the output folder
	Tables  []string        // folders below Dir that get a part of each shard
	Format  string          // extension of the parts: parquet, jsonl, jsonl.zst, csv
	Options json.RawMessage // canonical JSON of all that changes bytes of the output
	Inputs  []Input         // all
	Shards  []Shard         // Shards[i].Number is i
	Do      Do              // nil: what is registered for the verb

	engine   string // that made the manifest, "" is this one
	seedOnce sync.Once
	seed     [sha256.Size]byte
}

// Do does one shard. Called again for the same shard it writes the same bytes. An error
// that is its context's is no failure of the shard.
type Do func(ctx context.Context, s Shard, p *Part) (Counts, error)

// An Input is something that is read: a file or a URL. Hash is its SHA-256 or, of a URL,
// what its server says of its version.
type Input struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Hash string `json:"hash,omitempty"`
}

// A Shard is a part of the work. Its inputs are indexes into those of its task; From and
// To bound its keys where a shard is a range of them.
type Shard struct {
	Number int    `json:"number"`
	Inputs []int  `json:"inputs,omitempty"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
}

// Counts are what was done. Bytes are those of inputs that were read; ByKind counts
// whatever else a verb wants to speak of, damaged records by kind for one.
type Counts struct {
	Captures int64            `json:"captures,omitempty"`
	Rows     int64            `json:"rows,omitempty"`
	Bodies   int64            `json:"bodies,omitempty"`
	Damaged  int64            `json:"damaged,omitempty"`
	Bytes    int64            `json:"bytes,omitempty"`
	ByKind   map[string]int64 `json:"by_kind,omitempty"`
}

// Add adds another's counts.
func (n *Counts) Add(o Counts) {
	n.Captures += o.Captures
	n.Rows += o.Rows
	n.Bodies += o.Bodies
	n.Damaged += o.Damaged
	n.Bytes += o.Bytes
	for kind, of := range o.ByKind {
		if n.ByKind == nil {
			n.ByKind = map[string]int64{}
		}
		n.ByKind[kind] += of
	}
}

// verbs has for each verb how a task that was read from a manifest gets its Do. Files of
// verbs put themselves in by register, in their init.
var verbs = map[string]func(t *Task) (Do, error){}

// register says what does a verb. prepare is called once in a process and task, and knows
// of the task what its manifest says and nothing else.
func register(verb string, prepare func(t *Task) (Do, error)) { verbs[verb] = prepare }

// resolve gives a task its Do.
func (t *Task) resolve() (err error) {
	if t.Do != nil {
		return nil
	}
	prepare := verbs[t.Verb]
	if prepare == nil {
		return fmt.Errorf("%s: this program has no verb %q", t.Dir, t.Verb)
	}
	t.Do, err = prepare(t)
	return err
}

// Name returns the name of the parts of a shard, without extension: its number, and four
// bytes of the hash of all that decides their bytes.
func (t *Task) Name(s Shard) string {
	t.seedOnce.Do(func() {
		if t.engine == "" {
			t.engine = Engine()
		}
		h := sha256.New()
		enc := json.NewEncoder(h)                                                                   // an array of bytes or of numbers never fails
		_ = enc.Encode([]any{t.Verb, t.engine, t.Format, t.Tables, append([]Input{}, t.Inputs...)}) // none are none, as in the manifest
		h.Write(t.Options)
		h.Sum(t.seed[:0])
	})
	text, _ := json.Marshal(s)
	sum := sha256.Sum256(append(t.seed[:], text...))
	return fmt.Sprintf("%05d-%s", s.Number, hex.EncodeToString(sum[:4]))
}

// path returns where the part of a table is when it is done.
func (t *Task) path(table, name string) string {
	if table == errorsDir {
		return filepath.Join(t.Dir, table, name+".damaged.jsonl")
	}
	return filepath.Join(t.Dir, table, name+"."+t.Format)
}

// Engine names what decides verdicts: the version of the program and, after a plus, a
// hash of the table of dialects.
var Engine = sync.OnceValue(func() string {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", robots.Dialects()))
	return version + "+" + hex.EncodeToString(sum[:4])
})

// RunOptions say how a task is run. The zero value is one worker on this machine.
type RunOptions struct {
	Workers int   // shards at a time in this process; 0 is one
	Slice   Slice // the shards that are this process's; the zero value is all

	Progress *Progress // is told how far it has come; may be nil
}

func (o *RunOptions) defaults() {
	if o.Workers <= 0 {
		o.Workers = 1
	}
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
}
