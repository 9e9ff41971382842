package compare_test

import (
	"fmt"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
)

func rules(body string) *robots.Rules {
	return robots.Parse([]byte(body)).Rules(robots.RFC9309, "MyBot")
}

func ExampleRules() {
	old := rules("User-agent: *\nDisallow: /img/\n")
	new := rules("User-agent: *\nDisallow: /img/\nAllow: /*.png$\nDisallow: /cart\n")
	r := compare.Rules(old, new, compare.Options{})
	fmt.Println(r)
	for _, c := range r.NewlyBlocked.Changes {
		fmt.Println("newly blocked", c.Path, "-", c.New)
	}
	for _, c := range r.NewlyAllowed.Changes {
		fmt.Println("newly open", c.Path, "-", c.New)
	}
	// Output:
	// differs
	// newly blocked /cart - disallowed by line 4: Disallow: /cart
	// newly open /img/.png - allowed by line 3: Allow: /*.png$
}

// A file in two dialects, over URLs in normal form: for Google "*" is not "%2A".
func ExampleRules_dialects() {
	f := robots.Parse([]byte("User-agent: *\nDisallow: /%2A\n"))
	r := compare.Rules(f.Rules(robots.RFC9309, "MyBot"), f.Rules(robots.Google, "MyBot"), compare.Options{URLs: compare.NormalURLs})
	fmt.Println(r.NewlyBlocked.None(), r.NewlyAllowed.Changes[0].Path)
	// Output: true /*
}

func ExampleEvery() {
	r := rules("User-agent: *\nDisallow: /*.pdf$\n")
	c, err := compare.Every(r, "/products/*", true, compare.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(c.Holds, c.Path, c.Verdict)
	// Output: false /products/.pdf disallowed by line 2: Disallow: /*.pdf$
}

func ExampleEffects() {
	r := rules("User-agent: *\nDisallow: /private\nDisallow: /private/old\nDisallow: intern/\n")
	for _, e := range compare.Effects(r, compare.Options{}) {
		fmt.Println(e.Use, "-", e.Rule)
	}
	// Output:
	// needed - Disallow: /private
	// no-effect - Disallow: /private/old
	// never-matches - Disallow: intern/
}
