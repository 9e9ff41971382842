package urllist

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A SitemapReader reads the locations of a sitemap or a sitemap index, whatever the length of its lines.
type SitemapReader struct {
	Line int // of the last location
	x    *xml.Decoder
	root string
}

// NewSitemapReader returns a reader of a document.
func NewSitemapReader(r io.Reader) *SitemapReader {
	x := xml.NewDecoder(r)
	x.Strict = false
	x.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // URLs are ASCII
	return &SitemapReader{x: x}
}

// Index reports whether the locations are those of sitemaps.
func (s *SitemapReader) Index() bool { return s.root == "sitemapindex" }

// Next returns the next location, and io.EOF after the last. Locations of images and videos are no pages, and left out.
func (s *SitemapReader) Next() (string, error) {
	for {
		t, err := s.x.Token()
		if errors.Is(err, io.EOF) {
			return "", io.EOF
		} else if err != nil {
			return "", fmt.Errorf("not a sitemap: %w", err)
		}
		e, ok := t.(xml.StartElement)
		if ok && s.root == "" {
			s.root = e.Name.Local
			if s.root != "sitemapindex" && s.root != "urlset" {
				return "", fmt.Errorf("not a sitemap: it begins with <%s>", clip(s.root))
			}
		}
		if !ok || e.Name.Local != "loc" || e.Name.Space != "" && !strings.Contains(e.Name.Space, "/schemas/sitemap/") {
			continue // <image:loc> is not a page
		}
		s.Line, _ = s.x.InputPos()
		var url string
		if err := s.x.DecodeElement(&url, &e); err != nil {
			return "", fmt.Errorf("not a sitemap: %w", err)
		}
		return strings.TrimSpace(url), nil
	}
}

// clip shortens the name of an element for a message.
func clip(name string) string {
	const most = 80
	if len(name) > most {
		return name[:most] + "..."
	}
	return name
}

// readMarkup returns the URLs of a sitemap. What precedes a mistake in it counts.
func readMarkup(text string) List {
	s := NewSitemapReader(strings.NewReader(text))
	list := List{Kind: Sitemap}
	for {
		url, err := s.Next()
		if err != nil {
			break
		}
		list.URLs = append(list.URLs, url)
	}
	switch {
	case s.Index():
		list.Kind = Index
	case s.root != "urlset":
		list.Kind = Markup
	}
	return list
}
