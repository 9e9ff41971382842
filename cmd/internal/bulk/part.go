package bulk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Folders of a task that are not tables.
const (
	tmpDir    = ".tmp"
	errorsDir = "errors"
)

// A Part collects the files of one shard in a folder of its own. Commit makes them durable
// and renames them, the one of the last table last: then the shard is done. A file with its
// final name is complete.
type Part struct {
	task  *Task
	name  string
	dir   string
	files map[string]*os.File
}

// newPart begins to write a shard.
func newPart(t *Task, name string) (*Part, error) {
	tmp := filepath.Join(t.Dir, tmpDir)
	for {
		if err := os.MkdirAll(tmp, 0o777); err != nil {
			return nil, err
		}
		dir, err := os.MkdirTemp(tmp, name+"-*")
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process removed the empty folder
		}
		if err != nil {
			return nil, err
		}
		return &Part{task: t, name: name, dir: dir, files: map[string]*os.File{}}, nil
	}
}

// Scratch returns a folder for temporary files on the file system of the output.
func (p *Part) Scratch() string { return p.dir }

// Create returns an unbuffered writer of the part of a table. Each table is created once,
// except the optional table errors, which is errors/NAME.damaged.jsonl.
func (p *Part) Create(table string) (io.Writer, error) {
	if p.files[table] != nil {
		return nil, fmt.Errorf("table %s is created twice", table)
	}
	f, err := os.Create(filepath.Join(p.dir, filepath.Base(p.task.path(table, table))))
	if err != nil {
		return nil, err
	}
	p.files[table] = f
	return f, nil
}

// commit gives all parts their final names, and removes what killed processes left of the
// same shard.
func (p *Part) commit() error {
	tables := p.task.Tables
	if p.files[errorsDir] != nil {
		tables = append([]string{errorsDir}, tables...)
	}
	for _, table := range tables {
		f := p.files[table]
		if f == nil {
			return fmt.Errorf("%s has no part of table %s", p.name, table)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	for _, table := range tables {
		if err := p.publish(table); err != nil {
			return &stopError{err}
		}
	}
	left, err := filepath.Glob(filepath.Join(p.task.Dir, tmpDir, p.name+"-*"))
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// publish gives the part of a table its name.
func (p *Part) publish(table string) error {
	dir := filepath.Join(p.task.Dir, table)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := os.Rename(p.files[table].Name(), p.task.path(table, p.name)); err != nil {
		return err
	}
	return syncDir(dir)
}

// discard removes what was not renamed.
func (p *Part) discard() {
	for _, f := range p.files {
		f.Close()
	}
	os.RemoveAll(p.dir)
	os.Remove(filepath.Dir(p.dir)) // if it is empty
}

// syncDir makes the names in a folder durable. Windows does so by itself.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
