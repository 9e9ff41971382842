package server

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// A registry has the metrics of a service and of the process.
type registry struct{ *prometheus.Registry }

func newRegistry() registry {
	r := registry{prometheus.NewRegistry()}
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// gauge adds a value that is read with the metrics.
func (r registry) gauge(name, help string, read func() float64) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// A counter only grows. A nil counter, for an unknown label value, counts nothing.
type counter struct{ prometheus.Counter }

func (c *counter) inc() {
	if c != nil {
		c.Inc()
	}
}

func (r registry) counter(name, help string) *counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	r.MustRegister(c)
	return &counter{c}
}

// counters adds a counter with a label that has only these values.
func counters[K comparable](r registry, name, help, label string, text func(K) string, values ...K) map[K]*counter {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	r.MustRegister(v)
	all := make(map[K]*counter, len(values))
	for _, value := range values {
		all[value] = &counter{v.WithLabelValues(text(value))}
	}
	return all
}

// histogram adds a histogram with n buckets, each four times as wide as the last.
func (r registry) histogram(name, help string, from float64, n int) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(from, 4, n)})
	r.MustRegister(h)
	return h
}
