package polite_test

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

// A frontier is a crawler with a queue of its own: robots.txt files from a cache, permits from a
// limiter, and a client that sends a request with its permit. With the store and the limiter of a
// fleet, nothing else changes.
type frontier struct {
	crawler cache.Crawler
	policy  pace.Policy
	files   *cache.Cache
	limiter pace.Limiter
	client  *http.Client // over a polite.PermitTransport
	batch   int          // sites in one call of Try
	workers int          // pages at a time
	report  func(url, outcome string)
}

// A site of the frontier has its remaining pages.
type site struct {
	urls    []string
	next    time.Time // when it is looked at again
	rules   *robots.Rules
	request pace.Request
	permit  pace.Permit
}

// queue is a heap of sites by their next time.
type queue []*site

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].next.Before(q[j].next) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*site)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	s := (*q)[last]
	*q = (*q)[:last]
	return s
}

// crawl requests all pages of the sites.
func (f *frontier) crawl(ctx context.Context, sites []*site) error {
	waiting := queue(sites)
	heap.Init(&waiting)
	loaded := make(chan *site) // whose robots.txt was read
	ended := make(chan *site)  // whose page was read
	loading, fetching := 0, 0
	var ready []*site
	for len(waiting)+loading+fetching+len(ready) > 0 {
		for len(waiting) > 0 && !waiting[0].next.After(time.Now()) && loading < f.batch {
			s := heap.Pop(&waiting).(*site)
			loading++
			go func() {
				f.load(ctx, s)
				loaded <- s
			}()
		}
		if len(ready) > 0 && fetching < f.workers && (loading == 0 || len(ready) >= f.batch) {
			requests := make([]pace.Request, len(ready))
			for i, s := range ready {
				requests[i] = s.request
			}
			permits, err := f.limiter.Try(ctx, requests, f.workers-fetching)
			if err != nil {
				return err
			}
			for i, s := range ready {
				s.request.Done = pace.Permit{} // released by Try
				if s.permit = permits[i]; !s.permit.OK() {
					s.next = s.permit.NotBefore
					heap.Push(&waiting, s)
					continue
				}
				fetching++
				go func() {
					f.fetch(ctx, s)
					ended <- s
				}()
			}
			ready = nil
			continue
		}
		var due <-chan time.Time
		if len(waiting) > 0 && loading < f.batch {
			due = time.After(time.Until(waiting[0].next))
		}
		select {
		case s := <-loaded:
			loading--
			switch {
			case len(s.urls) == 0: // the rest is disallowed
				if err := f.limiter.Release(ctx, s.request.Done, s.request.Result); err != nil {
					return err
				}
			case s.next.After(time.Now()):
				heap.Push(&waiting, s)
			default:
				ready = append(ready, s)
			}
		case s := <-ended:
			fetching--
			heap.Push(&waiting, s)
		case <-due:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// load reads the robots.txt of a site and drops the pages that it disallows, up to the first
// allowed one.
func (f *frontier) load(ctx context.Context, s *site) {
	rules, record, err := f.files.Rules(ctx, s.request.Origin, &f.crawler)
	if err != nil {
		s.next = time.Now().Add(time.Minute)
		return
	}
	for len(s.urls) > 0 {
		_, path, err := robots.ParseURL(s.urls[0])
		verdict := rules.Match(path)
		if err == nil && verdict.Undecided() { // robots.txt is unreachable
			f.report(s.urls[0], "undecided")
			s.next = verdict.State.NextTry
			return
		}
		if err == nil && verdict.Allowed {
			break
		}
		f.report(s.urls[0], "disallowed")
		s.urls = s.urls[1:]
	}
	if rules != s.rules {
		s.rules = rules
		s.request.Fetched = record.Fetched
		if s.request.Schedule, err = pace.NewSchedule(rules, f.policy); err != nil {
			panic(err) // the policy is invalid
		}
	}
}

// fetch requests the first page of a site with its permit, which the next Try releases.
func (f *frontier) fetch(ctx context.Context, s *site) {
	req, err := http.NewRequestWithContext(polite.WithPermit(ctx, s.permit), http.MethodGet, s.urls[0], nil)
	if err != nil {
		panic(err) // ParseURL has accepted it
	}
	resp, err := f.client.Do(req)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body) // here the page is read
		resp.Body.Close()
	}
	result := polite.ResultOf(ctx, resp, err)
	if missed, is := errors.AsType[*pace.MissedError](err); is { // no byte was sent
		s.next = missed.Permit.NotBefore
		if err := f.limiter.Release(ctx, s.permit, result); err != nil {
			panic(err) // the limiter is closed
		}
		return
	}
	s.request.Done = s.permit
	s.request.Result = result
	s.next = time.Now() // Try then returns when the next page may start
	switch {
	case err != nil:
		f.report(s.urls[0], "failed")
	default:
		f.report(s.urls[0], resp.Status)
		if resp.StatusCode == http.StatusTooManyRequests {
			return // again after the Retry-After
		}
	}
	s.urls = s.urls[1:]
}

// network answers requests from memory.
type network struct {
	mu      sync.Mutex
	starts  map[string][]time.Time // pages by host
	answers func(host, path string, nth int) (status int, header http.Header, body string)
}

func (n *network) RoundTrip(req *http.Request) (*http.Response, error) {
	n.mu.Lock()
	nth := len(n.starts[req.URL.Host])
	if req.URL.Path != "/robots.txt" {
		n.starts[req.URL.Host] = append(n.starts[req.URL.Host], time.Now())
	}
	n.mu.Unlock()
	status, header, body := n.answers(req.URL.Host, req.URL.Path, nth)
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// newFrontier returns a frontier. The zero fetch.Options are those of a crawler on the internet.
func newFrontier(o fetch.Options, policy pace.Policy, report func(url, outcome string)) (*frontier, error) {
	limiter, err := pace.NewLocal(pace.Options{})
	if err != nil {
		return nil, err
	}
	o.UserAgent = "MyBot"
	o.Start = limiter.StartFetch
	o.Redirected = limiter.Requested
	fetcher, err := fetch.New(o)
	if err != nil {
		return nil, err
	}
	base := o.Transport
	if base == nil {
		base = fetcher.Transport() // which connects like the fetcher
	}
	files, err := cache.New(cache.Options{Fetcher: fetcher}) // with the Store of cache/bolt for many sites
	if err != nil {
		return nil, err
	}
	return &frontier{
		crawler: cache.Crawler{Dialect: robots.RFC9309, Tokens: []string{"MyBot"}}, policy: policy,
		files: files, limiter: limiter, batch: 500, workers: 50, report: report,
		client: &http.Client{
			Transport:     &polite.PermitTransport{Limiter: limiter, Base: base, UserAgent: "MyBot"},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// newSites groups URLs by their sites.
func newSites(urls []string) (sites []*site, err error) {
	known := map[robots.Origin]*site{}
	for _, raw := range urls {
		if _, err := url.Parse(raw); err != nil {
			return nil, err
		}
		origin, _, err := robots.ParseURL(raw)
		if err != nil {
			return nil, err
		}
		s := known[origin]
		if s == nil {
			s = &site{request: pace.Request{Origin: origin}}
			known[origin] = s
			sites = append(sites, s)
		}
		s.urls = append(s.urls, raw)
	}
	return sites, nil
}

// A complete crawler with a queue of its own. Sites whose time has come get permits in one call;
// each page is sent with its permit, and the next call releases it with the result.
func ExamplePermitTransport() {
	web := &network{starts: map[string][]time.Time{}, answers: func(_, path string, _ int) (int, http.Header, string) {
		if path == "/robots.txt" {
			return http.StatusOK, nil, "User-agent: *\nDisallow: /private\n"
		}
		return http.StatusOK, nil, "page"
	}}
	f, err := newFrontier(fetch.Options{Transport: web}, pace.Policy{Default: 10 * time.Millisecond}, func(url, outcome string) {
		fmt.Println(url, outcome)
	})
	if err != nil {
		panic(err)
	}
	defer f.files.Close()
	sites, err := newSites([]string{"https://a.example/", "https://b.example/private/diary", "https://b.example/news"})
	if err != nil {
		panic(err)
	}
	if err := f.crawl(context.Background(), sites); err != nil {
		panic(err)
	}
	// Unordered output:
	// https://a.example/ 200 OK
	// https://b.example/private/diary disallowed
	// https://b.example/news 200 OK
}
