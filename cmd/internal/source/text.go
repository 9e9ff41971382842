package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/fetch"
)

// A Text is a file, standard input or the robots.txt of a site, named by the user.
type Text struct {
	RobotsTXT           // the File, or the Record of a site
	Name         string // as given; of a site, the URL of its robots.txt
	Body         []byte
	exceedsLimit bool // larger than maxFile, and truncated to that
}

// At returns what crawlers obey at a time.
func (f *Text) At(now time.Time) answer.Source {
	if f.Record == nil {
		return f.File
	}
	return recordAt{f.Record, now}
}

// A recordAt is the outcome of a fetch, as crawlers obey it at a time.
type recordAt struct {
	record *fetch.Record
	now    time.Time
}

func (r recordAt) Rules(d robots.Dialect, tokens ...string) *robots.Rules {
	return r.record.Rules(d, r.now, tokens...)
}

// SiteFile returns the robots.txt of a site.
func SiteFile(r *fetch.Record) Text {
	return Text{RobotsTXT: RobotsTXT{Record: r}, Name: r.Origin.RobotsURL(), Body: r.Body}
}

// InPlace reports whether the file can be replaced.
func (f *Text) InPlace() bool { return f.Name != "-" && !ask.NamesSite(f.Name) }

// Title returns the name of the file in messages.
func (f *Text) Title() string {
	if f.Name == "-" {
		return "standard input"
	}
	return f.Name
}

// readText reads a file, or standard input if its name is "-".
func readText(std *screen.Streams, name string) (f Text, err error) {
	f.Name = name
	from, _, err := OpenNamed(std, name)
	if err != nil {
		return f, err
	}
	defer from.Close()
	var body bytes.Buffer
	if file, ok := from.(*os.File); ok {
		if info, failed := file.Stat(); failed == nil { // of a device or a pipe it is 0
			body.Grow(int(min(info.Size(), MaxFile)) + bytes.MinRead)
		}
	}
	if _, err = body.ReadFrom(io.LimitReader(from, MaxFile+1)); err != nil {
		return f, fmt.Errorf("cannot read %s: %w", f.Title(), screen.Cause(err))
	}
	f.Body = body.Bytes()
	f.exceedsLimit = len(f.Body) > MaxFile
	if f.exceedsLimit {
		f.Body = f.Body[:MaxFile]
	}
	return f, nil
}

// OpenNamed opens a file, or standard input if its name is "-", and returns its name for messages.
// The caller closes it.
func OpenNamed(std *screen.Streams, name string) (from io.ReadCloser, title string, err error) {
	title = (&Text{Name: name}).Title()
	switch name {
	case "":
		return nil, title, errors.New("empty file name")
	case "-":
		return io.NopCloser(std.In), title, nil
	}
	f, err := os.Open(name)
	if err == nil {
		if info, failed := f.Stat(); failed == nil && info.IsDir() {
			f.Close()
			err = errors.New("it is a folder, not a file")
		}
	}
	if err != nil {
		return nil, title, fmt.Errorf("cannot read %s: %w", title, screen.Cause(err))
	}
	return f, title, nil
}
