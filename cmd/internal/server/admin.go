package server

import (
	"context"
	"maps"
	"net/http"
	"net/http/pprof"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
)

// Metrics counts what a service does; it is a fleet.Observer. No label has a value from
// outside.
type Metrics struct {
	registry    registry
	questions   map[Outcome]*counter
	requests    map[int]*counter // by the first digit of the status
	took        prometheus.Histogram
	refused     map[ProblemType]*counter
	fetches     map[fetch.Cause]*counter
	fetchTook   prometheus.Histogram
	answers     map[cache.EventKind]*counter
	storeErrors *counter
	permitWait  prometheus.Histogram
	permitLater prometheus.Histogram
	permits     map[string]*counter
	decisions   map[string]*counter // by pace.Cause, granted or failed
	overloads   *counter
	changes     map[pace.EventKind]*counter
	panics      *counter
}

// NewMetrics returns metrics with a registry of their own.
func NewMetrics() *Metrics {
	m := &Metrics{registry: newRegistry()}
	r := m.registry
	m.questions = counters(r, "robots_questions_total", "Questions by outcome.", "outcome",
		Outcome.String, OutcomeAllowed, OutcomeDisallowed, OutcomeUndecided, OutcomePending, OutcomeBad)
	m.requests = counters(r, "robots_requests_total", "Requests by class of status.", "class",
		func(digit int) string { return strconv.Itoa(digit) + "xx" }, 2, 3, 4, 5)
	m.took = r.histogram("robots_request_seconds", "Time from the headers of a request to the end of its response.", 1.0/16384, 10)
	m.refused = counters(r, "robots_refused_total", "Refused requests by type of problem.", "problem",
		func(t ProblemType) string { return string(t) }, slices.Collect(maps.Keys(problems))...)
	m.fetches = counters(r, "robots_fetches_total", "robots.txt fetches by cause.", "cause", fetch.Cause.String, fetch.Causes()...)
	m.fetchTook = r.histogram("robots_fetch_seconds", "Duration of robots.txt fetches.", 1.0/256, 8)
	var kinds []cache.EventKind
	for k := cache.EventHit; k <= cache.EventFenced; k++ {
		kinds = append(kinds, k)
	}
	m.answers = counters(r, "robots_cache_events_total", "Events of the cache by kind.", "kind", cache.EventKind.String, kinds...)
	m.storeErrors = r.counter("robots_store_errors_total", "Errors of the store, without which the service continues.")
	m.permitWait = r.histogram("robots_permit_wait_seconds", "Time until the start in a permit.", 1.0/64, 9)
	m.permitLater = r.histogram("robots_permit_later_seconds", "Time until a next attempt, without a permit.", 1.0/64, 9)
	m.permits = counters(r, "robots_permits_total", "Permits by outcome: given, later (refused for now), failed (no decision), back (released), unused, lost (not yet released).", "outcome",
		func(outcome string) string { return outcome }, "given", "later", "failed", "back", "unused", "lost")
	outcomes := []string{granted, failed}
	for _, c := range pace.Causes() {
		outcomes = append(outcomes, string(c))
	}
	m.decisions = counters(r, "robots_decisions_total", "Decisions on starts: granted, failed, or the cause of a refusal.", "outcome",
		func(outcome string) string { return outcome }, outcomes...)
	m.overloads = r.counter("robots_overloads_total", "Responses of sites that signal overload: 429, 503, 504, or a timeout.")
	m.changes = counters(r, "robots_fleet_changes_total", "Changes of the fleet: down and up (Redis), renewed (Redis lost its memory), replaced (this worker was considered gone), drained, resumed.", "change",
		func(k pace.EventKind) string { return string(k) }, pace.EventDown, pace.EventUp, pace.EventRenewed, pace.EventReplaced, pace.EventDrained, pace.EventResumed)
	m.panics = r.counter("robots_panics_total", "Requests that ended with an internal error.")
	return m
}

// gauge adds a value that is read with the metrics.
func (m *Metrics) gauge(name, help string, read func() float64) {
	m.registry.gauge("robots_"+name, help, read)
}

// Held adds the size of a cache in memory.
func (m *Metrics) Held(usage func() (origins int, bytes int64)) {
	m.gauge("held_origins", "Origins with records in memory.", func() float64 { n, _ := usage(); return float64(n) })
	m.gauge("held_bytes", "Bytes of records in memory.", func() float64 { _, n := usage(); return float64(n) })
}

// StoreSize adds the size of the store's file.
func (m *Metrics) StoreSize(read func() int64) {
	m.gauge("store_bytes", "Size of the store's file in bytes.", func() float64 { return float64(read()) })
}

// Degraded adds since when the Redis of a fleet is unreachable.
func (m *Metrics) Degraded(downSince func() time.Time) {
	m.gauge("limiter_degraded_seconds", "Seconds since the Redis of the fleet became unreachable, 0 while it is reachable.", func() float64 {
		since := downSince()
		if since.IsZero() {
			return 0
		}
		return max(time.Since(since).Seconds(), 1e-9)
	})
}

// Cache counts the events of a cache, for cache.Options.Observe.
func (m *Metrics) Cache(e cache.Event) {
	m.answers[e.Kind].inc()
	switch e.Kind {
	case cache.EventFetched:
		m.fetches[e.Record.Cause].inc()
		m.fetchTook.Observe(e.Took.Seconds())
	case cache.EventStoreFailed:
		m.storeErrors.inc()
	}
}

// Pace counts decisions and released permits of a limiter, and outages of a fleet's Redis, for
// pace.Options.Observe.
func (m *Metrics) Pace(e pace.Event) {
	switch e.Kind {
	case pace.EventAcquired:
		m.decisions[granted].inc()
		m.permits["given"].inc()
		m.permitWait.Observe(e.Took.Seconds())
	case pace.EventRefused:
		m.decisions[string(e.Cause)].inc()
		m.permits["later"].inc()
		m.permitLater.Observe(e.Took.Seconds())
	case pace.EventFailed:
		m.decisions[failed].inc()
		m.permits["failed"].inc()
	case pace.EventReleased:
		if e.Result.Unused {
			m.permits["unused"].inc()
		} else {
			m.permits["back"].inc()
		}
		if e.Result.Overload() {
			m.overloads.inc()
		}
	case pace.EventUnreleased:
		m.permits["lost"].inc()
	default:
		m.changes[e.Kind].inc()
	}
}

// Outcomes of decisions other than a pace.Cause.
const granted, failed = "granted", "failed"

// admin returns the handler of the admin listener. It has no gate and no queue, so that it
// answers when the service is busy.
func admin(m *Metrics, check func(context.Context) error) http.Handler {
	mux := http.NewServeMux()
	say := func(w http.ResponseWriter, status int, text string) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text + "\n")) // the client might have disconnected
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	m.gauge("ready", "1 if /readyz reports ready, otherwise 0.", func() float64 {
		if check(context.Background()) != nil {
			return 0
		}
		return 1
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := check(r.Context()); err != nil {
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
