package server

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
)

// Metrics counts what a service does; it is a fleet.Observer. No label has a value from
// outside.
type Metrics struct {
	set         *metrics.Set
	help        []string // pairs: the HELP line that the set writes, and the one with a text
	questions   counters
	requests    counters // by the first digit of the status
	took        *metrics.PrometheusHistogram
	refused     counters // by ProblemType
	fetches     counters // by fetch.Cause
	fetchTook   *metrics.PrometheusHistogram
	answers     counters // by cache.EventKind
	storeErrors *metrics.Counter
	permitWait  *metrics.PrometheusHistogram
	permitLater *metrics.PrometheusHistogram
	permits     counters
	decisions   counters // by pace.Cause, acquired or failed
	overloads   *metrics.Counter
	changes     counters // by pace.EventKind
	panics      *metrics.Counter
}

// counters are the counters of one metric, one for each value of its label.
type counters struct {
	set         *metrics.Set
	name, label string
}

// of returns the counter of a value, which needs no quoting.
func (c counters) of(value string) *metrics.Counter {
	return c.set.GetOrCreateCounter(c.name + "{" + c.label + `="` + value + `"}`)
}

// NewMetrics returns metrics in a set of their own.
func NewMetrics() *Metrics {
	metrics.ExposeMetadata(true)
	m := &Metrics{set: metrics.NewSet()}
	counter := func(name, help string) *metrics.Counter {
		m.describe(name, help)
		return m.set.NewCounter(name)
	}
	// Each value of a label is present from the start.
	counterOf := func(name, help, label string, values ...string) counters {
		m.describe(name, help)
		c := counters{set: m.set, name: name, label: label}
		for _, value := range values {
			c.of(value)
		}
		return c
	}
	// Each of n buckets is four times as wide as the last.
	histogram := func(name, help string, from float64, n int) *metrics.PrometheusHistogram {
		m.describe(name, help)
		return m.set.NewPrometheusHistogramExt(name, metrics.ExponentialBuckets(from, 4, n))
	}
	m.questions = counterOf("robots_questions_total", "Questions by outcome.", "outcome", outcomeNames[:]...)
	m.requests = counterOf("robots_requests_total", "Requests by class of status.", "class", "2xx", "3xx", "4xx", "5xx")
	m.took = histogram("robots_request_seconds", "Time from the headers of a request to the end of its response.", 1.0/16384, 10)
	m.refused = counterOf("robots_refused_total", "Requests answered with a problem, by its type.",
		"problem", names(slices.Collect(maps.Keys(problems)))...)
	m.fetches = counterOf("robots_fetches_total", "robots.txt fetches by cause.", "cause", names(fetch.Causes())...)
	m.fetchTook = histogram("robots_fetch_seconds", "Duration of robots.txt fetches.", 1.0/256, 8)
	var kinds []cache.EventKind
	for k := cache.EventHit; k <= cache.EventEvicted; k++ {
		kinds = append(kinds, k)
	}
	m.answers = counterOf("robots_cache_events_total", "Events of the cache by kind.", "kind", names(kinds)...)
	m.storeErrors = counter("robots_store_errors_total", "Errors of the store, without which the service continues.")
	m.permitWait = histogram("robots_permit_wait_seconds", "Time until the start in a permit.", 1.0/64, 9)
	m.permitLater = histogram("robots_permit_later_seconds", "Time until a next attempt, without a permit.", 1.0/64, 9)
	permitEvents := []pace.EventKind{pace.EventAcquired, pace.EventRefused, pace.EventFailed, pace.EventReleased, pace.EventUnreleased}
	m.permits = counterOf("robots_permits_total",
		"Permits: acquired, refused for now, failed (no decision), released, unreleased (until they expire), and unused.",
		"outcome", append(names(permitEvents), unused)...)
	m.decisions = counterOf("robots_decisions_total", "Decisions on starts: acquired, failed, or the cause of a refusal.", "outcome",
		append(names(pace.Causes()), string(pace.EventAcquired), string(pace.EventFailed))...)
	m.overloads = counter("robots_overloads_total", "Responses of sites that signal overload: 429, 503, 504, or a timeout.")
	fleetEvents := []pace.EventKind{
		pace.EventDown, pace.EventUp, pace.EventRenewed, pace.EventReplaced, pace.EventDrained, pace.EventResumed,
	}
	m.changes = counterOf("robots_fleet_changes_total", "Changes of the fleet: down and up (Redis), "+
		"renewed (Redis lost its memory), replaced (this worker was considered gone), drained, resumed.",
		"change", names(fleetEvents)...)
	m.panics = counter("robots_panics_total", "Requests that ended with an internal error.")
	return m
}

// names returns the names of values.
func names[T any](values []T) (list []string) {
	for _, v := range values {
		list = append(list, fmt.Sprint(v))
	}
	return list
}

// describe adds the text of a metric's HELP line; the library writes none.
func (m *Metrics) describe(name, help string) {
	line := "# HELP " + name
	m.help = append(m.help, line+"\n", line+" "+help+"\n")
}

// gauge adds a value that is read with the metrics.
func (m *Metrics) gauge(name, help string, read func() float64) {
	name = "robots_" + name
	m.describe(name, help)
	m.set.NewGauge(name, read)
}

// ServeHTTP writes the metrics, and those of Go and of the process, in Prometheus's text format.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	m.set.WritePrometheus(&b)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = strings.NewReplacer(m.help...).WriteString(w, b.String()) // the client might have disconnected
	metrics.WriteGoMetrics(w)
	metrics.WriteProcMetrics(w)
	metrics.WriteFDMetrics(w)
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

// Degraded adds the time since which the Redis of a fleet has been unreachable.
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
	m.answers.of(e.Kind.String()).Inc()
	switch e.Kind {
	case cache.EventFetched:
		m.fetches.of(e.Record.Cause.String()).Inc()
		m.fetchTook.Update(e.Took.Seconds())
	case cache.EventStoreFailed:
		m.storeErrors.Inc()
	}
}

// Pace counts decisions and released permits of a limiter, and outages of a fleet's Redis, for
// pace.Options.Observe.
func (m *Metrics) Pace(e pace.Event) {
	outcome := string(e.Kind)
	switch e.Kind {
	case pace.EventAcquired:
		m.decisions.of(outcome).Inc()
		m.permitWait.Update(e.Took.Seconds())
	case pace.EventRefused:
		m.decisions.of(string(e.Cause)).Inc()
		m.permitLater.Update(e.Took.Seconds())
	case pace.EventFailed:
		m.decisions.of(outcome).Inc()
	case pace.EventReleased:
		if e.Result.Unused {
			outcome = unused
		}
		if e.Result.Overload() {
			m.overloads.Inc()
		}
	case pace.EventUnreleased:
	default:
		m.changes.of(outcome).Inc()
		return
	}
	m.permits.of(outcome).Inc()
}

// unused is the outcome of a permit that was released without a request.
const unused = "unused"

// admin returns the handler of the admin listener. It has no queue, so that it answers when the
// service is busy. Like the service it refuses other hosts and pages of other sites, except that any
// IP address is a host, as Prometheus and probes use.
func (g *Gate) admin(check func(context.Context) error) http.Handler {
	m := g.metrics
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
	mux.Handle("GET /metrics", m)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index) // not cmdline: --store can have a password
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, addr := hostOf(r.Host)
		p := g.settings.Load().checkHost(r.Host)
		if addr.IsValid() {
			p = nil
		}
		crossing := *r
		crossing.Method = http.MethodPost // profiles take work, and are secret
		if p == nil && http.NewCrossOriginProtection().Check(&crossing) != nil {
			p = NewProblem(CrossOrigin, "pages of other sites may not use the admin listener")
		}
		if p != nil {
			p.Write(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
