package server

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/robotskit/robots/cmd/internal/ask"
)

// settings are what a Gate has read of a configuration. A request keeps those with which it began.
type settings struct {
	*Config
	hosts   map[string]bool
	tokens  []token
	proxies []netip.Prefix
	public  bool // a client without a token can be anyone, not only a user of this machine
}

func newSettings(c *Config) (*settings, error) {
	tokens, err := readTokens(c)
	if err != nil {
		return nil, err
	}
	s := &settings{
		Config: c, hosts: map[string]bool{"localhost": true}, tokens: tokens,
		public: c.Public || len(c.Hosts) > 0 || len(c.TrustedProxies) > 0,
	}
	for _, h := range c.Hosts {
		s.hosts[strings.ToLower(h)] = true
	}
	for _, p := range c.TrustedProxies {
		prefix, err := ask.Prefix(p)
		if err != nil {
			return nil, err
		}
		s.proxies = append(s.proxies, prefix)
	}
	return s, nil
}

// Reloaded are the settings that Reload changes, by name; the others last as long as the process.
var Reloaded = []string{
	"host", "cors", "trusted-proxy", "tokens-file", "client-rate", "client-burst", "new-origins", "body-size", "batch-size",
	"body-time", "write-time",
	"drain-delay", "grace", "log-urls",
}

// reload takes the settings in Reloaded from another configuration.
func (c *Config) reload(from *Config) {
	c.Hosts = from.Hosts
	c.CORS = from.CORS
	c.TrustedProxies = from.TrustedProxies
	c.TokensFile = from.TokensFile
	c.Tokens = from.Tokens
	c.ClientRate = from.ClientRate
	c.ClientBurst = from.ClientBurst
	c.NewOrigins = from.NewOrigins
	c.BodyBytes = from.BodyBytes
	c.BatchBytes = from.BatchBytes
	c.BodyTime = from.BodyTime
	c.WriteTime = from.WriteTime
	c.DrainDelay = from.DrainDelay
	c.Grace = from.Grace
	c.LogURLs = from.LogURLs
}

// Reload reads the tokens again and applies the settings in Reloaded of a checked configuration to all
// further requests. Connections and requests in progress continue, except for requests with a token that is
// removed or changed: they end with the status 401. After an error the settings are those before.
func (g *Gate) Reload(c *Config) error {
	old := g.settings.Load()
	merged := *old.Config
	merged.reload(c)
	read, err := newSettings(&merged)
	switch {
	case err != nil:
		return err
	case len(old.tokens) > 0 && len(read.tokens) == 0:
		return errors.New("there are no tokens any more; restart the service to answer clients without one")
	}
	kept := map[context.Context]bool{}
	for i := range read.tokens {
		t := &read.tokens[i]
		if j := slices.IndexFunc(old.tokens, func(before token) bool { return before.same(t) }); j >= 0 {
			*t = old.tokens[j]
			kept[t.valid] = true
		}
	}
	g.settings.Store(read)
	for _, t := range old.tokens {
		if !kept[t.valid] {
			t.removed()
		}
	}
	if old.ClientRate != read.ClientRate || old.ClientBurst != read.ClientBurst || old.NewOrigins != read.NewOrigins {
		g.clients.Purge()
	}
	return nil
}
