package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// A Scope is a right of a token. A client without a token has all of them if the service is
// open to anonymous clients.
type Scope uint8

// The scopes.
const (
	ScopeCheck  Scope = 1 << iota // records in memory, and text in the request
	ScopeFetch                    // requests that can cause a fetch
	ScopePermit                   // permits

	allScopes = ScopeCheck | ScopeFetch | ScopePermit
)

// scopes are the names of the scopes in a file of tokens; scope i is 1 << i.
var scopes = []string{"check", "fetch", "permit"}

// A Caller is the client of a request.
type Caller struct {
	Name      string // name of its token, or its address as /32 or /64; never empty
	Anonymous bool   // without a token: schemes, ports and new origins are limited
	Scopes    Scope
	limits    *limits
}

// needs returns a problem if the caller lacks one of the scopes.
func (c Caller) needs(s Scope) *Problem {
	for i, name := range scopes {
		if s&^c.Scopes&(1<<i) != 0 {
			return NewProblem(Forbidden, "the token lacks the scope "+name)
		}
	}
	return nil
}

// A token is an access token. Only the hash of its text is kept.
type token struct {
	name    string
	scopes  Scope
	sum     [sha256.Size]byte
	valid   context.Context // until a reload removes it, or changes its name or scopes
	removed context.CancelFunc
}

// same reports whether two tokens have the same text, name and scopes.
func (t *token) same(u *token) bool {
	return t.name == u.name && t.scopes == u.scopes && t.sum == u.sum
}

// readTokens returns the tokens of the configuration.
func readTokens(c *Config) ([]token, error) {
	if c.TokensFile == "" {
		return parseTokens("ROBOTS_TOKENS", []byte(c.Tokens))
	}
	text, err := os.ReadFile(c.TokensFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the tokens: %w", err)
	}
	tokens, err := parseTokens(c.TokensFile, text)
	if err == nil && len(tokens) == 0 {
		err = fmt.Errorf("%s has no token; write lines of NAME SCOPES TOKEN", c.TokensFile)
	}
	return tokens, err
}

// parseTokens reads a token from each line. Errors do not repeat them.
func parseTokens(from string, text []byte) (tokens []token, err error) {
	number := 0
	for line := range bytes.Lines(text) {
		number++
		fields := strings.Fields(string(line))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		t, err := parseToken(fields)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", from, number, err)
		}
		tokens = append(tokens, t)
	}
	return tokens, nil
}

// parseToken reads the fields of a line.
func parseToken(fields []string) (t token, err error) {
	if len(fields) != 3 {
		return t, fmt.Errorf("a line is NAME SCOPES TOKEN, as in crawler-1 check,fetch,permit and the token")
	}
	t = token{name: fields[0], sum: sha256.Sum256([]byte(fields[2]))}
	t.valid, t.removed = context.WithCancel(context.Background())
	if !identifier().MatchString(t.name) {
		return t, fmt.Errorf("the name has letters, digits, points, hyphens and underscores, at most 64")
	}
	for scope := range strings.SplitSeq(fields[1], ",") {
		i := slices.Index(scopes, scope)
		if i < 0 {
			return t, fmt.Errorf("unknown scope (known: %s)", strings.Join(scopes, ", ")) // it could be the token
		}
		t.scopes |= 1 << i
	}
	if n := len(fields[2]); n < leastToken {
		return t, fmt.Errorf("the token has %d bytes, at least %d are needed: openssl rand -hex 32 makes one", n, leastToken)
	}
	return t, nil
}

// bearer returns the token in the Authorization header, or "". Several headers are one list (RFC 9110
// section 5.3), which is no token: a proxy might have checked another one of them.
func bearer(r *http.Request) string {
	scheme, text, _ := strings.Cut(strings.Join(r.Header.Values("Authorization"), ", "), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(text)
}

// find returns the token with this text, in constant time.
func find(tokens []token, text string) (found *token) {
	if len(tokens) == 0 {
		return nil
	}
	sum := sha256.Sum256([]byte(text))
	for i := range tokens {
		if subtle.ConstantTimeCompare(sum[:], tokens[i].sum[:]) == 1 {
			found = &tokens[i]
		}
	}
	return found
}

// clientAddress returns the address of the client: the last one in X-Forwarded-For that is not
// a trusted proxy, if a trusted proxy sent the request.
func clientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	addr := at.Addr().Unmap().WithZone("")
	if len(trusted) == 0 {
		return addr
	}
	isProxy := func(p netip.Prefix) bool { return p.Contains(addr) }
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		before, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil || !slices.ContainsFunc(trusted, isProxy) {
			break // no address that a trusted proxy wrote
		}
		addr = before.Unmap().WithZone("")
	}
	return addr
}

// network returns the client for an address: the address, or its /64 with IPv6.
func network(a netip.Addr) string {
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil || !a.IsValid() {
		return "unknown"
	}
	return string(p.AppendTo(nil))
}

// limits are the rate limits of a client: of its questions, and of the new origins that it can
// have fetched.
type limits struct{ questions, origins *rate.Limiter }

// unlimited are the limits of clients with a token, and of those of this machine.
var unlimited = &limits{rate.NewLimiter(rate.Inf, 0), rate.NewLimiter(rate.Inf, 0)}

// limitsOf returns the limits of a client.
func (g *Gate) limitsOf(name string) *limits {
	if l, known := g.clients.Get(name); known {
		return l
	}
	c := g.settings.Load()
	perSecond := rate.Limit(c.ClientRate)
	if c.ClientRate == 0 {
		perSecond = rate.Inf
	}
	l := &limits{rate.NewLimiter(perSecond, c.ClientBurst), rate.NewLimiter(rate.Limit(float64(c.NewOrigins)/60), c.NewOrigins)}
	if before, known, _ := g.clients.PeekOrAdd(name, l); known {
		return before
	}
	return l
}

// reserve takes n of a limit, or returns how long until they are available. More than the burst
// are never available at once, but still have to wait.
func reserve(l *rate.Limiter, n int) time.Duration {
	if l.Limit() == rate.Inf {
		return 0
	}
	now := time.Now()
	r := l.ReserveN(now, n)
	if !r.OK() {
		return max(time.Duration(float64(n)/float64(l.Limit())*float64(time.Second)), time.Second)
	}
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// owe takes the questions for steps that were already used, even beyond the limit.
func (l *limits) owe(steps int) {
	if n := steps / stepsOfQuestion; n > 0 {
		l.questions.ReserveN(time.Now(), min(n, l.questions.Burst()))
	}
}

// allowance returns the number of questions that the client may still send, negative if it owes some.
func (l *limits) allowance() float64 {
	if l.questions.Limit() == rate.Inf {
		return math.Inf(1)
	}
	return l.questions.Tokens()
}
