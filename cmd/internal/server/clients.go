package server

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/robotskit/robots/cmd/internal/ask"
	"golang.org/x/time/rate"
)

const (
	// mostClients is the number of clients that are remembered, in about 20 MB.
	mostClients = 1 << 16
	// leastToken is the minimum length of a token in bytes.
	leastToken = 32
)

// A token is an access token. Only the hash of its text is kept.
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
		err = fmt.Errorf("%s has no token; write lines of NAME SCOPES TOKEN", from)
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
		wrong := func(what string) error { return fmt.Errorf("%s:%d: %s", from, number, what) }
		if len(fields) != 3 {
			return nil, wrong("a line is NAME SCOPES TOKEN, as in crawler-1 check,fetch,permit and the token")
		}
		t := token{name: fields[0], sum: sha256.Sum256([]byte(fields[2]))}
		if !plain(t.name, 64) {
			return nil, wrong("the name has letters, digits, points, hyphens and underscores, at most 64")
		}
		for scope := range strings.SplitSeq(fields[1], ",") {
			i := slices.IndexFunc(scopes, func(s namedScope) bool { return s.name == scope })
			if i < 0 {
				return nil, wrong(fmt.Sprintf("unknown scope %q (known: check, fetch, permit)", ask.Clip(scope)))
			}
			t.scopes |= scopes[i].scope
		}
		if len(fields[2]) < leastToken {
			return nil, wrong(fmt.Sprintf("the token has %d bytes, at least %d are needed: openssl rand -hex 32 makes one", len(fields[2]), leastToken))
		}
		tokens = append(tokens, t)
	}
	return tokens, nil
}

// plain reports whether s has at most so many letters, digits and . - _.
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

// bearer returns the token in the Authorization header, or "".
func bearer(r *http.Request) string {
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(text)
}

// find returns the token with this text, in constant time.
func find(tokens []token, text string) (found *token) {
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
			break // not written by a proxy, but what followed was
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
	return p.String()
}

// clients limits the requests of each client, and the new origins that it can have fetched.
type clients struct {
	questions, origins limit
	most               int
	used               *lru.Cache[string, *usage]
	others             *usage // of clients beyond the maximum
}

// A limit is a rate with a burst; a burst of 0 means no limit.
type limit struct {
	rate  rate.Limit
	burst int
}

// usage is the use of a client's limits.
type usage struct{ questions, origins *rate.Limiter }

func newClients(questions, origins limit, most int) *clients {
	used, _ := lru.New[string, *usage](most) // no error: most is above 0
	c := &clients{questions: questions, origins: origins, most: most, used: used}
	c.others = c.fresh()
	return c
}

func (c *clients) fresh() *usage {
	return &usage{rate.NewLimiter(c.questions.rate, c.questions.burst), rate.NewLimiter(c.origins.rate, c.origins.burst)}
}

// of returns the usage of a client. A client is dropped only when its limits are full again.
// Until then clients beyond the maximum count as one, so that a flood of addresses resets no
// limit.
func (c *clients) of(name string) *usage {
	if u, known := c.used.Get(name); known {
		return u
	}
	if c.used.Len() >= c.most {
		if _, oldest, ok := c.used.GetOldest(); ok && (oldest.questions.Tokens() < float64(c.questions.burst) || oldest.origins.Tokens() < float64(c.origins.burst)) {
			return c.others
		}
	}
	u := c.fresh()
	if before, known, _ := c.used.PeekOrAdd(name, u); known {
		return before
	}
	return u
}

// take takes n of a limit, or returns how long until they are available. More than the burst
// are never available at once, but still have to wait.
func take(l *rate.Limiter, n int, now time.Time) time.Duration {
	if l.Burst() == 0 || n == 0 {
		return 0
	}
	if n > l.Burst() {
		return max(time.Duration(float64(n)/float64(l.Limit())*float64(time.Second)), time.Second)
	}
	r := l.ReserveN(now, n)
	if wait := r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return wait
	}
	return 0
}

// ask takes n questions of a client, or returns how long it has to wait.
func (c *clients) ask(name string, n int) time.Duration {
	return take(c.of(name).questions, n, time.Now())
}

// origin takes a new origin of a client.
func (c *clients) origin(name string) time.Duration { return take(c.of(name).origins, 1, time.Now()) }

// owe takes n questions that were already answered, even beyond the limit.
func (c *clients) owe(name string, n int) {
	if l := c.of(name).questions; l.Burst() > 0 && n > 0 {
		l.ReserveN(time.Now(), min(n, l.Burst()))
	}
}

// seconds rounds a wait up for Retry-After.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
