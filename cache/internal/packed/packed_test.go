package packed_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"testing"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/cache/internal/packed"
)

// TestFlips: no bit of an entry or of its fence can change without an error, but for those
// at the end that compression does not use, and no part of one is an entry.
func TestFlips(t *testing.T) {
	e := cachetest.Numbered(1, 7)
	data := packed.Pack(e.Fence, e.Record)
	unpacked := func() (cache.Entry, error) {
		record, err := packed.Unpack(e.Record.Origin, e.Fence, data)
		return cache.Entry{Record: record, Fence: e.Fence}, err
	}
	if got, err := unpacked(); err != nil || cachetest.Difference(got, e) != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	unseen := 0
	for i := range 8 * len(data) {
		data[i/8] ^= 1 << (i % 8)
		got, err := unpacked()
		if err == nil && cachetest.Difference(got, e) != "" {
			t.Errorf("bit %d: another entry", i)
		} else if err == nil {
			unseen++
		}
		data[i/8] ^= 1 << (i % 8)
	}
	if unseen > 7 {
		t.Errorf("%d bits can change", unseen)
	}
	for n := range data {
		if _, err := packed.Unpack(e.Record.Origin, e.Fence, data[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are an entry", n, len(data))
		}
	}
	if _, err := packed.Unpack(e.Record.Origin, e.Fence+1, data); err == nil {
		t.Error("another fence: no error")
	}
	if _, err := packed.Unpack(cachetest.Origin(2), e.Fence, data); err == nil {
		t.Error("another origin: no error")
	}
}

// TestDictionary: another dictionary, or one with other line ends, makes everything that is
// kept unreadable. It takes another version of both stores.
func TestDictionary(t *testing.T) {
	const want = "b4c5888463299cfbf2cca32d651b89a3b421e2d1039b7f82572f294e6a2e5f89"
	dictionary, err := os.ReadFile("dictionary.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(dictionary)); got != want {
		t.Errorf("the dictionary has changed: %s, want %s", got, want)
	}
}
