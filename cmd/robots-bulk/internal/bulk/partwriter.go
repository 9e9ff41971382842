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

// A tempFiles is a folder of temporary files. It owns them: only close removes files.
type tempFiles struct {
	dir   string
	files []*os.File
}

// create creates a file with a name, or with any for "".
func (s *tempFiles) create(name string) (f *os.File, err error) {
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

// writePairs writes sorted pairs to a file.
func (s *tempFiles) writePairs(pairs iter.Seq2[pair, error]) (*pairFile, error) {
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
	return w.pairFile(f), w.out.Flush()
}

// close closes all files and removes the folder.
func (s *tempFiles) close() {
	for _, f := range s.files {
		f.Close() // again, if it is one of a table
	}
	os.RemoveAll(s.dir)
}

// A PartWriter collects the files of one shard in a folder of its own. Commit makes them durable,
// renames them, and writes the record of the part: then the shard is done. A file with its final name
// is complete.
type PartWriter struct {
	tempFiles
	task   *Task
	name   string
	tables map[string]*tableFile
	record partRecord
	bodies []*partBodies // of the parts of snapshots that were read

	progress *Progress
	work     int64 // that was reported
}

// newPartWriter begins to write a shard.
func newPartWriter(t *Task, name string, progress *Progress) (*PartWriter, error) {
	files, err := t.newTempFiles(name)
	return &PartWriter{tempFiles: files, task: t, name: name, tables: map[string]*tableFile{}, progress: progress}, err
}

// close releases what the shard used, and removes its temporary files.
func (p *PartWriter) close() {
	p.task.bodies.release(p.bodies)
	p.tempFiles.close()
}

// newTempFiles creates a folder of temporary files of a task.
func (t *Task) newTempFiles(name string) (tempFiles, error) {
	tmp := filepath.Join(t.Dir, tmpDir)
	for {
		if err := os.MkdirAll(tmp, 0o777); err != nil {
			return tempFiles{}, err
		}
		dir, err := os.MkdirTemp(tmp, name+"-*")
		if !errors.Is(err, fs.ErrNotExist) { // else another process removed the empty folder
			return tempFiles{dir: dir}, err
		}
	}
}

// advance reports progress: how much of what the task counts, and of the work of the shard, was done.
func (p *PartWriter) advance(count, work int64) {
	p.record.Count += count
	p.work += work
	p.progress.advance(count, work)
}

// addCapture notes a capture of the part of a snapshot, in the order of SURT keys.
func (p *PartWriter) addCapture(surt string) {
	p.record.Captures++
	if p.record.Captures%int64(captureInterval) == 0 {
		p.record.Keys = append(p.record.Keys, surt)
	}
}

// CreateTable returns an unbuffered writer of the part of a table, once for each; that of errors, in
// errors/NAME.damaged.jsonl, is optional.
func (p *PartWriter) CreateTable(table string) (io.Writer, error) {
	f, err := p.create(table)
	if err != nil {
		return nil, err
	}
	p.tables[table] = newTableFile(f)
	return p.tables[table], nil
}

// commit gives all parts their final names, and writes their record.
func (p *PartWriter) commit() error {
	p.record.Files = map[string]fileRecord{}
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
		p.record.Files[table] = f.record()
	}
	for _, table := range tables {
		if err := p.publish(table); err != nil {
			return &stopError{err}
		}
	}
	if err := p.task.writeRecord(p.name, &p.record); err != nil {
		return &stopError{err}
	}
	return nil
}

// publish gives the part of a table its name.
func (p *PartWriter) publish(table string) error {
	dir := filepath.Join(p.task.Dir, table)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := os.Rename(p.tables[table].Name(), p.task.partPath(table, p.name)); err != nil {
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

// createTablePart creates the part of a table.
func createTablePart[T any](p *PartWriter, name, format string, sorted ...string) (*tableWriter[T], error) {
	out, err := p.CreateTable(name)
	if err != nil {
		return nil, err
	}
	return newTableWriter[T](out, format, p.task.metadata(), sorted...)
}
