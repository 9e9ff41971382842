package bulk

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/crawlers"
)

// TestAskAuto: the dialect auto is all that the directory documents of a crawler, as in all other
// answers: the group of a further token applies to it, in its own dialect.
func TestAskAuto(t *testing.T) {
	var agents [][]string
	sites := map[string]string{} // the crawler whose further token a site names
	archive := ""
	for _, c := range crawlers.All() {
		if len(c.FurtherTokens) == 0 {
			continue
		}
		agents = append(agents, []string{c.Name})
		origin := fmt.Sprintf("https://site-%d.example", len(sites))
		sites[origin] = c.Name
		body := "User-agent: *\nAllow: /\n\nUser-agent: " + c.FurtherTokens[0].Token + "\nDisallow: /further\n"
		archive += response(origin+"/robots.txt", day, 200, "", body)
	}
	options := EvaluationOptions{Agents: agents, Dialects: []string{ask.AutoDialect}, Paths: []string{"/further"}}
	task, err := options.AskTask(filepath.Join(t.TempDir(), "out"), JSONL, snapshotOf(t, archive))
	asked := 0
	for _, row := range rowsOf[Verdict](t, task, err) {
		if sites[row.Origin] != row.Agent {
			continue
		}
		asked++
		who := answer.Auto(row.Agent, row.Agent)
		if row.Verdict != "disallow" || row.Line != 5 || row.Dialect != who.Dialect.Name {
			t.Errorf("%s: %+v", row.Agent, row)
		}
	}
	if asked != len(sites) || asked < 30 {
		t.Errorf("%d of %d sites", asked, len(sites))
	}
}
