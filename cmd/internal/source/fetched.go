package source

import (
	"maps"
	"strconv"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/fetch"
)

// Fetched describes the fetch of the robots.txt for a URL, with its effect at a time.
func (l *Live) Fetched(url string, r *fetch.Record, now time.Time) *answer.Fetch {
	at := func(t time.Time) answer.Time { return answer.Time(render.Stamp(t)) }
	f := &answer.Fetch{
		URL: answer.HideUser(url), RobotsURL: r.Origin.RobotsURL(), Outcome: r.Outcome.String(), Cause: r.Cause.String(), Detail: r.Detail,
		Status: r.Status, FinalURL: r.URL, Redirects: r.Redirects(),
		Started: at(r.Started), Fetched: at(r.Fetched), Took: answer.Milliseconds(r.Took()),
		MissingIs5xx: r.MissingIs5xx, Headers: map[string]string{}, Hops: hopsOf(r), Notes: append([]answer.Note{}, Evidence(r)...),
		Reason: reasonOf(r), Effect: l.effectOf(r, now),
	}
	maps.Copy(f.Headers, r.Header)
	if path, err := robots.ParsePath(url); err == nil {
		f.Notes = append(f.Notes, answer.FolderNote(path)...)
	}
	if r.Outcome.Good() {
		f.Expires = at(r.Expires)
		f.Lifetime = r.Expires.Sub(r.Fetched)
		if r.StatedBy != "" {
			f.StatedBy = r.StatedBy
			f.StatedSeconds = new(int64(r.StatedLife / time.Second))
		}
	} else {
		f.Failures = &r.Failures
		f.NextTry = at(r.NextTry)
		if r.RetryAfter > 0 {
			f.RetryAfterSeconds = new(int64(r.RetryAfter / time.Second))
		}
	}
	if !r.FailingSince.IsZero() {
		f.FailingSince = at(r.FailingSince)
		f.FailedBefore = r.FailingSince.Before(r.Fetched)
	}
	if good := r.LastGood; good != nil {
		f.LastGood = at(good.Fetched)
		f.LastGoodStatus = good.Status
	}
	if r.Outcome == fetch.Success {
		f.Size = new(len(r.Body))
		f.Truncated = &r.Truncated
		f.SHA256 = sumOf(r.Body)
	}
	return f
}

// hopsOf returns the requests of a fetch.
func hopsOf(r *fetch.Record) []answer.FetchHop {
	hops := []answer.FetchHop{}
	for i := range r.Hops {
		h := &r.Hops[i]
		hops = append(hops, answer.FetchHop{
			URL: h.URL, Address: h.Address, Protocol: h.Protocol, Via: h.Via, Status: h.Status, Location: h.Location, Received: h.Received,
			DNS: answer.Milliseconds(h.DNS), Connect: answer.Milliseconds(h.Connect), TLS: answer.Milliseconds(h.TLS),
			Header: answer.Milliseconds(h.Header), Body: answer.Milliseconds(h.Body),
		})
	}
	return hops
}

// reasonOf returns the cause of an outcome as a phrase.
func reasonOf(r *fetch.Record) string {
	reason := r.Cause.Sentence()
	switch {
	case r.Cause == fetch.OK:
		reason = "a file of " + render.Count(len(r.Body), "byte")
		if r.Truncated {
			reason = "a file of more than " + render.Count(len(r.Body), "byte") + ", which are kept"
		}
	case r.Status != 0:
		reason = "status " + strconv.Itoa(r.Status) + ": " + reason
	}
	if r.Detail != "" {
		reason += " (" + r.Detail + ")"
	}
	return reason
}

// effectOf returns the effect of an outcome on crawlers at a time, as a sentence.
func (l *Live) effectOf(r *fetch.Record, now time.Time) string {
	rules := r.Rules(robots.RFC9309, now)
	_, fallback := rules.FallbackReason()
	home := rules.Match(robots.RawPath("/"))
	switch {
	case r.Outcome == fetch.Refused:
		effect := "No request was sent to the site."
		if h := l.Permit(r); h != "" {
			effect += " " + h + "."
		}
		return effect
	case r.Outcome == fetch.Success && !fallback && home.Reason == robots.ReasonEmptyFile:
		return "A crawler may fetch everything: the file has no rules."
	case r.Outcome == fetch.Success && !fallback:
		return "Its rules decide; robots check judges URLs by them."
	case r.Cause == fetch.RedirectLimit || r.Cause == fetch.RedirectLoop:
		return "A crawler may fetch everything: such redirects count as no robots.txt."
	case r.Outcome == fetch.Unavailable:
		return "A crawler may fetch everything: the site has no robots.txt."
	case !fallback:
		return "The copy of " + render.Stamp(r.LastGood.Fetched) + " applies for now (RFC 9309)."
	case home.Allowed:
		return "A crawler may fetch everything after an outage this long (RFC 9309)."
	}
	return "A crawler without an earlier copy may fetch nothing for now (RFC 9309)."
}
