package robotstest

import (
	"fmt"
	"testing"

	"github.com/robotskit/robots"
)

// TestWindow: a window ends at the stated time, HH59 at the full hour; a start after the end
// means past midnight, a start equal to the end the whole day, and 2400 is a valid end (D-30).
func TestWindow(t *testing.T) {
	tests := []struct {
		window, time string
		inside       bool
	}{
		{"1800-1900", "17:59:59", false},
		{"1800-1900", "18:00:00", true},
		{"1800-1900", "18:59:59", true},
		{"1800-1900", "19:00:00", false},
		{"1800-1845", "18:44:59", true},
		{"1800-1845", "18:45:00", false},
		{"1900-1859", "18:59:59", true}, // runs to 19:00, so all day
		{"1900-1858", "18:57:59", true},
		{"1900-1858", "18:58:00", false},
		{"1900-1858", "19:00:00", true},
		{"0000-2359", "23:59:59", true},
		{"2300-0000", "23:59:59", true},
		{"2300-0000", "00:00:00", false},
		{"1859-1859", "12:00:00", true},
		{"1300-1659", "16:59:59", true},
		{"1300-1659", "17:00:00", false},
		{"1700-0459", "23:59:59", true},
		{"1700-0459", "00:00:00", true},
		{"1700-0459", "04:59:59", true},
		{"1700-0459", "05:00:00", false},
		{"1700-0459", "16:59:59", false},
		{"0600-0600", "00:00:00", true},
		{"0600-0600", "06:01:00", true},
		{"0000-2400", "23:59:59", true},
		{"2200-2400", "21:59:59", false},
		{"2200-2400", "23:59:59", true},
		{"2200-2400", "00:00:00", false},
		{"", "12:00:00", true},
		{"0700", "23:00:00", true}, // unreadable, so all day (D-35)
	}
	for _, tt := range tests {
		body := "User-agent: *\nRequest-rate: 1/30s " + tt.window + "\n"
		for _, d := range robots.Dialects() {
			rates := robots.Parse([]byte(body)).Rules(d, "SeznamBot").RequestRates()
			if len(rates) != 1 {
				t.Fatalf("%s, %s: got %d rates, want 1", d.Name, tt.window, len(rates))
			}
			var h, m, s int
			if _, err := fmt.Sscanf(tt.time, "%d:%d:%d", &h, &m, &s); err != nil {
				t.Fatal(err)
			}
			if got := rates[0].Window.Contains(h*3600 + m*60 + s); got != tt.inside {
				t.Errorf("%s, window %q at %s\ngot:  %t\nwant: %t", d.Name, tt.window, tt.time, got, tt.inside)
			}
		}
	}
}

// TestFloor: SeznamBot raises only rates that are slower than one document in 30 seconds
// (RATE-04, D-33).
func TestFloor(t *testing.T) {
	tests := []struct{ value, want string }{
		{"1/30s", "1/30s"},
		{"1/31s", "1/30s"},
		{"2/60s", "2/60s"},
		{"2/61s", "1/30s"},
		{"300/1m", "300/60s"},
		{"1/1d", "1/30s"},
		{"9000/1d", "9000/86400s"},
		{"1/1h 1800-1900", "1/30s 1800-1900"},
		{"100000000/1s", "100000000/1s"}, // whose product with 30 s an int of 32 bits does not hold
	}
	for _, tt := range tests {
		body := "User-agent: *\nRequest-rate: " + tt.value + "\n"
		rates := robots.Parse([]byte(body)).Rules(robots.Seznam, "SeznamBot").RequestRates()
		if len(rates) != 1 {
			t.Fatalf("%s: got %d rates, want 1", tt.value, len(rates))
		}
		if got := rates[0].AtLeast(robots.Seznam.RateFloor).String(); got != tt.want {
			t.Errorf("%s\ngot:  %s\nwant: %s", tt.value, got, tt.want)
		}
	}
	if d := robots.RFC9309; d.RateFloor != 0 {
		t.Errorf("the default dialect raises rates to one in %d s, want no floor", d.RateFloor)
	}
}
