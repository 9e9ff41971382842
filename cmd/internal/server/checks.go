package server

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/robotskit/robots/cmd/internal/ask"
)

var (
	identifier  = once(`^[A-Za-z0-9._-]{1,64}$`)
	traceparent = once(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$`) // W3C Trace Context
)

// once compiles a regular expression on first use: every command contains this package, and few serve.
func once(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// identify gives the exchange the ids of the client, or its own, and sets the headers of all
// responses.
func (v *exchange) identify() {
	r := v.request
	h := v.Header()
	v.id = r.Header.Get("X-Request-Id")
	if v.id == "" || !identifier().MatchString(v.id) {
		v.id = hex.EncodeToString(binary.BigEndian.AppendUint64(nil, rand.Uint64()))
	}
	h.Set("X-Request-Id", v.id)
	h.Set("X-Content-Type-Options", "nosniff")
	if trace := traceparent().FindStringSubmatch(r.Header.Get("Traceparent")); trace != nil {
		v.traceID = trace[1]
		h.Set("Traceparent", trace[0])
	}
	if v.gate.draining.Load() || len(r.TransferEncoding) > 0 {
		// The next request should go to another server. And net/http ignores a Content-Length
		// beside Transfer-Encoding, with which a proxy might have found another request in the
		// connection (RFC 9112 section 6.3).
		h.Set("Connection", "close")
	}
}

// checkURL refuses long URLs.
func (v *exchange) checkURL(r *http.Request) *Problem {
	if r.ContentLength != 0 && v.conn != nil {
		// Also for the body of a refused request. net/http ends the limit with the body.
		_ = v.conn.SetReadDeadline(time.Now().Add(v.settings.BodyTime)) // no error: a closed connection fails when it is read
	}
	if n := len(r.RequestURI); n > int(v.settings.URLBytes) {
		return NewProblem(TooLarge, fmt.Sprintf("the URL has %d bytes; the limit is %d", n, v.settings.URLBytes))
	}
	return nil
}

// checkHost refuses other host names: a page can point its own name at this address, and then
// send same-origin requests (DNS rebinding).
func (v *exchange) checkHost(r *http.Request) *Problem { return v.settings.checkHost(r.Host) }

func (s *settings) checkHost(host string) *Problem {
	if s.hosts[host] {
		return nil
	}
	name, addr := hostOf(host)
	if s.hosts[name] || addr.IsValid() && addr.Zone() == "" && addr.Unmap().IsLoopback() {
		return nil
	}
	detail := "the Host header is missing"
	if host != "" {
		detail = fmt.Sprintf("%q is not a host of this service; use localhost, or a name given with --host", ask.Clip(host))
	}
	return NewProblem(ForbiddenHost, detail)
}

// checkOrigin refuses requests of pages of other sites: all but GET, and those that can cause
// a fetch. It answers preflight requests for the origins of --cors.
func (v *exchange) checkOrigin(r *http.Request) *Problem {
	h := v.Header()
	allowed := v.settings.CORS
	if len(allowed) > 0 {
		h.Add("Vary", "Origin")
	}
	if origin := r.Header.Get("Origin"); origin != "" && slices.Contains(allowed, origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "Retry-After, X-Request-Id")
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST")
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Request-Id, Traceparent")
			h.Set("Access-Control-Max-Age", "600")
			v.WriteHeader(http.StatusNoContent)
		}
		return nil
	}
	checked := *r
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		checked.Method = http.MethodPost // GET can cause a fetch too
	}
	if v.gate.cross.Check(&checked) != nil {
		return NewProblem(CrossOrigin, "pages of other sites may not use this service; --cors names the origins that may")
	}
	return nil
}

// authenticate finds the client by its token, and counts the question of one without.
func (v *exchange) authenticate(r *http.Request) (p *Problem) {
	text := bearer(r)
	if t := find(v.settings.tokens, text); t != nil {
		v.admit(t)
		return nil
	}
	switch {
	case len(v.settings.tokens) == 0:
	case text != "":
		v.Header().Set("WWW-Authenticate", invalidToken)
		p = NewProblem(Unauthorized, "the token in Authorization is not valid")
	case !v.settings.Anonymous && r.URL.Path == "/page/ask":
		p = NewProblem(Unauthorized, "this service needs tokens, with which its page needs WebAssembly: "+
			"use a release, and a browser that supports it")
	case !v.settings.Anonymous && !isOpen(r):
		p = NewProblem(Unauthorized, "this service needs a token; send Authorization: Bearer and the token")
	}
	v.Scopes = allScopes
	v.Caller.Anonymous = v.settings.public
	if v.settings.public || p != nil {
		v.limits = v.gate.limitsOf(v.Name)
	}
	if wait := reserve(v.limits.questions, 1); wait > 0 {
		return NewProblem(RateLimited, fmt.Sprintf("%s sends more than %d requests per second", v.Name, v.settings.ClientRate)).After(wait)
	}
	return p
}

// admit makes the owner of a token the client, until the token is removed.
func (v *exchange) admit(t *token) {
	v.Name = t.name
	v.Scopes = t.scopes
	v.token = t
	ctx, cancel := context.WithCancel(v.request.Context())
	stop := context.AfterFunc(t.valid, cancel)
	v.request = v.request.WithContext(ctx)
	v.release = func() {
		stop()
		cancel()
	}
}

// invalidToken is the WWW-Authenticate of a wrong token (RFC 6750 section 3.1).
const invalidToken = `Bearer error="invalid_token"`

// isOpen reports whether a request is for the page or a document, which need no token.
func isOpen(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && !strings.HasPrefix(r.URL.Path, "/v1/")
}

// enter takes a slot for all requests but those for files of the page and documents, which are in memory.
func (v *exchange) enter(r *http.Request) *Problem {
	if isOpen(r) && (r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/page/") || strings.HasPrefix(r.URL.Path, "/docs/")) {
		return nil
	}
	if err := v.gate.slots.enter(r.Context(), v.limits.allowance); errors.Is(err, errBusy) {
		return overloaded()
	} else if err != nil {
		return NewProblem(Busy, "the client has disconnected")
	}
	v.hasSlot = true
	return nil
}

func overloaded() *Problem {
	return NewProblem(Busy, "the service is overloaded; try again").After(time.Second)
}

// OverBudget returns the problem of a request that exceeds its budget.
func OverBudget(err error) *Problem { return NewProblem(TooLarge, err.Error()) }
