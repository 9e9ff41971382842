package fetch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/robotskit/robots"
)

// Redirected returns CauseNone if a redirect to next is followed after these hops, of which
// the last is the redirect, or else the cause that ends the fetch (REDIR-01, D-24). Next is an
// absolute URL, as Judge returns it.
func (l Limits) Redirected(hops []Hop, next string) Cause {
	if slices.ContainsFunc(hops, func(h Hop) bool { return h.URL == next }) {
		return RedirectLoop
	}
	if len(hops) > max(l.filled().Redirects, 0) {
		return RedirectLimit
	}
	return CauseNone
}

// locate returns the target of a redirect: the canonical origin and a path that can be sent.
func locate(at robots.Origin, target string, r *reply) (next robots.Origin, location string, f *failure) {
	if !slices.Contains([]int{301, 302, 303, 307, 308}, r.StatusCode) {
		return next, "", &failure{BadRedirect, "a 3xx status without a single redirect target"}
	}
	values := slices.Compact(slices.Clone(r.Header.Values("Location")))
	switch {
	case len(values) == 0 || strings.TrimSpace(values[0]) == "":
		return next, "", &failure{BadRedirect, "no Location"}
	case len(values) > 1:
		return next, "", &failure{BadRedirect, "several Locations"}
	}
	url := reference(at, target, strings.TrimSpace(values[0]))
	scheme, _, _ := strings.Cut(url, ":")
	scheme = strings.ToLower(scheme)
	if scheme != "http" && scheme != "https" {
		return next, "", &failure{ForeignScheme, "to " + scheme}
	}
	next, path, err := robots.ParseURL(url)
	if err != nil {
		return next, "", &failure{BadRedirect, err.Error()}
	}
	return next, sendable(path.String()), nil
}

// reference resolves a Location against the URL of the redirect (RFC 3986 section 5.2, RFC
// 9110 section 10.2.2). It does not use net/url, which rejects values that servers send and
// browsers follow, such as raw UTF-8 and invalid escapes.
func reference(at robots.Origin, target, value string) string {
	if hasScheme().MatchString(value) {
		return value
	}
	value, _, _ = strings.Cut(value, "#")
	base, _, _ := strings.Cut(target, "?")
	switch {
	case strings.HasPrefix(value, "//"):
		return at.Scheme() + ":" + value
	case value == "":
		return at.String() + target
	case value[0] == '?':
		return at.String() + base + value
	case value[0] != '/':
		value = base[:strings.LastIndexByte(base, '/')+1] + value
	}
	path, query, hasQuery := strings.Cut(value, "?")
	path = withoutDots(path)
	if hasQuery {
		path += "?" + query
	}
	return at.String() + path
}

// withoutDots removes the segments . and .. (RFC 3986 section 5.2.4).
func withoutDots(path string) string {
	if strings.HasSuffix(path, "/.") || strings.HasSuffix(path, "/..") {
		path += "/"
	}
	var segments []string
	for s := range strings.SplitSeq(path[1:], "/") {
		switch s {
		case ".":
		case "..":
			segments = segments[:max(len(segments)-1, 0)]
		default:
			segments = append(segments, s)
		}
	}
	return "/" + strings.Join(segments, "/")
}

// sendable escapes what a request line must not contain, so that no Location can end the line
// or the request.
func sendable(path string) string {
	return unsendable().ReplaceAllStringFunc(path, func(s string) string {
		var escaped strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&escaped, "%%%02X", s[i])
		}
		return escaped.String()
	})
}

// Expressions are compiled on first use, as most runs of a program fetch nothing.
var (
	hasScheme = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][-+.0-9A-Za-z]*:`) })
	// The characters " < > \ ^ ` { | }, spaces, and all that is not ASCII.
	unsendable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^!#-;=?-\[\]_a-z~]`) })
)
