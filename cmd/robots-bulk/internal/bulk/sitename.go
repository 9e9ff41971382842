package bulk

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/robotskit/robots"
)

// originOf returns the site that a file name stands for: HOST, HOST:PORT or an origin, with
// escapes as in https%3A%2F%2Fexample.com, with or without .txt; or a folder of that name with
// robots.txt in it, optionally in a folder http or https (default https). Wget writes + for
// the colon on some systems. An archive name is not a site: a failed download would be a site
// that allows everything.
func originOf(name string) (robots.Origin, error) {
	folders := strings.Split(name, "/")
	last := len(folders) - 1
	switch strings.ToLower(path.Ext(folders[last])) { // none of them a top-level domain
	case ".warc", ".wacz", ".arc", ".cdx", ".cdxj", ".wat", ".wet", ".tar", ".tgz", ".gz", ".zst", ".xml", ".jsonl", ".ndjson", ".parquet":
		return robots.Origin{}, errors.New("the name is that of an archive, the content is not")
	}
	if unescaped, err := url.PathUnescape(folders[last]); err == nil {
		folders[last] = unescaped
	}
	host := strings.TrimSuffix(folders[last], ".txt")
	if prefix, ok := strings.CutSuffix(host, "robots"); ok && host != folders[last] {
		switch {
		case prefix == "" && last > 0:
			last--
			host = folders[last]
		case len(prefix) > 1 && strings.IndexByte("/._-", prefix[len(prefix)-1]) >= 0:
			host = prefix[:len(prefix)-1]
		}
	}
	if !strings.Contains(host, "://") {
		scheme := "https"
		if last > 0 && defaultPorts[folders[last-1]] != 0 {
			scheme = folders[last-1]
		}
		host = scheme + "://" + strings.Replace(host, "+", ":", 1)
	}
	origin, path, err := robots.ParseURL(host)
	if err == nil && path.String() != "/" {
		err = errors.New("it has a path")
	}
	if err != nil {
		return origin, fmt.Errorf("the file name is not a site: %w", err)
	}
	return origin, nil
}
