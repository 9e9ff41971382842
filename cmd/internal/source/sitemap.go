package source

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/urllist"
)

// isXML reports whether the first character that is not blank begins an element.
func (l *URLList) isXML() bool {
	for n := 1; ; n++ {
		ahead, err := l.Peek(n)
		if err != nil || strings.IndexByte(" \t\r\n\uFEFF", ahead[n-1]) < 0 {
			return err == nil && ahead[n-1] == '<'
		}
	}
}

// readSitemap reads a sitemap, whatever the length of its lines. The sitemaps of an index at a URL are
// downloaded, those of a file are files beside it with the names that they have on the site.
func (l *URLList) readSitemap(yield func(string, error) bool) error {
	s := urllist.NewSitemapReader(l)
	for {
		url, err := s.Next()
		if err != nil {
			return err // io.EOF at the end
		}
		l.Line = s.Line
		if !s.Index() {
			if !yield(url, nil) {
				return nil
			}
			continue
		}
		more, err := l.readIndexed(url, yield)
		if err != nil || !more {
			return err
		}
	}
}

// readIndexed reads a sitemap of an index, and reports whether more are wanted.
func (l *URLList) readIndexed(url string, yield func(string, error) bool) (bool, error) {
	child, err := l.sitemap(url)
	if err != nil {
		return false, err
	}
	defer child.Close()
	l.child = child
	for url, err := range child.All() {
		if !yield(url, err) {
			return false, nil
		}
	}
	l.Err = child.Err
	if l.Err != nil {
		return false, nil
	}
	l.child = nil
	return true, nil
}

// sitemap opens a sitemap of an index.
func (l *URLList) sitemap(url string) (*URLList, error) {
	if l.depth == maxNested {
		return nil, errors.New("its sitemap indexes are nested too deeply")
	}
	_, path, err := robots.ParseURL(url)
	if err != nil {
		return nil, err
	}
	name := url
	if !ask.NamesSite(l.name) {
		name, _, _ = strings.Cut(path.String(), "?")
		name = filepath.Join(filepath.Dir(l.name), filepath.Base(filepath.FromSlash(name)))
	}
	child, err := l.open(name)
	if err != nil && !ask.NamesSite(name) {
		err = fmt.Errorf("it is a sitemap index, and its sitemap %s is not beside it: download it to %s", ask.Clip(url), ask.Clip(name))
	}
	if err != nil {
		return nil, err
	}
	child.depth = l.depth + 1
	return child, nil
}
