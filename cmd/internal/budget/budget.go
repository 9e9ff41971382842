// Package budget limits what one request of a client costs: the steps of its work, and the bytes of
// memory for its files and its answer. Steps count what is read and compared, never time, so a request
// is refused or answered alike on every machine.
package budget

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"sync/atomic"
)

// The limits of a request to robots serve. A step takes about twenty nanoseconds.
const (
	Steps     = 50_000_000
	Bytes     = 32 << 20 // of the answer
	FileBytes = 16 << 20 // of the files of the sites that the request refers to
)

// Errors of a budget that is used up.
var (
	ErrSteps = errors.New("the request needs more work than one request may use; send fewer or smaller files, crawlers and URLs at a time")
	ErrBytes = errors.New("the request needs more memory than one request may use; send fewer or smaller files, crawlers and URLs at a time")
)

// A Budget is what a request can still use. A nil *Budget has no limit, for a program that works for
// its own user. It is safe for concurrent use.
type Budget struct {
	steps, bytes atomic.Int64 // left
	full         atomic.Bool
	limit        int64 // of steps
}

// New returns a budget.
func New(steps, bytes int64) *Budget {
	b := &Budget{limit: steps}
	b.steps.Store(steps)
	b.bytes.Store(bytes)
	return b
}

// Work takes the steps of work that comes next, or was just done. It returns ErrSteps if there were
// not as many, and from then on.
func (b *Budget) Work(steps int) error {
	if b != nil && b.steps.Add(-int64(steps)) < 0 {
		b.steps.Store(-1)
		return ErrSteps
	}
	return nil
}

// Left returns the number of steps that are left, at least 1, for work that ends by itself at a number
// of steps: at most most.
func (b *Budget) Left(most int) int {
	if b == nil {
		return most
	}
	return max(1, int(min(b.steps.Load(), int64(most))))
}

// Used returns the number of steps that were taken.
func (b *Budget) Used() int {
	if b == nil {
		return 0
	}
	return int(min(b.limit-b.steps.Load(), math.MaxInt32))
}

// Hold takes bytes before they are allocated. It returns ErrBytes, and takes nothing, if there are not
// as many.
func (b *Budget) Hold(bytes int) error {
	if b != nil && b.bytes.Add(-int64(bytes)) < 0 {
		b.bytes.Add(int64(bytes))
		b.full.Store(true)
		return ErrBytes
	}
	return nil
}

// Full reports whether Hold has failed.
func (b *Budget) Full() bool { return b != nil && b.full.Load() }

// Free gives bytes back that are not needed any more, or not after all.
func (b *Budget) Free(bytes int) {
	if b != nil {
		b.bytes.Add(int64(bytes))
	}
}

// Decoding returns the steps for decoding JSON of some bytes: the costliest has many short members.
func Decoding(bytes int) int { return 1 + 2*bytes }

// Reading returns the steps for reading a robots.txt, or several, once: the rules for a crawler, or the other
// records. A line takes some, however short it is.
func Reading[T string | []byte](texts ...T) int {
	steps := 1
	for _, text := range texts {
		steps += len(text)/2 + lines(text)
	}
	return steps
}

// lines returns the number of line ends in a text whose lines all end alike.
func lines[T string | []byte](text T) int {
	switch text := any(text).(type) {
	case string:
		return max(strings.Count(text, "\n"), strings.Count(text, "\r"))
	case []byte:
		return max(bytes.Count(text, []byte{'\n'}), bytes.Count(text, []byte{'\r'}))
	}
	return 0
}

// Matching returns the steps of a match with some work (robots.Rules.MatchWork): the costliest bytes
// are those of rules with many stars, for short paths.
func Matching(work int) int { return 1 + work/2 }

// Scheduling returns the steps for a schedule of a robots.txt of some bytes.
func Scheduling(bytes int) int { return 1 + 8*bytes }

// Writing returns the steps for writing bytes of an answer.
func Writing(bytes int) int { return 1 + bytes/16 }
