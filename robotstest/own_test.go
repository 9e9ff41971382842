package robotstest

import (
	"testing"

	"github.com/robotskit/robots"
)

// TestOwn runs all cases on package robots. Allowed, in one pass over the body, and Rules.Allowed
// have the boolean of each verdict.
func TestOwn(t *testing.T) {
	engine := func(body []byte, dialect string, agents []string, url string) (Answer, error) {
		got, err := Own(body, dialect, agents, url)
		d, _ := robots.DialectByName(dialect)
		path := robots.RawPath(url)
		if dialect != robots.GoogleCPP.Name {
			path, _ = robots.ParsePath(url)
		}
		r := robots.Parse(body).Rules(d, agents...)
		once, allowed, v := robots.Allowed(body, d, path, agents...), r.Allowed(path), r.Match(path)
		if once != allowed || allowed != v.Allowed || !v.Undefined && err == nil && Boolean(allowed).Verdict != got.Verdict {
			t.Errorf("%s, %q, %s: Allowed %t, Rules.Allowed %t, Match %t, %s", dialect, agents, shorten(url), once, allowed, v.Allowed, got)
		}
		return got, err
	}
	Run(t, engine, Options{Facts: OwnFacts, Governs: governs})
}

// governs reports whether a robots.txt at robotsURL applies to rawURL: it has the same origin,
// and its path is /robots.txt (SCOPE-05 to SCOPE-14).
func governs(robotsURL, rawURL string) (bool, error) {
	at, path, err := robots.ParseURL(robotsURL)
	if err != nil {
		return false, err
	}
	o, _, err := robots.ParseURL(rawURL)
	return err == nil && path.String() == "/robots.txt" && at == o, err
}
