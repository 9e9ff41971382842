package robotstest

import (
	"testing"

	"github.com/robotskit/robots"
)

// TestOwn runs all cases on package robots.
func TestOwn(t *testing.T) {
	Run(t, Own, Options{Facts: OwnFacts, Governs: governs})
}

// TestOwnAllowed runs all cases on Allowed, in one pass over the body, and on Rules.Allowed.
// Undefined verdicts follow the rule on the line that the cell names, as in Match.
func TestOwnAllowed(t *testing.T) {
	engine := func(body []byte, dialect string, agents []string, url string) (Answer, error) {
		d, _ := robots.DialectByName(dialect)
		path := robots.RawPath(url)
		if dialect != robots.GoogleCPP.Name {
			var err error
			if path, err = robots.ParsePath(url); err != nil {
				return Answer{}, err
			}
		}
		r := robots.Parse(body).Rules(d, agents...)
		once, allowed, v := robots.Allowed(body, d, path, agents...), r.Allowed(path), r.Match(path)
		if once != allowed || allowed != v.Allowed {
			t.Errorf("%s, %q, %s: Allowed %t, Rules.Allowed %t, Match %t", dialect, agents, shorten(url), once, allowed, v.Allowed)
		}
		if v.Undefined {
			return Answer{Verdict: "undefined", Line: -1}, nil
		}
		return Boolean(once), nil
	}
	Run(t, engine, Options{})
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
