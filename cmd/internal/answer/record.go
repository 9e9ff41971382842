package answer

import "time"

// A SiteRecord is what a cache keeps of the robots.txt of a site: the last fetch, and the last good copy.
type SiteRecord struct {
	URL          string            `json:"url"`                     // of the robots.txt
	Outcome      string            `json:"outcome"`                 // success, unavailable, unreachable or refused
	Cause        string            `json:"cause"`                   // of the outcome, one word
	Note         string            `json:"note"`                    // the cause as a sentence
	Status       int               `json:"status"`                  // of the last response, 0 without one
	FinalURL     string            `json:"final_url"`               // of the last request
	Started      *time.Time        `json:"started,omitempty"`       // when the fetch started
	Fetched      *time.Time        `json:"fetched,omitempty"`       // when it ended
	Expires      *time.Time        `json:"expires,omitempty"`       // when an answer is fetched again
	NextTry      *time.Time        `json:"next_try,omitempty"`      // when the next attempt after a failure is due
	FailingSince *time.Time        `json:"failing_since,omitempty"` // first failure after the last answer
	Failures     int               `json:"failures,omitempty"`      // since then
	LastGood     *GoodCopy         `json:"last_good,omitempty"`     // during an outage
	Bytes        int               `json:"bytes"`                   // of the file
	SHA256       string            `json:"sha256,omitempty"`        // of the file, hexadecimal
	Truncated    bool              `json:"truncated"`               // the file is longer than the limit
	Degraded     bool              `json:"degraded,omitempty"`      // the shared store was unreachable
	Headers      map[string]string `json:"headers"`                 // of the last response, those that matter
	Hops         []RecordHop       `json:"hops"`                    // requests, the first to the site itself
}

// A GoodCopy is the last answer of a site before an outage.
type GoodCopy struct {
	Status  int        `json:"status"`            // of the response
	Fetched *time.Time `json:"fetched,omitempty"` // when it was fetched
	Bytes   int        `json:"bytes"`             // of the file
	SHA256  string     `json:"sha256,omitempty"`  // of the file, hexadecimal
}

// A RecordHop is one request of a fetch.
type RecordHop struct {
	URL      string  `json:"url"`                // requested
	Address  string  `json:"address"`            // of the connection to the site, can be empty
	Protocol string  `json:"protocol,omitempty"` // HTTP/1.0, HTTP/1.1, HTTP/2.0 or FTP
	Via      string  `json:"via,omitempty"`      // URL of a proxy, without its credentials
	Status   int     `json:"status"`             // of the response, 0 without one
	Location string  `json:"location,omitempty"` // of a redirect, as sent
	Received int64   `json:"received"`           // bytes of headers and body as transferred
	Seconds  float64 `json:"seconds"`            // that it took
}
