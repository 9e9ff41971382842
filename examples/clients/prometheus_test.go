package clients

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

// metrics counts the events of a client. An Event has no label that sites choose.
type metrics struct {
	records, permits, requests *prometheus.CounterVec
	wait                       prometheus.Histogram
}

func newMetrics(r prometheus.Registerer) *metrics {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"event"})
	}
	m := &metrics{
		records:  counter("crawler_robots_total", "Events of robots.txt files."),
		permits:  counter("crawler_permits_total", "Events of permits."),
		requests: counter("crawler_requests_total", "Events of requests."),
		wait:     prometheus.NewHistogram(prometheus.HistogramOpts{Name: "crawler_wait_seconds", Help: "Wait until a request starts.", Buckets: []float64{1, 10, 60, 600}}),
	}
	r.MustRegister(m.records, m.permits, m.requests, m.wait)
	return m
}

func (m *metrics) Cache(e cache.Event) { m.records.WithLabelValues(e.Kind.String()).Inc() }
func (m *metrics) Pace(e pace.Event)   { m.permits.WithLabelValues(string(e.Kind)).Inc() }

func (m *metrics) Request(e polite.Event) {
	m.requests.WithLabelValues(string(e.Kind)).Inc()
	if e.Kind == polite.EventStarted {
		m.wait.Observe(e.Took.Seconds())
	}
}

// A client with Prometheus metrics.
func Example_prometheus() {
	site := newSite()
	defer site.Close()
	registry := prometheus.NewRegistry()
	transport := newTransport(polite.Options{Observe: newMetrics(registry)})
	defer transport.Close()
	client := &http.Client{Transport: transport}
	for _, path := range []string{"/", "/news", "/private/diary"} {
		if resp, err := client.Get(site.URL + path); err == nil {
			resp.Body.Close()
		}
	}
	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	for _, family := range families {
		if family.GetName() != "crawler_requests_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			fmt.Println(m.GetLabel()[0].GetValue(), m.GetCounter().GetValue())
		}
	}
	// Output:
	// disallowed 1
	// started 2
}
