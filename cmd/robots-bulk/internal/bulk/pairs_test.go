package bulk

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSorter sorts in memory, with some files, and with more files than one merge reads.
func TestSorter(t *testing.T) {
	for _, limit := range []int{1 << 20, 20_000, 200} {
		tmp := &tempFiles{dir: filepath.Join(t.TempDir(), "x")}
		if err := os.Mkdir(tmp.dir, 0o777); err != nil {
			t.Fatal(err)
		}
		s := newSorter(tmp)
		s.memoryLimit = limit
		random := rand.New(rand.NewPCG(1, 2))
		var want []string
		for i := range 5000 {
			key := fmt.Sprintf("%03d", random.IntN(500))
			want = append(want, fmt.Sprintf("%s %06d", key, i))
			if err := s.add([]byte(key), fmt.Appendf(nil, " %06d", i)); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(want)
		var got []string
		for p, err := range s.sortedPairs {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(p.key)+string(p.value))
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: %d pairs", limit, len(got))
		}
		tmp.close()
		if _, err := os.Stat(tmp.dir); err == nil {
			t.Errorf("limit %d: files are left", limit)
		}
	}
}

// TestAround: in a file of several blocks, each key and each gap is found between its neighbors.
func TestAround(t *testing.T) {
	tmp := &tempFiles{dir: t.TempDir()}
	const keys = 3000
	key := func(i int) string { return fmt.Sprintf("%05d", i) }
	f, err := tmp.writePairs(func(yield func(pair, error) bool) {
		for i := 1; i < keys && yield(pair{key: []byte(key(2 * i)), value: make([]byte, i%100)}, nil); i++ {
		}
	})
	if err != nil || len(f.blocks) < 5 {
		t.Fatalf("%d blocks, %v", len(f.blocks), err)
	}
	for i := 1; i <= 2*keys; i++ {
		before, from, err := f.neighbors([]byte(key(i)))
		least, next := (i-1)/2*2, (i+1)/2*2
		if err != nil || least >= 2 && string(before.key) != key(least) || least < 2 && before.key != nil || next < 2*keys && string(from.key) != key(next) || next >= 2*keys && from.key != nil {
			t.Fatalf("%d: between %s and %s, %v", i, before.key, from.key, err)
		}
	}
}
