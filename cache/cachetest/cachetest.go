// Package cachetest tests an implementation of cache.Store against its contract. To write a
// store, begin with this test:
//
//	func TestConformance(t *testing.T) {
//		cachetest.Run(t, func(t *testing.T) cache.Store { return open(t) })
//	}
//
// Each part of the suite opens a store, which must be empty and have room for about 100 MB. If
// the store is a cache.Locker, its locks are tested too. One part writes invalid records and
// is skipped unless the store is a [Planter].
package cachetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
)

// A Planter stores any bytes as the encoded record of an origin, as a later release or damage
// would. The part "versions" needs it.
type Planter interface {
	Plant(origin robots.Origin, record []byte) error
}

// Run runs the suite. It closes each store.
func Run(t *testing.T, open func(t *testing.T) cache.Store) {
	tests := []struct {
		name string
		test func(t *testing.T, s cache.Store)
	}{
		{"every field", everyField},
		{"keys apart", keysApart},
		{"bodies", bodies},
		{"model", model},
		{"fences", fences},
		{"fences race", fencesRace},
		{"expiry", expiry},
		{"contexts", contexts},
		{"bad puts", badPuts},
		{"versions", versions},
		{"locks", locks},
		{"lock ends", lockEnds},
		{"lock race", lockRace},
		{"close", closing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t)
			defer func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}()
			tt.test(t, s)
		})
	}
}

const keep = time.Hour

var ctx = context.Background()

// Origin returns the i-th origin.
func Origin(i int) robots.Origin {
	o, _, err := robots.ParseURL(fmt.Sprintf("https://site-%d.example/", i))
	if err != nil {
		panic(err)
	}
	return o
}

// Record returns a good record of an origin with a body, or of an empty file for "".
func Record(o robots.Origin, body string) *fetch.Record {
	at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	r := &fetch.Record{
		Origin: o, URL: o.RobotsURL(), Outcome: fetch.Success, Cause: fetch.OK, Status: 200,
		Hops: []fetch.Hop{{
			URL: o.RobotsURL(), Address: "192.0.2.1:443", Status: 200, Received: int64(len(body) + 200),
			DNS: time.Millisecond, Connect: 10 * time.Millisecond, TLS: 20 * time.Millisecond,
			Header: 30 * time.Millisecond, Body: time.Millisecond,
		}},
		Header:  map[string]string{"Content-Type": "text/plain; charset=utf-8", "Server": "nginx", "Date": "Fri, 01 May 2026 10:00:00 GMT"},
		Body:    []byte(body),
		Started: at, Fetched: at.Add(62 * time.Millisecond), Expires: at.Add(24 * time.Hour),
	}
	if body == "" {
		r.Cause = fetch.Empty
	}
	return r
}

// good returns a last good response with a body.
func good(body string) *fetch.Copy {
	c := &fetch.Copy{Outcome: fetch.Success, Cause: fetch.OK, Body: []byte(body)}
	if body == "" {
		c.Cause = fetch.Empty
	}
	return c
}

// filled returns a record with all fields set.
func filled(o robots.Origin) *fetch.Record {
	r := Record(o, "")
	r.Hops[0].Location = "/robots.txt"
	r.Hops[0].Protocol = "HTTP/2.0"
	r.Hops[0].Via = "http://proxy.example:3128"
	r.Hops = append(r.Hops, fetch.Hop{URL: "http://[2001:db8::1]/", Status: 301, Location: "//elsewhere\xff\u0000é"})
	r.Cause = fetch.OK
	r.Status = 203
	r.Detail = "é \x00 \" clause"
	r.Refused = netip.MustParseAddrPort("[2001:db8::1]:443")
	r.Body = []byte("\xef\xbb\xbfUser-agent: *\r\x00\ndisallow: /\xff")
	r.Truncated = true
	r.MissingIs5xx = true
	r.StatedLife = -90 * time.Second
	r.StatedBy = "Expires"
	r.RetryAfter = 17 * time.Minute
	r.FailingSince = r.Fetched.Add(-time.Hour)
	r.Failures = 4711
	r.NextTry = r.Fetched.Add(time.Hour)
	r.LastFailure = r.Fetched.Add(-time.Minute)
	r.Covered = 59*time.Minute + 7*time.Millisecond
	r.LastGood = &fetch.Copy{
		Outcome: fetch.Success, Cause: fetch.OK, Status: 206, URL: "https://other.example/robots.txt", Body: []byte("allow: /"),
		Truncated: true, Fetched: r.Fetched.Add(-48 * time.Hour), Expires: r.Fetched.Add(-24 * time.Hour),
	}
	return r
}

func put(t *testing.T, s cache.Store, e cache.Entry) {
	t.Helper()
	if err := s.Put(ctx, e, keep); err != nil {
		t.Fatalf("put of %s: %v", e.Record.Origin, err)
	}
}

func want(t *testing.T, s cache.Store, o robots.Origin, e cache.Entry) {
	t.Helper()
	got, err := s.Get(ctx, o)
	if err != nil {
		t.Fatalf("get of %s: %v", o, err)
	}
	if diff := Difference(got, e); diff != "" {
		t.Errorf("get of %s: %s", o, diff)
	}
}

func wantAbsent(t *testing.T, s cache.Store, o robots.Origin) {
	t.Helper()
	if e, err := s.Get(ctx, o); !errors.Is(err, cache.ErrAbsent) {
		t.Errorf("get of %s: %v, %v, want ErrAbsent", o, e.Record, err)
	}
}

// Difference describes how an entry differs from the one that was put, "" if it does not, as
// the contract compares: times in milliseconds, empty slices and maps as nil.
func Difference(got, want cache.Entry) string {
	if got.Fence != want.Fence {
		return fmt.Sprintf("fence %d, want %d", got.Fence, want.Fence)
	}
	g := text(got.Record)
	w := text(want.Record)
	if g == w {
		return ""
	}
	at := 0
	for at < min(len(g), len(w)) && g[at] == w[at] {
		at++
	}
	at = max(0, at-20) // to include the name of the field
	return fmt.Sprintf("record ...%.80s, want ...%.80s", g[at:], w[at:])
}

// text returns all that a store must keep of a record (TestText). Invalid UTF-8 comes back as
// U+FFFD.
func text(r *fetch.Record) string {
	s := fmt.Sprintf("%s %s", r.Outcome, bytes.ReplaceAll(r.Encode(), []byte(`\ufffd`), []byte("\ufffd")))
	if g := r.LastGood; g != nil {
		s += " " + g.Outcome.String()
	}
	return s
}

// everyField puts a record with all fields set, one for each field that can be zero, and one
// for each cause.
func everyField(t *testing.T, s cache.Store) {
	full := cache.Entry{Record: filled(Origin(0)), Fence: 1<<63 + 7}
	put(t, s, full)
	want(t, s, Origin(0), full)
	fields := reflect.TypeFor[fetch.Record]()
	for i := range fields.NumField() {
		switch fields.Field(i).Name {
		case "Origin", "Outcome", "Cause", "Body":
			continue // required, or a body that belongs to its cause
		}
		r := filled(Origin(1 + i))
		reflect.ValueOf(r).Elem().Field(i).SetZero()
		put(t, s, cache.Entry{Record: r})
		want(t, s, r.Origin, cache.Entry{Record: r})
	}
	for i, cause := range fetch.Causes() {
		r := filled(Origin(100 + i))
		r.Cause = cause
		r.Outcome = cause.Outcome()
		if cause != fetch.OK {
			r.Body = nil
		}
		put(t, s, cache.Entry{Record: r})
		want(t, s, r.Origin, cache.Entry{Record: r})
	}
}

func keysApart(t *testing.T, s cache.Store) {
	all := []string{
		"http://a.example/", "https://a.example/", "ftp://a.example/",
		"http://a.example:443/", "https://a.example:80/", "https://a.example:8443/",
		"https://a.example.b/", "https://aa.example/", "https://[2001:db8::1]/", "https://[2001:db8::1]:8443/", "https://192.0.2.1/",
		"https://xn--mller-kva.example/", "https://" + longHost + "/", "https://b" + longHost[1:] + "/",
	}
	entries := map[robots.Origin]cache.Entry{}
	for i, raw := range all {
		o, _, err := robots.ParseURL(raw)
		if err != nil {
			t.Fatal(err)
		}
		entries[o] = cache.Entry{Record: Record(o, raw), Fence: uint64(i)}
		put(t, s, entries[o])
	}
	if len(entries) != len(all) {
		t.Fatalf("%d origins of %d URLs", len(entries), len(all))
	}
	for o, e := range entries {
		want(t, s, o, e)
	}
}

// longHost has 253 bytes, the most that a host can have.
var longHost = strings.Repeat("a23456789.", 25) + "abc"

func fences(t *testing.T, s cache.Store) {
	o := Origin(1)
	kept := cache.Entry{Record: Record(o, "seven"), Fence: 7}
	put(t, s, kept)
	for _, fence := range []uint64{0, 6} {
		if err := s.Put(ctx, cache.Entry{Record: Record(o, "late"), Fence: fence}, keep); !errors.Is(err, cache.ErrFenced) {
			t.Errorf("put with fence %d over 7: %v, want ErrFenced", fence, err)
		}
		want(t, s, o, kept)
	}
	for _, fence := range []uint64{7, 8, 1 << 63, 1<<64 - 1} {
		kept = cache.Entry{Record: Record(o, fmt.Sprint(fence)), Fence: fence}
		put(t, s, kept)
		want(t, s, o, kept)
	}
	put(t, s, cache.Entry{Record: Record(Origin(2), "fences are per origin")})
	if err := s.Delete(ctx, o); err != nil {
		t.Fatalf("delete: %v", err)
	}
	kept = cache.Entry{Record: Record(o, "the fence was deleted with the entry"), Fence: 1}
	put(t, s, kept)
	want(t, s, o, kept)
}

// fencesRace: of concurrent writers with growing fences the highest fence wins, and no reader
// gets a mixture of two entries.
func fencesRace(t *testing.T, s cache.Store) {
	const writers, each = 8, 50
	o := Origin(1)
	var next atomic.Uint64
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				e := Numbered(1, next.Add(1))
				if err := s.Put(ctx, e, keep); err != nil && !errors.Is(err, cache.ErrFenced) {
					t.Error(err)
				}
				got, err := s.Get(ctx, o)
				if err != nil || got.Fence < e.Fence {
					t.Errorf("after put of %d: fence %d, %v", e.Fence, got.Fence, err)
				} else if diff := Difference(got, Numbered(1, got.Fence)); diff != "" {
					t.Errorf("entry %d is a mixture: %s", got.Fence, diff)
				}
			}
		})
	}
	wg.Wait()
	want(t, s, o, Numbered(1, writers*each))
}

// bodies puts bodies up to the largest that a record has, which do not compress, and two that
// only a Fetcher of another package returns: an empty one with the cause OK, and a last good
// response without a file.
func bodies(t *testing.T, s cache.Store) {
	random := rand.NewChaCha8([32]byte{})
	var records []*fetch.Record
	for i, n := range []int{0, 1, 4095, 4096, 65_535, 65_536, 512_000, 513_024} {
		b := make([]byte, 2*n)
		_, _ = random.Read(b) // no error: it has bytes for ever
		r := Record(Origin(i), string(b[:n]))
		if n > 0 {
			r.LastGood = good(string(b[n:]))
		}
		records = append(records, r)
	}
	empty := Record(Origin(98), "")
	none := Record(Origin(99), "")
	empty.Cause = fetch.OK
	empty.LastGood = &fetch.Copy{Outcome: fetch.Success, Cause: fetch.OK}
	none.Outcome = fetch.Unreachable
	none.Cause = fetch.Reset
	none.Body = nil
	none.LastGood = &fetch.Copy{Outcome: fetch.Unavailable, Cause: fetch.ClientError}
	for _, r := range append(records, empty, none) {
		put(t, s, cache.Entry{Record: r})
		want(t, s, r.Origin, cache.Entry{Record: r})
	}
}

// model puts and deletes entries at random. After each step all can be read, and no other is
// there.
func model(t *testing.T, s cache.Store) {
	random := rand.New(rand.NewPCG(3, 4))
	held := map[int]cache.Entry{}
	for step := range uint64(600) {
		i := random.IntN(5)
		if random.IntN(8) == 0 { // an entry or none
			if err := s.Delete(ctx, Origin(i)); err != nil {
				t.Fatal(err)
			}
			delete(held, i)
		} else {
			held[i] = Numbered(i, step)
			put(t, s, held[i])
		}
		for j := range 5 {
			if e, ok := held[j]; ok {
				want(t, s, Origin(j), e)
			} else {
				wantAbsent(t, s, Origin(j))
			}
		}
		if t.Failed() {
			t.Fatalf("at step %d", step)
		}
	}
}
