package robotstest

import (
	"testing"

	"github.com/robotskit/robots"
)

// TestOwn holds package robots against all cases.
func TestOwn(t *testing.T) {
	Run(t, Own, Options{Facts: OwnFacts, Governs: governs})
}

// TestOwnAllowed holds its other ways to an answer against all cases: Allowed in
// one pass over the body, and Rules.Allowed. Where a verdict is undefined they
// follow the rule on the line that the cell names, as Match does.
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

// governs reports whether a robots.txt at robotsURL holds for rawURL: the same origin, and
// robotsURL is exactly /robots.txt in the top-level folder (SCOPE-05 to SCOPE-14).
func governs(robotsURL, rawURL string) (bool, error) {
	at, path, err := robots.ParseURL(robotsURL)
	if err != nil {
		return false, err
	}
	o, _, err := robots.ParseURL(rawURL)
	return err == nil && path.String() == "/robots.txt" && at == o, err
}
