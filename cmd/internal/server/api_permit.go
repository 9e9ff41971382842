package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/pace"
)

// A Return is the result of the request of a permit.
type Return struct {
	ID         string  `json:"id"`
	Status     int     `json:"status"`
	RetryAfter float64 `json:"retry_after"`
	Timeout    bool    `json:"timeout"`
	Unused     bool    `json:"unused"`
}

// invalid returns a problem for invalid values. Location is that of the Return, such as
// "body".
func (r *Return) invalid(location string) *Problem {
	return cmp.Or(outOfRange(location+".status", float64(r.Status), 0, 999), outOfRange(location+".retry_after", r.RetryAfter, 0, 31536000))
}

// A Returned is the result of releasing a permit: done, also if it was released before,
// unknown or ended.
type Returned struct {
	ID     string `json:"id"`
	Result string `json:"result"`
}

// A permitAnswer is a permit as its client gets it.
type permitAnswer struct {
	ID      string `json:"id"`
	Start   string `json:"start"`   // when the request may start
	Expires string `json:"expires"` // when it must have been released
}

// stamp formats a time in whole milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999Z") }

// stampAfter formats a time rounded up.
func stampAfter(t time.Time) string { return stamp(t.Add(time.Millisecond - 1)) }

// permit answers POST /v1/permits.
func (s *Service) permit(r *request) *response {
	var b struct {
		URL     *string  `json:"url"`
		Agent   Agents   `json:"agent"`
		Dialect string   `json:"dialect"`
		Wait    string   `json:"wait"`
		Within  string   `json:"within"`
		Hold    string   `json:"hold"`
		Addr    string   `json:"addr"`
		Done    []Return `json:"done"`
	}
	r.decode(&b)
	url := r.url("body.url", b.URL)
	within := r.duration("body.within", b.Within, 0, 0, mostWithin)
	hold := r.hold(b.Hold)
	addr, err := netip.ParseAddr(b.Addr)
	if b.Addr != "" && err != nil {
		r.fail(wrong(BadParameter, "body.addr", b.Addr, "must be an IP address such as 192.0.2.7"))
	}
	q := r.question("body.", url, b.Agent, b.Dialect, b.Wait)
	returned := r.releaseAll(b.Done) // even if there is no new permit
	v := r.verdict(q, false)
	if r.problem != nil {
		return nil
	}
	got := []pace.Permit{{}}
	if v.Allowed {
		if !addr.IsValid() || r.exchange.Anonymous { // who could name the address of other sites
			addr = q.record.Addr()
		}
		got = r.try([]pace.Request{{
			Origin: q.origin, Schedule: s.paceOf(q.rules), Within: within, Addr: addr.Unmap().WithZone(""), Fetched: q.record.Fetched,
			Lifetime: hold, Untrusted: r.exchange.Anonymous,
		}}, 1)
		if r.problem != nil {
			return nil
		}
	}
	out := q.appendVerdict([]byte(`{"verdict":{`), v)
	out = append(out, '}')
	return permitsOf(s.appendPermit(out, v.Allowed, got[0], hold), returned)
}

// hold reads the lifetime of a permit, in whole seconds. That of an anonymous client is short: until it
// ends, nobody else has a permit for the site.
func (r *request) hold(text string) time.Duration {
	usual := usualHold
	longest := longestHold
	if r.exchange.Anonymous {
		usual = anonymousHold
		longest = anonymousHold
	}
	hold := r.duration("body.hold", text, usual, time.Second, longest)
	return (hold + time.Second - 1).Truncate(time.Second)
}

// try requests permits from the limiter, at most so many.
func (r *request) try(requests []pace.Request, most int) (list []pace.Permit) {
	var err error
	r.exchange.wait(func() { list, err = r.s.limiter.Try(r.Context(), requests, most) })
	if err != nil {
		r.fail(NewProblem(Busy, "no permits are issued at present: "+robots.Printable(err.Error())).After(time.Second))
	}
	return list
}

// permitsOf returns an answer with the results of released permits.
func permitsOf(out []byte, returned []Returned) *response {
	if returned != nil {
		out = append(out, `,"done":`...)
		out = append(out, answer.JSON(returned)...)
	}
	return &response{kind: typeJSON, body: append(out, "}\n"...)}
}

// appendPermit appends the members of an answer after the verdict, without braces: if the URL is
// allowed, the permit or the time to try again.
func (s *Service) appendPermit(dst []byte, allowed bool, got pace.Permit, hold time.Duration) []byte {
	dst = append(dst, `,"permit":`...)
	switch {
	case !allowed:
		return append(dst, `null,"not_before":null`...)
	case got.OK():
		p := &permit{got, hold}
		dst = append(dst, answer.JSON(permitAnswer{s.sign(p), stampAfter(got.Start), stamp(p.expires())})...)
	default:
		dst = fmt.Appendf(dst, `null,"not_before":"%s"`, stampAfter(got.NotBefore))
	}
	dst = append(dst, `,"reasons":`...)
	return append(dst, answer.JSON(answer.ReasonTexts(got.Reasons))...)
}

// done answers POST /v1/permits/{id}/done.
func (s *Service) done(r *request) *response {
	var b struct {
		Status     int     `json:"status"`
		RetryAfter float64 `json:"retry_after"`
		Timeout    bool    `json:"timeout"`
		Unused     bool    `json:"unused"`
	}
	r.decode(&b)
	result := Return{r.PathValue("id"), b.Status, b.RetryAfter, b.Timeout, b.Unused}
	r.fail(result.invalid("body"))
	if r.problem == nil {
		r.problem = r.release(&result)
	}
	return respond(Returned{ID: result.ID, Result: "done"})
}

// releaseAll releases a few permits.
func (r *request) releaseAll(list []Return) (returned []Returned) {
	r.fail(tooMany("body.done", len(list), mostReturns))
	for i := range list {
		location := fmt.Sprintf("body.done[%d]", i)
		if list[i].ID == "" {
			r.fail(wrong(BadParameter, location+".id", "", isMissing))
		}
		r.fail(list[i].invalid(location))
	}
	for i := range list {
		if r.problem != nil {
			return nil
		}
		result := Returned{ID: list[i].ID, Result: "done"}
		switch p := r.release(&list[i]); {
		case p == nil:
		case p.Status == http.StatusGone:
			result.Result = "ended"
		case p.Status == http.StatusNotFound:
			result.Result = "unknown"
		default:
			r.fail(p)
		}
		returned = append(returned, result)
	}
	return returned
}

// release releases a permit, even if the client disconnects meanwhile.
func (r *request) release(result *Return) *Problem {
	p, ok := r.s.verify(result.ID)
	switch {
	case !ok:
		return NewProblem(NotFound, "unknown permit")
	case !r.s.now().Before(p.expires()):
		return NewProblem(Ended, "the permit expired at "+stamp(p.expires())+"; use a longer hold")
	}
	if r.exchange.Anonymous {
		// What anyone can claim about a site binds nobody else: no Retry-After, and no back-off.
		*result = Return{ID: result.ID, Unused: result.Unused}
	}
	var err error
	r.exchange.wait(func() {
		err = r.s.limiter.Release(context.WithoutCancel(r.Context()), p.Permit, pace.Result{
			Status: result.Status, RetryAfter: time.Duration(result.RetryAfter * float64(time.Second)),
			Timeout: result.Timeout, Unused: result.Unused,
		})
	})
	if err != nil {
		return NewProblem(Busy, "the permit could not be released: "+robots.Printable(err.Error())).After(time.Second)
	}
	return nil
}
