package server

import (
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// TestMetrics: Prometheus accepts the metrics, which include those of the process. Every value
// of a label is present from the start.
func TestMetrics(t *testing.T) {
	m := NewMetrics()
	m.gauge("held_bytes", "Bytes held.", func() float64 { return 1.5 })
	w := httptest.NewRecorder()
	promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text := w.Body.String()
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "robots_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	want := []string{"robots_held_bytes 1.5\n", "robots_refused_total{problem=\"busy\"} 0\n", "robots_questions_total{outcome=\"pending\"} 0\n", "\ngo_goroutines "}
	if runtime.GOOS == "linux" {
		want = append(want, "\nprocess_resident_memory_bytes ", "\nprocess_open_fds ")
	}
	for _, want := range want {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
}
