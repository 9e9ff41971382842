package main

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// This file counts the real URLs that a change of a robots.txt is about.

// A tally is how many URLs change in one direction, with the first of them.
type tally struct {
	n     int
	first string
}

// weight is what --urls finds of a comparison.
type weight struct{ blocked, open tally }

func (w *weight) any() bool { return w.blocked.n+w.open.n > 0 }

// weigh asks both sides of every comparison about the URLs of --urls.
func (d *differ) weigh() error {
	if d.urls == "" {
		return nil
	}
	from, title, err := d.std.open(d.urls)
	if err != nil {
		return err
	}
	defer from.Close()
	var skipped, firstSkipped int
	err = eachURL(from, func(line int, url string) {
		if !d.weighURL(url) {
			if skipped++; skipped == 1 {
				firstSkipped = line
			}
			return
		}
		d.read++
	})
	switch {
	case err != nil:
		return fmt.Errorf("cannot read %s: %w", title, cause(err))
	case d.read == 0:
		return fmt.Errorf("%s holds no URL: --urls takes a list, a sitemap or an access log", title)
	case skipped > 0:
		d.warn("%s of %s without a URL, the first is line %d", count(skipped, "line"), title, firstSkipped)
	}
	return nil
}

// weighURL counts one URL, and reports whether it is one.
func (d *differ) weighURL(url string) bool {
	if url == noURL {
		return false
	}
	for i := range d.sections {
		s := &d.sections[i]
		_, before, err := split(s.old, url, false)
		if err != nil {
			return false
		}
		_, after, _ := split(s.new, url, false) // the same but for the form
		if s.between() && after.String() == robotsTxt.String() {
			continue
		}
		done := map[*comparison]bool{}
		for _, c := range s.crawlers {
			if done[c.shared] {
				continue
			}
			done[c.shared] = true
			a, b := c.shared.rules[0].Allowed(before), c.shared.rules[1].Allowed(after)
			n := &c.shared.urls.blocked
			if b {
				n = &c.shared.urls.open
			}
			if a != b {
				if n.n++; n.n == 1 {
					n.first = url
				}
			}
		}
	}
	return true
}

// eachURL calls fn with the URLs of a list, of a sitemap or of an access log in the
// common or the combined format, compressed with gzip or not, and with their lines.
// For a line that holds none the URL is noURL.
func eachURL(from io.Reader, fn func(line int, url string)) error {
	plain, err := plainLog(from)
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(plain, 64<<10)
	head, _ := r.Peek(512)
	if head = bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\uFEFF"))); len(head) > 0 && head[0] == '<' {
		return eachLoc(r, fn)
	}
	lines := newLineReader(r, maxURL)
	var c chunk
	for number := 0; ; {
		err := lines.chunk(&c)
		for _, l := range c.lines {
			number++
			if text := strings.TrimSpace(string(c.text(l))); text != "" || l.over {
				fn(number, urlOf(text))
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// noURL stands for the URL of a line that has none.
const noURL = ""

// urlOf returns the URL of a line of a list, or the target of the request in a line
// of a log: what follows the method in the first quotes.
func urlOf(line string) string {
	if strings.HasPrefix(line, "/") || strings.HasPrefix(line, "http://") || strings.HasPrefix(line, "https://") {
		return line
	}
	_, request, _ := strings.Cut(line, `"`)
	method, rest, _ := strings.Cut(request, " ")
	target, _, ok := strings.Cut(rest, ` HTTP/`)
	if !ok || method == "" || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return noURL
	}
	if strings.HasPrefix(target, "/") || strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") {
		return target
	}
	return noURL // OPTIONS *, CONNECT host:443
}

// eachLoc calls fn with the URLs of a sitemap.
func eachLoc(r io.Reader, fn func(line int, url string)) error {
	x := xml.NewDecoder(r)
	x.Strict = false
	x.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // URLs are ASCII
	root := ""
	for {
		t, err := x.Token()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("it is no sitemap: %w", err)
		}
		e, ok := t.(xml.StartElement)
		if !ok {
			continue
		}
		if root == "" {
			if root = e.Name.Local; root == "sitemapindex" {
				return errors.New("it is an index of sitemaps: take the sitemaps that it names")
			} else if root != "urlset" {
				return fmt.Errorf("it is no sitemap: it begins with <%s>", clip(root))
			}
		}
		if e.Name.Local != "loc" || e.Name.Space != "" && !strings.Contains(e.Name.Space, "/schemas/sitemap/") {
			continue // <image:loc> is no page
		}
		line, _ := x.InputPos()
		var text string
		if err := x.DecodeElement(&text, &e); err != nil {
			return fmt.Errorf("it is no sitemap: %w", err)
		}
		fn(line, strings.TrimSpace(text))
	}
}
