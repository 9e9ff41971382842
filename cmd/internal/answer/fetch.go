package answer

import (
	"strconv"
	"time"
)

// A Fetch is the fetch of a robots.txt. Members from expires to sha256 that do not apply are absent.
type Fetch struct {
	URL               string            `json:"url"`                           // as given
	RobotsURL         string            `json:"robots_url"`                    // of its site
	Outcome           string            `json:"outcome"`                       // success, unavailable, unreachable or refused
	Cause             string            `json:"cause"`                         // of the outcome: ok, or a word from the [fault catalogue](fault-catalogue.md)
	Detail            string            `json:"detail"`                        // of the cause: a phrase, can be empty
	Status            int               `json:"status"`                        // of the last response: HTTP status or FTP reply code, 0 without one
	FinalURL          string            `json:"final_url"`                     // of the last request
	Redirects         int               `json:"redirects"`                     // number of those followed
	Started           Time              `json:"started"`                       // when the fetch started
	Fetched           Time              `json:"fetched"`                       // when it ended
	Took              Milliseconds      `json:"took_ms"`                       // including waits for a connection
	Expires           Time              `json:"expires,omitempty"`             // when an answer is fetched again
	StatedBy          string            `json:"stated_by,omitempty"`           // header that states a lifetime of an answer
	StatedSeconds     *int64            `json:"stated_seconds,omitempty"`      // that lifetime in seconds, can be negative
	RetryAfterSeconds *int64            `json:"retry_after_seconds,omitempty"` // requested wait after a failure, in seconds
	FailingSince      Time              `json:"failing_since,omitempty"`       // first failure after the last answer
	Failures          *int              `json:"failures,omitempty"`            // since then
	NextTry           Time              `json:"next_try,omitempty"`            // when the next attempt after a failure is due
	LastGood          Time              `json:"last_good,omitempty"`           // when the last answer was fetched, during an outage
	MissingIs5xx      bool              `json:"missing_is_5xx,omitempty"`      // a probe found that the site answers missing pages with 5xx
	Size              *int              `json:"size,omitempty"`                // bytes of the file
	Truncated         *bool             `json:"truncated,omitempty"`           // the file is longer than the limit
	SHA256            string            `json:"sha256,omitempty"`              // of the file, hexadecimal
	Headers           map[string]string `json:"headers"`                       // of the last response, those that matter
	Hops              []FetchHop        `json:"hops"`                          // requests, the first to the site itself
	Notes             []Note            `json:"notes"`                         // on the response: a firewall, a password, an old copy

	Reason         string        `json:"-"` // of the outcome, a phrase
	Effect         string        `json:"-"` // on crawlers, a sentence
	Lifetime       time.Duration `json:"-"` // of an answer
	FailedBefore   bool          `json:"-"` // the outage began before this fetch
	LastGoodStatus int           `json:"-"` // of the last answer
}

// Answered reports whether the site answered, so that its rules or their absence are known.
func (f *Fetch) Answered() bool { return f.Failures == nil }

// A FetchHop is one request of a fetch.
type FetchHop struct {
	URL      string       `json:"url"`                // requested
	Address  string       `json:"address"`            // of the connection to the site, can be empty
	Protocol string       `json:"protocol,omitempty"` // HTTP/1.0, HTTP/1.1, HTTP/2.0 or FTP
	Via      string       `json:"via,omitempty"`      // URL of a proxy, without its credentials
	Status   int          `json:"status"`             // of the response, 0 without one
	Location string       `json:"location"`           // of a redirect, as sent; else empty
	Received int64        `json:"received"`           // bytes of headers and body as transferred
	DNS      Milliseconds `json:"dns_ms"`             // lookup of the name
	Connect  Milliseconds `json:"connect_ms"`         // all attempted addresses
	TLS      Milliseconds `json:"tls_ms"`             // handshake
	Header   Milliseconds `json:"header_ms"`          // until the headers were complete
	Body     Milliseconds `json:"body_ms"`            // 0 for a redirect, of which it is not read
}

// Milliseconds are a duration, in JSON as exact as a microsecond.
type Milliseconds time.Duration

// MarshalJSON writes milliseconds.
func (m Milliseconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(time.Duration(m).Microseconds())/1000, 'f', -1, 64), nil
}
