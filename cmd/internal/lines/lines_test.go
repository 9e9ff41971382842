package lines

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// TestLongest: a line of the largest size is read, a longer one is an error, and the next line is read again.
func TestLongest(t *testing.T) {
	const most = 300 << 10 // more than the buffer
	full := strings.Repeat("a", most)
	r := NewReader(strings.NewReader(full+"\n"+full+"b\n"+"c"), most)
	for i, want := range []struct {
		text string
		err  error
	}{{full, nil}, {"", ErrLong}, {"c", nil}, {"", io.EOF}} {
		line, err := r.Next()
		if !errors.Is(err, want.err) || err == nil && string(line) != want.text {
			t.Errorf("line %d: %d bytes, %v", i+1, len(line), err)
		}
	}
}
