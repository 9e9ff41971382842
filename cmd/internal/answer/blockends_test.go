package answer

import (
	"slices"
	"testing"

	"github.com/robotskit/robots"
)

// TestBlockEnds: the further user-agent lines of a group neither end a block nor begin a group.
func TestBlockEnds(t *testing.T) {
	f := robots.Parse([]byte("User-agent: a\nUser-agent: b\nDisallow: /a\nAllow: /b\nUser-agent: c\nUser-agent: d\n"))
	if got := blockEnds(f, robots.RFC9309); !slices.Equal(got, []int{1, 3, 4, 5}) {
		t.Errorf("%v, want lines 1, 3, 4 and 5", got)
	}
}
