package bulk

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/robotskit/robots/cmd/internal/batch"
	"github.com/robotskit/robots/cmd/internal/lines"
)

// A StreamedVerdict is a row for a line of standard input: a Verdict with the member id of the line, or
// an error.
type StreamedVerdict struct {
	ID jsonText `parquet:"id,optional"`
	VerdictColumns
	Error string `parquet:"error,optional"`
	Code  string `parquet:"code,optional"` // a batch.Code
}

// VerdictColumns is Verdict under a name that hides none of its columns.
type VerdictColumns = Verdict

// A streamer answers lines.
type streamer struct {
	*evaluator
	out      *bufio.Writer
	verdicts *tableWriter[StreamedVerdict]
	isJSONL  bool
	input    inputReader
	id       jsonText // of the current line
	invalid  int
}

// Stream reads JSON Lines of docs/batch.md with a url and a file, and writes the verdicts of each line in
// order, or its error, which JSON Lines have as a batch. It flushes JSON Lines whenever the input
// pauses. A line without a time has that of 1970. Stream returns the number of lines with an error.
func (o EvaluationOptions) Stream(ctx context.Context, in io.Reader, out io.Writer, format string) (invalid int, err error) {
	if len(o.Paths) == 0 {
		o.Paths = []string{"/"}
	}
	if _, err := o.normalize(); err != nil {
		return 0, err
	}
	e, err := newEvaluator(o)
	if err != nil {
		return 0, err
	}
	s := &streamer{evaluator: e, out: bufio.NewWriterSize(out, 64<<10), isJSONL: format == JSONL}
	if s.verdicts, err = newTableWriter[StreamedVerdict](s.out, format, nil); err != nil { // which uses the same buffer
		return 0, err
	}
	s.input = inputReader{addDamage: func(Damage) {}, addResponse: s.addResponse}
	if err := s.readLines(ctx, in); err != nil {
		return s.invalid, err
	}
	return s.invalid, errors.Join(s.verdicts.Close(), s.out.Flush())
}

// readLines answers all lines.
func (s *streamer) readLines(ctx context.Context, in io.Reader) error {
	text, closeDecoder, err := decompress(in)
	if err != nil {
		return err
	}
	defer closeDecoder()
	for reader := lines.NewReader(text, maxLineBytes); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := reader.Next()
		var question batch.Question
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, lines.ErrLong):
			question = batch.Bad(false, batch.TooLarge, errLongLine)
		case err != nil:
			return err
		default:
			question = batch.Read(bytes.TrimRight(line, "\r"))
		}
		if err := s.answer(&question, reader.Offset); err != nil {
			return err
		}
		if s.isJSONL && !reader.Ready() {
			if err := s.out.Flush(); err != nil {
				return err
			}
		}
	}
}

// answer writes the rows of a line.
func (s *streamer) answer(question *batch.Question, offset int64) error {
	s.id = jsonText(question.ID())
	answer, code, err := archivedAnswer(question, time.Unix(0, 0))
	if code == "" {
		return s.input.addBody(answer, "-", offset)
	}
	s.invalid++
	if !s.isJSONL {
		return s.verdicts.Write(&StreamedVerdict{ID: s.id, Error: err.Error(), Code: string(code)})
	}
	text := batch.AppendError(s.out.AvailableBuffer(), question, code, err)
	_, err = s.out.Write(append(text, '\n'))
	return err
}

// addResponse writes the rows of a file.
func (s *streamer) addResponse(response *archivedResponse, body []byte) error {
	capture, err := newCapture(response)
	if err != nil {
		return err
	}
	capture.setOutcome(response)
	rules := s.newRuleSet(s.rulesOfBody(body, capture.Truncated))
	row := &StreamedVerdict{ID: s.id}
	write := func(verdict *Verdict) error {
		row.VerdictColumns = *verdict
		return s.verdicts.Write(row)
	}
	return s.writeVerdicts(write, capture, s.evaluatePaths(rules))
}
