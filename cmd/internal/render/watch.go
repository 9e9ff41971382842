package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
)

// Site writes a report as text, with the site between two marks.
func Site(w io.Writer, r *answer.SiteReport, mark string) {
	severity := cmp.Or(r.Severity, "unchanged")
	fmt.Fprintf(w, "%s%s%s: %s, observed %s", mark, robots.Printable(r.Site), mark, severity, r.Observed.Format(time.RFC3339))
	if !r.Since.IsZero() && r.Severity != "" {
		fmt.Fprintf(w, "; previous version of %s", r.Since.Format(time.RFC3339))
	}
	fmt.Fprintln(w)
	for _, e := range r.Events {
		names := ""
		if len(e.Crawlers) > 0 {
			names = Listed(e.Crawlers, 5) + ": "
		}
		fmt.Fprintf(w, "  %-8s  %s\n", e.Severity, robots.Printable(names+e.Text))
	}
}

// SiteMarkdown writes a report as Markdown.
func SiteMarkdown(w io.Writer, r *answer.SiteReport) {
	fmt.Fprintf(w, "### %s: %s\n\n", r.Site, cmp.Or(r.Severity, "unchanged"))
	for _, e := range r.Events {
		names := ""
		for i, name := range e.Crawlers {
			names += [...]string{" for ", ", "}[min(i, 1)] + MdSpan(name)
		}
		fmt.Fprintf(w, "- **%s**%s: %s\n", e.Severity, names, MdSpan(e.Text))
	}
	fmt.Fprintln(w)
}

// slackText escapes what begins links and mentions, such as <!channel>, in Slack's messages.
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// A SlackMessage is the body of a request to an incoming webhook of Slack.
type SlackMessage struct {
	Text string `json:"text"`
}

// Slack returns the message about reports.
func Slack(reports []*answer.SiteReport) SlackMessage {
	var text strings.Builder
	for _, r := range reports {
		Site(&text, r, "*")
	}
	return SlackMessage{slackText.Replace(text.String())}
}
