package answer

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
)

// TestDrafts: each field is listed with a document and its date.
func TestDrafts(t *testing.T) {
	for _, d := range drafts {
		if _, err := time.Parse(time.DateOnly, d.Date); err != nil || d.Document == "" || !strings.HasPrefix(d.URL, "https://") {
			t.Errorf("%+v: %v", d, err)
		}
		if draftOf(d.title) == nil {
			t.Errorf("%s is not found", d.title)
		}
	}
}

// TestUnknownDrafts: every name of a draft that package robots does not know is found in a file.
func TestUnknownDrafts(t *testing.T) {
	names := slices.Clone(llmsNames)
	for _, d := range drafts {
		names = append(names, d.title)
	}
	for _, name := range names {
		for _, written := range []string{strings.ToLower(name), strings.ToUpper(name)} {
			f := robots.Parse([]byte("User-agent: *\n" + written + ": 1\n"))
			known := len(slices.Collect(f.Rules(robots.RFC9309).Unknown())) == 0
			if found := hasUnknownDraft(f.Bytes()); found == known {
				t.Errorf("%s: found is %t", written, found)
			}
			if list := signalsOf(f.Rules(robots.RFC9309), nil); !known && len(list) != 1 {
				t.Errorf("%s: %v", written, list)
			}
		}
	}
}
