package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// ReasonHeader is the response header that has Decision.Reason, for servers that do not pass on the
// body of a 403.
const ReasonHeader = "X-Robots-Guard"

// Middleware serves /robots.txt, and calls next for the requests that pass. The address of a client
// behind a trusted proxy is that of X-Forwarded-For. The guard belongs in front of caches.
func (g *Guard) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			if site := g.options.Site(hostName(r.Host)); site != nil {
				w.Header().Set("Content-Type", "text/plain; charset=utf-8")
				http.ServeContent(w, r, "robots.txt", time.Time{}, bytes.NewReader(site.body))
				return
			}
		}
		requested := r.RequestURI
		if requested == "" { // a request that no client sent
			requested = r.URL.RequestURI()
		}
		address := peer(r)
		if g.trusts(address) {
			address = g.forwarded(r)
		}
		d := g.Decide(Request{Host: r.Host, UserAgent: r.UserAgent(), Address: address, Target: requested})
		if !g.refuse(w, d) {
			next.ServeHTTP(w, r)
		}
	})
}

// ForwardAuth answers a web server that calls it before each request: 204 if it passes, 403 if not. It
// reads the headers of nginx's auth_request as docs/guard.md configures it, Caddy's forward_auth and
// Traefik's ForwardAuth: X-Original-URI, X-Forwarded-Uri, X-Forwarded-Host, X-Forwarded-For. Of several
// targets each must pass, as a client can send such headers too. For a request without a target, or
// not from a trusted proxy, it calls unusable, unless that is nil, with the reason, and answers 500 if
// it enforces.
func (g *Guard) ForwardAuth(unusable func(error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		targets := slices.Concat(r.Header.Values("X-Original-URI"), r.Header.Values("X-Forwarded-Uri"))
		var err error
		switch address := peer(r); {
		case !g.trusts(address):
			err = fmt.Errorf("%s is not a trusted proxy", address)
		case len(targets) == 0:
			err = errors.New("the request has no header X-Original-URI or X-Forwarded-Uri")
		}
		if err != nil {
			if unusable != nil {
				unusable(err)
			}
			if g.options.Enforce {
				http.Error(w, "robots guard: "+err.Error(), http.StatusInternalServerError)
				return
			}
		}
		host := r.Host
		if name := r.Header.Get("X-Forwarded-Host"); name != "" {
			host = name
		}
		if err == nil {
			for _, target := range targets {
				d := g.Decide(Request{Host: host, UserAgent: r.UserAgent(), Address: g.forwarded(r), Target: target})
				if g.refuse(w, d) {
					return
				}
			}
		}
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNoContent)
	})
}

// refuse reports a decision other than Pass, and answers the request if it is refused.
func (g *Guard) refuse(w http.ResponseWriter, d Decision) bool {
	if d.Action != Pass && g.options.Report != nil {
		g.options.Report(d)
	}
	if !d.Refused || !g.options.Enforce {
		return false
	}
	reason := d.Reason()
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set(ReasonHeader, reason)
	w.WriteHeader(http.StatusForbidden)
	_, _ = io.WriteString(w, reason+" (robots.txt)\n") // the client is gone
	return true
}

// peer returns the address from which a request came, the zero value if that is not an IP address.
func peer(r *http.Request) netip.Addr {
	address, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero value
	return address.Addr().Unmap()
}

// trusts reports whether an address is that of a trusted proxy.
func (g *Guard) trusts(a netip.Addr) bool {
	return a.IsLoopback() || slices.ContainsFunc(g.options.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// forwarded returns the last address in X-Forwarded-For that is not of a trusted proxy, the zero
// value if there is none.
func (g *Guard) forwarded(r *http.Request) netip.Addr {
	list := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(list) {
		text = strings.TrimSpace(text)
		address, err := netip.ParseAddr(text)
		if err != nil {
			withPort, _ := netip.ParseAddrPort(text) // the zero value
			address = withPort.Addr()
		}
		address = address.Unmap()
		if !g.trusts(address) {
			return address
		}
	}
	return netip.Addr{}
}
