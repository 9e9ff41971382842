package fetch

import (
	"crypto/rand"
	"strings"

	"github.com/robotskit/robots"
)

// probe looks for a site that answers 5xx for missing pages (HTTP-07): its home
// page answers 2xx while a page that cannot exist answers 5xx. Whatever goes
// wrong is no evidence. It asks the origin itself and follows no redirects.
func (a *access) probe() {
	if !a.client.options.Probe {
		return
	}
	a.give()
	o := a.record.Origin
	home := a.status(o, "/")
	if home < 200 || home > 299 {
		return
	}
	missing := a.status(o, "/"+strings.ToLower(rand.Text()))
	a.record.MissingIs5xx = 500 <= missing && missing <= 599
}

// status returns the status of a page, 0 if there is no answer.
func (a *access) status(o robots.Origin, target string) int {
	// A hop of its own keeps the times of the probe out of the record.
	p := &access{client: a.client, caller: a.caller, until: a.until, begun: true, record: &Record{Hops: []Hop{{}}}}
	defer p.give()
	defer p.leave()
	w, f := p.open(o)
	a.until = p.until
	if f != nil {
		return 0
	}
	defer w.conn.Close()
	defer p.closing(w.conn)()
	r, f := p.exchange(w, o, target)
	if f != nil {
		return 0
	}
	return r.status
}
