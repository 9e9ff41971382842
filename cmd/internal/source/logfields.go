package source

import (
	"cmp"
	"encoding/json"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parseJSONLogLine parses a line of Cloudflare Logpush or nginx. Other fields are ignored.
func parseJSONLogLine(line string) (l LogLine, problem string) {
	var fields struct {
		ClientIP, ClientRequestMethod, ClientRequestURI string
		ClientRequestUserAgent                          *string
		EdgeStartTimestamp                              json.RawMessage // a number or a string

		Address   string          `json:"remote_addr"`
		Forwarded string          `json:"http_x_forwarded_for"`
		Request   string          `json:"request"`
		Method    string          `json:"request_method"`
		URI       string          `json:"request_uri"`
		UserAgent *string         `json:"http_user_agent"`
		TimeISO   json.RawMessage `json:"time_iso8601"`
		TimeLocal json.RawMessage `json:"time_local"`
		Seconds   json.RawMessage `json:"msec"`
	}
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		return l, "invalid JSON, or a field that is not a string"
	}
	l.Host = cmp.Or(fields.ClientIP, fields.Address)
	if l.Host == "" {
		return l, "no ClientIP (Cloudflare) or remote_addr (nginx)"
	}
	if isAddressList(fields.Forwarded) { // else it is "-", or what a client made up
		l.Forwarded = fields.Forwarded
	}
	l.Request = fields.Request
	if uri := cmp.Or(fields.ClientRequestURI, fields.URI); l.Request == "" && uri != "" {
		l.Request = cmp.Or(fields.ClientRequestMethod, fields.Method, "GET") + " " + uri
	}
	agent := cmp.Or(fields.ClientRequestUserAgent, fields.UserAgent)
	l.Common = agent == nil
	if !l.Common {
		l.UserAgent = cmp.Or(*agent, "-")
	}
	for _, value := range []json.RawMessage{fields.EdgeStartTimestamp, fields.TimeISO, fields.TimeLocal, fields.Seconds} {
		if l.Time.IsZero() {
			l.Time = parseLogTime(strings.Trim(string(value), `"`))
		}
	}
	return l, ""
}

// parseLogTime reads a time of JSON, the zero value if it is unreadable: RFC 3339, that of the common format, or a number of
// seconds or nanoseconds since 1970.
func parseLogTime(text string) time.Time {
	for _, layout := range []string{time.RFC3339, logTimeLayout} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	const nanoseconds = 1e15 // as seconds, this would be in 30 million years
	number, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || !(number > 0 && number < math.MaxInt64):
		return time.Time{}
	case number >= nanoseconds:
		return time.Unix(0, int64(number)).UTC()
	}
	return time.Unix(int64(number), 0).UTC()
}

// parseW3C parses a line in the extended format of W3C, with the fields of the last #Fields line: of IIS, which separates them
// by spaces and writes + for spaces in them, or of CloudFront with tabs and %20. Its times are UTC.
func (p *LogParser) parseW3C(line string) (l LogLine, problem string) {
	values := strings.Fields(line)
	if strings.Contains(line, "\t") {
		values = strings.Split(line, "\t")
	}
	if len(values) != len(p.fields) {
		return l, "not as many values as the #Fields line has names"
	}
	get := func(name string) (value string, ok bool) {
		i := slices.IndexFunc(p.fields, func(field string) bool { return strings.EqualFold(field, name) })
		if i < 0 || values[i] == "-" {
			return "", i >= 0
		}
		return values[i], true
	}
	l.Host, _ = get("c-ip")
	if l.Host == "" {
		return l, "no c-ip"
	}
	for _, name := range []string{"x-forwarded-for", "cs(x-forwarded-for)"} {
		if list, _ := get(name); isAddressList(w3cText(list)) {
			l.Forwarded = w3cText(list)
		}
	}
	if path, _ := get("cs-uri-stem"); path != "" {
		method, _ := get("cs-method")
		l.Request = cmp.Or(method, "GET") + " " + path
		if query, _ := get("cs-uri-query"); query != "" {
			l.Request += "?" + query
		}
	}
	agent, ok := get("cs(user-agent)")
	l.Common = !ok
	if ok {
		l.UserAgent = cmp.Or(w3cText(agent), "-")
	}
	day, _ := get("date")
	hour, _ := get("time")
	l.Time, _ = time.Parse(time.DateTime, day+" "+hour)
	return l, ""
}

// w3cText decodes the spaces in a value. A plus sign that the client sent cannot be told from a space.
func w3cText(value string) string {
	if text, err := url.PathUnescape(value); err == nil && strings.Contains(value, "%20") {
		return text
	}
	return strings.ReplaceAll(value, "+", " ")
}
