package bulk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/batch"
	"github.com/robotskit/robots/cmd/internal/lines"
	"github.com/robotskit/robots/fetch"
)

// maxLineBytes is the size limit of a line of JSON, in bytes.
const maxLineBytes = 16 << 20

var errLongLine = fmt.Errorf("longer than %d bytes", maxLineBytes)

// readJSONLines reads JSON Lines. A line without a time has that of the file.
func (r *inputReader) readJSONLines(ctx context.Context, name string, in io.Reader, modified time.Time) error {
	input := &errorReader{in: in}
	text, closeDecoder, err := decompress(input)
	if err != nil {
		return r.addDamagedRest(input, name, "line", err)
	}
	defer closeDecoder()
	member := r.beginMember()
	reader := lines.NewReader(text, maxLineBytes)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, lines.ErrLong):
			r.addDamagedLine(name, reader.Offset, errLongLine)
			continue
		case err != nil:
			r.dropUnreliable(member, err)
			return r.addDamagedRest(input, name, "line", err)
		}
		if err := r.readJSONLine(name, reader.Offset, bytes.TrimRight(line, "\r"), modified); err != nil {
			return err
		}
	}
}

// readJSONLine reads one line.
func (r *inputReader) readJSONLine(name string, offset int64, line []byte, modified time.Time) error {
	question := batch.Read(line)
	answer, code, err := archivedAnswer(&question, modified)
	if code != "" {
		r.addDamagedLine(name, offset, err)
		return nil
	}
	return r.addBody(answer, name, offset)
}

// archivedAnswer returns the answer that a line archives. A line without a time has that of the file. An
// error has a code.
func archivedAnswer(question *batch.Question, modified time.Time) (answer *fetch.Answer, code batch.Code, err error) {
	url, body, at, err := question.Archived()
	if err != nil {
		return nil, batch.CodeOf(err), err
	}
	origin, _, err := robots.ParseURL(url)
	if err != nil {
		return nil, batch.BadURL, err
	}
	if at.IsZero() {
		at = modified
	}
	return &fetch.Answer{URL: origin.RobotsURL(), At: at, Body: bytes.NewReader(body)}, "", nil
}

func (r *inputReader) addDamagedLine(name string, offset int64, err error) {
	r.addDamage(Damage{Input: name, Offset: offset, Kind: "line", Detail: err.Error()})
}
