package server

import (
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// metricLine is a line of a sample in the text format, as this package writes it.
var metricLine = regexp.MustCompile(`^([a-z_]+?)(_bucket|_sum|_count)?(\{[a-z]+="[^"\\]*"\})? (\+Inf|-?[0-9.]+(e[+-][0-9]+)?)$`)

func exposed(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.registry.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if got := w.Header().Get("Content-Type"); got != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("Content-Type: %s", got)
	}
	return w.Body.String()
}

// TestMetricsText: each metric is there once, as HELP, TYPE and samples of its name alone, in
// the order of the names.
func TestMetricsText(t *testing.T) {
	m := NewMetrics()
	m.gauge("a", "A gauge.", func() float64 { return 1.5 })
	text := exposed(t, m)
	if !strings.HasSuffix(text, "\n") {
		t.Error("the last line has no end")
	}
	var names, samples []string
	name, kind := "", ""
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			help := ""
			if name, help, _ = strings.Cut(rest, " "); !strings.HasSuffix(help, ".") || kind == "none" {
				t.Errorf("%s, or no sample before it", line)
			}
			names, kind = append(names, name), ""
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "+name+" "); ok && kind == "" {
			kind = rest
			continue
		}
		p := metricLine.FindStringSubmatch(line)
		distribution := kind == "histogram" || kind == "summary"
		if p == nil || kind == "" || p[1]+p[2] != name && (p[1] != name || !distribution) || slices.Contains(samples, p[1]+p[2]+p[3]) {
			t.Errorf("%q in %s %s", line, kind, name)
			continue
		}
		samples = append(samples, p[1]+p[2]+p[3])
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) || len(names) < 30 {
		t.Errorf("metrics: %q", names)
	}
	if !strings.HasPrefix(text[strings.Index(text, "# HELP robots_a"):], "# HELP robots_a A gauge.\n# TYPE robots_a gauge\nrobots_a 1.5\n") {
		t.Error("no gauge")
	}
	if runtime.GOOS == "linux" {
		for _, name := range []string{"process_cpu_seconds_total", "process_open_fds", "process_max_fds", "process_resident_memory_bytes", "process_start_time_seconds"} {
			if !slices.Contains(names, name) {
				t.Error("there is no ", name)
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("two metrics have one name")
		}
	}()
	m.gauge("a", "Another.", nil)
}

// TestMetricsProcess: the kernel's numbers are taken from the right fields.
func TestMetricsProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("skipped: ", err)
	}
	got := map[string]float64{}
	for _, f := range processMetrics() {
		got[f.name], _ = strconv.ParseFloat(strings.TrimSpace(strings.TrimPrefix(string(f.append(nil, f.name)), f.name)), 64)
	}
	now, memory := float64(time.Now().Unix()), got["process_resident_memory_bytes"]
	if start := got["process_start_time_seconds"]; start > now+60 || start < now-24*3600 {
		t.Errorf("it began at %v, now is %v", start, now)
	}
	if memory < 1<<20 || memory > got["process_virtual_memory_bytes"] || got["process_open_fds"] < 3 || got["process_open_fds"] > got["process_max_fds"] {
		t.Errorf("%v", got)
	}
}

// TestMetricsCount: what is counted at once by many is all there, each bucket has what is up to
// its bound, and a value that no label has is counted nowhere.
func TestMetricsCount(t *testing.T) {
	var m Metrics
	h := m.registry.histogram("h_seconds", "H.", 0.25, 3)
	c := counters(&m.registry, "c_total", "C.", "class", func(n int) string { return strings.Repeat("x", n) }, 2, 1)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				for _, v := range []float64{0, 0.25, 0.5, 4, 5} {
					h.observe(v)
				}
				c[1].inc()
				c[3].inc()
			}
		})
	}
	all.Wait()
	text := exposed(t, &m)
	for _, want := range []string{
		"# HELP c_total C.\n# TYPE c_total counter\nc_total{class=\"x\"} 800\nc_total{class=\"xx\"} 0\n",
		"# HELP h_seconds H.\n# TYPE h_seconds histogram\n" + `h_seconds_bucket{le="0.25"} 1600
h_seconds_bucket{le="1"} 2400
h_seconds_bucket{le="4"} 3200
h_seconds_bucket{le="+Inf"} 4000
h_seconds_sum 7800
h_seconds_count 4000
`} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no\n%s in\n%s", want, text)
		}
	}
}
