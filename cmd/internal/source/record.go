package source

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"time"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/fetch"
)

// NewSiteRecord describes a record of a cache.
func NewSiteRecord(r *fetch.Record) *answer.SiteRecord {
	j := &answer.SiteRecord{
		URL:      r.Origin.RobotsURL(),
		Outcome:  r.Outcome.String(),
		Cause:    r.Cause.String(),
		Note:     r.Cause.Sentence(),
		Status:   r.Status,
		FinalURL: r.URL,
		Started:  moment(r.Started), Fetched: moment(r.Fetched), Expires: moment(r.Expires), NextTry: moment(r.NextTry),
		FailingSince: moment(r.FailingSince), Failures: r.Failures,
		Bytes: len(r.Body), Truncated: r.Truncated, Degraded: r.Degraded, Headers: map[string]string{}, Hops: []answer.RecordHop{},
	}
	if r.Detail != "" {
		j.Note += " (" + r.Detail + ")"
	}
	if r.Outcome == fetch.Success {
		j.SHA256 = sumOf(r.Body)
	}
	if g := r.LastGood; g != nil {
		j.LastGood = &answer.GoodCopy{Status: g.Status, Fetched: moment(g.Fetched), Bytes: len(g.Body)}
		if g.Outcome == fetch.Success {
			j.LastGood.SHA256 = sumOf(g.Body)
		}
	}
	maps.Copy(j.Headers, r.Header)
	for i := range r.Hops {
		h := &r.Hops[i]
		j.Hops = append(j.Hops, answer.RecordHop{
			URL: h.URL, Address: h.Address, Protocol: h.Protocol, Via: h.Via,
			Status: h.Status, Location: h.Location, Received: h.Received, Seconds: h.Took().Seconds(),
		})
	}
	return j
}

// sumOf returns the SHA-256 of a body in hexadecimal digits.
func sumOf(body []byte) string { return fmt.Sprintf("%x", sha256.Sum256(body)) }

// moment returns nil for the zero time, otherwise the time in UTC and whole milliseconds.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC().Truncate(time.Millisecond))
}
