package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/fetch"
)

// A textFile is a file, or the robots.txt of a site, given as an argument.
type textFile struct {
	name string // as given; of a site, the URL of its robots.txt
	body []byte
}

// inPlace reports whether the file can be replaced.
func (f *textFile) inPlace() bool { return f.name != "-" && !isURL(f.name) }

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

// readFiles reads the files and sites of the arguments before any is processed. A file that is
// too large is an error, as truncating it would lose data when it is written back.
func (c *command) readFiles(ctx context.Context, flags *siteFlags) ([]textFile, error) {
	if len(c.args) == 0 {
		return nil, errors.New("no file given: name one, - for standard input, or the URL of a site")
	}
	files, origins := make([]textFile, len(c.args)), make([]robots.Origin, len(c.args))
	seen, fetches := false, false
	for i, name := range c.args {
		files[i].name = name
		if isURL(name) {
			var err error
			if origins[i], err = siteOf(name); err != nil {
				return nil, err
			}
			files[i].name, fetches = origins[i].RobotsURL(), true
			continue
		}
		if name == "-" && seen {
			return nil, errors.New("- is given twice: standard input can be read once")
		}
		seen = seen || name == "-"
		if err := files[i].read(c.std); err != nil {
			return nil, err
		}
	}
	if !fetches {
		return files, flags.unused("with files")
	}
	return files, c.fetchFiles(ctx, flags, origins, files)
}

// fetchFiles fetches the files of sites.
func (c *command) fetchFiles(ctx context.Context, flags *siteFlags, origins []robots.Origin, files []textFile) error {
	l, err := newLive(c, flags, robots.Dialects(), noLimit)
	if err != nil {
		return err
	}
	defer l.close()
	sources := make([]ask.Source, len(files))
	if err := l.fetchAll(ctx, c, origins, sources); err != nil {
		return err
	}
	for i, s := range sources {
		switch r := s.Record; {
		case r == nil:
		case r.Outcome == fetch.Success:
			files[i].body = r.Body
			if r.Truncated {
				c.warn("%s is truncated to %s by the fetch", files[i].name, count(len(r.Body), "byte"))
			}
		case r.Outcome.Good():
			return fmt.Errorf("%s: status %d, so the site has no robots.txt to read", files[i].name, r.Status)
		default:
			state := r.Rules(robots.RFC9309, l.began).State()
			return fmt.Errorf("cannot get %s", l.stateLine(r, state, state.Text()))
		}
	}
	return nil
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
