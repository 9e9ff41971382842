package bulk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
)

// Folders of a task that are not tables.
const (
	tmpDir    = ".tmp"
	errorsDir = "errors"
)

// A scratch is a folder of temporary files. It owns them: only close removes files.
type scratch struct {
	dir   string
	files []*os.File
}

// create creates a file with a name, or with any for "".
func (s *scratch) create(name string) (f *os.File, err error) {
	if name == "" {
		f, err = os.CreateTemp(s.dir, "")
	} else {
		f, err = os.Create(filepath.Join(s.dir, name))
	}
	if err == nil {
		s.files = append(s.files, f)
	}
	return f, err
}

// write writes sorted pairs to a file.
func (s *scratch) write(pairs iter.Seq2[pair, error]) (*pairFile, error) {
	f, err := s.create("")
	if err != nil {
		return nil, err
	}
	w := pairWriter{out: bufio.NewWriterSize(f, 64<<10)}
	for p, err := range pairs {
		if err == nil {
			err = w.add(p)
		}
		if err != nil {
			return nil, err
		}
	}
	return w.file(f), w.out.Flush()
}

// close closes all files and removes the folder.
func (s *scratch) close() {
	for _, f := range s.files {
		f.Close() // again, if it is one of a table
	}
	os.RemoveAll(s.dir)
}

// A Part collects the files of one shard in a folder of its own. Commit makes them durable
// and renames them, the one of the last table last: then the shard is done. A file with its
// final name is complete.
type Part struct {
	scratch
	task   *Task
	name   string
	tables map[string]*os.File
}

// newPart begins to write a shard.
func newPart(t *Task, name string) (*Part, error) {
	tmp := filepath.Join(t.Dir, tmpDir)
	for {
		if err := os.MkdirAll(tmp, 0o777); err != nil {
			return nil, err
		}
		dir, err := os.MkdirTemp(tmp, name+"-*")
		if !errors.Is(err, fs.ErrNotExist) { // else another process removed the empty folder
			return &Part{scratch{dir: dir}, t, name, map[string]*os.File{}}, err
		}
	}
}

// Create returns an unbuffered writer of the part of a table, once for each; that of errors, in
// errors/NAME.damaged.jsonl, is optional.
func (p *Part) Create(table string) (io.Writer, error) {
	f, err := p.create(table)
	p.tables[table] = f
	return f, err
}

// commit gives all parts their final names.
func (p *Part) commit() error {
	tables := p.task.Tables
	if p.tables[errorsDir] != nil {
		tables = append([]string{errorsDir}, tables...)
	}
	for _, table := range tables {
		f := p.tables[table]
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
	if err := os.Rename(p.tables[table].Name(), p.task.path(table, p.name)); err != nil {
		return err
	}
	return syncDir(dir)
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
