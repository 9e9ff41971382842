package robotstest_test

import (
	"testing"

	"github.com/robotskit/robots/robotstest"
)

var t *testing.T // the test function's

// Runs all cases of one dialect on another engine, here one that returns only a boolean.
func ExampleRun() {
	allowed := func(body []byte, agent, url string) bool { return true } // the engine
	engine := func(body []byte, dialect string, agents []string, url string) (robotstest.Answer, error) {
		return robotstest.Boolean(allowed(body, agents[0], url)), nil
	}
	robotstest.Run(t, engine, robotstest.Options{Dialects: []string{"rfc9309"}, TwoValued: true})
}

// A program whose exit status is the verdict is an engine too.
func ExampleProgram() {
	engine := robotstest.Program("robots_main %robots% %user-agent% %url%")
	robotstest.Run(t, engine, robotstest.Options{Dialects: []string{"google-cpp"}, TwoValued: true})
}
