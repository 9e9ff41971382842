package bulk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/robotskit/robots/cmd/internal/replace"
)

// manifestFile is written before any part.
const manifestFile = "manifest.json"

// An OtherTaskError reports that a folder contains the output of another task.
type OtherTaskError struct{ Dir, Difference string }

func (e *OtherTaskError) Error() string {
	return fmt.Sprintf("%s contains the output of another run (%s): use another folder, or remove this one", e.Dir, e.Difference)
}

// claimFolder writes the manifest. It fails if the folder has another one that the task does not replace,
// or files of somebody else.
func (t *Task) claimFolder() error {
	text, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	text = append(text, '\n')
	old, err := os.ReadFile(filepath.Join(t.Dir, manifestFile))
	switch {
	case err == nil && bytes.Equal(old, text):
		return nil
	case err == nil:
		err = t.replaceTask(old)
	case errors.Is(err, fs.ErrNotExist):
		err = t.checkFolder()
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(t.Dir, 0o777); err != nil {
		return err
	}
	return writeFile(filepath.Join(t.Dir, manifestFile), text)
}

// checkFolder returns an error if the folder, which has no manifest, has files. Hidden ones do not count.
func (t *Task) checkFolder() error {
	dir := t.Dir
	if t.Verb == verbRead { // in a folder of its own in that of the snapshot
		dir = filepath.Dir(dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == manifestFile }) {
		return nil
	}
	for _, e := range entries {
		if !isHidden(e.Name()) {
			return fmt.Errorf("%s has other files, such as %s: use a new or an empty folder", dir, e.Name())
		}
	}
	return nil
}

// replaceTask removes the parts of the task of a manifest if this task replaces it.
func (t *Task) replaceTask(manifest []byte) error {
	old := &Task{Dir: t.Dir}
	if json.Unmarshal(manifest, old) != nil || t.replaces == nil || !t.replaces(old) {
		return &OtherTaskError{t.Dir, t.difference(manifest)}
	}
	for _, s := range old.Shards {
		name := old.PartName(s)
		files := []string{old.recordPath(name), old.errorFile(name)}
		for _, table := range old.Tables {
			files = append(files, old.partPath(table, name))
		}
		for _, file := range files {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// writeFile writes a file durably, all of it or nothing. Two processes can write the same.
func writeFile(name string, text []byte) error {
	if err := replace.File(name, text); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

// readManifest returns the task in a folder without its Do.
func readManifest(dir string) (*Task, error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return nil, err
	}
	t := &Task{Dir: dir}
	if err := json.Unmarshal(text, t); err != nil || t.Schema != 1 || len(t.Tables) == 0 {
		return nil, fmt.Errorf("%s: invalid %s", dir, manifestFile)
	}
	for i, s := range t.Shards {
		if s.Number != i {
			return nil, fmt.Errorf("%s: %s: shard %d has number %d", dir, manifestFile, i, s.Number)
		}
		for _, in := range s.Inputs {
			if in < 0 || in >= len(t.Inputs) {
				return nil, fmt.Errorf("%s: %s: shard %d has no input %d", dir, manifestFile, i, in)
			}
		}
	}
	return t, nil
}
