package page

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/robotskit/robots/crawlers"
)

var update = flag.Bool("update", false, "write the table of crawlers")

// TestTable holds the table to the directory of crawlers: every crawler that is in
// use, with its dialect where one is known.
func TestTable(t *testing.T) {
	var want strings.Builder
	for _, c := range crawlers.All() {
		want.WriteString(c.ReadAs().Name + "\t" + strings.Join(c.Tokens, "\t") + "\n")
	}
	if *update {
		if err := os.WriteFile("crawlers.txt", []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want.String() {
		t.Error("crawlers.txt is not what the directory says: go test ./cmd/internal/server/page -run TestTable -update")
	}
}

// ask returns the answer of a question, which must be JSON.
func ask(t testing.TB, verb string, args ...string) map[string]any {
	t.Helper()
	answer := Ask(verb, args...)
	var m map[string]any
	if err := json.Unmarshal([]byte(answer), &m); err != nil {
		t.Fatalf("%s %q: %v in %s", verb, args, err, answer)
	}
	return m
}
