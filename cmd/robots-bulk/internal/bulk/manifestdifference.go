package bulk

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/robotskit/robots/cmd/internal/ask"
)

// difference describes the first difference between the manifest in the folder of a task and the task.
func (t *Task) difference(manifest []byte) string {
	var old Task
	if err := json.Unmarshal(manifest, &old); err != nil {
		return "its " + manifestFile + " is invalid"
	}
	switch {
	case old.Verb != t.Verb:
		return differentValues("the command", old.Verb, t.Verb)
	case old.Engine != t.Engine:
		return differentValues("version", old.Engine, t.Engine)
	case old.Format != t.Format:
		return differentValues("--format", old.Format, t.Format)
	}
	if d := differentOptions(old.Options, t.Options); d != "" {
		return d
	}
	if d := differentInputs(old.Inputs, t.Inputs); d != "" {
		return d
	}
	return differentValues("number of shards", fmt.Sprint(len(old.Shards)), fmt.Sprint(len(t.Shards)))
}

// differentValues describes a difference of one value.
func differentValues(name, there, here string) string {
	return fmt.Sprintf("there %s is %s, here %s", name, ask.Clip(there), ask.Clip(here))
}

// optionFlags are the flags of options whose name differs.
var optionFlags = map[string]string{
	"agents": "the list of crawlers", "dialects": "--dialect", "paths": "--path", "redirect_window": "--redirect-window", "files": "--files",
	"parts": "--parts", "at": "--at", "sort": "--sort", "lists": "the number of lists", "parts_before": "the number of parts of the first snapshot",
}

// differentOptions describes the first difference of the options of two tasks, "" if there is none.
func differentOptions(there, here json.RawMessage) string {
	var old, current map[string]any
	if json.Unmarshal(there, &old) != nil || json.Unmarshal(here, &current) != nil {
		return ""
	}
	names := maps.Clone(old)
	maps.Copy(names, current)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		one := optionText(name, old[name])
		two := optionText(name, current[name])
		if one == two {
			continue
		}
		if flag := optionFlags[name]; flag != "" {
			name = flag
		}
		return differentValues(name, one, two)
	}
	return ""
}

// optionText returns the value of an option as messages have it.
func optionText(name string, value any) string {
	if value == nil {
		return "not set"
	}
	if nanoseconds, ok := value.(float64); ok && name == "redirect_window" {
		return time.Duration(nanoseconds).String()
	}
	text, _ := json.Marshal(value) // it was JSON
	return string(text)
}

// differentInputs names the first input of which two tasks have different ones, "" if there is none.
func differentInputs(there, here []Input) string {
	byName := map[string]Input{}
	for _, in := range there {
		byName[in.Name] = in
	}
	for _, in := range here {
		old, ok := byName[in.Name]
		switch {
		case !ok:
			return "there is no input " + ask.Clip(in.Name)
		case old != in:
			return "input " + ask.Clip(in.Name) + " has changed since"
		}
		delete(byName, in.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		return "input " + ask.Clip(name) + " is missing here"
	}
	return ""
}
