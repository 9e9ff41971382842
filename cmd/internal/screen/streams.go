package screen

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/robotskit/robots"
)

// Streams are the standard streams of one run. Output is buffered, and flushed
// when the verb is done; lists and batch flush it before they wait.
type Streams struct {
	In       io.Reader
	Out      *bufio.Writer
	Err      io.Writer
	Screen   *Screen // of err
	Terminal bool    // out is a terminal
	Now      func() time.Time
	Name     string   // of the command, which begins its messages: "robots check"
	Status   int      // of the run
	Failed   error    // the first of the writers to out, reported at the end
	warned   sync.Map // by what was noticed
}

// NewStreams returns the streams of a run.
func NewStreams(stdin io.Reader, stdout, stderr io.Writer) *Streams {
	std := &Streams{
		In: stdin, Terminal: IsTerminal(stdout),
		Screen: New(stderr),
		Now:    time.Now,
	}
	std.Err = std.Screen.Writer(stderr)
	if std.Screen.Terminal {
		stdout = std.Screen.Writer(stdout)
	}
	std.Out = bufio.NewWriterSize(stdout, 64<<10)
	return std
}

// Finish writes what is left of the output. It returns the first error of standard output; a closed pipe is none, as its reader has
// seen enough.
func (s *Streams) Finish() error {
	s.Keep(s.Out.Flush())
	if err := s.Failed; err != nil && !errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("cannot write standard output: %w", Cause(err))
	}
	return nil
}

// Keep keeps the first error of writing to standard output. What follows need not stop: out
// writes nothing after an error.
func (s *Streams) Keep(err error) {
	s.Failed = cmp.Or(s.Failed, err)
}

// Complain writes a sentence on standard error; one for each of joined errors.
func (s *Streams) Complain(err error) {
	if list, joined := err.(interface{ Unwrap() []error }); joined {
		for _, err := range list.Unwrap() {
			s.Complain(err)
		}
		return
	}
	fmt.Fprintf(s.Err, "%s: %s\n", s.Name, robots.Printable(strings.ReplaceAll(err.Error(), "\n", "; ")))
}

// Warn writes a warning on standard error.
func (s *Streams) Warn(format string, args ...any) {
	s.Complain(fmt.Errorf("warning: "+format, args...))
}

// WarnOnce is warn for the first time that something is noticed.
func (s *Streams) WarnOnce(what, format string, args ...any) {
	if s.First(what) {
		s.Warn(format, args...)
	}
}

// First reports whether something is noticed for the first time in the run.
func (s *Streams) First(what string) bool {
	_, before := s.warned.LoadOrStore(what, true)
	return !before
}

// Cause returns an error of the file system without operation and path, as the sentence around
// it names the path.
func Cause(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}

// ErrInterrupted is the error of a run that a signal ended.
var ErrInterrupted = errors.New("interrupted")

// Interruptible returns a context that ends with SIGINT, SIGTERM or another signal. A second one
// ends the program.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// EncodeJSON writes a value as one line of JSON.
func EncodeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(JSON(w))
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Encode writes a value as one line of JSON.
func (s *Streams) Encode(v any) { s.Keep(EncodeJSON(s.Out, v)) }

// EncodeAnswer writes an answer, an object, as one line of JSON, after the version of this format.
func (s *Streams) EncodeAnswer(v any) {
	var object bytes.Buffer
	if err := EncodeJSON(&object, v); err != nil {
		s.Keep(err)
		return
	}
	_, _ = s.Out.WriteString(`{"schema":1,`) // the last flush reports its error
	_, _ = s.Out.Write(object.Bytes()[1:])
}

// WriteCSV writes rows as CSV.
func (s *Streams) WriteCSV(rows ...[]string) { s.Keep(csv.NewWriter(s.Out).WriteAll(rows)) }
