package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/fetch"
)

// Observe returns the outcome of a fetch at a time, without the copy of an earlier fetch.
func Observe(r *fetch.Record, now time.Time) *answer.Observation {
	o := &answer.Observation{
		Time: now, Answered: r.Outcome.Good(), Missing: r.Outcome == fetch.Unavailable, Status: r.Status, Body: r.Body,
		OwnSide: r.FailingSince.IsZero(),
	}
	if o.Answered {
		return o
	}
	rules := func(d robots.Dialect) *robots.Rules {
		return RobotsTXT{Record: r}.Obey(d, 0, now, []string{answer.AnyCrawler})
	}
	o.Fact = FactOf(rules(robots.RFC9309).State())
	for _, d := range answer.CurrentDialects() {
		if !rules(d).Allowed(robots.RawPath("/")) {
			o.Blocking = append(o.Blocking, d.Name)
		}
	}
	return o
}

// A watchState is the file of robots watch.
type watchState struct {
	Schema int                         `json:"schema"`
	Sites  map[string]answer.SiteState `json:"sites"`
}

// ReadSites returns the sites of a state file of robots watch, none if there is no such file.
func ReadSites(name string) (map[string]answer.SiteState, error) {
	state := watchState{1, map[string]answer.SiteState{}}
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return state.Sites, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read --state: %w", err)
	case json.Unmarshal(text, &state) != nil || state.Schema != 1 || state.Sites == nil:
		return nil, fmt.Errorf("--state %s is not a state of robots watch; name another file", name)
	}
	return state.Sites, nil
}

// WriteSites replaces the state file of robots watch.
func WriteSites(name string, sites map[string]answer.SiteState) error {
	text, _ := json.MarshalIndent(watchState{1, sites}, "", " ") // never an error
	return ReplaceFile(name, append(text, '\n'))
}
