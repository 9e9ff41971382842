package lint

import (
	"slices"
	"testing"

	"github.com/robotskit/robots"
)

func ids(r Result) []string {
	var ids []string
	for _, d := range r.Diagnostics {
		ids = append(ids, d.Check.ID)
	}
	return ids
}

// TestChecks runs each check on the example in its documentation: it has findings in the first
// form, and none in the second.
func TestChecks(t *testing.T) {
	for i := range Checks {
		c := &Checks[i]
		if (c.After == "") == (c.Instead == "") {
			t.Errorf("%s: what to write instead is to be in After or Instead", c.ID)
		}
		if c.Before == "" {
			continue
		}
		o := Options{Severities: map[string]Severity{c.ID: Warning}}
		if found := ids(File(robots.Parse([]byte(c.Before)), o)); !slices.Contains(found, c.ID) {
			t.Errorf("%s: %q gives %v", c.ID, c.Before, found)
		}
		if found := ids(File(robots.Parse([]byte(c.After)), o)); c.After != "" && slices.Contains(found, c.ID) {
			t.Errorf("%s: %q gives %v", c.ID, c.After, found)
		}
	}
}
