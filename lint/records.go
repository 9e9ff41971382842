package lint

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
)

// Checks of sitemaps, delays and the other records.

func itoa(n int) string { return strconv.Itoa(n) }

func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return itoa(n) + " " + thing
}

func sitemapURL(p *pass) {
	site := p.site()
	p.sitemaps(func(l robots.Line, value string) {
		if p.misreading(l) != readAsMeant {
			return
		}
		if value == "" {
			p.add(l.Span, "Sitemap line has no URL").Advice = "write the full URL, with https://"
			return
		}
		if origin, _, err := robots.ParseURL(value); err == nil && (origin.Scheme() == "http" || origin.Scheme() == "https") {
			return
		}
		d := p.add(l.Value, quote(value)+" is not a full URL")
		d.Advice = "write the full URL, with https:// and the host"
		intended := ""
		switch {
		case strings.HasPrefix(value, "//"):
			scheme, _, _ := strings.Cut(cmp.Or(site, "https"), ":")
			intended = scheme + ":" + value
		case site != "" && value[0] == '/':
			intended = site + value
		case hasHost(value):
			intended = "https://" + value
		default:
			return
		}
		d.Advice = "write " + intended
		d.edit(Edit{l.Value.Start, l.Value.End, intended})
	})
}

// site returns the origin of the first full URL of a sitemap, or "".
func (p *pass) site() (site string) {
	p.sitemaps(func(_ robots.Line, value string) {
		if origin, _, err := robots.ParseURL(value); err == nil && site == "" {
			site = origin.String()
		}
	})
	return site
}

func repeatedSitemap(p *pass) {
	lines := map[string]int{}
	p.sitemaps(func(l robots.Line, value string) {
		if line, ok := lines[value]; ok && value != "" {
			d := p.add(l.Span, "this sitemap is already listed at line "+itoa(line))
			d.Advice = "delete this line"
			d.edit(p.withoutLine(l))
			return
		}
		lines[value] = l.Number
	})
}

// withoutLine deletes a line with its end.
func (p *pass) withoutLine(l robots.Line) Edit {
	start := l.Span.Start
	end := l.Span.End
	switch {
	case strings.HasPrefix(string(p.body[end:min(end+2, len(p.body))]), "\r\n"):
		end += 2
	case end < len(p.body):
		end++
	}
	return Edit{Start: start, End: end}
}

func isPace(f robots.Field) bool {
	return f == robots.FieldCrawlDelay || f == robots.FieldRequestRate || f == robots.FieldVisitTime
}

// record reads a line as a record of the group of *.
func (p *pass) record(l robots.Line) (rec robots.Record, ok bool) {
	body := []byte("User-agent: *\n" + l.Field.String() + ": " + p.textOf(l.Value) + "\n")
	for rec := range robots.Parse(body).Rules(robots.RFC9309).Records() {
		return rec, true
	}
	return rec, false
}

func badValue(p *pass, l robots.Line) {
	if l.Field <= robots.FieldSitemap || l.Field == robots.FieldHost || p.misreading(l) != readAsMeant {
		return
	}
	rec, ok := p.record(l)
	if !ok || rec.Problem == "" {
		return
	}
	at := l.Value
	if at.Start == at.End {
		at = l.Span
	}
	message := "this value is ignored: "
	if rec.Usable {
		message = "part of this value is ignored: "
	}
	d := p.add(at, message+rec.Problem)
	d.Dialects = p.where(d, func(v *view) bool { return v.uses(l.Field) })
}

func paceOutsideGroup(p *pass) {
	for l := range p.beforeGroups() {
		if isPace(l.Field) {
			p.add(l.Name, p.textOf(l.Name)+" precedes the first User-agent line, so it applies to no crawler").
				Advice = "move it below the User-agent line that it is for"
		}
	}
}

// longDelaySeconds is the Crawl-delay, in seconds, above which a crawler fetches few pages: 1,440
// per day.
const longDelaySeconds = 60

func longDelay(p *pass, l robots.Line) {
	if l.Field != robots.FieldCrawlDelay {
		return
	}
	if rec, ok := p.record(l); ok && rec.Usable && rec.Delay > longDelaySeconds {
		pages := int(24 * 60 * 60 / rec.Delay)
		p.add(l.Value, "at this rate a crawler fetches at most "+plural(pages, "page")+" a day")
	}
}

func paceIgnored(p *pass) {
	ownGroup := false // the user-agent lines directly above name Googlebot (D-08)
	closed := true    // the run of user-agent lines is over
	for l := range p.lines() {
		switch {
		case l.Field == robots.FieldUserAgent:
			if closed {
				ownGroup = false
				closed = false
			}
			ownGroup = ownGroup || strings.EqualFold(p.textOf(l.Value), "Googlebot")
		case isRule(l.Field):
			closed = true
		case l.Field == robots.FieldCrawlDelay:
			closed = true
			if !ownGroup {
				continue
			}
			d := p.add(l.Span, "Googlebot ignores Crawl-delay")
			d.Dialects = p.where(d, func(v *view) bool {
				return strings.HasPrefix(v.dialect.Name, "google") && v.dialect.CrawlDelay == robots.HonorIgnored
			})
		}
	}
}
