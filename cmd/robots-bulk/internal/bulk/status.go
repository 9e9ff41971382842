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

	"github.com/robotskit/robots/cmd/internal/screen"
)

// A Status is the progress of a task, or of a slice of it, as its folder shows.
type Status struct {
	Verb    string    `json:"verb"`
	Shards  int       `json:"shards"`
	Done    int       `json:"done"`
	Failed  []Failure `json:"failed"`  // in the last attempt
	Unknown []string  `json:"unknown"` // files among the parts that belong to no shard

	Damage map[string]int64 `json:"damaged"` // unreadable records of the inputs, by kind

	// Damaged are errors that name a file whose content is not that of its record. The hash of files is
	// compared only after all shards are done.
	Damaged []string `json:"damaged_parts"`

	task       *Task
	missing    []Shard // failed ones included
	doneParts  map[string]partRecord
	errorFiles map[string]bool
}

// A Failure is a shard that failed.
type Failure struct {
	Shard int    `json:"shard"`
	Part  string `json:"part"`
	Input string `json:"input,omitempty"`
	Error string `json:"error"`
}

// survey compares the folder with the manifest.
func (t *Task) survey(slice Share) (*Status, error) {
	status := &Status{Verb: t.Verb, Failed: []Failure{}, Unknown: []string{}, Damage: map[string]int64{}, Damaged: []string{}, task: t}
	status.doneParts = map[string]partRecord{}
	recorded, err := namesWithExtension(filepath.Join(t.Dir, recordsDir), ".json")
	if err != nil {
		return nil, err
	}
	if status.errorFiles, err = namesWithExtension(filepath.Join(t.Dir, errorsDir), ".jsonl"); err != nil {
		return nil, err
	}
	for _, s := range t.Shards {
		if !slice.includes(s.Number, len(t.Shards)) {
			continue
		}
		status.Shards++
		name := t.PartName(s)
		if recorded[name] {
			record, err := t.readRecord(name)
			if err == nil {
				err = t.checkSizes(name, &record)
			}
			if err == nil {
				status.Done++
				status.doneParts[name] = record
				continue
			}
			status.Damaged = append(status.Damaged, err.Error())
		}
		status.missing = append(status.missing, s)
		if status.errorFiles[name] {
			status.Failed = append(status.Failed, t.failure(s, name))
		}
	}
	return status, nil
}

// namesWithExtension returns the names in a folder that have an extension, without it.
func namesWithExtension(dir, extension string) (map[string]bool, error) {
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

// failure returns a shard that failed, with the error in its error file.
func (t *Task) failure(s Shard, name string) Failure {
	var last errorFileLine
	text, err := os.ReadFile(t.errorFile(name))
	if err == nil {
		err = json.Unmarshal(text, &last)
	}
	if err != nil {
		last.Error = err.Error()
	}
	f := Failure{Shard: s.Number, Part: name, Error: last.Error}
	if len(s.Inputs) > 0 {
		f.Input = t.Inputs[s.Inputs[0]].Name
	}
	if more := len(s.Inputs) - 1; more > 0 {
		f.Input += fmt.Sprintf(" and %d more", more)
	}
	return f
}

// clean removes the errors of shards that are done, and all temporary files if all are.
func (s *Status) clean() {
	for name := range s.errorFiles {
		if _, done := s.doneParts[name]; done {
			os.Remove(s.task.errorFile(name))
		}
	}
	os.Remove(filepath.Join(s.task.Dir, errorsDir)) // if it is empty
	tmp := filepath.Join(s.task.Dir, tmpDir)
	os.Remove(tmp) // likewise
	if s.Done == len(s.task.Shards) {
		os.RemoveAll(tmp)
	}
}

// DescribeDamage describes the records and inputs that could not be read, "" if there are none.
func (s *Status) DescribeDamage() string {
	var kinds []string
	n := int64(0)
	for _, kind := range slices.Sorted(maps.Keys(s.Damage)) {
		n += s.Damage[kind]
		kinds = append(kinds, kind+" "+screen.Thousands(s.Damage[kind]))
	}
	if n == 0 {
		return ""
	}
	what := "records or inputs"
	if n == 1 {
		what = "record or input"
	}
	return fmt.Sprintf("%s %s could not be read (%s)", screen.Thousands(n), what, strings.Join(kinds, ", "))
}

// countDamage counts the unreadable records in the inputs of finished shards.
func (s *Status) countDamage() error {
	found, err := namesWithExtension(filepath.Join(s.task.Dir, errorsDir), ".damaged.jsonl")
	for name := range found {
		if _, done := s.doneParts[name]; !done {
			continue
		}
		for d, err := range readTable[Damage](s.task.partPath(errorsDir, name)) {
			if err != nil {
				return err
			}
			s.Damage[d.Kind] += d.Count
		}
	}
	return err
}

// checkContents reads all parts, and reports those whose content has changed since they were written.
func (s *Status) checkContents() {
	for _, name := range slices.Sorted(maps.Keys(s.doneParts)) {
		record := s.doneParts[name]
		if err := s.task.checkContent(name, &record); err != nil {
			s.Damaged = append(s.Damaged, err.Error())
		}
	}
}

// findUnknown lists the files among the parts that belong to no shard.
func (s *Status) findUnknown() {
	known := map[string]bool{}
	for _, shard := range s.task.Shards {
		known[s.task.PartName(shard)+"."+s.task.Format] = true
	}
	for _, table := range s.task.Tables {
		entries, _ := os.ReadDir(filepath.Join(s.task.Dir, table)) // a missing folder is not an error
		for _, e := range entries {
			if !known[e.Name()] {
				s.Unknown = append(s.Unknown, filepath.Join(table, e.Name()))
			}
		}
	}
	slices.Sort(s.Unknown)
}

// ReadStatus returns the status of the task in a folder, and removes temporary files once all
// shards are done.
func ReadStatus(dir string) (*Status, error) {
	t, err := readManifest(dir)
	if errors.Is(err, fs.ErrNotExist) { // pack resolve was not started yet
		t, err = readManifest(filepath.Join(dir, runsDir))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s: it is not the output of a run", dir, manifestFile)
	}
	if err != nil {
		return nil, err
	}
	s, err := t.survey(Share{})
	if err != nil {
		return nil, err
	}
	if err := s.countDamage(); err != nil {
		return nil, err
	}
	s.clean()
	if t.Verb == verbPack {
		if err := removeRuns(t); err != nil {
			return nil, err
		}
	}
	s.findUnknown()
	if s.Done == s.Shards {
		s.checkContents()
	}
	return s, nil
}
