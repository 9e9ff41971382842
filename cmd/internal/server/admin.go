package server

import (
	"context"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
)

// Metrics counts what a service does. No label has a value that came from outside:
// each is of a closed set.
type Metrics struct {
	registry    *prometheus.Registry
	questions   [outcomes]prometheus.Counter
	requests    map[int]prometheus.Counter // by the first digit of the status
	took        prometheus.Histogram
	refused     *prometheus.CounterVec
	fetches     map[fetch.Cause]prometheus.Counter
	fetchTook   prometheus.Histogram
	answers     map[cache.Kind]prometheus.Counter
	storeErrors prometheus.Counter
	permitWait  prometheus.Histogram
	panics      prometheus.Counter
}

// NewMetrics returns metrics with a registry of their own.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), requests: map[int]prometheus.Counter{}, fetches: map[fetch.Cause]prometheus.Counter{}, answers: map[cache.Kind]prometheus.Counter{}}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	vec := func(name, help, label string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "robots_" + name, Help: help}, []string{label})
		m.registry.MustRegister(v)
		return v
	}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "robots_" + name, Help: help})
		m.registry.MustRegister(c)
		return c
	}
	histogram := func(name, help string, from float64, n int) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "robots_" + name, Help: help, Buckets: prometheus.ExponentialBuckets(from, 4, n)})
		m.registry.MustRegister(h)
		return h
	}
	questions := vec("questions_total", "Questions by what became of them.", "outcome")
	for o := range outcomes {
		m.questions[o] = questions.WithLabelValues(o.String())
	}
	requests := vec("requests_total", "Requests by the class of their status.", "class")
	for digit, class := range map[int]string{2: "2xx", 3: "3xx", 4: "4xx", 5: "5xx"} {
		m.requests[digit] = requests.WithLabelValues(class)
	}
	m.took = histogram("request_seconds", "Time from the head of a request to the end of its answer.", 1.0/16384, 10)
	m.refused = vec("refused_total", "Requests that the gates refused, by the type of the problem.", "problem")
	for t := range problems {
		m.refused.WithLabelValues(string(t))
	}
	fetches := vec("fetches_total", "Fetches of robots.txt by their cause.", "cause")
	for _, c := range fetch.Causes() {
		m.fetches[c] = fetches.WithLabelValues(c.String())
	}
	m.fetchTook = histogram("fetch_seconds", "Time of a fetch of robots.txt.", 1.0/256, 8)
	answers := vec("cache_events_total", "What the cache did, by kind.", "kind")
	for k := cache.Hit; k <= cache.ClockMoved; k++ {
		m.answers[k] = answers.WithLabelValues(k.String())
	}
	m.storeErrors = counter("store_errors_total", "Errors of the store; the service goes on without it.")
	m.permitWait = histogram("permit_wait_seconds", "Time until the start of a request that a permit was given for.", 1.0/64, 9)
	m.panics = counter("panics_total", "Requests that ended in a fault of the service.")
	return m
}

// gauge adds a value that is read when metrics are.
func (m *Metrics) gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "robots_" + name, Help: help}, read))
}

// Held adds what a cache has in memory.
func (m *Metrics) Held(usage func() cache.Usage) {
	m.gauge("held_origins", "Origins whose records are in memory.", func() float64 { return float64(usage().Origins) })
	m.gauge("held_bytes", "Bytes of records in memory.", func() float64 { return float64(usage().Bytes) })
}

// StoreSize adds the size of the store's file.
func (m *Metrics) StoreSize(read func() int64) {
	m.gauge("store_bytes", "Bytes of the file of the store.", func() float64 { return float64(read()) })
}

// Degraded adds since when the Redis of a fleet is away.
func (m *Metrics) Degraded(downSince func() time.Time) {
	m.gauge("limiter_degraded_seconds", "For how long the Redis of the fleet has been away, so that the limiter works alone; 0 while it answers.", func() float64 {
		since := downSince()
		if since.IsZero() {
			return 0
		}
		return max(time.Since(since).Seconds(), 1e-9)
	})
}

// Observe counts what a cache does: cache.Options.Observe.
func (m *Metrics) Observe(e cache.Event) {
	if c := m.answers[e.Kind]; c != nil {
		c.Inc()
	}
	switch e.Kind {
	case cache.Fetched:
		m.fetches[e.Record.Cause].Inc()
		m.fetchTook.Observe(e.Took.Seconds())
	case cache.StoreFailed:
		m.storeErrors.Inc()
	}
}

// Limiter counts the waits of the grants that a limiter lends.
func (m *Metrics) Limiter(l pace.Lender) pace.Lender { return meteredLimiter{l, m} }

type meteredLimiter struct {
	pace.Lender
	m *Metrics
}

// Lend lends, and counts the time until the start.
func (l meteredLimiter) Lend(ctx context.Context, key pace.Key, s *pace.Schedule, within, hold time.Duration) (pace.Grant, error) {
	g, err := l.Lender.Lend(ctx, key, s, within, hold)
	if err == nil && g.OK() {
		l.m.permitWait.Observe(max(0, time.Until(g.Start).Seconds()))
	}
	return g, err
}

// admin is what the admin listener serves. It passes no gate and never queues, so
// that it answers when the service is busy.
func admin(m *Metrics, draining *atomic.Bool, ready func(context.Context) error) http.Handler {
	mux := http.NewServeMux()
	say := func(w http.ResponseWriter, status int, text string) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text + "\n")) // the client has gone, or it has the answer
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if draining.Load() {
			say(w, http.StatusServiceUnavailable, "not ready: the service is about to end")
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		if err := ready(ctx); err != nil {
			say(w, http.StatusServiceUnavailable, "not ready: "+err.Error())
			return
		}
		say(w, http.StatusOK, "ready")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
