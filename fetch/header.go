package fetch

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxSeconds bounds the seconds in a header: 68 years (RFC 9111 section 1.2.2).
const maxSeconds = 1<<31 - 1

// statedLife returns the lifetime of a response by its own headers, and the deciding one
// (CACHE-04, RFC 9111 section 4.2). The lifetime can be negative.
func statedLife(h http.Header, now time.Time) (by string, life time.Duration) {
	by, life = cacheControl(h.Values("Cache-Control"))
	if by == "" {
		expires := h.Get("Expires")
		if expires == "" {
			return "", 0
		}
		by = "expires"
		date, err := http.ParseTime(h.Get("Date"))
		if err != nil {
			date = now
		}
		if t, err := http.ParseTime(expires); err == nil {
			life = min(t.Sub(date), maxSeconds*time.Second)
		}
		// An invalid Expires means "already expired" (RFC 9111 section 5.3).
	}
	if age, ok := seconds(h.Get("Age")); ok {
		life -= age
	}
	return by, life
}

// cacheControl reads s-maxage, else max-age, of a Cache-Control. no-store and no-cache are a
// lifetime of 0. The shortest of several counts; an invalid value is read as 0 (RFC 9111
// section 4.2.1).
func cacheControl(values []string) (by string, life time.Duration) {
	found := map[string]time.Duration{}
	for _, v := range values {
		for directive := range strings.SplitSeq(v, ",") {
			name, value, _ := strings.Cut(directive, "=")
			name = strings.ToLower(strings.TrimSpace(name))
			switch name {
			case "no-store", "no-cache":
				if value != "" { // no-cache="field" applies only to that field
					continue
				}
				found[name] = 0
			case "max-age", "s-maxage":
				d, _ := seconds(strings.Trim(value, " \t\""))
				if old, ok := found[name]; !ok || d < old {
					found[name] = d
				}
			}
		}
	}
	for _, name := range []string{"no-store", "no-cache", "s-maxage", "max-age"} {
		if d, ok := found[name]; ok {
			return name, d
		}
	}
	return "", 0
}

// seconds reads a number of seconds in digits, at most maxSeconds.
func seconds(s string) (time.Duration, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 64)
	return time.Duration(min(n, maxSeconds)) * time.Second, err == nil || errors.Is(err, strconv.ErrRange)
}

// RetryAfter returns the wait that the Retry-After of a response requests: seconds, or a date
// relative to the server's own Date, or to now without one (RFC 9110 section 10.2.3). It is 0
// if there is none.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if d, ok := seconds(v); ok {
		return d
	}
	t, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(t.Sub(now), 0), maxSeconds*time.Second)
}
