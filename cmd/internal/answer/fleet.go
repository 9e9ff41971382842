package answer

import (
	"net/netip"
	"time"
)

// A FleetStatus is the workers and servers of a fleet.
type FleetStatus struct {
	At      time.Time     `json:"at"`      // by the clock of a server
	Workers []FleetWorker `json:"workers"` // by name
	Servers []FleetServer `json:"servers"` // those of Redis

	Parts int `json:"-"` // in how many parts the state is stored
}

// A FleetWorker is a process that acquires permits.
type FleetWorker struct {
	ID               string    `json:"id"`                 // 10 hexadecimal digits
	Name             string    `json:"name"`               // empty for one that is away for long
	Heartbeat        time.Time `json:"heartbeat"`          // the last one
	Away             bool      `json:"away"`               // heartbeats are missing, and its permits have expired
	Left             bool      `json:"left"`               // it was closed
	Drained          bool      `json:"drained"`            // it acquires no more permits
	PermitsPerSecond float64   `json:"permits_per_second"` // between its last two heartbeats
	PartsAway        int       `json:"parts_away"`         // parts of the state that it cannot reach
}

// A FleetServer is a Redis server. Without an answer, only its address and the error are known.
type FleetServer struct {
	Addr              string   `json:"addr"`                // host and port
	Error             *string  `json:"error"`               // why there is no answer
	Replica           bool     `json:"replica"`             // not a primary
	Version           string   `json:"version"`             // of Redis
	Memory            int64    `json:"memory"`              // bytes used
	MaxMemory         int64    `json:"max_memory"`          // bytes, 0 for no limit
	Keys              int64    `json:"keys"`                // in all its databases
	CommandsPerSecond float64  `json:"commands_per_second"` // at present
	Up                Interval `json:"up_seconds"`          // since its start
	WriteError        *string  `json:"write_error"`         // why it refuses permits
}

// Healthy reports whether all workers send heartbeats and all servers work.
func (s *FleetStatus) Healthy() bool {
	for i := range s.Workers {
		if s.Workers[i].Away {
			return false
		}
	}
	for i := range s.Servers {
		if s.Servers[i].Error != nil || s.Servers[i].WriteError != nil {
			return false
		}
	}
	return true
}

// A FleetConfig is the options that all workers share.
type FleetConfig struct {
	Version         int      `json:"version"`          // 0 before the first worker has joined
	Concurrency     int      `json:"concurrency"`      // requests to a site at the same time
	AddressInterval Interval `json:"address_interval"` // between requests to an IP address
	FetchInterval   Interval `json:"fetch_interval"`   // between robots.txt fetches from an IP address
	Lifetime        Interval `json:"lifetime"`         // of a permit
}

// A FleetHold is a site, a host or all sites that an operator holds.
type FleetHold struct {
	Target string     `json:"target"` // an origin, a host, or "all sites"
	Until  *time.Time `json:"until"`  // null until released
}

// A FleetLogEntry is a change that an operator made.
type FleetLogEntry struct {
	At   time.Time `json:"at"`   // by the clock of a server
	Who  string    `json:"who"`  // user and host
	What string    `json:"what"` // the command
}

// A FleetProblem is a problem with the Redis of a fleet.
type FleetProblem struct {
	Check string  `json:"check"` // one word: the check that found it
	Node  *string `json:"node"`  // address of the server, null for all
	Text  string  `json:"text"`  // a sentence, without its period
	Do    string  `json:"do"`    // likewise: the fix
}

// A FleetChange is a change that a command made.
type FleetChange struct {
	To   string `json:"to"`   // the site, worker or option
	Done string `json:"done"` // a phrase
}

// A FleetSite is the state of a site in a fleet. A crawler decides the next request.
type FleetSite struct {
	Origin     string            `json:"origin"`        // scheme, host and port
	At         time.Time         `json:"at"`            // by the clock of its server
	Record     *FleetRecord      `json:"record"`        // of its robots.txt, null if there is none
	Lease      Interval          `json:"lease_seconds"` // for which a worker can still fetch robots.txt, 0 if none does
	Last       *time.Time        `json:"last"`          // end of a request, or start of the last one
	RetryAfter *time.Time        `json:"retry_after"`   // end of a Retry-After
	BackOff    int               `json:"back_off"`      // factor of the interval, 0 without overload
	Overload   *time.Time        `json:"overload"`      // when the site last signaled it
	Held       *time.Time        `json:"held"`          // end of an operator's hold
	Permits    []FleetSitePermit `json:"permits"`       // acquired ones
	Next       *time.Time        `json:"next"`          // when the next request may start, null if none may
	Reasons    []string          `json:"reasons"`       // sentences why it may not start earlier
	WriteError *string           `json:"write_error"`   // why its server refuses writes, so that nothing starts

	LastUnknown bool   `json:"-"` // the site counts as requested now
	HeldForever bool   `json:"-"` // until released
	NoNext      string `json:"-"` // why there is no next request
}

// A FleetRecord is a robots.txt in the shared store.
type FleetRecord struct {
	Outcome string    `json:"outcome"`           // of the fetch
	Status  int       `json:"status"`            // of the last response
	Cause   string    `json:"cause"`             // of the outcome
	Bytes   int       `json:"bytes"`             // of the file
	Fetched time.Time `json:"fetched"`           // when the fetch ended
	Expires time.Time `json:"expires,omitzero"`  // when it is fetched again
	NextTry time.Time `json:"next_try,omitzero"` // when the next attempt is due

	Answered bool   `json:"-"` // the site answered
	Problem  string `json:"-"` // otherwise the cause, a phrase
}

// A FleetSitePermit is the right to send one request.
type FleetSitePermit struct {
	Worker *string   `json:"worker"` // its id, null for a client of a service
	Start  time.Time `json:"start"`  // of the request
	End    time.Time `json:"end"`    // when the permit expires
}

// A FleetAddress is the state of an IP address in a fleet.
type FleetAddress struct {
	Addr  netip.Addr `json:"addr"`  // IPv4 or IPv6
	At    time.Time  `json:"at"`    // by the clock of its server
	Page  *time.Time `json:"page"`  // last reserved start of a request for a page
	Fetch *time.Time `json:"fetch"` // last reserved start of a robots.txt fetch
}
