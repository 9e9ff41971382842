package web

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestGuide: every control that the guide to the page names is on the page, and the guide has at most two screens and a picture.
func TestGuide(t *testing.T) {
	guide, err := os.ReadFile("../../../../docs/web.md")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := fs.Glob(os.DirFS("src"), "*.js")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("assets/index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		source, err := os.ReadFile("src/" + script)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, source...)
	}
	page := strings.ReplaceAll(string(text), "'", ">")
	names := regexp.MustCompile(`\*\*(.+?)\*\*`).FindAllStringSubmatch(string(guide), -1)
	if len(names) < 15 {
		t.Errorf("the guide names %d controls", len(names))
	}
	for _, name := range names {
		if !strings.Contains(page, ">"+name[1]+"<") && !strings.Contains(page, ">"+name[1]+">") {
			t.Errorf("the page has no control %q", name[1])
		}
	}
	if lines := strings.Count(string(guide), "\n"); lines > 100 {
		t.Errorf("the guide has %d lines, more than two screens", lines)
	}
	picture, err := os.Stat("../../../../docs/page.png")
	if err != nil || picture.Size() > 250_000 || !strings.Contains(string(guide), "(page.png)") {
		t.Errorf("the picture: %v, %v", picture, err)
	}
}
