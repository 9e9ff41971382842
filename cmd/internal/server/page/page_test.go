package page

import (
	"encoding/json"
	"testing"
)

// question returns the answer to a question, which must be JSON.
func question(t testing.TB, verb string, args ...string) map[string]any {
	t.Helper()
	answer := Ask(verb, args...)
	var m map[string]any
	if err := json.Unmarshal([]byte(answer), &m); err != nil {
		t.Fatalf("%s %q: %v in %s", verb, args, err, answer)
	}
	return m
}
