package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// A textFile is a file given as an argument.
type textFile struct {
	name string // as given
	body []byte
}

// title returns the name of the file in messages.
func (f *textFile) title() string {
	switch f.name {
	case "-":
		return "standard input"
	case "":
		return `""`
	}
	return f.name
}

// readFiles reads all files before any is processed. A file that is too large is an error, as
// truncating it would lose data when it is written back.
func readFiles(std *streams, names []string) ([]textFile, error) {
	if len(names) == 0 {
		return nil, errors.New("no file given: name one, or - for standard input")
	}
	var files []textFile
	seen := false
	for _, name := range names {
		f := textFile{name: name}
		if name == "-" && seen {
			return nil, errors.New("- is given twice: standard input can be read once")
		}
		seen = seen || name == "-"
		if err := f.read(std); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func (f *textFile) read(std *streams) error {
	from, title, err := std.open(f.name)
	if err != nil {
		return err
	}
	defer from.Close()
	f.body, err = io.ReadAll(io.LimitReader(from, maxFile+1))
	if err == nil && len(f.body) > maxFile {
		err = errors.New("it is larger than 64 MiB")
	}
	if err != nil {
		err = fmt.Errorf("cannot read %s: %w", title, cause(err))
	}
	return err
}

// open opens a file, or standard input if its name is "-", and returns its name for messages.
// The caller closes it.
func (s *streams) open(name string) (from io.ReadCloser, title string, err error) {
	title = (&textFile{name: name}).title()
	if name == "-" {
		return io.NopCloser(s.in), title, nil
	}
	f, err := os.Open(name)
	if err == nil {
		if info, failed := f.Stat(); failed == nil && info.IsDir() {
			f.Close()
			err = errors.New("it is a folder, not a file")
		}
	}
	if err != nil {
		return nil, title, fmt.Errorf("cannot read %s: %w", title, cause(err))
	}
	return f, title, nil
}

// replaceFile replaces a file atomically, and keeps its mode. Symbolic links are followed.
func replaceFile(name string, body []byte) error {
	fail := func(err error) error { return fmt.Errorf("cannot write %s: %w", name, cause(err)) }
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return fail(err)
	}
	info, err := os.Stat(target)
	if err != nil {
		return fail(err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(target), ".robots-*")
	if err != nil {
		return fail(err)
	}
	_, err = tmp.Write(body)
	err = errors.Join(err, tmp.Chmod(info.Mode().Perm()), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), target)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return fail(err)
	}
	return nil
}
