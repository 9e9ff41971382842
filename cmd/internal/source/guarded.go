package source

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/guard"
	"github.com/robotskit/robots/lint"
)

// GuardedSites are the robots.txt files that robots guard enforces: a file for all hosts, or those in a
// folder, HOST/robots.txt.
type GuardedSites struct {
	std    *screen.Streams
	name   string
	folder bool
	files  map[string]*guardedFile // by host, "" for all
	sites  atomic.Pointer[map[string]*guard.Site]
}

// A guardedFile is a file as it was last read.
type guardedFile struct {
	size     int64
	modified time.Time
	read     time.Time // zero if it never was
	body     []byte
	problem  string // why it was not read the last time, "" if it was
}

// OpenGuarded reads a file, or the files in a folder. An error states what is unreadable.
func OpenGuarded(std *screen.Streams, name string) (*GuardedSites, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, screen.Cause(err))
	}
	g := &GuardedSites{std: std, name: name, folder: info.IsDir(), files: map[string]*guardedFile{}}
	g.sites.Store(&map[string]*guard.Site{})
	if _, err := g.Reload(); err != nil {
		return nil, err
	}
	if g.Hosts() == 0 {
		return nil, fmt.Errorf("%s has no robots.txt; a folder needs a file HOST/robots.txt for each host", name)
	}
	return g, nil
}

// Hosts returns the number of files.
func (g *GuardedSites) Hosts() int { return len(*g.sites.Load()) }

// Site returns the robots.txt of a host, nil if there is none.
func (g *GuardedSites) Site(host string) *guard.Site {
	if !g.folder {
		host = ""
	}
	return (*g.sites.Load())[host]
}

// Reload reads the files that have changed, and returns their names. A file that cannot be read keeps its
// last content, and is part of the error, once until that changes.
func (g *GuardedSites) Reload() (changed []string, err error) {
	names := map[string]string{"": g.name}
	if g.folder {
		if names, err = g.hosts(); err != nil {
			return nil, err
		}
	}
	for host := range g.files {
		if names[host] == "" { // its folder is gone
			names[host] = filepath.Join(g.name, host, "robots.txt")
		}
	}
	sites := maps.Clone(*g.sites.Load())
	var problems []error
	for _, host := range slices.Sorted(maps.Keys(names)) {
		name := names[host]
		file := g.files[host]
		if file == nil {
			file = &guardedFile{}
			g.files[host] = file
		}
		site, err := file.reload(g.std, name)
		switch problem := fmt.Sprint(err); {
		case err != nil && problem != file.problem:
			file.problem = problem
			problems = append(problems, err)
		case err == nil:
			file.problem = ""
		}
		if site != nil {
			sites[host] = site
			changed = append(changed, name)
		}
	}
	g.sites.Store(&sites)
	return changed, errors.Join(problems...)
}

// hosts returns the files in the folder by their hosts.
func (g *GuardedSites) hosts() (map[string]string, error) {
	entries, err := os.ReadDir(g.name)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", g.name, screen.Cause(err))
	}
	names := map[string]string{}
	for _, e := range entries {
		name := filepath.Join(g.name, e.Name(), "robots.txt")
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) && e.Name()[0] != '.' {
			names[strings.ToLower(e.Name())] = name
		}
	}
	return names, nil
}

// coarse is more than the resolution of modification times: a file that changed later than this before it was
// read can have changed again without another time.
const coarse = 2 * time.Second

// reload returns the content of a file, nil if it has not changed or cannot be read.
func (f *guardedFile) reload(std *screen.Streams, name string) (*guard.Site, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, screen.Cause(err))
	}
	if info.Size() == f.size && info.ModTime().Equal(f.modified) && f.read.Sub(f.modified) > coarse {
		return nil, nil
	}
	now := std.Now()
	text, err := readText(std, name)
	if err != nil {
		return nil, err
	}
	if text.exceedsLimit {
		return nil, fmt.Errorf("cannot read %s: it is larger than 64 MiB", name)
	}
	if kind := lint.Kind(robots.Parse(text.Body)); kind != "" {
		return nil, fmt.Errorf("%s: it looks like %s, not a robots.txt", name, kind)
	}
	first := f.read.IsZero()
	f.size = info.Size()
	f.modified = info.ModTime()
	f.read = now
	if !first && bytes.Equal(f.body, text.Body) {
		return nil, nil
	}
	f.body = text.Body
	return guard.NewSite(text.Body), nil
}
