package render

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/internal/campaign"
)

// headers returns the last columns of test data of package crawlers.
func headers(t *testing.T, names ...string) (list []string) {
	t.Helper()
	for _, name := range names {
		text, err := os.ReadFile("../../../crawlers/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			list = append(list, columns[len(columns)-1])
		}
	}
	return list
}

// TestHeaderPatterns: with one crawler blocked, the patterns decide as crawlers.Sender does. They are those of all
// formats, in the syntax of Go.
func TestHeaderPatterns(t *testing.T) {
	all := headers(t, "user-agents.tsv")
	if campaign.On() {
		all = append(all, headers(t, "browsers.txt")...)
	}
	for i, c := range crawlers.All() {
		if i%campaign.Size(16, 8, 1) != 0 {
			continue
		}
		if c.Name == "MSIECrawler" {
			continue // which the header of Offline Explorer names too
		}
		file := robots.Parse([]byte("User-agent: " + c.Name + "\nDisallow: /\n"))
		who := []crawlers.Crawler{c}
		table, _ := answer.AccessTable(file, who, nil, answer.AccessSteps)
		r := answer.NewRefusals(who, table)
		sent := c.Status != crawlers.Mistake && c.Status != crawlers.OptOut && c.Status != crawlers.Token
		if want := sent && table[0].Access == answer.AccessNone && c.Binds() != crawlers.BindsNo; (len(r.Names) > 0) != want {
			t.Errorf("%s is refused: %v", c.Name, !want)
		}
		if len(r.Names) == 0 {
			continue
		}
		except := regexp.MustCompile("(?i)" + strings.Join(append(headerPatterns(r.Except), programs), "|"))
		pattern := regexp.MustCompile("(?i)" + strings.Join(headerPatterns(r.Names), "|"))
		for _, header := range all {
			sender, known := crawlers.Sender(header)
			if got, want := pattern.MatchString(header) && !except.MatchString(header), known && sender.Name == c.Name; got != want {
				t.Errorf("%s is refused: %v, want %v: %s", c.Name, got, want, header)
			}
		}
	}
}
