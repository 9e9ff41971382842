package answer

import (
	"slices"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
)

// TestAuto: for every crawler with several tokens, and each of these as its only group, the members
// written by hand are those of the struct, and a named dialect takes exactly the given tokens.
func TestAuto(t *testing.T) {
	expanding := 0
	path := robots.RawPath("/a")
	for e := range crawlers.Profiles() {
		for _, f := range e.FurtherTokens {
			expanding++
			file := robots.Parse([]byte("User-agent: " + f.Token + "\nDisallow: /"))
			c := Auto(e.Name, e.Name)
			r := file.Rules(c.Dialect, c.Tokens...)
			check := NewCheck(r, &c, path, "/a", e.Name, robots.JSONLimits{})
			if check.Allowed || check.Fallback == nil || *check.Fallback != f || c.FallbackSentence(r) == "" || check.Dialect != e.ReadAs().Name {
				t.Errorf("%s, a group of %s: %+v, want its fallback", e.Name, f.Token, check)
			}
			if given := c.Given(); !slices.Equal(given, []string{e.Name}) {
				t.Errorf("%s: given %q", e.Name, given)
			}
			if about := c.AppendJSON(nil, r); len(about) > MaxAboutJSON {
				t.Errorf("%s: %d bytes, more than MaxAboutJSON: %s", e.Name, len(about), about)
			}
			named := InDialect(c.Dialect, e.Name, e.Name)
			r = file.Rules(named.Dialect, named.Tokens...)
			if check := NewCheck(r, &named, path, "/a", e.Name, robots.JSONLimits{}); !check.Allowed || check.Fallback != nil || check.Binds != c.Binds() {
				t.Errorf("%s in a named dialect, a group of %s: %+v", e.Name, f.Token, check)
			}
		}
	}
	if expanding < 40 {
		t.Errorf("%d further tokens", expanding)
	}
}
