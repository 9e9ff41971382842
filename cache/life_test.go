package cache_test

import (
	"testing"
	"time"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
)

var began2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of each bubble

// TestMerge: of two records of an origin the later applies, with the last good answer of either,
// the first failure after that, and the larger count of failures since.
func TestMerge(t *testing.T) {
	at := func(name string, h int) *fetch.Record {
		return record(origin, behaving(name), began2000.Add(time.Duration(h)*hour))
	}
	chain := func(records ...*fetch.Record) *fetch.Record {
		var r *fetch.Record
		for _, next := range records {
			r = next.After(r)
		}
		return r
	}
	for _, row := range []struct {
		name        string
		a, b        *fetch.Record
		good        int // hours, -1 for none
		since, last int // -1 for no outage
		failures    int
		covered     time.Duration
	}{
		{"memory missed the beginning", chain(at("500", 9), at("500", 10)), chain(at("file", 0), at("500", 2), at("500", 4), at("500", 7)),
			0, 2, 10, 4, 8 * hour},
		{"memory missed the beginning and knows more", chain(at("500", 20), at("500", 30), at("500", 40)), chain(at("file", 0), at("500", 2)),
			0, 2, 40, 3, day},
		{"the store is behind", chain(at("500", 2), at("500", 4), at("500", 7)), chain(at("500", 2), at("500", 4)),
			-1, 2, 7, 3, 5 * hour},
		{"memory missed the good answer", chain(at("500", 2), at("500", 4), at("500", 9)), chain(at("500", 2), at("500", 4), at("file", 6)),
			6, 9, 9, 1, 0},
		{"memory missed the good answer and a failure", chain(at("500", 2), at("500", 4), at("500", 9)), chain(at("file", 6), at("500", 7)),
			6, 7, 9, 2, 2 * hour},
		{"the store missed the good answer", chain(at("file", 6), at("500", 9)), chain(at("500", 2), at("500", 4)),
			6, 9, 9, 1, 0},
		{"our own failure, the outage in the store", chain(at("no network here", 9)), chain(at("file", 0), at("500", 2), at("500", 7)),
			0, 2, 7, 2, 5 * hour},
		{"our own failure after another's", chain(at("500", 8), at("no network here", 9)), chain(at("file", 0), at("500", 2), at("500", 7)),
			0, 2, 8, 2, 5 * hour},
		{"our own failure, a good answer in the store", chain(at("500", 2), at("500", 4), at("no network here", 9)), chain(at("file", 6)),
			6, -1, -1, 0, 0},
		{"our own failures alone", at("refused", 9).After(nil), at("refused", 8).After(nil), -1, -1, -1, 0, 0},
	} {
		hours := func(t time.Time) int {
			if t.IsZero() {
				return -1
			}
			return int(t.Sub(began2000) / hour)
		}
		for _, r := range []*fetch.Record{cache.Merge(row.a, row.b), cache.Merge(row.b, row.a), cache.Merge(cache.Merge(row.a, row.b), row.b)} {
			good := -1
			if r.LastGood != nil {
				good = hours(r.LastGood.Fetched)
			}
			if !r.Fetched.Equal(row.a.Fetched) || r.Cause != row.a.Cause || !r.NextTry.Equal(row.a.NextTry) {
				t.Errorf("%s: not the later record: %+v", row.name, r)
			}
			if good != row.good || hours(r.FailingSince) != row.since || hours(r.LastFailure) != row.last || r.Failures != row.failures || r.Covered != row.covered {
				t.Errorf("%s\ngot:  good %d, since %d, last %d, %d failures cover %v\nwant: good %d, since %d, last %d, %d failures cover %v", row.name,
					good, hours(r.FailingSince), hours(r.LastFailure), r.Failures, r.Covered, row.good, row.since, row.last, row.failures, row.covered)
			}
		}
	}
	if a := chain(at("file", 0), at("500", 2)); cache.Merge(a, chain(at("file", 0))) != a {
		t.Error("a record that the other adds nothing to is copied")
	}
}
