package answer

import (
	"strings"
	"testing"
	"time"
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
