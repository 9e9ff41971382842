package screen

import (
	"bytes"
	"io"
	"testing"
	"time"
)

// TestProgress: a line of progress on a terminal is erased before anything else is written, and in a log it stays.
func TestProgress(t *testing.T) {
	for terminal, want := range map[bool]string{
		true:  "\ra\x1b[K" + "\r\x1b[K" + "\rb\x1b[K" + "\r\x1b[K",
		false: "a\nb\n",
	} {
		var said bytes.Buffer
		s := &Screen{Err: &said, Terminal: terminal}
		s.show("a")
		for range 2 { // of which the first erases the line
			_, _ = s.Writer(io.Discard).Write(nil)
		}
		s.show("b")
		s.Report(time.Hour, func() string { return "c" })() // which ends with no line
		if said.String() != want {
			t.Errorf("terminal %v: got %q, want %q", terminal, &said, want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1800: "1,800", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := Thousands(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
