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

// maxSlack limits a message in bytes: Slack cuts longer ones, in the middle of a line.
const maxSlack = 30_000

// Slack returns the message about reports: the most that Slack shows, and how many are left out.
func Slack(reports []*answer.SiteReport) SlackMessage {
	var message strings.Builder
	for i, r := range reports {
		var one strings.Builder
		Site(&one, r, "*")
		text := slackText.Replace(one.String())
		if message.Len()+len(text) > maxSlack && i > 0 {
			fmt.Fprintf(&message, "… and %d more sites with a change\n", len(reports)-i)
			break
		}
		message.WriteString(clipLine(text, maxSlack))
	}
	return SlackMessage{message.String()}
}

// clipLine cuts a text at the last end of a line before a number of bytes, at least one line long.
func clipLine(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := strings.LastIndexByte(text[:most], '\n')
	if end < 0 { // within a line: not in the middle of a character or of an escape such as &amp;
		text = strings.ToValidUTF8(text[:most], "")
		if i := strings.LastIndexByte(text, '&'); i > len(text)-len("&amp;") {
			text = text[:i]
		}
		return text + "…\n"
	}
	return text[:end] + "\n…\n"
}
