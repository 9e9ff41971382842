package bulk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/robotskit/robots/cmd/internal/replace"
)

// manifestFile is written before any part.
const manifestFile = "manifest.json"

// An OtherTaskError reports that a folder contains the output of another task.
type OtherTaskError struct{ Dir, Difference string }

func (e *OtherTaskError) Error() string {
	return fmt.Sprintf("%s contains the output of another run (%s): use another folder, or remove this one", e.Dir, e.Difference)
}

// claimFolder writes the manifest. It fails if the folder has another one.
func (t *Task) claimFolder() error {
	text, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	text = append(text, '\n')
	old, err := os.ReadFile(filepath.Join(t.Dir, manifestFile))
	switch {
	case err == nil && !bytes.Equal(old, text):
		return &OtherTaskError{t.Dir, t.difference(old)}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(t.Dir, 0o777); err != nil {
		return err
	}
	return writeFile(filepath.Join(t.Dir, manifestFile), text)
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
