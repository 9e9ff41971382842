package server

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
)

// A permit is one that a client has. What its release needs, through any server with the same limiter and secret, is in its id.
type permit struct {
	pace.Permit
	hold time.Duration
}

func (p *permit) expires() time.Time { return p.Start.Add(p.hold) }

// The id of a permit is permitHead and base64url of: its start in milliseconds, the seconds of its lifetime, the id in the limiter
// with its length, the origin; then macBytes of an HMAC over that.
const (
	permitHead  = "p_"
	macBytes    = 16
	usualHold   = 2 * time.Minute
	longestHold = time.Hour
	mostWithin  = 30 * time.Second
)

func (s *Service) mac(payload []byte) []byte {
	h := hmac.New(sha256.New, s.parts.Secret)
	h.Write([]byte("permit 2\n"))
	h.Write(payload)
	return h.Sum(nil)[:macBytes]
}

// sign returns the id of a permit.
func (s *Service) sign(p *permit) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(p.Start.UnixMilli()))
	b = binary.BigEndian.AppendUint32(b, uint32(p.hold/time.Second))
	b = append(append(b, byte(len(p.ID))), p.ID...)
	b = append(b, p.Origin.String()...)
	return permitHead + base64.RawURLEncoding.EncodeToString(append(b, s.mac(b)...))
}

// verify reads the id of a permit that a server with the same secret has made.
func (s *Service) verify(id string) (*permit, bool) {
	text, ok := strings.CutPrefix(id, permitHead)
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if !ok || err != nil || len(b) < macBytes {
		return nil, false
	}
	b, mac := b[:len(b)-macBytes], b[len(b)-macBytes:]
	if !hmac.Equal(mac, s.mac(b)) {
		return nil, false
	}
	// It is one of ours, so it is complete.
	const fixed = 8 + 4 + 1
	p := &permit{hold: time.Duration(binary.BigEndian.Uint32(b[8:])) * time.Second}
	p.Start = time.UnixMilli(int64(binary.BigEndian.Uint64(b))).UTC()
	n := int(b[fixed-1])
	p.ID = string(b[fixed : fixed+n])
	p.Expires = p.expires()
	p.Origin, _, err = robots.ParseURL(string(b[fixed+n:]) + "/")
	return p, err == nil
}

// A Return is what came of a permit.
type Return struct {
	ID         string  `json:"id" maxLength:"1024" doc:"of the permit"`
	Status     int     `json:"status,omitempty" minimum:"0" maximum:"999" doc:"HTTP status of the response, 0 without one"`
	RetryAfter float64 `json:"retry_after,omitempty" minimum:"0" maximum:"31536000" doc:"seconds of Retry-After"`
	Timeout    bool    `json:"timeout,omitempty" doc:"the site did not respond in time"`
	Unused     bool    `json:"unused,omitempty" doc:"no request was sent"`
}

type permitInput struct {
	Body struct {
		URL     string   `json:"url" maxLength:"8192" doc:"URL to request" example:"https://shop.example/a"`
		Agent   Agents   `json:"agent,omitempty"`
		Dialect string   `json:"dialect,omitempty" doc:"dialect of the rules"`
		Wait    string   `json:"wait,omitempty" doc:"timeout for a robots.txt without a record, 0s to 30s; default 10s"`
		Within  string   `json:"within,omitempty" doc:"latest start from now, 0s to 30s; default 0s" example:"5s"`
		Hold    string   `json:"hold,omitempty" doc:"lifetime of the permit after its start, 1s to 1h; default 2m" example:"2m"`
		Addr    string   `json:"addr,omitempty" maxLength:"64" doc:"IP address of the request, at which a start is reserved; default that of the robots.txt fetch" example:"192.0.2.7"`
		Done    []Return `json:"done,omitempty" maxItems:"100" doc:"permits to release, which saves a request for each"`
	}
}

type doneInput struct {
	ID   string `path:"id" doc:"of the permit"`
	Body struct {
		Status     int     `json:"status,omitempty" minimum:"0" maximum:"999" doc:"HTTP status of the response, 0 without one"`
		RetryAfter float64 `json:"retry_after,omitempty" minimum:"0" maximum:"31536000" doc:"seconds of Retry-After"`
		Timeout    bool    `json:"timeout,omitempty" doc:"the site did not respond in time"`
		Unused     bool    `json:"unused,omitempty" doc:"no request was sent"`
	}
}

// A PermitAnswer is the right to one request, or when to ask again.
type PermitAnswer struct {
	_         struct{}       `additionalProperties:"true"`
	Verdict   Check          `json:"verdict" doc:"the answer of GET /v1/check; a disallowed URL gets no permit"`
	Permit    orNull[Permit] `json:"permit"`
	NotBefore orNull[string] `json:"not_before,omitempty" doc:"without a permit: when to try again; null if the URL is disallowed"` //nolint:modernize // for the schema: it may be missing
	Reasons   []string       `json:"reasons,omitempty" doc:"reasons of the start, the deciding one first"`
	Done      []Returned     `json:"done,omitempty" doc:"the results of the permits in done, in order"`
}

// A Permit is the right to one request.
type Permit struct {
	_       struct{} `additionalProperties:"true"`
	ID      string   `json:"id"`
	Start   string   `json:"start" format:"date-time" doc:"when the request may start"`
	Expires string   `json:"expires" format:"date-time" doc:"a permit that is not released by then counts as a request that timed out"`
}

// A Returned is what became of a permit that was given back.
type Returned struct {
	_      struct{} `additionalProperties:"true"`
	ID     string   `json:"id"`
	Result string   `json:"result" enum:"done,unknown,ended" doc:"done: also if it was released before; unknown: no such permit; ended: it has expired"`
}

func (s *Service) registerPermits() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "permit", Method: http.MethodPost, Path: "/v1/permits",
		Summary: "Acquire a permit for one request",
		Description: "A site has one request at a time, and its interval counts from the end of one request to the start of the next: release the " +
			"permit when the request is over. It belongs to the client and outlives the server that issued it; any server can release it.",
	}, map[string]*huma.Schema{typeJSON: s.schema(PermitAnswer{})}), s.permit)

	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "permit-next", Method: http.MethodPost, Path: "/v1/permits/next",
		Summary: "Acquire permits for many sites",
		Description: "For a frontier with URLs of many sites. The first sites that are ready get a permit, at most as many as wanted; the others get " +
			"not_before, which has passed for a ready site that was not among the first. The answers keep the order of the URLs. Sites without a " +
			"record are fetched in parallel within wait; sites that take longer have the code pending. An invalid URL gets the members error and " +
			"code; the status stays 200.",
	}, map[string]*huma.Schema{typeJSON: s.schema(PermitAnswers{})}), s.permits)

	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "permit-done", Method: http.MethodPost, Path: "/v1/permits/{id}/done",
		Summary:     "Release a permit with the status of the response",
		Description: "A second release is no error and changes nothing. 404: unknown permit; 410: it has expired.",
	}, map[string]*huma.Schema{typeJSON: s.schema(Returned{})}), s.done)
}

// stamp writes a time of an answer, in whole milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999Z") }

// stampAfter writes a time before which nothing is to happen.
func stampAfter(t time.Time) string { return stamp(t.Add(time.Millisecond - 1)) }

func mayPermit(ctx context.Context) *Problem {
	if !CallerOf(ctx).May(ScopePermit) {
		return NewProblem(Unauthorized, "a token with the scope permit is needed")
	}
	return nil
}

func (s *Service) permit(ctx context.Context, in *permitInput) (*answer, error) {
	b := &in.Body
	p := mayPermit(ctx)
	var within, hold time.Duration
	if p == nil && b.Within != "" {
		within, p = durationOf(b.Within, "body.within", 0, mostWithin)
	}
	if p == nil {
		hold, p = holdOf(b.Hold)
	}
	var addr netip.Addr
	if p == nil && b.Addr != "" {
		var err error
		if addr, err = netip.ParseAddr(b.Addr); err != nil {
			p = wrong(BadParameter, "body.addr", b.Addr, "must be an IP address such as 192.0.2.7")
		}
		addr = addr.Unmap().WithZone("")
	}
	if p != nil {
		return nil, p
	}
	// They are given back also where nothing new can be had.
	returned, p := s.giveBackAll(ctx, b.Done)
	if p != nil {
		return nil, p
	}
	q, p := s.question(ctx, b.URL, b.Agent, b.Dialect, false, b.Wait, "body.")
	if p != nil {
		return nil, p
	}
	v := q.terms.rules.Match(q.path)
	var got pace.Permit
	if v.Allowed {
		if !addr.IsValid() {
			addr = q.record.Addr()
		}
		// The lifetime counts from the start at the site, and the address might make that later.
		request := pace.Request{Origin: q.origin, Schedule: q.terms.schedule, Within: within, Addr: addr, Lifetime: hold + within}
		var list []pace.Permit
		var err error
		Wait(ctx, func() { list, err = s.limiter.Try(ctx, []pace.Request{request}, 1) })
		if err != nil {
			return nil, noPace(err)
		}
		got = list[0]
	}
	return permitsOf(s.appendPermit([]byte("{"), q, v, got, hold), returned), nil
}

// holdOf reads for how long a permit is held.
func holdOf(text string) (time.Duration, *Problem) {
	if text == "" {
		return usualHold, nil
	}
	hold, p := durationOf(text, "body.hold", time.Second, longestHold)
	return (hold + time.Second - 1).Truncate(time.Second), p
}

func noPace(err error) *Problem {
	return NewProblem(Busy, "no permits are issued at present: "+robots.Printable(err.Error())).After(1)
}

// permitsOf is an answer with what became of the permits that were given back.
func permitsOf(out []byte, returned []Returned) *answer {
	if returned != nil {
		out = appendJSON(append(out, `,"done":`...), returned)
	}
	return &answer{Status: http.StatusOK, ContentType: typeJSON, CacheControl: "no-store", Body: append(out, "}\n"...)}
}

// appendPermit appends the members of an answer, without braces: the verdict, and where that
// allows the URL, what was granted.
func (s *Service) appendPermit(dst []byte, q *question, v robots.Verdict, got pace.Permit, hold time.Duration) []byte {
	dst = append(q.appendVerdict(append(dst, `"verdict":{`...), v), `},"permit":`...)
	switch {
	case !v.Allowed:
		return append(dst, `null,"not_before":null`...)
	case got.OK():
		given := &permit{got, hold}
		dst = fmt.Appendf(dst, `{"id":"%s","start":"%s","expires":"%s"}`, s.sign(given), stampAfter(got.Start), stamp(given.expires()))
	default:
		dst = fmt.Appendf(dst, `null,"not_before":"%s"`, stampAfter(got.NotBefore))
	}
	return appendJSON(append(dst, `,"reasons":`...), reasonsOf(got.Reasons))
}

// appendJSON appends a value that can be written.
func appendJSON(dst []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // which is answered as a fault of the service
	}
	return append(dst, text...)
}

func (s *Service) done(ctx context.Context, in *doneInput) (*answer, error) {
	p := mayPermit(ctx)
	if p == nil {
		p = s.giveBack(ctx, &Return{in.ID, in.Body.Status, in.Body.RetryAfter, in.Body.Timeout, in.Body.Unused})
	}
	if p != nil {
		return nil, p
	}
	return answerWith(Returned{ID: in.ID, Result: "done"})
}

// giveBackAll gives permits back, which are few.
func (s *Service) giveBackAll(ctx context.Context, list []Return) (returned []Returned, p *Problem) {
	for i := range list {
		result := Returned{ID: list[i].ID, Result: "done"}
		switch p := s.giveBack(ctx, &list[i]); {
		case p == nil:
		case p.Status == http.StatusGone:
			result.Result = "ended"
		case p.Status == http.StatusNotFound:
			result.Result = "unknown"
		default:
			return nil, p
		}
		returned = append(returned, result)
	}
	return returned, nil
}

// giveBack gives a permit back. That its client goes away meanwhile changes nothing.
func (s *Service) giveBack(ctx context.Context, r *Return) *Problem {
	p, ok := s.verify(r.ID)
	switch {
	case !ok:
		return NewProblem(NotFound, "unknown permit")
	case !s.now().Before(p.expires()):
		return NewProblem(Ended, "the permit expired at "+stamp(p.expires())+" and counted as a request that timed out; use a longer hold")
	}
	var err error
	Wait(ctx, func() {
		err = s.limiter.Release(context.WithoutCancel(ctx), p.Permit, pace.Result{
			Status: r.Status, RetryAfter: time.Duration(r.RetryAfter * float64(time.Second)), Timeout: r.Timeout, Unused: r.Unused,
		})
	})
	if err != nil {
		return NewProblem(Busy, "the permit could not be released: "+robots.Printable(err.Error())).After(1)
	}
	return nil
}
