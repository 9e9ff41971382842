package bulk

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

// TestMonths: the tables about files of four months of real files are what a plain count of the archives
// gives, without the library.
func TestMonths(t *testing.T) {
	campaign.Only(t)
	corpus := os.Getenv("ROBOTS_CORPUS")
	if corpus == "" {
		t.Skip("ROBOTS_CORPUS does not name a folder of real robots.txt files")
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "python3", "testdata/months.py", corpus, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	p := newPacking(t, PackOptions{}, archives...)
	if err := Pack(t.Context(), p.dir, JSONL, p.PackOptions, p.inputs, RunOptions{Workers: 2}); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "python3", append([]string{"testdata/count.py", p.dir}, archives...)...).CombinedOutput()
	if err != nil || !regexp.MustCompile(`^\d+ bodies, \d+ values\n$`).Match(out) {
		t.Errorf("%v: %s", err, out)
	}
	t.Logf("%s", out)
}
