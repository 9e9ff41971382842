package bulk

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
)

// EvaluationOptions are the evaluations of each capture. They are part of the manifest.
type EvaluationOptions struct {
	Agents   [][]string `json:"agents"`          // tokens of each crawler, most specific first; none is *
	Dialects []string   `json:"dialects"`        // ask.AutoDialect is that of each crawler
	Paths    []string   `json:"paths,omitempty"` // or URLs
	// Steps limits the proofs of access for all agents of one file and dialect; 0 is
	// answer.AccessSteps.
	Steps int `json:"steps"`
}

// normalize fills in defaults and returns the options as in the manifest.
func (o *EvaluationOptions) normalize() (json.RawMessage, error) {
	if o.Steps == 0 {
		o.Steps = answer.AccessSteps
	}
	if len(o.Agents) == 0 {
		o.Agents = [][]string{{"*"}}
	}
	if len(o.Dialects) == 0 {
		o.Dialects = []string{robots.RFC9309.Name}
	}
	o.Agents = distinctAgents(o.Agents)
	if _, err := newEvaluator(*o); err != nil {
		return nil, err
	}
	return json.Marshal(o)
}

// distinctAgents returns agents without those that were before in the list.
func distinctAgents(agents [][]string) [][]string {
	seen := map[string]bool{}
	var distinct [][]string
	for _, tokens := range agents {
		name := strings.Join(tokens, " ")
		if !seen[name] {
			seen[name] = true
			distinct = append(distinct, tokens)
		}
	}
	return distinct
}

// ReadAgents reads a list of crawlers, one a line: tokens separated by spaces or commas, most
// specific first. A comment begins with #.
func ReadAgents(in io.Reader) ([][]string, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	var agents [][]string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		tokens := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(", \t\r\n\ufeff", r) })
		if len(tokens) > 0 {
			agents = append(agents, tokens)
		}
	}
	if len(agents) == 0 {
		return nil, errors.New("the list names no crawler; write one per line")
	}
	return agents, nil
}
