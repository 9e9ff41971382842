package source

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/duration"
)

// oldCopy is the age from which a copy in a cache between the site and us is worth a note.
const oldCopy = time.Hour

// Evidence returns what the response to a fetch of robots.txt shows about the site, as notes on the
// whole file: crawlers might get another response, or an older one. It returns nil for a nil record.
func Evidence(r *fetch.Record) []answer.Note {
	if r == nil {
		return nil // a file
	}
	var notes []answer.Note
	add := func(clause, text string) { notes = append(notes, answer.Note{Clause: clause, Text: text}) }
	for _, firewall := range []string{"Cf-Mitigated", "X-Amzn-Waf-Action"} {
		if kind := r.Header[firewall]; kind != "" {
			add("HTTP-02", "a firewall answered instead of the site ("+strings.ToLower(firewall)+": "+kind+"); crawlers may get another answer")
		}
	}
	switch {
	case r.Status == http.StatusUnauthorized:
		text := "status 401: the site requires a password"
		if scheme := r.Header["Www-Authenticate"]; scheme != "" {
			text += " (WWW-Authenticate: " + scheme + ")"
		}
		add("HTTP-02", text+"; crawlers, which have none, count that as a missing robots.txt, so it forbids nothing; "+
			"to read the file with yours, name the site as https://user:password@host/")
	case r.Status == http.StatusForbidden && len(notes) == 0:
		add("HTTP-02", "status 403: the server refuses robots.txt; "+
			"a crawler that gets this status counts the file as missing, but others may get another answer")
	}
	if seconds, err := strconv.ParseInt(strings.TrimSpace(r.Header["Age"]), 10, 32); err == nil {
		if age := time.Duration(seconds) * time.Second; r.Outcome == fetch.Success && age >= oldCopy {
			header := "Age: " + strconv.FormatInt(seconds, 10)
			add("CACHE-04", "a cache returned a copy that was "+duration.Text(age)+" old ("+header+"); the file of the site may be newer")
		}
	}
	return notes
}
