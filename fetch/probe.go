package fetch

import (
	"crypto/rand"
	"strings"

	"github.com/robotskit/robots"
)

// probe looks for a site that answers 5xx for missing pages (HTTP-07): its home
// page answers 2xx while a page that cannot exist answers 5xx. Whatever goes
// wrong is no evidence. It asks the origin itself and follows no redirects.
func (s *session) probe() {
	if !s.client.options.Probe {
		return
	}
	o := s.record.Origin
	home := s.status(o, "/")
	if home < 200 || home > 299 {
		return
	}
	missing := s.status(o, "/"+strings.ToLower(rand.Text()))
	s.record.MissingIs5xx = 500 <= missing && missing <= 599
}

// status returns the status of a page, 0 if there is no answer.
func (s *session) status(o robots.Origin, target string) int {
	// A hop of its own keeps the times of the probe out of the record.
	p := &session{client: s.client, caller: s.caller, until: s.until, begun: true, record: &Record{Hops: []Hop{{}}}}
	defer p.leave()
	r, f := p.get(o, target)
	s.until = p.until
	if f != nil {
		return 0
	}
	p.close(r)
	return r.status
}
