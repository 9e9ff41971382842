package answer

import "github.com/robotskit/robots"

// A PageCheck is the outlook of a page for a crawler, and where the page and its robots.txt are from.
type PageCheck struct {
	Outlook
	Page      *PageFetch `json:"page"`                // that was fetched
	Truncated bool       `json:"truncated,omitempty"` // later rules of a page given with --html are unknown
	*SiteOutcome

	Crawler   Crawler `json:"-"`
	BlockedAt string  `json:"-"` // the redirect that is blocked, "" for the page itself
}

// Title returns the usual name of the crawler, or else the given one.
func (c *PageCheck) Title() string {
	if c.Name != nil {
		return *c.Name
	}
	return c.Crawler.Name
}

// A PageVerdict is the verdict of robots.txt on a page for a crawler.
type PageVerdict struct {
	Verdict   *robots.Verdict // nil without a robots.txt
	BlockedAt string          // the redirect that is blocked, "" for the page itself
}

// Allows reports whether the crawler may fetch the page.
func (v *PageVerdict) Allows() bool { return v.Verdict != nil && v.Verdict.Allowed }

// A PageFetch is the fetch of a page.
type PageFetch struct {
	Status *int     `json:"status"` // of the last response
	URLs   []string `json:"urls"`   // requested, redirects included
	Type   *string  `json:"type"`   // Content-Type
	Bytes  int      `json:"bytes"`  // of the body that were read
	Cut    bool     `json:"cut"`    // the page is longer than what was read
	Error  *string  `json:"error"`  // why the page is unavailable or truncated
}

// A SiteOutcome is the outcome of the fetch of a robots.txt.
type SiteOutcome struct {
	RobotsURL string `json:"robots_url"` // of a site
	Outcome   string `json:"outcome"`    // of the fetch of a site's robots.txt
	Note      string `json:"note"`       // on the outcome, can be empty
}
