package bulk

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"sort"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
)

// JoinOptions are the evaluations of each URL. They are part of the manifest.
type JoinOptions struct {
	EvaluationOptions
	At   time.Time `json:"at,omitzero"`    // of URLs without a time in the list
	Sort bool      `json:"sort,omitempty"` // lists are in any order

	Lists int `json:"lists"` // set by JoinTask
}

const (
	verbJoin    = "join"
	tableJoined = "joined"
)

// A joiner merges URLs and captures, both in the order of SURT keys. It holds the captures
// of one key.
type joiner struct {
	*evaluator
	JoinOptions
	out         *tableWriter[JoinedVerdict]
	evaluations []evaluation // of one URL, for each of the distinct rules
	row         JoinedVerdict

	readCapture func() (storedCapture, error, bool)
	nextCapture storedCapture // the first capture of the next key
	hasNext     bool

	siteKey      string
	captures     map[string][]storedCapture // of the key, by origin, by time
	nextShardKey string                     // the first key of the next shard, "" for none
}

func (j *joiner) joinShard(ctx context.Context, t *Task, parts []snapshotPart, s Shard, p *PartWriter) (err error) {
	if j.out, err = createTablePart[JoinedVerdict](p, tableJoined, t.Format); err != nil {
		return err
	}
	before := keyAfter(s.To)
	var stop func()
	j.readCapture, stop = iter.Pull2(p.readCaptures(ctx, overlapping(parts, s.From, before), s.From, before))
	defer stop()
	if err := j.advance(); err != nil {
		return err
	}
	var lists []string
	for _, i := range s.Inputs {
		if i < j.Lists {
			lists = append(lists, t.Inputs[i].Name)
		}
	}
	read := readLists
	if j.Sort {
		read = func(lists []string, addBytes func(int64), fn func(rowPosition, listedURL) (bool, error)) error {
			return sortLists(&p.tempFiles, lists, addBytes, fn)
		}
	}
	rows := 0
	addBytes := func(n int64) { p.advance(0, n) }
	if err := read(lists, addBytes, func(position rowPosition, l listedURL) (bool, error) {
		rows++
		p.advance(1, 0)
		if rows%1024 == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		return true, j.joinURL(position, l)
	}); err != nil {
		return err
	}
	return j.out.Close()
}

// advance reads the first capture of the next key.
func (j *joiner) advance() (err error) {
	j.nextCapture, err, j.hasNext = j.readCapture()
	return err
}

// loadCaptures loads the captures of a key.
func (j *joiner) loadCaptures(key string) error {
	j.siteKey = strings.Clone(key)
	j.captures = map[string][]storedCapture{}
	for j.hasNext && j.nextCapture.SURT < key {
		if err := j.advance(); err != nil {
			return err
		}
	}
	for j.hasNext && j.nextCapture.SURT == key {
		j.captures[j.nextCapture.Origin] = append(j.captures[j.nextCapture.Origin], j.nextCapture)
		if err := j.advance(); err != nil {
			return err
		}
	}
	return nil
}

// captureInForce returns the last capture of an origin that is not after a time, nil without one.
func (j *joiner) captureInForce(origin string, at time.Time) *storedCapture {
	all := j.captures[origin]
	i := sort.Search(len(all), func(i int) bool { return all[i].Fetched.After(at) })
	if i == 0 {
		return nil
	}
	return &all[i-1]
}

// joinURL writes the rows of a URL.
func (j *joiner) joinURL(position rowPosition, l listedURL) error {
	at := cmp.Or(l.at, j.At).UTC().Truncate(time.Millisecond)
	if at.IsZero() {
		return fmt.Errorf("%s has no time; add a column at, or use --at", position)
	}
	if err := j.advanceToKey(position, l.siteKey); err != nil {
		return err
	}
	j.row = JoinedVerdict{URL: validUTF8(l.url), At: at, Engine: Engine()}
	if l.siteKey != "" {
		j.row.SURT = validUTF8(j.siteKey)
	}
	var rules *ruleSet
	origin, path, err := robots.ParseURL(l.url)
	if err == nil {
		j.row.Origin = origin.String()
		j.row.Path = validUTF8(path.String())
		rules, err = j.setCapture(j.captureInForce(j.row.Origin, at))
		if err != nil {
			return err
		}
	}
	j.evaluateURL(rules, l.url, path)
	return j.writeRows(rules)
}

// advanceToKey loads the captures of a key, which does not precede the current one.
func (j *joiner) advanceToKey(position rowPosition, key string) error {
	if j.captures != nil && (key == j.siteKey || key == "") {
		return nil
	}
	switch {
	case key < j.siteKey:
		return fmt.Errorf("%s: %s comes after %s: lists must be sorted by SURT key; use --sort",
			position, ask.Clip(key), ask.Clip(j.siteKey))
	case j.nextShardKey != "" && key > j.nextShardKey:
		return fmt.Errorf("%s: %s comes before %s of the next list: lists must be sorted by SURT key; use --sort",
			position, ask.Clip(key), ask.Clip(j.nextShardKey))
	}
	return j.loadCaptures(key)
}

// setCapture sets the columns of the capture in force, and returns its rules, nil without a capture
// or an answer.
func (j *joiner) setCapture(capture *storedCapture) (*ruleSet, error) {
	if capture == nil {
		return nil, nil
	}
	age := int64(j.row.At.Sub(capture.Fetched) / time.Second)
	j.row.AgeS = &age
	j.row.Fetched = &capture.Fetched
	j.row.Offset = &capture.Offset
	j.row.Outcome = capture.Outcome
	j.row.Input = capture.Input
	return j.cachedRules(capture)
}

// evaluateURL sets the evaluations of a URL for each of the distinct rules.
func (j *joiner) evaluateURL(set *ruleSet, url string, path robots.Path) {
	j.evaluations = j.evaluations[:0]
	if set == nil {
		return
	}
	for i, rules := range set.rules {
		dialectPath := path
		if j.crawlers[set.crawlerIndexes[i]].dialect.Escapes == robots.EscapesRaw {
			dialectPath = robots.RawPath(url) // as ask.URL takes it
		}
		j.evaluations = append(j.evaluations, evaluate(rules, rules.Match(dialectPath), set.access[i]))
	}
}

// writeRows writes the row of each crawler.
func (j *joiner) writeRows(set *ruleSet) error {
	for i := range j.crawlers {
		evaluation := &unknownEvaluation
		if set != nil {
			evaluation = &j.evaluations[set.ruleIndexes[i]]
		}
		j.row.Agent = j.crawlers[i].name
		j.row.Dialect = j.crawlers[i].dialect.Name
		j.row.PathVerdict = evaluation.PathVerdict
		j.row.CrawlDelay = evaluation.CrawlDelay
		if err := j.out.Write(&j.row); err != nil {
			return err
		}
	}
	return nil
}
