package server

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// What the metrics are counted with, and how they are written: the text format of Prometheus,
// version 0.0.4. It is written here because the packages of others do not fit: client_golang and
// what it needs cost each start of the program 1.6 million instructions, also where nothing is
// served, and VictoriaMetrics/metrics 1.35 writes no text after HELP and no le buckets.

// A registry has metrics, each with a name of its own, and those of the process.
type registry struct {
	mu       sync.Mutex
	families []family
}

// A family is a metric with all of its labels. The lines of its samples are appended by append.
type family struct {
	name, help, kind string // help has no line break and no backslash
	append           func(dst []byte, name string) []byte
}

func (r *registry) add(f family) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.families, func(other family) bool { return other.name == f.name }) {
		panic("two metrics are named " + f.name)
	}
	r.families = append(r.families, f)
}

// ServeHTTP answers with the metrics, in the order of their names.
func (r *registry) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	families := append(processMetrics(), r.families...)
	r.mu.Unlock()
	slices.SortFunc(families, func(a, b family) int { return cmp.Compare(a.name, b.name) })
	var b []byte
	for _, f := range families {
		b = append(b, "# HELP "+f.name+" "+f.help+"\n# TYPE "+f.name+" "+f.kind+"\n"...)
		b = f.append(b, f.name)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(b) // the client has gone, or it has the answer
}

// appendSample appends a line; label is nothing, or a name and a value in braces.
func appendSample(dst []byte, name, label string, value float64) []byte {
	dst = append(append(append(dst, name...), label...), ' ')
	return append(appendNumber(dst, value), '\n')
}

// appendNumber appends a number as Prometheus reads it: +Inf, NaN and all others.
func appendNumber(dst []byte, value float64) []byte {
	return strconv.AppendFloat(dst, value, 'g', -1, 64)
}

// labelled is a label with its value, which is printable ASCII.
func labelled(label, value string) string { return "{" + label + "=" + strconv.Quote(value) + "}" }

// gauge adds a value that is read when metrics are.
func (r *registry) gauge(name, help string, read func() float64) {
	r.add(single(name, help, "gauge", read))
}

// single is a metric without labels.
func single(name, help, kind string, read func() float64) family {
	return family{name, help, kind, func(dst []byte, name string) []byte { return appendSample(dst, name, "", read()) }}
}

// A counter only grows. A nil counter counts nothing: that of a value which no label has.
type counter struct{ n atomic.Uint64 }

func (c *counter) inc() {
	if c != nil {
		c.n.Add(1)
	}
}

func (c *counter) value() float64 { return float64(c.n.Load()) }

func (r *registry) counter(name, help string) *counter {
	c := new(counter)
	r.add(single(name, help, "counter", c.value))
	return c
}

// counters adds a counter with a label, one for each of its values, which are all there are.
func counters[K comparable](r *registry, name, help, label string, text func(K) string, values ...K) map[K]*counter {
	all := make(map[K]*counter, len(values))
	for _, v := range values {
		all[v] = new(counter)
	}
	sorted := slices.SortedFunc(slices.Values(values), func(a, b K) int { return cmp.Compare(text(a), text(b)) })
	r.add(family{name, help, "counter", func(dst []byte, name string) []byte {
		for _, v := range sorted {
			dst = appendSample(dst, name, labelled(label, text(v)), all[v].value())
		}
		return dst
	}})
	return all
}

// A histogram counts values by their size.
type histogram struct {
	bounds []float64       // the largest value of each bucket, ascending; one more bucket has the rest
	counts []atomic.Uint64 // of each bucket alone
	sum    atomic.Uint64   // of all values, the bits of a float64
}

func (h *histogram) observe(value float64) {
	i, _ := slices.BinarySearch(h.bounds, value)
	h.counts[i].Add(1)
	for {
		old := h.sum.Load()
		if h.sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+value)) {
			return
		}
	}
}

// histogram adds a histogram with n buckets, each four times as wide as the one before.
func (r *registry) histogram(name, help string, from float64, n int) *histogram {
	h := &histogram{counts: make([]atomic.Uint64, n+1)}
	for range n {
		h.bounds = append(h.bounds, from)
		from *= 4
	}
	r.add(family{name, help, "histogram", h.append})
	return h
}

// append appends the buckets, each with what is in those before. The count is that of the last,
// so that the two agree while others observe.
func (h *histogram) append(dst []byte, name string) []byte {
	n := uint64(0)
	for i, bound := range append(slices.Clip(h.bounds), math.Inf(1)) {
		n += h.counts[i].Load()
		dst = appendSample(dst, name+"_bucket", labelled("le", string(appendNumber(nil, bound))), float64(n))
	}
	dst = appendSample(dst, name+"_sum", "", math.Float64frombits(h.sum.Load()))
	return appendSample(dst, name+"_count", "", float64(n))
}
