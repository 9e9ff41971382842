package source

import (
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
)

// credentials are the users and passwords in the URLs that the user named, each for one origin. They are
// kept in memory for a run, and nowhere else.
type credentials struct {
	mu       sync.Mutex
	byOrigin map[robots.Origin]*url.Userinfo
}

// AddCredentials adds the user and password of a URL, if it has them, to the requests to its origin. The
// first ones of an origin count. They have to be added before the site is fetched.
func (l *Live) AddCredentials(origin robots.Origin, rawURL string) {
	if !strings.Contains(rawURL, "@") || origin.IsZero() {
		return
	}
	user := ask.Credentials(rawURL)
	switch {
	case user == nil:
		return
	case origin.Scheme() == "ftp":
		l.Std.WarnOnce(
			"login "+origin.String(), "the user and the password for %s are ignored: over ftp, robots.txt is that of anonymous users",
			origin,
		)
		return
	}
	l.credentials.mu.Lock()
	defer l.credentials.mu.Unlock()
	first, known := l.credentials.byOrigin[origin]
	switch {
	case !known:
		l.credentials.byOrigin[origin] = user
	case first.String() != user.String():
		l.Std.WarnOnce("credentials "+origin.String(), "%s is named with different users or passwords; the first ones are used", origin)
	}
}

// credentialsOf returns the user and password for an origin, nil for none.
func (l *Live) credentialsOf(origin robots.Origin) *url.Userinfo {
	l.credentials.mu.Lock()
	defer l.credentials.mu.Unlock()
	return l.credentials.byOrigin[origin]
}

// CacheOf returns the cache with the record of an origin. What was fetched with a password is not stored, as other runs
// would use it without one, and what was stored without it is not used.
func (l *Live) CacheOf(origin robots.Origin) *cache.Cache {
	if l.credentialsOf(origin) != nil {
		return l.unstored
	}
	return l.Cache
}

// withoutUser returns a URL without its user and password, as it is requested.
func withoutUser(rawURL string) string {
	before, _, after := answer.CutUser(rawURL)
	return before + after
}

// authorize adds the user and password of a request's origin, if it has any. net/http sends the User of a URL with this request
// alone, while an Authorization header would follow redirects to subdomains.
func (l *Live) authorize(r *http.Request) {
	if origin, _, err := robots.ParseURL(r.URL.String()); err == nil {
		r.URL.User = l.credentialsOf(origin)
	}
}
