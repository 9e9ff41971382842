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
		tmp := &scratch{dir: filepath.Join(t.TempDir(), "x")}
		if err := os.Mkdir(tmp.dir, 0o777); err != nil {
			t.Fatal(err)
		}
		s := newSorter(tmp)
		s.limit = limit
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
		for p, err := range s.all {
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
