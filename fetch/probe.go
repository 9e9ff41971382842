package fetch

import (
	"crypto/rand"
	"strings"
)

// probe finds out whether a site answers missing pages with 5xx (HTTP-07): its home page is
// 2xx and a page that cannot exist is 5xx. Failures are not evidence. Only the origin itself is
// requested, and redirects are not followed.
func (s *session) probe() {
	if s.client.options.Probe {
		s.record.MissingIs5xx = s.status("/")/100 == 2 && s.status("/"+strings.ToLower(rand.Text()))/100 == 5
	}
}

// status returns the status of a page, 0 without a response.
func (s *session) status(target string) int {
	// A separate record keeps the times of the probe out of that of the fetch.
	p := &session{client: s.client, caller: s.caller, totalDeadline: s.totalDeadline, record: &Record{Hops: []Hop{{}}}}
	defer p.endHop()
	r, f := p.get(s.record.Origin, target)
	s.totalDeadline = p.totalDeadline
	if f != nil {
		return 0
	}
	p.close(r)
	return r.StatusCode
}
