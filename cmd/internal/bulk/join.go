package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/access"
	"github.com/robotskit/robots/cmd/internal/ask"
)

// JoinOptions say what is asked of each URL. All of them are part of the manifest.
type JoinOptions struct {
	AskOptions
	At   time.Time `json:"at,omitzero"`    // of URLs for which the list has no time
	Sort bool      `json:"sort,omitempty"` // lists are in any order

	Lists int `json:"lists"` // set by JoinTask
}

const (
	verbJoin    = "join"
	tableJoined = "joined"
)

// leastJoinShards is how many shards there are of so many lists.
const leastJoinShards = 16

// JoinTask returns the task that asks for the URLs of lists, each as of its time. The lists
// follow one another in the order of their names, as the files of an index do. A shard is
// some of them, and the sites from the first to the last. It reads all bodies of the
// snapshot for them, so that there are only as many shards as make that no more than what
// is read of the lists.
func (o JoinOptions) JoinTask(dir, format, snapshot string, lists []string) (*Task, error) {
	if len(o.Paths) > 0 {
		return nil, errors.New("a join asks for the URLs of its lists, and no other paths")
	}
	if _, err := o.canonical(); err != nil {
		return nil, err
	}
	o.At = o.At.UTC()
	parts, err := openSnapshot(snapshot)
	if err != nil {
		return nil, err
	}
	t := &Task{Verb: verbJoin, Dir: dir, Format: format, Tables: []string{tableJoined}}
	lists = slices.Sorted(slices.Values(lists))
	lists = slices.Compact(lists)
	var files []listFile
	held, asked := int64(0), int64(0)
	for _, p := range parts {
		held += p.captures.Size + p.bodies.Size
	}
	for _, name := range lists {
		l, err := describeList(name, !o.Sort)
		if err != nil {
			return nil, err
		}
		asked += l.Size
		files = append(files, l)
		t.Inputs = append(t.Inputs, l.Input)
	}
	t.addParts(parts)
	shards := min(len(files), max(leastJoinShards, int(asked/max(held, 1))))
	for i := range shards {
		s := Shard{Number: i}
		for k := i * len(files) / shards; k < (i+1)*len(files)/shards; k++ {
			s.Inputs = append(s.Inputs, k)
			if f := files[k]; f.from != "" && (s.From == "" || f.from < s.From) {
				s.From = f.from
			}
			s.To = max(s.To, files[k].to)
		}
		s.Inputs = append(s.Inputs, inputsOf(parts, len(files), s.From, behind(s.To))...)
		t.Shards = append(t.Shards, s)
	}
	o.Lists = len(files)
	if t.Options, err = json.Marshal(o); err != nil {
		return nil, err
	}
	return t, t.resolve()
}

func init() {
	register(verbJoin, func(t *Task) (Do, error) {
		var o JoinOptions
		if err := json.Unmarshal(t.Options, &o); err != nil {
			return nil, fmt.Errorf("options of %s: %w", t.Dir, err)
		}
		if _, err := newAsker(o.AskOptions); err != nil {
			return nil, err
		}
		return func(ctx context.Context, s Shard, p *Part) (Counts, error) {
			a, err := newAsker(o.AskOptions)
			if err != nil {
				return Counts{}, err
			}
			j := &joiner{asker: a, JoinOptions: o, counts: Counts{ByKind: map[string]int64{}}}
			err = j.shard(ctx, t, s, p)
			return j.counts, err
		}, nil
	})
}

// behind returns the first key behind that of a site, "" behind none.
func behind(site string) string {
	if site == "" {
		return ""
	}
	return site + "\x00"
}

// A joiner puts URLs and captures together. Both come in the order of keys of sites. Of
// the captures those of one key are held at a time, of the URLs one.
type joiner struct {
	*asker
	JoinOptions
	counts Counts
	out    *table[Joined]
	said   []told // of one URL, by the rules of its speaker

	// Neighbours are much alike: what is known of the URL before, and its last row.
	prefix  string // of URLs of the site, up to their path
	site    string // its origin
	held    []held // its captures
	inForce *held  // of them
	says    *speaker
	row     Joined

	keyed *keyed
	next  func() (held, error, bool)
	ahead held // the first capture of a key behind
	more  bool

	key   string
	sites map[string][]held // of the key, by origin, by time
	files map[int64]*speaker
	size  int64 // of bodies in files

	silent map[withoutBody]*speaker // of captures without a body
}

// A join keeps the rules of so many bodies, and of so many bytes of them.
const (
	mostSpeakers     = 256
	mostSpeakerBytes = 16 << 20
)

func (j *joiner) shard(ctx context.Context, t *Task, s Shard, p *Part) error {
	w, err := p.Create(tableJoined)
	if err != nil {
		return err
	}
	if j.out, err = writeTable[Joined](w, t.Format); err != nil {
		return err
	}
	n := sort.SearchInts(s.Inputs, j.Lists)
	if j.keyed, err = gather(ctx, p.Scratch(), t.partsOf(s.Inputs[n:]), s.From, behind(s.To)); err != nil {
		return err
	}
	defer j.keyed.close()
	j.counts.Bytes = j.keyed.Read
	var stop func()
	j.next, stop = iter.Pull2(j.keyed.all())
	defer stop()
	if err := j.advance(); err != nil {
		return err
	}
	var lists []string
	for _, i := range s.Inputs[:n] {
		j.counts.Bytes += t.Inputs[i].Size
		lists = append(lists, t.Inputs[i].Name)
	}
	read := readLists
	if j.Sort {
		read = func(lists []string, fn func(place, listed) (bool, error)) error {
			return sortLists(p.Scratch(), lists, fn)
		}
	}
	n = 0
	if err := read(lists, func(p place, l listed) (bool, error) {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		return true, j.join(p, l)
	}); err != nil {
		return err
	}
	return j.out.Close()
}

// advance reads the first capture of the next key.
func (j *joiner) advance() (err error) {
	j.ahead, err, j.more = j.next()
	return err
}

// turn makes the captures of a key those that are held.
func (j *joiner) turn(key string) error {
	j.key, j.sites = strings.Clone(key), map[string][]held{}
	j.files, j.size = map[int64]*speaker{}, 0
	j.prefix, j.site, j.held, j.inForce = "", "", nil, nil
	for j.more && j.ahead.SURT < key {
		if err := j.advance(); err != nil {
			return err
		}
	}
	for j.more && j.ahead.SURT == key {
		j.sites[j.ahead.Origin] = append(j.sites[j.ahead.Origin], j.ahead)
		j.counts.Captures++
		if err := j.advance(); err != nil {
			return err
		}
	}
	return nil
}

// look finds the last capture of the site that is not after a time, and what it says.
func (j *joiner) look(at int64) (err error) {
	i := len(j.held)
	if i > 0 && j.held[i-1].at > at {
		i = sort.Search(i, func(i int) bool { return j.held[i].at > at })
	}
	if i == 0 {
		j.inForce = nil
		return nil
	}
	if h := &j.held[i-1]; h != j.inForce {
		j.inForce = h
		j.says, err = j.speaks(h)
	}
	return err
}

// speaks returns what a capture says, nil if it is not known.
func (j *joiner) speaks(h *held) (*speaker, error) {
	switch {
	case !h.Answered():
		return nil, nil
	case h.Place < 0:
		key := h.withoutBody()
		if s := j.silent[key]; s != nil {
			return s, nil
		}
		rules, err := j.captureRules(&h.Capture)
		if err != nil {
			return nil, err
		}
		if j.silent == nil || len(j.silent) == mostSilent {
			j.silent = map[withoutBody]*speaker{}
		}
		j.silent[key] = j.speaker(rules)
		return j.silent[key], nil
	}
	place := h.Place << 1
	if h.Truncated {
		place++
	}
	if s := j.files[place]; s != nil {
		return s, nil
	}
	if len(j.files) >= mostSpeakers || j.size > mostSpeakerBytes {
		j.files, j.size = map[int64]*speaker{}, 0
	}
	body, err := j.keyed.body(h)
	if err != nil {
		return nil, err
	}
	s := j.speaker(j.bodyRules(body, h.Truncated))
	j.files[place] = s
	j.size += h.Size
	return s, nil
}

// join makes the rows of a URL.
func (j *joiner) join(p place, l listed) error {
	if l.at == noTime {
		l.at = millis(j.At)
	}
	if l.at == noTime {
		return fmt.Errorf("%s has no time: add a column at, or say with --at as of when all URLs are asked", p)
	}
	if l.key != j.key && l.key != "" || j.sites == nil {
		if l.key < j.key {
			return fmt.Errorf("%s: %s comes after %s: a list is to be sorted by the keys of its sites, as indexes of archives are; sort it, or let --sort do it", p, ask.Clip(l.key), ask.Clip(j.key))
		}
		if err := j.turn(l.key); err != nil {
			return err
		}
	}
	row := &j.row
	row.URL, row.At, row.Path = valid(l.url), time.UnixMilli(l.at).UTC(), ""
	row.SURT, row.Origin, row.Engine = "", "", Engine()
	row.Fetched, row.Offset, row.AgeS, row.Outcome, row.Input = nil, nil, nil, "", ""
	if l.key != "" {
		row.SURT = valid(j.key)
	}
	var capture *held
	path, err := j.parse(l.url)
	if err != nil {
		j.counts.ByKind["bad-url"]++
	} else {
		if err := j.look(l.at); err != nil {
			return err
		}
		row.Path, row.Origin = valid(path.String()), j.site
		if capture = j.inForce; capture == nil {
			j.counts.ByKind["no-capture"]++
		}
	}
	said := j.said[:0]
	var says *speaker
	if capture != nil {
		age := (l.at - capture.at) / 1000
		row.Fetched, row.Offset, row.AgeS, row.Outcome, row.Input = &capture.Fetched, &capture.Offset, &age, capture.Outcome, capture.Input
		says = j.says
	}
	if says != nil {
		for i, r := range says.rules {
			path := path
			if j.dialects[says.dialect[i]].Escapes == robots.EscapesRaw {
				path = robots.RawPath(l.url) // as ask.URL takes it
			}
			said = append(said, tell(r, r.Match(path), says.access[i]))
		}
		j.said = said
	}
	for agent, name := range j.names {
		for d := range j.dialects {
			t := &unknown
			if says != nil {
				t = &said[says.standing[d*len(j.names)+agent]]
			}
			row.Agent, row.Dialect = name, j.dialects[d].Name
			row.Verdict, row.Reason, row.Line, row.Directive, row.Pattern = t.Verdict, t.Reason, t.Line, t.Directive, t.Pattern
			row.Group, row.Access, row.CrawlDelay = t.Group, t.Access, t.CrawlDelay
			j.counts.Rows++
			if err := j.out.Write(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// parse makes the site of a URL that whose captures are held, and returns its path.
func (j *joiner) parse(url string) (robots.Path, error) {
	if rest, ok := strings.CutPrefix(url, j.prefix); ok && j.prefix != "" && len(rest) > 1 && rest[0] == '/' && rest[1] != '/' {
		return robots.ParsePath(rest)
	}
	origin, path, err := robots.ParseURL(url)
	if err != nil {
		return path, err
	}
	if site := origin.String(); site != j.site || j.held == nil {
		j.site = site
		j.held, j.inForce = j.sites[site], nil
	}
	j.prefix = ""
	if begin := strings.Index(url, "://") + 3; begin > 2 {
		if end := strings.IndexByte(url[begin:], '/'); end > 0 && !strings.ContainsAny(url[begin:begin+end], "?#\\") {
			j.prefix = strings.Clone(url[:begin+end])
		}
	}
	return path, nil
}

// unknown is what is said where no answer is held.
var unknown = told{Access: string(access.Unknown)}
