package crawlers

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

// TestHeaders: no browser's header is a crawler's, and the header of a crawler that the directory
// knows is. Only a campaign downloads the headers, which are npm packages: user-agents and
// top-user-agents (browsers), crawler-user-agents.
func TestHeaders(t *testing.T) {
	if !campaign.On() {
		return
	}
	dir := t.TempDir()
	read := func(name, file string, v any) {
		pack := exec.Command("npm", "pack", "--silent", "--ignore-scripts", name)
		pack.Dir = dir
		archive, err := pack.Output()
		if err != nil {
			t.Fatalf("npm pack %s: %v", name, err)
		}
		body, err := exec.Command("tar", "-xzOf", filepath.Join(dir, strings.TrimSpace(string(archive))), "package/"+file).Output()
		if err != nil {
			t.Fatalf("%s: %v", archive, err)
		}
		if err := json.Unmarshal(body, v); err != nil {
			t.Fatalf("%s, %s: %v", name, file, err)
		}
	}
	var browsers []string
	read("top-user-agents", "src/index.json", &browsers)
	var sampled []struct{ UserAgent string }
	read("user-agents", "dist/user-agents.json", &sampled)
	for _, s := range sampled {
		browsers = append(browsers, s.UserAgent)
	}
	slices.Sort(browsers)
	browsers = slices.Compact(browsers)
	for _, header := range browsers {
		if c, ok := Sender(header); ok {
			t.Errorf("a browser is %s: %s", c.Name, header)
		}
	}
	if len(browsers) < 500 {
		t.Errorf("only %d headers of browsers", len(browsers))
	}
	var listed []struct {
		Pattern   string
		Instances []string
		Tags      []string
	}
	read("crawler-user-agents", "crawler-user-agents.json", &listed)
	known, missed, ai := 0, 0, 0
	for _, l := range listed {
		name := strings.NewReplacer(`\/`, "", `\`, "", "^", "", "$", "").Replace(l.Pattern)
		if e, ok := Find(name); !ok || e.Status == Mistake || !strings.EqualFold(e.Name, name) {
			continue
		}
		for _, header := range l.Instances {
			if !slices.ContainsFunc(strings.FieldsFunc(header, func(c rune) bool { return strings.ContainsRune(" ;,()", c) }), func(word string) bool {
				word, _, _ = strings.Cut(word, "/")
				return strings.EqualFold(word, name)
			}) {
				continue // a longer name
			}
			known++
			c, ok := Sender(header)
			if ok == strings.Contains(header, "Electron/") {
				missed++
				t.Logf("%s is the sender: %v (%s): %s", name, ok, c.Name, header)
			}
			if slices.Contains(l.Tags, "ai-crawler") {
				if ai++; !ok && !strings.Contains(header, "Electron/") {
					t.Errorf("%s is missed: %s", name, header)
				}
			}
		}
	}
	if 100*missed > 2*known { // whose names are in the comment of a browser, such as BingPreview's
		t.Errorf("%d of %d headers of known crawlers are missed", missed, known)
	}
	t.Logf("%d browsers, %d headers of crawlers, %d of these for AI, %d missed", len(browsers), known, ai, missed)
}
