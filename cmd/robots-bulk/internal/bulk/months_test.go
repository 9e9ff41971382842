package bulk

import (
	"os/exec"
	"regexp"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

// TestMonths: the tables about files of four months of real files are what a plain count of the archives
// gives, without the library.
func TestMonths(t *testing.T) {
	campaign.Only(t)
	archives := makeMonths(t)
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
