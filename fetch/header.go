package fetch

import (
	"net/http"
	"strings"
	"time"
)

// maxSeconds bounds the seconds that a header can name: 68 years, as RFC 9111
// section 1.2.2 has it.
const maxSeconds = 1<<31 - 1

// statedLife returns how long an answer lives by its own headers and which of
// them says so (CACHE-04, RFC 9111 section 4.2). The life may be negative.
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
		// An Expires that is no date means "already expired" (RFC 9111 section 5.3).
	}
	if age, ok := seconds(h.Get("Age")); ok {
		life -= age
	}
	return by, life
}

// cacheControl reads s-maxage, else max-age, of a Cache-Control. no-store and
// no-cache are a life of nothing. Of several the least counts; a value that is
// no number is read as 0, as RFC 9111 section 4.2.1 advises.
func cacheControl(values []string) (by string, life time.Duration) {
	found := map[string]time.Duration{}
	for _, v := range values {
		for directive := range strings.SplitSeq(v, ",") {
			name, value, _ := strings.Cut(directive, "=")
			name = strings.ToLower(strings.TrimSpace(name))
			switch name {
			case "no-store", "no-cache":
				if value != "" { // no-cache="field" is about that field alone
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

// seconds reads a number of seconds, digits only; more than maxSeconds count as
// that.
func seconds(s string) (time.Duration, bool) {
	if s = strings.TrimSpace(s); s == "" {
		return 0, false
	}
	n := int64(0)
	for i := range len(s) {
		if s[i] < '0' || '9' < s[i] {
			return 0, false
		}
		n = min(n*10+int64(s[i]-'0'), maxSeconds)
	}
	return time.Duration(n) * time.Second, true
}

// RetryAfter returns how long the Retry-After of an answer asks to wait: seconds, or
// a date taken against the server's own clock where it shows it in Date, else
// against now (RFC 9110 section 10.2.3). It is 0 if nothing is asked.
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
