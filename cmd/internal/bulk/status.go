package bulk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A state is the progress of a task, or of a slice of it, as its folder shows.
type state struct {
	t      *Task
	shards int     // of the slice
	done   int     // of the slice
	todo   []Shard // neither done nor failed
	lost   []Shard // failed in the last attempt
	parts  map[string]bool
	errors map[string]bool
}

// isDone reports whether a shard is done.
func (t *Task) isDone(name string) bool {
	_, err := os.Lstat(t.path(t.Tables[len(t.Tables)-1], name))
	return err == nil
}

// survey compares the folder with the manifest.
func (t *Task) survey(slice Slice) (*state, error) {
	st := &state{t: t}
	var err error
	if st.parts, err = names(filepath.Join(t.Dir, t.Tables[len(t.Tables)-1]), "."+t.Format); err != nil {
		return nil, err
	}
	if st.errors, err = names(filepath.Join(t.Dir, errorsDir), ".jsonl"); err != nil {
		return nil, err
	}
	for _, s := range t.Shards {
		if !slice.has(s.Number) {
			continue
		}
		st.shards++
		switch name := t.Name(s); {
		case st.parts[name]:
			st.done++
		case st.errors[name]:
			st.lost = append(st.lost, s)
		default:
			st.todo = append(st.todo, s)
		}
	}
	return st, nil
}

// names returns the names in a folder that have an extension, without it.
func names(dir, extension string) (map[string]bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	found := map[string]bool{}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), extension); ok {
			found[name] = true
		}
	}
	return found, nil
}

// clean removes the errors of shards that are done, and all temporary files if all are.
func (st *state) clean() {
	for name := range st.errors {
		if st.parts[name] {
			os.Remove(st.t.errorFile(name))
		}
	}
	os.Remove(filepath.Join(st.t.Dir, errorsDir)) // if it is empty
	if st.done == len(st.t.Shards) {
		os.RemoveAll(filepath.Join(st.t.Dir, tmpDir))
	}
}

// A Status is the progress of a task.
type Status struct {
	Verb    string    `json:"verb"`
	Shards  int       `json:"shards"`
	Done    int       `json:"done"`
	Failed  []Failure `json:"failed"`
	Unknown []string  `json:"unknown"` // files among the parts that belong to no shard

	Damaged map[string]int64 `json:"damaged"` // unreadable records of the inputs, by kind
}

// Unreadable describes the records that could not be read, "" if there are none.
func (s *Status) Unreadable() string {
	var kinds []string
	n := int64(0)
	for _, kind := range slices.Sorted(maps.Keys(s.Damaged)) {
		n += s.Damaged[kind]
		kinds = append(kinds, kind+" "+Thousands(s.Damaged[kind]))
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s could not be read (%s)", Thousands(n), strings.Join(kinds, ", "))
}

// damage counts the unreadable records in the inputs of finished shards, by kind.
func (st *state) damage() (map[string]int64, error) {
	found, err := names(filepath.Join(st.t.Dir, errorsDir), ".damaged.jsonl")
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	for name := range found {
		if st.parts[name] {
			for d, err := range readTable[Damaged](st.t.path(errorsDir, name)) {
				if err != nil {
					return nil, err
				}
				counts[d.Kind] += d.Count
			}
		}
	}
	return counts, nil
}

// A Failure is a shard that failed.
type Failure struct {
	Shard int    `json:"shard"`
	Part  string `json:"part"`
	Input string `json:"input,omitempty"`
	Error string `json:"error"`
}

// Look returns the status of the task in a folder, and removes temporary files once all
// shards are done.
func Look(dir string) (*Status, error) {
	t, engine, err := read(dir)
	if errors.Is(err, fs.ErrNotExist) { // pack resolve was not started yet
		if t, engine, err = read(filepath.Join(dir, packDir)); err == nil {
			dir = t.Dir
		}
	}
	if err != nil {
		return nil, err
	}
	t.engine = engine
	st, err := t.survey(Slice{})
	if err != nil {
		return nil, err
	}
	s := &Status{Verb: t.Verb, Shards: st.shards, Done: st.done, Failed: st.failures(), Unknown: []string{}}
	if s.Damaged, err = st.damage(); err != nil {
		return nil, err
	}
	st.clean()
	if t.Verb == verbPack {
		if err := removeRuns(t); err != nil {
			return nil, err
		}
	}
	known := map[string]bool{}
	for _, shard := range t.Shards {
		known[t.Name(shard)+"."+t.Format] = true
	}
	for _, table := range t.Tables {
		entries, _ := os.ReadDir(filepath.Join(dir, table)) // a missing folder is no error
		for _, e := range entries {
			if !known[e.Name()] {
				s.Unknown = append(s.Unknown, filepath.Join(table, e.Name()))
			}
		}
	}
	slices.Sort(s.Unknown)
	return s, nil
}

// failures returns the shards that failed, each with its error.
func (st *state) failures() []Failure {
	all := []Failure{}
	for _, s := range st.lost {
		name := st.t.Name(s)
		var n failure
		text, err := os.ReadFile(st.t.errorFile(name))
		if err == nil {
			err = json.Unmarshal(text, &n)
		}
		if err != nil {
			n.Error = err.Error()
		}
		f := Failure{Shard: s.Number, Part: name, Error: n.Error}
		if len(s.Inputs) > 0 {
			f.Input = st.t.Inputs[s.Inputs[0]].Name
		}
		if more := len(s.Inputs) - 1; more > 0 {
			f.Input += fmt.Sprintf(" and %d more", more)
		}
		all = append(all, f)
	}
	return all
}
