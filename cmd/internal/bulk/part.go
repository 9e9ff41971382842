package bulk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Folders of a task that are not tables.
const (
	tmpDir    = ".tmp"
	errorsDir = "errors"
)

// A Part collects the files of one shard. They are written aside, in a folder of their
// own; commit makes them durable and renames them, the one of the last table last, which
// says that the shard is done. A name that is there is a whole file.
//
// The folder has a lock beside it, which the system releases when its process ends,
// however it ends: what nobody holds is removed (sweep).
type Part struct {
	task  *Task
	name  string
	dir   string
	lock  *os.File
	files map[string]*os.File
}

// errHeld says that a file is locked.
var errHeld = errors.New("locked by another")

// newPart begins to write a shard.
func newPart(t *Task, name string) (*Part, error) {
	tmp := filepath.Join(t.Dir, tmpDir)
	for {
		if err := os.MkdirAll(tmp, 0o777); err != nil {
			return nil, err
		}
		lock, err := os.CreateTemp(tmp, name+"-*.lock")
		if errors.Is(err, fs.ErrNotExist) {
			continue // somebody swept the empty folder
		}
		if err != nil {
			return nil, err
		}
		p := &Part{task: t, name: name, dir: strings.TrimSuffix(lock.Name(), ".lock"), lock: lock, files: map[string]*os.File{}}
		if err := lockFile(lock); errors.Is(err, errHeld) || !same(lock) { // it is being swept
			lock.Close()
			continue
		}
		if err := os.Mkdir(p.dir, 0o777); err != nil {
			p.Discard()
			return nil, err
		}
		return p, nil
	}
}

// same reports whether an open file is still the one of its name.
func same(f *os.File) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(f.Name())
	return err == nil && os.SameFile(a, b)
}

// Name returns the name of the shard's parts, without extension.
func (p *Part) Name() string { return p.name }

// Scratch returns a folder for what the shard needs only while it is worked on; it is on
// the file system of the output, and goes when the shard is done.
func (p *Part) Scratch() string { return p.dir }

// Create returns where the part of a table is written, without a buffer. Each table of
// the task is created once. The table errors is one that a shard may leave out: what its
// inputs had that could not be read, as JSON Lines in errors/NAME.damaged.jsonl.
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

// commit makes the parts those of the shard.
func (p *Part) commit() error {
	defer p.Discard()
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
	return nil
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

// Discard removes what was written and not renamed. It may be called again.
func (p *Part) Discard() {
	for _, f := range p.files {
		f.Close()
	}
	os.RemoveAll(p.dir)
	removeLocked(p.lock)
}

// sweep removes what was written aside by processes that are no more, and says how many
// shards are being written.
func sweep(dir string) (held int) {
	tmp := filepath.Join(dir, tmpDir)
	entries, _ := os.ReadDir(tmp) // nothing to sweep
	for _, e := range entries {
		path := filepath.Join(tmp, e.Name())
		switch lock, isLock := strings.CutSuffix(path, ".lock"); {
		case isLock:
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				continue
			}
			if lockFile(f) != nil {
				held++
				f.Close()
				continue
			}
			os.RemoveAll(lock)
			removeLocked(f)
		case e.IsDir():
			if _, err := os.Lstat(path + ".lock"); errors.Is(err, fs.ErrNotExist) {
				os.RemoveAll(path)
			}
		}
	}
	os.Remove(tmp) // if it is empty
	return held
}
