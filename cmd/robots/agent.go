package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/screen"
)

// reading describes how the dialects read a value, "" if it is a product token or empty. A
// dialect with RawTokens reads the value literally (C-10, C-11).
func reading(value string, ds ...robots.Dialect) string {
	tokens := robots.ProductTokens(value)
	if value == "" || len(tokens) == 1 && tokens[0] == value {
		return ""
	}
	const most = 5 // names that a sentence has
	var texts []string
	if slices.ContainsFunc(ds, func(d robots.Dialect) bool { return !d.RawTokens }) {
		var names []string
		for _, t := range tokens {
			if t != value {
				names = append(names, strconv.Quote(clip(t)))
			}
		}
		if more := len(names) - most; more > 0 {
			names = append(names[:most], strconv.Itoa(more)+" more")
		}
		texts = append(texts, "it is read as "+cmp.Or(strings.Join(names, ", then "), "no crawler"))
	}
	for _, d := range ds {
		if d.RawTokens {
			texts = append(texts, d.Name+" reads it literally, and no group can name it")
		}
	}
	return strconv.Quote(clip(value)) + " is not a product token: " + strings.Join(texts, "; ")
}

// maxAgentWarnings limits the warnings of a batch on values of agent.
const maxAgentWarnings = 20

// warnAgents returns a function that warns once of each value of agent that is not a product token.
func warnAgents(std *screen.Streams) func(value string, d robots.Dialect) {
	warned := map[string]bool{}
	return func(value string, d robots.Dialect) {
		text := reading(value, d)
		if text == "" || warned[text] || len(warned) > maxAgentWarnings {
			return
		}
		warned[text] = true
		if len(warned) <= maxAgentWarnings {
			std.Warn("agent %s", text)
		} else {
			std.Warn("further agents are not product tokens either; they are not listed")
		}
	}
}
