package server

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/robotskit/robots/cmd/internal/ask"
)

const (
	// mostClients is how many clients are remembered, twice that in a busy minute:
	// some 20 MB.
	mostClients = 1 << 16
	// leastToken is the least length of a token, in bytes.
	leastToken = 32
)

// A token is a right to ask. Of its text only the sum is kept.
type token struct {
	name   string
	scopes Scope
	sum    [sha256.Size]byte
}

// readTokens returns the tokens of the configuration.
func readTokens(c *Config) ([]token, error) {
	text, from := []byte(c.Tokens), "ROBOTS_TOKENS"
	if c.TokensFile != "" {
		var err error
		if text, err = os.ReadFile(c.TokensFile); err != nil {
			return nil, fmt.Errorf("cannot read the tokens: %w", err)
		}
		from = c.TokensFile
	}
	tokens, err := parseTokens(from, text)
	if err == nil && len(tokens) == 0 && c.TokensFile != "" {
		err = fmt.Errorf("%s holds no token: a line is NAME SCOPES TOKEN", from)
	}
	return tokens, err
}

// parseTokens reads a token from each line. Messages repeat none.
func parseTokens(from string, text []byte) (tokens []token, err error) {
	number := 0
	for line := range bytes.Lines(text) {
		number++
		fields := strings.Fields(string(line))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		wrong := func(what string) error { return fmt.Errorf("%s:%d: %s", from, number, what) }
		if len(fields) != 3 {
			return nil, wrong("a line is NAME SCOPES TOKEN, as in crawler-1 check,fetch,permit and the token")
		}
		t := token{name: fields[0], sum: sha256.Sum256([]byte(fields[2]))}
		if !plain(t.name, 64) {
			return nil, wrong("the name has letters, digits, points, hyphens and underscores, at most 64")
		}
		for scope := range strings.SplitSeq(fields[1], ",") {
			s, ok := map[string]Scope{"check": ScopeCheck, "fetch": ScopeFetch, "permit": ScopePermit}[scope]
			if !ok {
				return nil, wrong(fmt.Sprintf("%q is no scope: there are check, fetch and permit", ask.Clip(scope)))
			}
			t.scopes |= s
		}
		if len(fields[2]) < leastToken {
			return nil, wrong(fmt.Sprintf("the token has %d bytes, at least %d are needed: openssl rand -hex 32 makes one", len(fields[2]), leastToken))
		}
		tokens = append(tokens, t)
	}
	return tokens, nil
}

// plain reports whether s is a word that may stand in a log or a header: letters,
// digits and . - _, at most so many.
func plain(s string, most int) bool {
	for i := range len(s) {
		b := s[i]
		if b|0x20 < 'a' || b|0x20 > 'z' {
			if (b < '0' || b > '9') && b != '.' && b != '-' && b != '_' {
				return false
			}
		}
	}
	return s != "" && len(s) <= most
}

// bearer returns the token of the request's Authorization, "" if there is none.
func bearer(r *http.Request) string {
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(text)
}

// find returns the token with this text. All are compared, in the same time.
func find(tokens []token, text string) (found *token) {
	sum := sha256.Sum256([]byte(text))
	for i := range tokens {
		if subtle.ConstantTimeCompare(sum[:], tokens[i].sum[:]) == 1 {
			found = &tokens[i]
		}
	}
	return found
}

// clientAddress is the address of who asks: the last one in X-Forwarded-For that
// is not a trusted proxy, if a trusted proxy sent the request.
func clientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	addr := at.Addr().Unmap().WithZone("")
	believe := func() bool {
		for _, p := range trusted {
			if p.Contains(addr) {
				return true
			}
		}
		return false
	}
	if len(trusted) == 0 || !believe() {
		return addr
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && believe(); i-- {
		before, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break // whoever wrote that is no proxy, but what came after was written by one
		}
		addr = before.Unmap().WithZone("")
	}
	return addr
}

// network is the client that an address stands for: itself, or its /64, which one
// machine of IPv6 has for itself.
func network(a netip.Addr) string {
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil || !a.IsValid() {
		return "unknown"
	}
	return p.String()
}

// A rate is so much per second, and so much at once.
type rate struct {
	interval time.Duration // one over the rate, 0 for no bound
	burst    time.Duration // the intervals of what is possible at once
}

func newRate(n int, per time.Duration, burst int) rate {
	if n == 0 {
		return rate{}
	}
	interval := per / time.Duration(n)
	return rate{interval, interval * time.Duration(burst)}
}

// A level is how far a rate is used: when all of it is possible again (the generic
// cell rate algorithm). The zero value is a rate that is not used.
type level time.Time

// take takes n, or returns after which time there would be so many. More than the
// burst are never possible, and cost a wait all the same.
func (l *level) take(r rate, n int, now time.Time) time.Duration {
	full := time.Time(*l)
	if full.Before(now) {
		full = now
	}
	full = full.Add(time.Duration(n) * r.interval)
	if wait := full.Sub(now) - r.burst; wait > 0 {
		return wait
	}
	*l = level(full)
	return 0
}

// usage is what a client has used.
type usage struct{ questions, origins level }

// clients remembers what each client has used, of a bounded number of clients. There
// are two generations: one that is full becomes the old one, and the one before that
// is forgotten, at the earliest after a minute, when it says nothing any more. If it
// is full sooner, all who come then count as one client.
type clients struct {
	questions, origins rate
	most               int

	mu       sync.Mutex
	now, old map[string]*usage
	switched time.Time
	others   usage
}

func newClients(questions, origins rate, most int) *clients {
	return &clients{questions: questions, origins: origins, most: most, now: map[string]*usage{}}
}

func (c *clients) of(name string, now time.Time) *usage {
	if u := c.now[name]; u != nil {
		return u
	}
	u := c.old[name]
	if len(c.now) >= c.most {
		if now.Sub(c.switched) < time.Minute {
			if u != nil {
				return u
			}
			return &c.others
		}
		c.now, c.old, c.switched = map[string]*usage{}, c.now, now
	}
	if u == nil {
		u = new(usage)
	}
	c.now[name] = u
	return u
}

// ask takes n questions of a client, and returns after which time he may ask them
// if not now.
func (c *clients) ask(name string, n int) time.Duration {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of(name, now).questions.take(c.questions, n, now)
}

// origin takes a new origin of a client.
func (c *clients) origin(name string) time.Duration {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of(name, now).origins.take(c.origins, 1, now)
}

// seconds rounds a wait up, for Retry-After.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
