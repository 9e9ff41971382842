// Package campaign says how much a test does. With -short, as in make quick and
// under the race detector, it is little; otherwise what make test has time for;
// and the whole, such as every real file or a million decisions, in a campaign
// (make campaign), which sets ROBOTS_CAMPAIGN.
package campaign

import (
	"os"
	"testing"
)

// On reports whether this is a campaign.
func On() bool { return os.Getenv("ROBOTS_CAMPAIGN") != "" && !testing.Short() }

// Size returns how much a test does: little with -short, usual without, and whole
// in a campaign.
func Size[T any](short, usual, whole T) T {
	switch {
	case testing.Short():
		return short
	case On():
		return whole
	}
	return usual
}
