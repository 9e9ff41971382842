package server

import (
	"log/slog"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/robotskit/robots/cmd/internal/ask"
)

// loggedURL returns the path and the query of a request. Values that are a token, the id of a permit or a
// URL with a password are xxxxx.
func (v *exchange) loggedURL() string {
	u := v.request.URL
	if u.RawQuery == "" {
		return ask.Clip(u.Path)
	}
	pairs := strings.Split(u.RawQuery, "&")
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if v.isSecret(name) {
			name = "xxxxx"
		}
		if v.isSecret(value) || strings.HasSuffix(name, "token") {
			value = "xxxxx"
		}
		if strings.Contains(pair, "=") {
			name += "=" + value
		}
		pairs[i] = name
	}
	text := u.EscapedPath() + "?" + strings.Join(pairs, "&")
	return text[:min(len(text), 2048)]
}

// isSecret reports whether a name or a value of a query is a token, a permit or a URL with a password, or
// cannot be read.
func (v *exchange) isSecret(escaped string) bool {
	text, err := url.QueryUnescape(escaped)
	if err != nil {
		return true
	}
	if find(v.settings.tokens, strings.TrimPrefix(text, "Bearer ")) != nil || strings.HasPrefix(text, permitHead) {
		return true
	}
	site, err := url.Parse(text)
	return err == nil && site.User != nil
}

// namesPermit reports whether a path has the id of a permit.
func namesPermit(text string) bool {
	if !strings.Contains(text, "permits") { // as in most
		return false
	}
	cleaned := path.Clean("/" + text)
	return strings.HasPrefix(cleaned, "/v1/permits/") && cleaned != "/v1/permits/next"
}

// note logs a request. Without --log-urls, the line contains no query and no text of the
// client.
func (v *exchange) note(took time.Duration) {
	r := v.request
	if !v.gate.log.Enabled(r.Context(), slog.LevelInfo) {
		return
	}
	target := ask.Clip(r.URL.Path)
	switch {
	case namesPermit(r.URL.Path):
		target = "/v1/permits/" // an id is a right
	case v.settings.LogURLs:
		target = v.loggedURL()
	}
	line := slog.NewRecord(v.arrived.Add(took), slog.LevelInfo, "request", 0) // a Logger would also look up its caller
	line.AddAttrs(
		slog.String("id", v.id), slog.String("client", v.Name), slog.String("method", ask.Clip(r.Method)), slog.String("url", target),
		slog.Int("status", v.status), slog.Float64("ms", float64(took.Microseconds())/1000), slog.Int64("bytes", v.bytes),
	)
	switch {
	case v.questions == 1:
		if v.origin != "" {
			line.AddAttrs(slog.String("origin", ask.Clip(v.origin)))
		}
		line.AddAttrs(slog.String("outcome", v.outcome.String()))
	case v.questions > 1:
		line.AddAttrs(slog.Int("questions", v.questions))
	}
	if v.traceID != "" {
		line.AddAttrs(slog.String("trace_id", v.traceID))
	}
	_ = v.gate.log.Handler().Handle(r.Context(), line) // the log might be closed
}
