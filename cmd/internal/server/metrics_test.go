package server

import (
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestMetrics: each metric has a text and a type, and each value of a label is present from the
// start; those of Go and of the process follow. TestMetrics in examples/clients reads them with
// Prometheus's parser.
func TestMetrics(t *testing.T) {
	m := NewMetrics()
	m.gauge("held_bytes", "Bytes held.", func() float64 { return 1.5 })
	m.permitWait.Update(0.1)
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text := w.Body.String()
	if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "text/plain; version=0.0.4") {
		t.Error(got)
	}
	for _, family := range regexp.MustCompile(`(?m)^# HELP robots_.*\n.*`).FindAllString(text, -1) {
		if !regexp.MustCompile(`^# HELP (robots_\w+) [A-Za-z].*\.\n# TYPE robots_\w+ (counter|gauge|histogram)$`).MatchString(family) {
			t.Errorf("%q has no text or type", family)
		}
	}
	want := []string{
		"# HELP robots_held_bytes Bytes held.\n# TYPE robots_held_bytes gauge\nrobots_held_bytes 1.5\n",
		"# TYPE robots_permit_wait_seconds histogram\nrobots_permit_wait_seconds_bucket{le=\"0.015625\"} 0\n",
		"robots_permit_wait_seconds_bucket{le=\"0.25\"} 1\n", "robots_permit_wait_seconds_bucket{le=\"+Inf\"} 1\n",
		"\nrobots_permit_wait_seconds_count 1\n", "\nrobots_refused_total{problem=\"busy\"} 0\n",
		"# HELP robots_questions_total Questions by outcome.\n# TYPE robots_questions_total counter\n",
		"\nrobots_questions_total{outcome=\"pending\"} 0\n", "\ngo_goroutines ",
	}
	if runtime.GOOS == "linux" {
		want = append(want, "\nprocess_resident_memory_bytes ", "\nprocess_open_fds ")
	}
	for _, want := range want {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
}
