package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
)

// way is how a call of a store fails.
type way uint8

const (
	refuses   way = iota // at once, nothing done
	loses                // done, and the answer does not come through
	hangs                // nothing done, and no answer before ctx ends
	hangsDone            // done, and no answer before ctx ends
	damaged              // Get: the entry cannot be read
	fenced               // Put: another has written, which the store has lost since
	overtaken            // no failure: another process writes under a later lock just before
	ways
)

var wayNames = [ways]string{"refuses", "loses", "hangs", "hangs when done", "damaged", "fenced", "overtaken"}

// of reports whether a call can fail in this way.
func (w way) of(call string) bool {
	switch w {
	case damaged:
		return call == "Get"
	case fenced:
		return call == "Put"
	}
	return true
}

var errTorture = errors.New("torture")

// An attempt is a fetch with a record, by any process.
type attempt struct {
	*behaviour
	at   time.Time // true time, whatever the wall clocks say
	by   *process  // nil for one that is not on the stage
	knew uint64    // what it knew then
}

// A stage is one run of a scenario: a site, a store and its processes. It records, with a bit
// per attempt, what each process can know: its own attempts and those behind the entries that
// the store returned to it.
type stage struct {
	*cachetest.Memory
	t       *testing.T
	title   string
	site    *behaviour
	takes   time.Duration // a fetch
	ignores bool          // a fetch takes no notice of its context

	at    int // the first call that fails, 0 for none
	calls int // how many fail
	way   way

	processes []*process

	mu       sync.Mutex
	truth    []attempt
	kept     uint64 // what is behind the entry in the store
	armed    bool
	called   int
	struck   int
	orphan   bool // a lock is in force that nobody knows he has
	verdicts map[string]int
}

// A process is a cache on the store of the stage.
type process struct {
	*stage
	c     *cache.Cache
	known uint64
}

func (s *stage) start() *process {
	p := &process{stage: s}
	c, err := cache.New(cache.Options{Store: p, Fetcher: p})
	if err != nil {
		s.t.Fatal(err)
	}
	p.c = c
	s.processes = append(s.processes, p)
	return p
}

// arm begins the part of a scenario in which calls fail.
func (s *stage) arm() {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = true
}

func (s *stage) rest(d time.Duration) {
	synctest.Wait()
	time.Sleep(d)
	synctest.Wait()
}

// becomes waits for calls in progress and then changes the site.
func (s *stage) becomes(behaviour string) {
	s.rest(time.Minute)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.site = behaving(behaviour)
}

func (s *stage) errorf(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("%s: "+format, append([]any{s.title}, args...)...)
}

// Fetch fetches from the site.
func (p *process) Fetch(ctx context.Context, o robots.Origin) (*fetch.Record, error) {
	p.mu.Lock()
	takes := p.takes + time.Duration(10+3*len(p.truth))*time.Millisecond // no two end together
	if p.ignores {
		ctx = context.WithoutCancel(ctx)
	}
	p.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.happens(p)
	p.known |= 1 << (len(p.truth) - 1)
	p.truth[len(p.truth)-1].knew = p.known
	return r, nil
}

// happens records an attempt and returns its record.
func (s *stage) happens(by *process) *fetch.Record {
	if len(s.truth) == 64 {
		s.t.Fatal("too many attempts for a mask")
	}
	s.truth = append(s.truth, attempt{behaviour: s.site, at: time.Now().Truncate(time.Millisecond), by: by})
	return record(origin, s.site, time.Now())
}

// delivers simulates another process that has fetched and writes with a later lock than any.
func (s *stage) delivers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, _ := s.Memory.Get(context.Background(), origin)
	fetched := s.happens(nil)
	r := *fetched.After(held.Record)
	if r.Fetched = r.Fetched.Truncate(time.Millisecond); r.Outcome.Good() {
		r.Expires = r.Fetched.Add(day * 19 / 20)
	} else if !r.FailingSince.IsZero() {
		r.FailingSince = r.FailingSince.Truncate(time.Millisecond)
	}
	if err := s.Memory.Put(context.Background(), cache.Entry{Record: &r, Fence: held.Fence + 1000}, time.Hour); err != nil {
		s.t.Error(err)
	}
	s.kept |= 1 << (len(s.truth) - 1)
}

// fails counts a call and returns how it fails, ways for not at all.
func (p *process) fails(call string) way {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.armed {
		return ways
	}
	p.called++
	if p.called < p.at || p.called >= p.at+p.calls || !p.way.of(call) {
		return ways
	}
	p.struck++
	switch p.way {
	case loses, hangsDone:
		p.orphan = p.orphan || call == "Lock"
	case refuses, hangs:
		p.orphan = p.orphan || call == "Unlock"
	}
	return p.way
}

// call makes one call of the store, which fails or runs do.
func (p *process) call(ctx context.Context, name string, do func() error) error {
	w := p.fails(name)
	switch w {
	case refuses:
		return fmt.Errorf("%s: %w", name, errTorture)
	case damaged:
		return errors.New("record is damaged: its checksum is another")
	case fenced:
		return cache.ErrFenced
	case hangs:
		<-ctx.Done()
		return ctx.Err()
	case overtaken:
		time.Sleep(time.Millisecond)
		p.delivers()
	}
	err := do()
	switch w {
	case loses:
		return fmt.Errorf("%s: answer lost: %w", name, errTorture)
	case hangsDone:
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (p *process) Get(ctx context.Context, o robots.Origin) (e cache.Entry, err error) {
	var kept uint64
	err = p.call(ctx, "Get", func() (err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		e, err = p.Memory.Get(ctx, o)
		kept = p.kept
		return err
	})
	if err != nil {
		return cache.Entry{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known |= kept
	return e, nil
}

func (p *process) Put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	err := p.call(ctx, "Put", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		err := p.Memory.Put(ctx, e, keep)
		if err == nil {
			p.kept = p.known
		}
		return err
	})
	if errors.Is(err, cache.ErrFenced) { // its work is lost, by contract
		p.mu.Lock()
		defer p.mu.Unlock()
		p.known = 0
	}
	return err
}

func (p *process) Delete(ctx context.Context, o robots.Origin) error {
	return p.call(ctx, "Delete", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.kept = 0
		return p.Memory.Delete(ctx, o)
	})
}

func (p *process) Lock(ctx context.Context, o robots.Origin, ttl time.Duration) (token uint64, err error) {
	err = p.call(ctx, "Lock", func() (err error) {
		token, err = p.Memory.Lock(ctx, o, ttl)
		return err
	})
	if err != nil {
		return 0, err
	}
	return token, nil
}

func (p *process) Unlock(ctx context.Context, o robots.Origin, token uint64) error {
	return p.call(ctx, "Unlock", func() error { return p.Memory.Unlock(ctx, o, token) })
}

// How long a call can wait for the store, in addition to the fetch.
const (
	storeCalls = 3*5*time.Second + time.Second                 // what is kept, the lock, what is kept now
	otherLock  = storeCalls + 67*time.Second + 2*5*time.Second // and until the lock of another ends
	staleWait  = 1800 * time.Millisecond
)

func (p *process) get(within time.Duration) {
	p.t.Helper()
	p.asks("Get", within, func() (*fetch.Record, error) { return p.c.Get(context.Background(), origin) })
}

// asks makes a call that must be answered in time and by the policy.
func (p *process) asks(what string, within time.Duration, do func() (*fetch.Record, error)) *fetch.Record {
	p.t.Helper()
	p.mu.Lock()
	before := p.known
	takes := p.takes + 250*time.Millisecond
	p.mu.Unlock()
	began := time.Now()
	r, err := do()
	p.mu.Lock()
	switch {
	case within <= staleWait:
	case p.orphan:
		within = max(within, otherLock) + takes
	default:
		within += takes
	}
	p.mu.Unlock()
	if took := time.Since(began); took > within {
		p.errorf("%s took %v, want %v at most", what, took, within)
	}
	if err != nil {
		p.errorf("%s: %v", what, err)
		return nil
	}
	p.judge(r, before)
	return r
}

func (p *process) close(within time.Duration) {
	p.t.Helper()
	began := time.Now()
	if err := p.c.Close(); err != nil {
		p.errorf("%v", err)
	}
	if took := time.Since(began); took > within {
		p.errorf("Close took %v, want %v at most", took, within)
	}
}

// judge compares a record with the knowledge of its process at its call, its fetch or its
// answer. A stricter verdict than the model's fails only in the run without failures; an allow
// must be the model's.
func (p *process) judge(r *fetch.Record, before uint64) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	now, fetched := time.Now(), r.Fetched
	i := slices.IndexFunc(p.truth, func(a attempt) bool {
		return a.at.Sub(fetched).Abs() <= 2*time.Millisecond && a.cause == r.Cause && a.status == r.Status
	})
	if i < 0 {
		p.errorf("a record that no attempt has brought: %v of %v", r.Cause, fetched)
		return
	}
	expires := r.Expires
	if r.LastGood != nil {
		expires = r.LastGood.Expires
	}
	if !r.Outcome.Good() && r.LastGood == nil {
		expires = time.Time{}
	}
	if r.Outcome.Good() && now.After(expires.Add(day+time.Second)) {
		p.errorf("an answer that ended %v ago", now.Sub(expires))
	}
	knowledge := []uint64{p.known, before}
	if a := p.truth[i]; a.by == p {
		knowledge = append(knowledge, a.knew)
	}
	for _, d := range robots.Dialects() {
		rules := r.Rules(d, now, "Bot")
		for _, path := range torturePaths {
			got := rules.Match(path.path).Word()
			var want, why string
			for _, known := range knowledge {
				if want, why = p.knowing(known, i).path(path.private, d.Name, now, expires); got == want {
					break
				}
			}
			switch {
			case got == want && got == "allow":
				p.verdicts["allow by "+why]++
			case got == want:
				p.verdicts[got]++
			case got == "allow" || p.struck == 0:
				p.errorf("%s: %s is %s %v after the start, want %s by %s\n%s", d.Name, path.name, got, now.Sub(began2000), want, why, p.story(i, r))
			default:
				p.verdicts["stricter than all that could be known"]++
			}
		}
	}
}

var torturePaths = []struct {
	name    string
	path    robots.Path
	private bool
}{
	{"/private", privatePath, true}, {"/private/x?y=z", path("/private/x?y=z"), true},
	{"/open", openPath, false}, {"/", path("/"), false},
}

// knowing returns the model of a process that knows some attempts, up to one.
func (s *stage) knowing(known uint64, last int) *model {
	m := &model{}
	for i, a := range s.truth[:last+1] {
		if i == last || known>>i&1 != 0 {
			m.attempt(a.behaviour, a.at)
		}
	}
	return m
}

// path returns the verdict for a path, under /private or not.
func (m *model) path(private bool, dialect string, now, expires time.Time) (want, why string) {
	if !private {
		open := *m
		for _, b := range []**behaviour{&open.last, &open.lastGood} {
			if *b != nil && (*b).good() {
				c := **b
				c.private, *b = "allow", &c
			}
		}
		m = &open
	}
	return m.private(dialect, policies[dialect], now, expires)
}

// story lists the attempts for a failure message.
func (p *process) story(last int, r *fetch.Record) string {
	var b strings.Builder
	for i, a := range p.truth[:last+1] {
		fmt.Fprintf(&b, "\t%v %s, known: %v\n", a.at.Sub(began2000), a.name, p.known>>i&1 != 0 || i == last)
	}
	fmt.Fprintf(&b, "\trecord: %v, %d failures since %v", r.Cause, r.Failures, r.FailingSince.Sub(began2000))
	if g := r.LastGood; g != nil {
		fmt.Fprintf(&b, ", last good %v of %v", g.Cause, g.Fetched.Sub(began2000))
	}
	return b.String()
}

// The ages of an outage before and after each limit of a dialect.
var ages = []time.Duration{time.Minute * 3, 12*hour - time.Minute, 12*hour + time.Minute, 5 * day, 30*day - time.Minute, 30*day + time.Minute, 70 * day}

// ageing makes calls during an outage.
func (s *stage) ageing(p *process, restarts bool) {
	began := time.Now()
	for _, age := range ages {
		if restarts {
			p.close(storeCalls)
			p = s.start()
		}
		s.rest(age - time.Since(began))
		p.get(storeCalls)
		synctest.Wait()
		p.get(storeCalls)
	}
}

// past gives the store a record of a process that has ended.
func (s *stage) past(behaviour string, ago time.Duration) {
	s.site = behaving(behaviour)
	p := s.start()
	p.get(storeCalls)
	p.close(storeCalls)
	s.rest(ago)
}

var tortures = []struct {
	name string
	act  func(s *stage)
}{
	{"cold, good answer", func(s *stage) {
		s.arm()
		p := s.start()
		p.get(storeCalls)
		p.get(storeCalls)
	}},
	{"cold, 404", func(s *stage) {
		s.becomes("404")
		s.arm()
		p := s.start()
		p.get(storeCalls)
		s.rest(time.Hour)
		p.get(storeCalls)
	}},
	{"kept by an earlier process", func(s *stage) {
		s.past("file", time.Hour)
		s.arm()
		p := s.start()
		p.get(storeCalls)
	}},
	{"due and refreshed", func(s *stage) {
		s.past("file", 30*hour)
		s.arm()
		p := s.start()
		p.get(storeCalls)
		s.rest(25 * hour)
		p.get(staleWait)
	}},
	{"a file that closes what was open", func(s *stage) {
		s.past("404", 30*hour)
		s.becomes("file")
		s.arm()
		p := s.start()
		p.get(storeCalls)
		s.becomes("500")
		s.rest(26 * hour)
		p.get(staleWait)
		s.rest(time.Hour)
		p.get(staleWait)
	}},
	{"ahead", func(s *stage) {
		p := s.start()
		p.get(storeCalls)
		s.arm()
		s.rest(20 * hour) // a life is 21.6 to 24 hours
		p.get(0)
		s.rest(time.Minute)
		p.get(0)
	}},
	{"stale while revalidating", func(s *stage) {
		p := s.start()
		p.get(storeCalls)
		s.rest(26 * hour)
		s.takes = 20 * time.Second
		s.becomes("reset")
		s.arm()
		p.get(staleWait)
		s.rest(time.Minute)
		p.get(staleWait)
	}},
	{"overdue", func(s *stage) {
		p := s.start()
		p.get(storeCalls)
		s.rest(60 * hour)
		s.takes = 20 * time.Second
		s.arm()
		p.get(storeCalls)
	}},
	{"outage with a copy", func(s *stage) {
		s.past("file", 30*hour)
		s.becomes("500")
		s.arm()
		p := s.start()
		p.get(storeCalls)
		s.ageing(p, false)
	}},
	{"outage with a copy, restarts", func(s *stage) {
		s.past("file", 30*hour)
		s.becomes("reset")
		s.arm()
		p := s.start()
		p.get(storeCalls)
		s.ageing(p, true)
	}},
	{"outage of a site never reached", func(s *stage) {
		s.becomes("no host")
		s.arm()
		p := s.start()
		p.get(storeCalls)
		s.ageing(p, false)
	}},
	{"outage of a site never reached, restarts", func(s *stage) {
		s.becomes("503")
		s.arm()
		p := s.start()
		p.get(storeCalls)
		s.ageing(p, true)
	}},
	{"outage seen day by day, restarts", func(s *stage) {
		s.becomes("reset")
		p := s.start()
		for range 30 {
			p.get(storeCalls)
			s.rest(25 * hour)
		}
		s.arm()
		for range 3 { // the first opens the site in most dialects
			p.get(storeCalls)
			p.close(storeCalls)
			p = s.start()
			s.rest(25 * hour)
		}
	}},
	{"outage with failures of our own before and in it", func(s *stage) {
		s.past("file", 30*hour)
		s.becomes("no network here")
		s.arm()
		p := s.start()
		p.get(storeCalls)
		for _, b := range []string{"500", "no name server here", "500", "500", "refused", "reset", "500", "no network here"} {
			s.becomes(b)
			s.rest(5 * hour)
			p.get(storeCalls)
		}
		p.close(storeCalls)
		p = s.start()
		p.get(storeCalls)
		s.rest(30 * day)
		p.get(storeCalls)
	}},
	{"outage after a 404, 429 and 5xx for missing pages", func(s *stage) {
		s.past("404", 30*hour)
		s.arm()
		p := s.start()
		for _, b := range []string{"429", "500 also for missing", "reset", "429 for 1 s", "cut short"} {
			s.becomes(b)
			s.rest(7 * day)
			p.get(storeCalls)
		}
	}},
	{"outage that another process saw end", func(s *stage) {
		s.past("file", 30*hour)
		s.becomes("500")
		p := s.start()
		p.get(storeCalls)
		s.arm()
		for _, b := range []string{"500", "404", "500", "file", "500"} {
			s.rest(10 * day)
			s.becomes(b)
			s.delivers()
			s.becomes("500")
			s.rest(26 * hour)
			p.get(storeCalls)
			synctest.Wait()
			p.get(storeCalls)
			s.rest(2 * hour)
			p.get(storeCalls)
		}
		s.rest(10 * day)
		p.get(storeCalls)
	}},
	{"outage that another process saw end, long after", func(s *stage) {
		s.past("404", 30*hour)
		s.becomes("500")
		p := s.start()
		p.get(storeCalls)
		s.rest(10 * day)
		s.becomes("file")
		s.delivers()
		s.becomes("500")
		s.rest(26 * hour)
		s.arm()
		p.get(storeCalls)
		s.rest(2 * hour)
		p.get(storeCalls)
		for range 4 {
			s.rest(7 * day)
			p.get(storeCalls)
		}
	}},
	{"refresh", func(s *stage) {
		p := s.start()
		p.get(storeCalls)
		s.arm()
		for _, b := range []string{"404", "500", "file"} {
			s.becomes(b)
			p.asks("Refresh", 2*storeCalls, func() (*fetch.Record, error) { return p.c.Refresh(context.Background(), origin) })
			p.get(storeCalls)
		}
	}},
	{"forget", func(s *stage) {
		p := s.start()
		p.get(storeCalls)
		s.becomes("500")
		s.rest(48 * hour)
		p.get(storeCalls)
		s.arm()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		began := time.Now()
		err := p.c.Forget(ctx, origin)
		if took := time.Since(began); took > 20*time.Second {
			s.errorf("Forget took %v, its context 20s", took)
		}
		s.mu.Lock()
		p.known = 0
		if err == nil && s.kept != 0 && s.way != overtaken {
			s.errorf("forgotten, but kept")
		}
		s.mu.Unlock()
		p.get(storeCalls)
		s.rest(2 * hour)
		p.get(storeCalls)
	}},
	{"lock of another who delivers", func(s *stage) {
		s.past("file", 30*hour)
		token, err := s.Memory.Lock(context.Background(), origin, 66*time.Second)
		if err != nil {
			s.t.Fatal(err)
		}
		s.arm()
		p := s.start()
		time.AfterFunc(10*time.Second, func() {
			s.delivers()
			_ = s.Memory.Unlock(context.Background(), origin, token)
		})
		p.get(otherLock)
		s.rest(25 * hour)
		p.get(storeCalls)
	}},
	{"lock of another who dies", func(s *stage) {
		if _, err := s.Memory.Lock(context.Background(), origin, 66*time.Second); err != nil {
			s.t.Fatal(err)
		}
		s.becomes("500")
		s.arm()
		p := s.start()
		p.get(otherLock)
		s.rest(time.Hour)
		p.get(storeCalls)
	}},
	{"fenced by a later lock", func(s *stage) {
		s.past("file", 30*hour)
		s.takes, s.ignores, s.site = 90*time.Second, true, behaving("500")
		s.arm()
		late := s.start()
		var wg sync.WaitGroup
		wg.Go(func() { late.get(storeCalls) })
		time.Sleep(70 * time.Second) // its lock has ended
		s.mu.Lock()
		s.takes, s.ignores = 0, false
		s.mu.Unlock()
		next := s.start()
		next.get(storeCalls)
		s.mu.Lock()
		s.takes = 90 * time.Second
		s.mu.Unlock()
		wg.Wait()
		synctest.Wait()
		s.mu.Lock()
		s.takes = 0
		s.mu.Unlock()
		for _, p := range []*process{late, next} {
			p.get(storeCalls)
			s.rest(2 * day)
			p.get(storeCalls)
		}
	}},
	{"refused by the guard", func(s *stage) {
		s.past("file", 30*hour)
		s.becomes("refused")
		s.arm()
		p := s.start()
		p.get(storeCalls)
		s.rest(40 * day)
		p.get(storeCalls)
		s.becomes("500")
		s.rest(2 * hour)
		p.get(storeCalls)
		s.becomes("refused")
		s.rest(2 * hour)
		p.get(storeCalls)
		p.close(storeCalls)
		p = s.start() // its guard may be another
		s.becomes("500")
		p.get(storeCalls)
	}},
	{"refused since ever", func(s *stage) {
		s.becomes("refused")
		s.arm()
		p := s.start()
		p.get(storeCalls)
		s.ageing(p, true)
	}},
	{"many callers", func(s *stage) {
		s.past("file", 30*hour)
		s.takes = 5 * time.Second
		s.arm()
		procs := []*process{s.start(), s.start(), s.start()}
		var wg sync.WaitGroup
		for _, p := range procs {
			for i := range 3 {
				wg.Go(func() {
					ctx, cancel := context.WithCancel(context.Background())
					defer cancel()
					if i == 0 { // does not wait
						time.AfterFunc(time.Second, cancel)
						if _, err := p.c.Get(ctx, origin); err != nil && !errors.Is(err, context.Canceled) {
							s.errorf("%v", err)
						}
						return
					}
					p.get(2 * otherLock)
				})
			}
		}
		wg.Wait()
		for _, p := range procs {
			p.get(storeCalls)
		}
	}},
	{"closed in the middle", func(s *stage) {
		s.past("file", 30*hour)
		for _, after := range []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second} {
			s.takes = 2 * time.Second
			s.arm()
			p := s.start()
			var wg sync.WaitGroup
			wg.Go(func() {
				before := p.known
				r, err := p.c.Get(context.Background(), origin)
				if err == nil {
					p.judge(r, before)
				} else if !errors.Is(err, cache.ErrClosed) {
					s.errorf("%v", err)
				}
			})
			synctest.Wait()
			time.Sleep(after)
			p.close(storeCalls)
			wg.Wait()
			s.rest(26 * hour)
		}
	}},
}

// TestTorture: in every scenario each call of the store fails in turn, alone and
// with all that follow, in every way. Nothing panics, nothing is left behind, no
// call waits for long, every call has an answer, and none is an allow that the
// dialect does not list for what its process could know. When the store works
// again so does everything.
func TestTorture(t *testing.T) {
	var mu sync.Mutex
	verdicts := map[string]int{}
	runs, struck, most := 0, 0, 0
	run := func(t *testing.T, i int, at, calls int, w way) (called int) {
		synctest.Test(t, func(t *testing.T) {
			s := &stage{
				Memory: cachetest.NewMemory(), t: t, site: behaving("file"), at: at, calls: calls, way: w,
				verdicts: map[string]int{}, title: "no failure",
			}
			if at > 0 {
				s.title = fmt.Sprintf("call %d %s, %d in all", at, wayNames[w], calls)
			}
			tortures[i].act(s)
			for _, p := range s.processes {
				p.close(storeCalls)
			}
			s.heals()
			mu.Lock()
			defer mu.Unlock()
			runs++
			if s.struck > 0 {
				struck++
			}
			for v, n := range s.verdicts {
				verdicts[v] += n
			}
			called = s.called
		})
		return called
	}
	t.Run("calls", func(t *testing.T) {
		for i := range tortures {
			t.Run(tortures[i].name, func(t *testing.T) {
				t.Parallel()
				calls := run(t, i, 0, 0, 0)
				mu.Lock()
				most = max(most, calls)
				mu.Unlock()
				step := campaign.Size(59, 7, 1)
				for n := 1; n <= calls; n += step {
					for w := range ways {
						for _, many := range []int{1, 3, 1000} { // a call, a bad moment, from then on
							if many > 1 && w == overtaken {
								continue
							}
							if run(t, i, n, many, w); t.Failed() {
								return
							}
						}
					}
				}
			})
		}
	})
	t.Logf("%d scenarios of at most %d calls, %d runs, %d of them with failures", len(tortures), most, runs, struck)
	for _, v := range slices.Sorted(maps.Keys(verdicts)) {
		t.Logf("%9d verdicts: %s", verdicts[v], v)
	}
}

// heals: the store works again. Calls are answered by the policy, and the next answer of the
// site is in memory and in the store.
func (s *stage) heals() {
	synctest.Wait()
	s.mu.Lock()
	s.armed, s.takes, s.ignores = false, 0, false
	s.mu.Unlock()
	time.Sleep(67 * time.Second) // a lock whose unlock came to nothing
	p := s.start()
	p.get(storeCalls)
	s.rest(3 * day)
	s.site = behaving("file")
	r := p.asks("Get", storeCalls, func() (*fetch.Record, error) { return p.c.Get(context.Background(), origin) })
	p.close(storeCalls)
	e, err := s.Memory.Get(context.Background(), origin)
	if err != nil || r == nil || r.Outcome != fetch.Success || !e.Record.Fetched.Equal(r.Fetched) {
		s.errorf("when the store works again: %+v; it keeps %+v, %v", r, e.Record, err)
	}
	n := len(s.truth)
	p = s.start()
	p.get(0)
	p.close(storeCalls)
	if len(s.truth) != n {
		s.errorf("what was stored is fetched again")
	}
	_ = s.Memory.Close()
}
