// Package hostile holds robots.txt files and paths that are slow to match: many rules that nearly match a long path.
// Tests and benchmarks use them.
package hostile

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A File is a robots.txt of one group for all crawlers, and a path that none of its rules matches. Both can have any
// size, and depend on that size alone.
type File struct {
	Name     string
	alphabet string                                          // of the path
	rule     func(rng *rand.Rand, i int, path string) string // the i-th pattern
}

// Files are slow for a plain substring search: a search for a piece of a rule reads most of the path, and every short
// part of the piece occurs in it.
var Files = []File{
	{"stars", "a", func(_ *rand.Rand, i int, _ string) string { return fmt.Sprint("/", strings.Repeat("*a", 9), "*b", i) }},
	{"random", "ab", missing("ab", 16)},
	// A byte that must be escaped is three bytes in the normal form.
	{"escapes", "\xFE\xFF", missing("\xFE\xFF", 18)},
}

// missing returns rules of one random piece of at least n bytes that does not occur in the path.
func missing(alphabet string, n int) func(*rand.Rand, int, string) string {
	return func(rng *rand.Rand, _ int, path string) string {
		piece := draw(rng, alphabet, n)
		for strings.Contains(path, piece) {
			piece += draw(rng, alphabet, 1)
		}
		return "/*" + piece
	}
}

func draw(rng *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return string(b)
}

// Path returns a path of the given size in bytes, as written in a URL.
func (f File) Path(size int) string {
	return "/" + draw(rand.New(rand.NewPCG(1, 1)), f.alphabet, size-1)
}

// Body returns a file for a path: whole lines, at most size bytes.
func (f File) Body(size int, path string) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	b := []byte("User-agent: *\n")
	for i := 0; ; i++ {
		line := "allow:" + f.rule(rng, i, path) + "\n"
		if len(b)+len(line) > size {
			return b
		}
		b = append(b, line...)
	}
}
