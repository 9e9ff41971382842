package bulk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// manifestFile is written before any part.
const manifestFile = "manifest.json"

// A manifest is manifest.json: everything that determines the parts.
type manifest struct {
	Schema  int             `json:"schema"` // 1
	Verb    string          `json:"verb"`
	Engine  string          `json:"engine"`
	Format  string          `json:"format"`
	Tables  []string        `json:"tables"`
	Options json.RawMessage `json:"options"`
	Inputs  []Input         `json:"inputs"`
	Shards  []Shard         `json:"shards"`
}

// manifestText returns manifest.json, with a line per input and per shard.
func (t *Task) manifestText() ([]byte, error) {
	options := t.Options
	if len(options) == 0 {
		options = json.RawMessage("{}")
	}
	m := manifest{1, t.Verb, Engine(), t.Format, t.Tables, options, nil, nil}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	text = bytes.TrimSuffix(text, []byte(`"inputs":null,"shards":null}`))
	text = appendLines(append(text, "\n\"inputs\":"...), t.Inputs)
	text = appendLines(append(text, ",\n\"shards\":"...), t.Shards)
	return append(text, "}\n"...), nil
}

// appendLines appends a JSON array, one element per line.
func appendLines[T any](text []byte, all []T) []byte {
	text = append(text, '[')
	for i := range all {
		if i > 0 {
			text = append(text, ',')
		}
		line, _ := json.Marshal(all[i]) // these types cannot fail
		text = append(append(text, '\n'), line...)
	}
	return append(text, ']')
}

// An OtherTaskError reports that a folder holds another task.
type OtherTaskError struct{ Dir, Differs string }

func (e *OtherTaskError) Error() string {
	return fmt.Sprintf("%s holds the output of a run with other %s (see its %s): name another folder, or remove this one", e.Dir, e.Differs, manifestFile)
}

// claim writes the manifest unless the folder has the same one.
func (t *Task) claim() error {
	text, err := t.check()
	if text == nil || err != nil {
		return err
	}
	if err := os.MkdirAll(t.Dir, 0o777); err != nil {
		return err
	}
	return writeFile(filepath.Join(t.Dir, manifestFile), text)
}

// check returns the manifest to be written, nil if it exists. It fails if the folder holds
// another one.
func (t *Task) check() ([]byte, error) {
	text, err := t.manifestText()
	if err != nil {
		return nil, err
	}
	old, err := os.ReadFile(filepath.Join(t.Dir, manifestFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return text, nil
	case err != nil:
		return nil, err
	case !bytes.Equal(old, text):
		return nil, &OtherTaskError{t.Dir, differs(old, text)}
	}
	return nil, nil
}

// differs names the first member in which two manifests differ.
func differs(a, b []byte) string {
	var old, mine map[string]json.RawMessage
	if json.Unmarshal(a, &old) != nil || json.Unmarshal(b, &mine) != nil {
		return "content"
	}
	for _, member := range []string{"verb", "engine", "format", "tables", "options", "inputs"} {
		if !bytes.Equal(old[member], mine[member]) {
			return member
		}
	}
	return "shards"
}

// writeFile writes a file durably, all of it or nothing. Two processes can write the same.
func writeFile(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".robots-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o666), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return syncDir(filepath.Dir(name))
}

// read returns the task in a folder without its Do, and the engine that made it.
func read(dir string) (*Task, string, error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return nil, "", err
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil || m.Schema != 1 || len(m.Tables) == 0 {
		return nil, "", fmt.Errorf("%s: invalid %s", dir, manifestFile)
	}
	for i, s := range m.Shards {
		if s.Number != i {
			return nil, "", fmt.Errorf("%s: %s: shard %d has number %d", dir, manifestFile, i, s.Number)
		}
		for _, in := range s.Inputs {
			if in < 0 || in >= len(m.Inputs) {
				return nil, "", fmt.Errorf("%s: %s: shard %d has no input %d", dir, manifestFile, i, in)
			}
		}
	}
	t := &Task{Verb: m.Verb, Dir: dir, Tables: m.Tables, Format: m.Format, Options: m.Options, Inputs: m.Inputs, Shards: m.Shards}
	return t, m.Engine, nil
}
