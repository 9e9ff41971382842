package main

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/robotskit/robots/cmd/internal/render"
)

// TestPicture compares docs/explain.svg, which README.md shows, with the output of the command
// in a terminal. To draw it again:
//
//	README=write go test ./cmd/robots -run TestPicture
func TestPicture(t *testing.T) {
	t.Chdir("../..")
	const page, command = "docs/explain.svg", "explain -a MJ12bot -f examples/tricky.txt -d google /no-colon/"
	var out bytes.Buffer
	if status := run(context.Background(), append(strings.Fields(command), "--color=always"), strings.NewReader(""), &out, &out); status != exitDisallowed {
		t.Fatalf("exit status %d: %s", status, &out)
	}
	want := picture("robots "+command, out.String())
	if os.Getenv("README") == "write" {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the command prints: draw it anew with README=write", page)
	}
}

// picture draws a terminal with a command and its output.
func picture(command, out string) []byte {
	const wide, high, left, top = 7.83, 19, 20, 34 // a character, a line, the margins, in pixels
	fills := map[string]string{render.Bold: "font-weight=\"bold\"", render.Faint: "fill=\"#8b98a8\"", render.Red: "fill=\"#ff8080\"", render.Green: "fill=\"#7ee2a0\"", render.Yellow: "fill=\"#f2cc60\""}
	lines := append([]string{"$ " + command}, strings.Split(strings.TrimRight(out, "\n"), "\n")...)
	longest := 0
	escapes := regexp.MustCompile("\x1b\\[([0-9;]*)m|\x1b\\]8;[^\x1b\a]*(?:\a|\x1b\\\\)")
	for _, line := range lines {
		longest = max(longest, len([]rune(escapes.ReplaceAllString(line, ""))))
	}
	var b bytes.Buffer
	width, height := int(float64(longest)*wide)+2*left, len(lines)*high+2*left
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"13\" fill=\"#dfe6ee\">\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#16202c\"/>\n", html.EscapeString(command), width, height)
	for i, line := range lines {
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" xml:space=\"preserve\">", left, top+i*high)
		style, at := "", 0
		text := func(end int) {
			switch s := html.EscapeString(line[at:end]); {
			case s == "":
			case style == "":
				b.WriteString(s)
			default:
				fmt.Fprintf(&b, "<tspan%s>%s</tspan>", style, s)
			}
		}
		for _, m := range escapes.FindAllStringSubmatchIndex(line, -1) {
			text(m[0])
			at = m[1]
			if m[2] < 0 {
				continue // a link
			}
			style = ""
			for code := range strings.SplitSeq(line[m[2]:m[3]], ";") {
				if fill, ok := fills[code]; ok {
					style += " " + fill
				}
			}
		}
		text(len(line))
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
