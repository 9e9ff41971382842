package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/robotskit/robots"
)

// maxMarkdown limits what is written for a comment, in bytes: GitHub takes 65,536
// characters.
const maxMarkdown = 60_000

func (r *Report) writeMarkdown(w io.Writer) {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s\n", r.Command, r.Summary)
	head := "\n| | place | finding |\n| --- | --- | --- |\n"
	for _, f := range r.Shown() {
		row := fmt.Sprintf("%s| %s | %s | %s |\n", head, f.Level, mdCode(f.location()), mdCode(f.Message))
		if b.Len()+len(row) > maxMarkdown {
			fmt.Fprintf(&b, "\nTruncated to fit a comment: `%s` shows everything.\n", r.Command)
			break
		}
		b.WriteString(row)
		head = ""
	}
	_, _ = io.WriteString(w, b.String())
}

// PrintableLines makes lines safe for a terminal.
func PrintableLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		content, ended := strings.CutSuffix(line, "\n")
		b.WriteString(robots.Printable(content))
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// mdCode writes text from a file as code in a cell of a table, shortened.
func mdCode(s string) string {
	const most = 200
	s = robots.Printable(s)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return strings.ReplaceAll(MdSpan(s), "|", `\|`)
}

// MdSpan writes text from a file as code: no character of it is Markdown, and no name in it
// notifies anybody.
func MdSpan(s string) string {
	s = robots.Printable(s)
	fence := "`"
	pad := ""
	for strings.Contains(s, fence) {
		fence = fence + "`"
		pad = " "
	}
	if s == "" || s[0] == ' ' {
		pad = " "
	}
	return fence + pad + s + pad + fence
}

// mdText writes text that is Markdown for no renderer as it is, and other text as code.
func mdText(s string) string {
	s = robots.Printable(s)
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" ,.;:%()-", r)
	}
	special := func(r rune) bool { return !plain(r) }
	if strings.ContainsFunc(s, special) || strings.Contains(s, "www.") {
		return MdSpan(s)
	}
	return s
}
