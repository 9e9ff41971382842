package redis

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

//go:embed look.lua
var lookText string

//go:embed steer.lua
var steerText string

//go:embed forget.lua
var forgetText string

//go:embed log.lua
var logText string

var (
	lookScript   = &script.Script{Text: func() string { return "#!lua flags=no-writes\n" + headText + lookText }, Retry: true}
	steerScript  = &script.Script{Text: func() string { return "#!lua flags=allow-oom\n" + commonText() + steerText }}
	forgetScript = &script.Script{Text: func() string { return "#!lua flags=allow-oom\n" + headText + forgetText }}
	logScript    = &script.Script{Text: func() string { return "#!lua flags=allow-oom\n" + headText + logText }}
)

// An Operator looks at the pace of a fleet and steers it. It is none of its workers: it
// sends no heartbeats and takes no grants. All times that it returns are of the server's
// clock. A call takes a second at most.
type Operator struct {
	client  rueidis.Client
	options Options
}

// NewOperator returns an operator of the fleet whose workers have these options. The client
// stays the caller's. The error is about the options.
func NewOperator(client rueidis.Client, o Options) (*Operator, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	return &Operator{client: client, options: o}, nil
}

// CheckLayout returns an error that wraps ErrEarlier if the server has the state of an older
// release, and says what to do.
func (o *Operator) CheckLayout(ctx context.Context) error {
	return checkLayout(ctx, o.client, o.options.Prefix)
}

// key returns the key of the state of an origin or an address.
func (o *Operator) key(kind, name string) string {
	return stateKey(o.options.Prefix, kind, name)
}

func (o *Operator) originKey(origin robots.Origin) string { return o.key("origin", origin.String()) }

// call runs a script.
func (o *Operator) call(ctx context.Context, s *script.Script, keys []string, args ...string) ([]rueidis.RedisMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return s.Run(ctx, o.client, keys, args).ToArray()
}

// look returns the time of a server and the values of some keys, "" for none.
func (o *Operator) look(ctx context.Context, keys ...string) (now micros, values []string, err error) {
	reply, err := o.call(ctx, lookScript, keys)
	if err != nil {
		return 0, nil, err
	}
	if len(reply) != 1+len(keys) {
		return 0, nil, script.ErrReply
	}
	for i := range reply {
		text, err := reply[i].ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return 0, nil, script.ErrReply
		}
		values = append(values, text)
	}
	if _, ok := readDoubles(values[0], &now); !ok {
		return 0, nil, script.ErrReply
	}
	return now, values[1:], nil
}

// A Worker is one on the list of workers.
type Worker struct {
	ID   string // 10 hexadecimal digits, which the ids of its grants begin with
	Name string // Options.Name; "" of one that is gone for long
	Beat time.Time
	// Gone says that the heartbeats are missing for 15 s, and its grants have ended.
	Gone bool
	// Left says that it was closed in order.
	Left bool
	// Drained says that an operator has told it to take no grants (Operator.Drain).
	Drained bool
	Rate    float64 // grants per second, between its last two heartbeats
	// Away is how many of the Parts of the state were out of its reach at the last one.
	Away int
}

// Parts is in how many parts the state lies, each on one server of a cluster.
const Parts = tags

// Workers returns the list of workers, by their names, and the time of the server. Those
// that are gone stay on it for as long as their grants might last.
func (o *Operator) Workers(ctx context.Context) (list []Worker, at time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	key := workersKey(o.options.Prefix)
	scores, err := o.client.Do(ctx, o.client.B().Zrange().Key(key).Min("0").Max("-1").Withscores().Build()).AsZScores()
	if err != nil && !script.Says(err, "WRONGTYPE") { // which the next heartbeat mends
		return nil, at, err
	}
	keys := []string{key}
	for _, s := range scores {
		about, drain, _ := workerKeys(o.options.Prefix, s.Member)
		keys = append(keys, about, drain)
	}
	now, values, err := o.look(ctx, keys[1:]...)
	if err != nil {
		return nil, at, err
	}
	for i, s := range scores {
		w := Worker{ID: hex.EncodeToString([]byte(s.Member)), Beat: timeAt(s.Score), Gone: now-s.Score > microsUp(workerTimeout()), Drained: values[2*i+1] != ""}
		w.about(values[2*i])
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b Worker) int { return strings.Compare(a.Name+"\x00"+a.ID, b.Name+"\x00"+b.ID) })
	return list, timeAt(now), nil
}

// workersKey is the key of the list of workers.
func workersKey(prefix string) string { return "{" + prefix + "}:" + version + "workers" }

// workerKeys are those of a worker, by the first bytes of the ids of its grants: what it says
// of itself, whether it is drained, and whether that is over.
func workerKeys(prefix, worker string) (about, drain, resume string) {
	head, id := "{"+prefix+"}:"+version, hex.EncodeToString([]byte(worker))
	return head + "worker:" + id, head + "drain:" + id, head + "resume:" + id
}

// aboutText is what a worker says of itself with its heartbeats: its grants per second, how
// many parts of the state are out of its reach, and its name.
func aboutText(name string, rate float64, away int) string {
	return strconv.FormatFloat(rate, 'f', 3, 64) + " " + strconv.Itoa(away) + " " + name
}

// about reads an aboutText.
func (w *Worker) about(text string) {
	rate, rest, _ := strings.Cut(text, " ")
	away, name, _ := strings.Cut(rest, " ")
	w.Rate, _ = strconv.ParseFloat(rate, 64) // these two are 0 for what no worker wrote
	w.Away, _ = strconv.Atoi(away)
	w.Left, w.Away = w.Away == left, max(w.Away, 0)
	w.Name = robots.Printable(name)
}

// A Site is what a fleet's pace knows of an origin.
type Site struct {
	At    time.Time // of the server, when it looked
	Known bool      // there is a state; without one the site may be asked at once
	// State is for pace.Schedule.TurnIn, which says when the next turn is and why.
	State    pace.State
	Overload time.Time // when the site last said that it is asked too much
	Held     time.Time // until when an operator holds it, zero if nobody does
	UnderWay []UnderWay
	// Leased is the name of the worker that has the site, and LeasedUntil until when, if
	// nobody renews that: of a fleet in which each site is one worker's. What that worker
	// did since it last renewed the lease it alone knows. Without a name it is nobody's until
	// then, as a worker may still use it whose lease was ended (Operator.Forget) or lost.
	Leased      string
	LeasedUntil time.Time

	moved micros // by so much the server's clock was set back since the state was written
}

// An UnderWay is a grant that was not given back yet.
type UnderWay struct {
	Worker string    // the id of the worker, "" if it is lent
	Start  time.Time // of the request
	End    time.Time // of the grant, if nobody gives it back
}

var errDamaged = errors.New("its value is damaged: it counts as asked when a worker next finds it")

// Site returns what is known of an origin.
func (o *Operator) Site(ctx context.Context, origin robots.Origin) (s Site, err error) {
	now, values, err := o.look(ctx, o.originKey(origin), o.key("site", origin.String()))
	if err != nil {
		return s, err
	}
	s.At = timeAt(now)
	s.Known = values[0] != "" || values[1] != ""
	if values[0] != "" && !s.parse(values[0], now, &o.options, nil) {
		return s, fmt.Errorf("the pace of %s: %w", origin, errDamaged)
	}
	s.parseLease(values[1], now)
	return s, nil
}

// parse reads a state as step.lua does, and reports whether it can be read. A state with a
// grant of a worker that is gone cannot: only the script knows when it ended.
func (s *Site) parse(value string, now micros, o *Options, gone map[string]time.Time) bool {
	const head, row = 44, 24
	var last, retry, over, slow, seen micros
	rest, ok := readDoubles(value, &last, &retry, &over, &slow, &seen)
	if !ok || len(value) < head || (len(value)-head)%row != 0 {
		return false
	}
	for _, at := range []micros{last, retry, over, seen} {
		if at != 0 && !(at >= 1e15 && at < 2e16) {
			return false
		}
	}
	s.moved = max(seen-now, 0)
	at := func(m micros) time.Time {
		if m == 0 {
			return time.Time{}
		}
		return timeAt(m - s.moved)
	}
	s.State = pace.State{NotBefore: at(retry), BackOff: pace.BackOff{Factor: binary.LittleEndian.Uint16([]byte(rest)), Step: binary.LittleEndian.Uint16([]byte(rest[2:]))}}
	forget := microsOf(o.Forget)
	for rest = rest[4:]; rest != ""; {
		id := rest[:8]
		var start, before micros
		rest, _ = readDoubles(rest[8:], &start, &before)
		if id == heldRow {
			if start-s.moved > now {
				s.Held = at(start)
			}
			continue
		}
		ends, lent := start+microsOf(o.GrantTimeout), id[0] >= lentGrant>>56
		if _, is := gone[id[:len(noWorker)]]; is && !lent {
			return false
		}
		if lent {
			ends = start + 1e6*micros(binary.BigEndian.Uint16([]byte(id[1:])))
		}
		if ends-s.moved > now {
			g := UnderWay{Start: at(start), End: at(ends)}
			if !lent {
				g.Worker = hex.EncodeToString([]byte(id[:len(noWorker)]))
			}
			s.UnderWay = append(s.UnderWay, g)
			continue
		}
		last = max(last, ends)
		if lent { // a request that timed out
			if ends-over >= forget {
				s.State.BackOff = pace.BackOff{}
			}
			s.State.BackOff, over = s.State.BackOff.After(pace.Result{Timeout: true}), max(over, ends)
		}
	}
	if now-(over-s.moved) >= forget {
		s.State.BackOff = pace.BackOff{}
	}
	s.State.Last, s.Overload = at(last), at(over)
	if s.Held.After(s.State.NotBefore) {
		s.State.NotBefore = s.Held
	}
	s.State.Busy = len(s.UnderWay) >= o.Concurrency
	return true
}

// parseLease reads the lease of a site, as site.lua does, and what was known of the site when
// it was given or renewed.
func (s *Site) parseLease(value string, now micros) {
	if len(value) < 64 {
		return
	}
	var till, last, retry, over, slow, seen micros
	back, _ := readDoubles(value[12:], &till, &last, &retry, &over, &slow, &seen)
	s.State.Last = latest(s.State.Last, timeAt(last))
	s.State.NotBefore = latest(s.State.NotBefore, timeAt(retry))
	if timeAt(over).After(s.Overload) {
		s.Overload = timeAt(over)
		s.State.BackOff = pace.BackOff{Factor: binary.LittleEndian.Uint16([]byte(back)), Step: binary.LittleEndian.Uint16([]byte(back[2:]))}
	}
	if till > now {
		s.Leased, s.LeasedUntil = robots.Printable(value[64:]), timeAt(till)
		if value[64:] == forgotten {
			s.Leased, s.State.Last = "", latest(s.State.Last, timeAt(till)) // as site.lua has it
		}
	}
}

// An Address is what a fleet's pace knows of an IP address.
type Address struct {
	At    time.Time // of the server, when it looked
	Page  time.Time // last start of a request there, zero for none that matters
	Fetch time.Time // last start of a fetch of robots.txt, the same
}

// Address returns what is known of an address.
func (o *Operator) Address(ctx context.Context, addr netip.Addr) (a Address, err error) {
	now, values, err := o.look(ctx, o.key("address", addr.Unmap().WithZone("").String()))
	if err != nil {
		return a, err
	}
	a.At = timeAt(now)
	var page, fetch, written micros
	if _, ok := readDoubles(values[0], &page, &fetch, &written); ok {
		a.Page, a.Fetch = timeAt(page), timeAt(fetch)
	}
	return a, nil
}

// Forever is for how long a site is held without an end: ten years.
const Forever = 10 * 365 * 24 * time.Hour

// Hold keeps all workers from starting requests to an origin for a time, at most Forever,
// by the state that every grant is made of. It ends a Hold before. Requests under way are
// not ended.
func (o *Operator) Hold(ctx context.Context, origin robots.Origin, d time.Duration) error {
	_, err := o.steer(ctx, "h", origin, min(max(d, time.Second), Forever))
	return err
}

// Release ends a Hold and reports whether there was one. Workers that wait for the site
// notice it within a minute.
func (o *Operator) Release(ctx context.Context, origin robots.Origin) (held bool, err error) {
	return o.steer(ctx, "r", origin, 0)
}

// forgotten stands for the worker that has a site, where an operator had forgotten what the
// site wished while a worker had it.
const forgotten = "(robots fleet forget)"

// Forget forgets the Retry-After and the back-off of an origin. When it was last asked, who
// is there now, and a Hold stay: else two requests might start at once. Where a worker has
// the site by a lease, that is ended and not renewed, and the site rests until it would have
// ended, for so long.
func (o *Operator) Forget(ctx context.Context, origin robots.Origin) (rests time.Duration, err error) {
	if _, err = o.steer(ctx, "f", origin, 0); err != nil {
		return 0, err
	}
	reply, err := o.call(ctx, forgetScript, []string{o.key("site", origin.String())}, forgotten)
	if err != nil {
		return 0, err
	}
	if len(reply) != 1 {
		return 0, script.ErrReply
	}
	text, err := reply[0].ToString()
	var left micros
	if _, ok := readDoubles(text, &left); err != nil || !ok {
		return 0, cmp.Or(err, script.ErrReply)
	}
	return time.Duration(left * 1e3), nil
}

func (o *Operator) steer(ctx context.Context, what string, origin robots.Origin, d time.Duration) (held bool, err error) {
	arg := appendDoubles([]byte(what), microsUp(d), microsUp(o.options.Forget), microsUp(o.options.GrantTimeout))
	reply, err := o.call(ctx, steerScript, []string{o.originKey(origin)}, string(arg))
	if err != nil {
		return false, err
	}
	if len(reply) != 1 {
		return false, script.ErrReply
	}
	n, err := reply[0].AsInt64()
	return n == 1, err
}

// Drain tells a worker to take no grants any more, and to give back those that it has not
// used yet. It learns so with its next heartbeat, within 7 s, and until it ends or Resume is
// called. The error says that there is no such worker.
func (o *Operator) Drain(ctx context.Context, id string) error {
	_, err := o.mark(ctx, id, true)
	return err
}

// Resume ends a Drain, and reports whether there was one. The worker learns so with its next
// heartbeat, within 7 s. The error says that there is no such worker.
func (o *Operator) Resume(ctx context.Context, id string) (drained bool, err error) {
	return o.mark(ctx, id, false)
}

// mark says of a worker that it is drained, or that this is over, and reports whether it was
// drained. The worker believes neither that there is no such word (Limiter.resume): at each
// moment one of the two is there, and what says drained counts.
func (o *Operator) mark(ctx context.Context, id string, drain bool) (drained bool, err error) {
	workers, _, err := o.Workers(ctx)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(workers, func(w Worker) bool { return w.ID == id && !w.Gone && !w.Left })
	if i < 0 {
		return false, fmt.Errorf("no worker %.80q sends heartbeats", id)
	}
	name, err := hex.DecodeString(id)
	if err != nil || workers[i].Drained == drain {
		return drain, err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	_, says, other := workerKeys(o.options.Prefix, string(name))
	if !drain {
		says, other = other, says
	}
	err = o.client.Do(ctx, o.client.B().Psetex().Key(says).Milliseconds(knownFor(o.options).Milliseconds()).Value("1").Build()).Error()
	if err == nil {
		err = o.client.Do(ctx, o.client.B().Del().Key(other).Build()).Error()
	}
	return !drain, err
}

// A LogEntry is one change that an operator made.
type LogEntry struct {
	At   time.Time
	Who  string
	What string
}

// maxLog is how many entries the log has, the latest ones, and maxEntry how long each is.
const (
	maxLog   = 1000
	maxEntry = 500 // bytes
)

func (o *Operator) logKey() string { return "{" + o.options.Prefix + "}:" + version + "log" }

// Note adds an entry to the fleet's log, which keeps the last 1000.
func (o *Operator) Note(ctx context.Context, who, what string) error {
	who = strings.Join(strings.Fields(who), "_") // which the first blank ends
	text := who + " " + what
	_, err := o.call(ctx, logScript, []string{o.logKey()}, text[:min(len(text), maxEntry)], strconv.Itoa(maxLog))
	return err
}

// Log returns the last n entries of the log, the latest first.
func (o *Operator) Log(ctx context.Context, n int) ([]LogEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	last := strconv.Itoa(min(max(n, 1), maxLog) - 1)
	rows, err := o.client.Do(ctx, o.client.B().Zrange().Key(o.logKey()).Min("0").Max(last).Rev().Withscores().Build()).AsZScores()
	if err != nil {
		return nil, err
	}
	list := make([]LogEntry, 0, len(rows))
	for _, r := range rows {
		_, text, _ := strings.Cut(r.Member, " ") // behind the time, which makes each its own
		who, what, _ := strings.Cut(text, " ")
		list = append(list, LogEntry{At: timeAt(math.Floor(r.Score)), Who: robots.Printable(who), What: robots.Printable(what)})
	}
	return list, nil
}
