package robots

import (
	"math"
	"strconv"
	"strings"
)

// A RequestRate is the value of a Request-rate record: at most Requests requests in any
// Seconds seconds, within Window if it is set (RATE-02, D-45).
type RequestRate struct {
	Requests int // above 0
	Seconds  int // above 0
	Window   Window
	Line     int // from 1; 0 if it is not from a file
}

// AtLeast returns r, or one request per floor seconds if r is slower, as SeznamBot does
// (RATE-04, D-33). A floor of 0 has no effect.
func (r RequestRate) AtLeast(floor int) RequestRate {
	if floor > 0 && int64(r.Seconds) > int64(floor)*int64(r.Requests) {
		r.Requests = 1
		r.Seconds = floor
	}
	return r
}

// String returns the rate in the syntax of robots.txt: "1/30s 1800-1900".
func (r RequestRate) String() string {
	s := strconv.Itoa(r.Requests) + "/" + strconv.Itoa(r.Seconds) + "s"
	if !r.Window.Always() {
		s += " " + r.Window.String()
	}
	return s
}

// A Window is a time of every day, HHMM-HHMM in robots.txt. From and To are minutes of the
// day, 0 to 1440, in UTC unless the operator sets another time zone (RATE-06, D-29). The
// zero value is always open.
type Window struct {
	From, To int16
	Set      bool // false for a window that is always open
}

// Always reports whether the window is always open.
func (w Window) Always() bool { return !w.Set }

// Minutes returns the minutes of the day at which the window opens and closes. An end of
// HH59 means the full hour. An end at or before from is on the next day. The whole day, also
// written with two equal times, is 0 and 1440 (D-30).
func (w Window) Minutes() (from, end int) {
	from = int(w.From)
	end = int(w.To)
	if end%60 == 59 {
		end++
	}
	if !w.Set || w.From == w.To || from == end {
		return 0, 24 * 60
	}
	return from, end
}

// Contains reports whether the window is open at a second of the day, 0 to 86399.
func (w Window) Contains(second int) bool {
	m := second / 60
	from, end := w.Minutes()
	if from < end {
		return from <= m && m < end
	}
	return m >= from || m < end
}

// String returns HHMM-HHMM, or "" for a window that is always open.
func (w Window) String() string {
	if !w.Set {
		return ""
	}
	return hhmm(w.From) + "-" + hhmm(w.To)
}

func hhmm(m int16) string {
	h := m / 60
	m = m % 60
	return string([]byte{'0' + byte(h/10), '0' + byte(h%10), '0' + byte(m/10), '0' + byte(m%10)})
}

// A problem is the reason why the value of a record is not used, as a phrase.
type problem string

// parseRequestRate reads "N/P[unit] [HHMM-HHMM]". An invalid window is ignored, so the
// rate applies all day, which is the slower reading; then both ok and why are set (D-35).
func parseRequestRate(s string) (r RequestRate, ok bool, why problem) {
	rate := s
	window := ""
	if i := firstBlank(s); i < len(s) {
		rate = s[:i]
		window = trimSpaces(s[i:])
	}
	n, p, found := strings.Cut(rate, "/")
	if !found {
		return r, false, "it is not N/P, documents in a period"
	}
	unit := 1
	if len(p) > 0 {
		switch p[len(p)-1] | 0x20 {
		case 's':
			p = p[:len(p)-1]
		case 'm':
			unit = 60
			p = p[:len(p)-1]
		case 'h':
			unit = 3600
			p = p[:len(p)-1]
		case 'd':
			unit = 86400
			p = p[:len(p)-1]
		}
	}
	var okN, okP bool
	r.Requests, okN = parseCount(n)
	r.Seconds, okP = parseCount(p)
	if !okN || !okP {
		return RequestRate{}, false, "documents and period are not both whole numbers from 1 to 1,000,000,000, " +
			"the period with s, m, h, d or nothing"
	}
	r.Seconds = min(r.Seconds, math.MaxInt/unit) * unit // an int of 32 bits must not overflow
	if window != "" {
		r.Window, okN = parseWindow(window)
		if !okN {
			return r, true, "its time window is not HHMM-HHMM, so the rate applies all day"
		}
	}
	return r, true, ""
}

// maxCount bounds the numbers of a rate, so that no product overflows and no
// period is longer than some thousand years.
const maxCount = 1_000_000_000

func parseCount(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 64)
	return int(n), err == nil && 0 < n && n <= maxCount
}

func firstBlank(s string) int {
	for i := range len(s) {
		if isBlank(s[i]) {
			return i
		}
	}
	return len(s)
}

// parseWindow reads HHMM-HHMM. Spaces around the dash, and ':' or '.' between hours and
// minutes are accepted, and 2400 as an end (D-30).
func parseWindow(s string) (Window, bool) {
	from, to, found := strings.Cut(s, "-")
	if !found {
		return Window{}, false
	}
	f, ok := parseTime(trimSpaces(from))
	if !ok || f == 24*60 {
		return Window{}, false
	}
	t, ok := parseTime(trimSpaces(to))
	if !ok {
		return Window{}, false
	}
	return Window{From: f, To: t, Set: true}, true
}

func parseTime(s string) (int16, bool) {
	var digits [4]byte
	switch {
	case len(s) == 4 && s[1] != ':' && s[1] != '.':
		copy(digits[:], s)
	case len(s) == 5 && (s[2] == ':' || s[2] == '.'):
		digits = [4]byte{s[0], s[1], s[3], s[4]}
	case len(s) == 4: // H:MM
		digits = [4]byte{'0', s[0], s[2], s[3]}
	default:
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || '9' < c {
			return 0, false
		}
	}
	h := int16(digits[0]-'0')*10 + int16(digits[1]-'0')
	m := int16(digits[2]-'0')*10 + int16(digits[3]-'0')
	if h > 24 || m > 59 || h == 24 && m > 0 {
		return 0, false
	}
	return h*60 + m, true
}

// parseDelay reads a Crawl-delay: decimal digits with at most one dot (D-44).
func parseDelay(s string) (seconds float64, ok bool, why problem) {
	dot := false
	digits := 0
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			digits++
		case c == '.' && !dot:
			dot = true
		default:
			return 0, false, "it is not a plain number of seconds"
		}
	}
	if digits == 0 {
		return 0, false, "it is not a plain number of seconds"
	}
	seconds, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, false, "it is too large"
	}
	return seconds, true, ""
}
