package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/fetch"
	"github.com/rogpeppe/go-internal/lockedfile"
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
		const advice = "name another file, or delete this one if it was a state: the next run then takes the present files as first versions"
		return nil, fmt.Errorf("--state %s is not a state of robots watch; %s", name, advice)
	}
	return state.Sites, nil
}

// UpdateSites puts sites into the state file of robots watch, and keeps the others. Runs at the same time
// wait for each other at NAME.lock.
func UpdateSites(name string, sites map[string]answer.SiteState) error {
	unlock, err := lockedfile.MutexAt(name + ".lock").Lock()
	if err != nil {
		return fmt.Errorf("cannot lock --state: %w", err)
	}
	defer unlock()
	all, err := ReadSites(name)
	if err != nil {
		return err
	}
	maps.Copy(all, sites)
	text, err := json.MarshalIndent(watchState{1, all}, "", " ")
	if err != nil {
		return err
	}
	return ReplaceFile(name, append(text, '\n'))
}
