package server

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// A Gate limits who can use a service, how much, and how much concurrently. It refuses with
// problems.
type Gate struct {
	settings atomic.Pointer[settings]
	cross    *http.CrossOriginProtection
	clients  *lru.Cache[string, *limits]
	slots    *slots
	held     atomic.Int64 // bytes of bodies and responses
	open     atomic.Int64 // requests without an answer
	log      *slog.Logger
	metrics  *Metrics
	draining atomic.Bool
}

// NewGate returns a gate for a checked configuration. The error is about the file of tokens.
func NewGate(c *Config, log *slog.Logger, m *Metrics) (*Gate, error) {
	read, err := newSettings(c)
	if err != nil {
		return nil, err
	}
	g := &Gate{
		cross: http.NewCrossOriginProtection(), log: log, metrics: m,
		slots: newSlots(cmp.Or(c.Concurrency, runtime.GOMAXPROCS(0)), c.Queue, c.QueueTime),
	}
	g.settings.Store(read)
	g.clients, _ = lru.New[string, *limits](mostClients) // no error: the size is above 0
	count := func(name, help string, value func() int64) {
		m.gauge(name, help, func() float64 { return float64(value()) })
	}
	count("requests_working", "Requests in progress, including those that wait for sites.", g.slots.working)
	count("requests_waiting_for_sites", "Requests in progress that wait for a site or a permit.", g.slots.away.Load)
	count("queue_length", "Requests in the queue.", g.slots.waiting.Load)
	count("queue_limit", "Maximum length of the queue.", func() int64 { return int64(c.Queue) })
	count("held_request_bytes", "Bytes of request and response bodies in memory.", g.held.Load)
	return g, nil
}

// Wrap returns a handler that checks requests before it passes them to next.
func (g *Gate) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := newExchange()
		v.ResponseWriter = w
		v.gate = g
		v.settings = g.settings.Load()
		v.arrived = time.Now()
		v.Caller = Caller{Name: network(clientAddress(r, v.settings.proxies)), limits: unlimited}
		v.request = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, v))
		g.open.Add(1)
		defer g.open.Add(-1)
		defer v.end()
		v.conn, _ = r.Context().Value(connKey{}).(*problemConn)
		if v.conn != nil {
			v.conn.passed = true
		}
		v.identify()
		// A request meets these checks in this order: the cheapest first, and nothing is read
		// from a client without permission.
		for _, check := range []func(*http.Request) *Problem{v.checkURL, v.checkHost, v.checkOrigin, v.authenticate, v.receive, v.enter} {
			if p := check(v.request); p != nil {
				p.Write(v, r)
				return
			}
			if v.status != 0 {
				return // a preflight request
			}
		}
		next.ServeHTTP(v, v.request)
	})
}
