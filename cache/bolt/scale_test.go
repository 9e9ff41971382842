package bolt

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/robotskit/robots/cache/cachetest"
)

var scaleOrigins = flag.Int("origins", 100_000, "how many origins BenchmarkScale keeps")

// BenchmarkScale measures a store and how long its file takes to open, once,
// whatever b.N.
func BenchmarkScale(b *testing.B) {
	path := filepath.Join(b.TempDir(), "robots.cache")
	s, err := Open(path, Options{Size: 16 << 30})
	if err != nil {
		b.Fatal(err)
	}
	cachetest.Scale(b, s, *scaleOrigins, 1024)
	u, err := s.Usage()
	if err := errors.Join(err, s.Close()); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/float64(*scaleOrigins), "file-bytes/origin")
	b.ReportMetric(float64(u.Bytes)/float64(*scaleOrigins), "live-bytes/origin")
	began := time.Now()
	if s, err = Open(path, Options{Size: 16 << 30}); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms-to-open")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
