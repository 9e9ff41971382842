package fetch

import (
	"net/http"
	"testing"
	"time"
)

// TestRetryAfter reads header values with and without the server's Date.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		value, date string
		want        time.Duration
	}{
		{"120", "", 2 * time.Minute},
		{" 0 ", "", 0},
		{"99999999999999999999", "", maxSeconds * time.Second},
		{"Sun, 01 Mar 2026 12:01:00 GMT", "", time.Minute},
		{"Sunday, 01-Mar-26 12:01:00 GMT", "", time.Minute},
		{"Sun Mar  1 12:01:00 2026", "", time.Minute},
		{"Sun, 01 Mar 2026 12:01:00 GMT", "Sun, 01 Mar 2026 11:56:00 GMT", 5 * time.Minute},
		{"Sun, 01 Mar 2026 12:01:00 GMT", "yesterday", time.Minute},
		{"Sun, 01 Mar 2026 11:00:00 GMT", "", 0},
		{"", "", 0},
		{"-1", "", 0},
		{"1.5", "", 0},
		{"soon", "", 0},
	} {
		h := http.Header{"Retry-After": {tt.value}}
		if tt.date != "" {
			h.Set("Date", tt.date)
		}
		if got := RetryAfter(h, now); got != tt.want {
			t.Errorf("%q, date %q\ngot:  %s\nwant: %s", tt.value, tt.date, got, tt.want)
		}
	}
}
