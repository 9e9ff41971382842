package bulk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/robotskit/robots/fetch"
)

// damageNotArchive is the kind of damage of an input that is none of the forms that pack reads.
const damageNotArchive = "no-archive"

// An inputReader reads inputs: it finds the responses in them and determines their outcomes.
type inputReader struct {
	looseFiles  bool                                                // read loose robots.txt files
	addResponse func(response *archivedResponse, body []byte) error // must not keep the body
	addDamage   func(Damage)
	addBytes    func(int64) // reports progress in the input
	bodyBuffer  []byte      // reused for bodies

	// memberNumber counts what has a checksum of its own: compressed members, files in a zip, and
	// whole compressed files. dropMembers, if not nil, is called with the first of the members
	// whose responses are not reliable; those of all later members up to the current are not either.
	memberNumber uint32
	dropMembers  func(from uint32)
}

// beginMember begins a member, and returns its number.
func (r *inputReader) beginMember() uint32 {
	r.memberNumber++
	return r.memberNumber
}

// dropUnreliable drops the responses of members from a number on, unless only the end of them is missing.
func (r *inputReader) dropUnreliable(from uint32, err error) {
	if r.dropMembers != nil && err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		r.dropMembers(from)
	}
}

// read reads one input.
func (r *inputReader) read(ctx context.Context, in Input) error {
	if strings.HasSuffix(in.Name, "/") {
		return r.readFolder(ctx, in)
	}
	f, err := os.Open(filepath.FromSlash(in.Name))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != in.Size {
		return fmt.Errorf("%s has %d bytes and had %d when it was listed", in.Name, info.Size(), in.Size)
	}
	return r.readStream(ctx, in.Name, &inputFile{File: f, addBytes: r.addBytes}, info.ModTime(), false)
}

// An inputFile reports how much of a file was read in order.
type inputFile struct {
	*os.File
	addBytes func(int64)
}

func (f *inputFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.addBytes(int64(n))
	return n, err
}

// readFolder reads the robots.txt files of a folder. Archives in it are inputs of their own.
func (r *inputReader) readFolder(ctx context.Context, in Input) error {
	root := filepath.FromSlash(strings.TrimSuffix(in.Name, "/"))
	return eachFile(root, func(name string) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		input, format, modified, err := describeInput(name, true)
		if err != nil || format != formatRobotsTxt {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		r.addBytes(input.Size)
		return r.readRobotsTxt(input.Name, filepath.ToSlash(relative), f, modified)
	})
}

// readStream reads a file of any format. The name of a file in a tar or zip is the name of both.
func (r *inputReader) readStream(ctx context.Context, name string, in io.Reader, modified time.Time, isEntry bool) error {
	buffered := bufio.NewReaderSize(in, 64<<10)
	start, err := buffered.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	format := detectFormat(start)
	if format == formatRobotsTxt && isNamedArchive(name) && isDamaged(start) {
		format = formatWARC // the records after the damage can be read
	}
	if isEntry && format != formatWARC && (format != formatLines || !isNamedLines(name)) {
		format = formatRobotsTxt
	}
	switch {
	case format == formatWARC:
		return r.readWARC(ctx, name, buffered)
	case format == formatLines:
		return r.readJSONLines(ctx, name, buffered, modified)
	case format == formatZip:
		if f, ok := in.(*inputFile); ok {
			return r.readZip(ctx, name, f.File)
		}
	case format == formatTar && r.looseFiles:
		return r.readTar(ctx, name, buffered)
	case format == formatRobotsTxt && r.looseFiles:
		_, file, ok := strings.Cut(name, "#")
		if !ok {
			file = path.Base(name)
		}
		return r.readRobotsTxt(name, file, buffered, modified)
	}
	r.addNotArchive(name)
	return nil
}

func (r *inputReader) addNotArchive(name string) {
	r.addDamage(Damage{Input: name, Kind: damageNotArchive, Detail: "it is not a WARC, WACZ or JSON Lines file with data"})
}

// readRobotsTxt reads one robots.txt, whose path names its site.
func (r *inputReader) readRobotsTxt(name, path string, in io.Reader, modified time.Time) error {
	origin, err := originOf(path)
	if err != nil {
		r.addDamage(Damage{Input: name, Kind: "name", Detail: err.Error()})
		return nil
	}
	return r.addBody(&fetch.Answer{URL: origin.RobotsURL(), At: modified, Body: in}, name, 0)
}

// addBody adds a body whose response was not archived.
func (r *inputReader) addBody(answer *fetch.Answer, name string, offset int64) error {
	answer.Status = http.StatusOK
	response, body, err := r.outcome(answer, name, offset)
	if err != nil || response == nil {
		return err
	}
	response.Status = 0
	return r.addResponse(response, body)
}
