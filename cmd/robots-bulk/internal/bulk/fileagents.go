package bulk

import (
	"cmp"
	"slices"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
)

// maxKnownNames limits the names whose crawler a fileReader remembers.
const maxKnownNames = 10_000

// An agentLine is a line that rfc9309 or google reads as User-agent, with the token that each reads, ""
// for none.
type agentLine struct {
	number          int
	value           string
	rfc9309, google string
}

// newAgentLine returns a line that a dialect reads as User-agent, and the token that it reads.
func (r *fileReader) newAgentLine(line robots.Line) (agent agentLine, token string) {
	if len(line.Names) > 0 {
		token = asUTF8(line.Names[0])
	}
	return agentLine{number: line.Number, value: asUTF8(r.file.Text(line.Value))}, token
}

// addGoogleLines adds the tokens that google reads, and the lines that only google reads as User-agent,
// such as "Useragent: a".
func (r *fileReader) addGoogleLines() {
	byRFC9309 := r.agentLines
	next := 0
	for line := range r.file.Lines(r.google) {
		if line.Field != robots.FieldUserAgent {
			continue
		}
		agent, token := r.newAgentLine(line)
		for next < len(byRFC9309) && byRFC9309[next].number < line.Number {
			next++
		}
		if next < len(byRFC9309) && byRFC9309[next].number == line.Number {
			byRFC9309[next].google = token
			continue
		}
		agent.google = token
		r.agentLines = append(r.agentLines, agent)
	}
	slices.SortStableFunc(r.agentLines, func(a, b agentLine) int { return cmp.Compare(a.number, b.number) })
}

// addAgents makes the rows of agents.
func (r *fileReader) addAgents() {
	r.addGoogleLines()
	indexes := make(map[string]int, len(r.agentLines)) // of rows by name
	for _, line := range r.agentLines {
		if line.value == "" {
			continue
		}
		index, ok := indexes[line.value]
		if !ok {
			index = len(r.agents)
			indexes[line.value] = index
			r.agents = append(r.agents, NamedAgent{SHA256: r.hash, Name: line.value, Line: int32(line.number)})
			r.describeCrawler(&r.agents[index])
		}
		row := &r.agents[index]
		row.Lines++
		row.RFC9309 = cmp.Or(row.RFC9309, line.rfc9309)
		row.Google = cmp.Or(row.Google, line.google)
	}
}

// describeCrawler sets what the directory has of a name.
func (r *fileReader) describeCrawler(row *NamedAgent) {
	crawler, ok := r.known[row.Name]
	if !ok {
		crawler, _ = crawlers.Find(row.Name)
		if len(r.known) == maxKnownNames {
			clear(r.known)
		}
		r.known[row.Name] = crawler
	}
	row.Crawler = crawler.Name
	row.Operator = crawler.Operator
	row.Purpose = string(crawler.Purpose)
}

// proveAccess sets how much rfc9309 allows each name of a body.
func (r *fileReader) proveAccess(body *storedBody) error {
	var o EvaluationOptions
	for i := range r.agents {
		if token := r.agents[i].RFC9309; token != "" {
			o.Agents = append(o.Agents, []string{token})
		}
	}
	if len(o.Agents) == 0 {
		return nil
	}
	if _, err := o.normalize(); err != nil {
		return err
	}
	o.Paths = []string{"/"}
	e, err := newEvaluator(o)
	if err != nil {
		return err
	}
	rules := e.evaluatePaths(e.newRuleSet(e.rulesOfBody(body.Body.Body, body.truncated)))
	access := make(map[string]string, len(e.crawlers))
	for i, crawler := range e.crawlers {
		access[crawler.name] = rules.evaluations[rules.ruleIndexes[i]].Access
	}
	for i := range r.agents {
		r.agents[i].Access = access[r.agents[i].RFC9309]
	}
	return nil
}
