package lint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/robotskit/robots"
)

// What is found out about a group counts for groups with the same rules, so the proofs of the fixes of
// eight groups take about eight times the steps of one.
func TestSameGroups(t *testing.T) {
	rules := []string{
		"/a/*+*", "/a/*%2B*", "/a/*%2b*", "/*/a/*%2B*", "/*/a/*%2b*", "/b", "/bc", "/c/*=*", "/c/*%3D*", "/c/*%3d*",
	}
	group := "\nDisallow: " + strings.Join(rules, "\nDisallow: ") + "\n"
	file := func(groups int) *robots.File {
		var b strings.Builder
		for i := range groups {
			fmt.Fprintf(&b, "User-agent: crawler%d%s", i, group)
		}
		return robots.Parse([]byte(b.String()))
	}
	one := File(file(1), Options{})
	eight := File(file(8), Options{})
	if len(one.Diagnostics) == 0 || len(eight.Diagnostics) != 8*len(one.Diagnostics) {
		t.Errorf("%d findings in one group, %d in eight with the same rules", len(one.Diagnostics), len(eight.Diagnostics))
	}
	if eight.Steps > 16*one.Steps {
		t.Errorf("%d steps for one group, %d for eight with the same rules", one.Steps, eight.Steps)
	}
}
