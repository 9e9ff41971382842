package bulk

import (
	"time"

	"github.com/go-json-experiment/json"
)

// A sortedURL is the value of a URL whose key is that of its site.
type sortedURL struct {
	Position rowPosition
	At       time.Time
	URL      []byte
}

// sortLists is readLists for lists in any order: it sorts them by site first.
func sortLists(tmp *tempFiles, names []string, addBytes func(int64), fn func(p rowPosition, l listedURL) (bool, error)) error {
	s := newSorter(tmp)
	if err := readLists(names, addBytes, func(p rowPosition, l listedURL) (bool, error) {
		value, err := json.Marshal(sortedURL{p, l.at, []byte(l.url)})
		if err == nil {
			err = s.add([]byte(l.siteKey), value)
		}
		return true, err
	}); err != nil {
		return err
	}
	for p, err := range s.sortedPairs {
		var u sortedURL
		if err == nil {
			err = json.Unmarshal(p.value, &u)
		}
		if err == nil {
			_, err = fn(u.Position, listedURL{string(u.URL), u.At, string(p.key)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
