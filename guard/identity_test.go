package guard

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots/crawlers"
)

// A nameServer is a Resolver with one name for all addresses, which it resolves to one address.
type nameServer struct {
	hangs   bool
	name    string
	address netip.Addr
	queries int
}

func (s *nameServer) LookupAddr(ctx context.Context, _ string) ([]string, error) {
	s.queries++
	if s.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return []string{s.name}, nil
}

func (s *nameServer) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{s.address}, nil
}

var (
	crawlerAddress = netip.MustParseAddr("66.249.66.1")
	otherAddress   = netip.MustParseAddr("198.51.100.1")
)

// TestHangingResolver: no decision waits for the DNS. Failed lookups are repeated after a minute, and
// are limited.
func TestHangingResolver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &nameServer{hangs: true}
		g := newGuard(t, shop, Options{RefuseFaked: true, Verifier: &crawlers.Verifier{Resolver: server}})
		began := time.Now()
		decide := func(address netip.Addr) {
			d := g.Decide(Request{UserAgent: "Googlebot", Address: address, Target: "/"})
			if d.Action != Pass || d.Identity.Result != crawlers.Unknown || time.Since(began) != 0 {
				t.Errorf("%s: %s after %s", address, d.Reason(), time.Since(began))
			}
			synctest.Wait()
		}
		decide(crawlerAddress)
		decide(crawlerAddress)
		address := otherAddress
		for range 2 * maxLookups {
			decide(address)
			address = address.Next()
		}
		if server.queries != maxLookups {
			t.Errorf("%d queries", server.queries)
		}
		time.Sleep(2 * time.Minute) // of the bubble
		began = time.Now()
		decide(crawlerAddress)
		if server.queries != maxLookups+1 {
			t.Errorf("%d queries after the timeout", server.queries)
		}
		time.Sleep(time.Minute)
	})
}

// TestIdentity: the request after a lookup knows its result, which only RefuseFaked refuses.
func TestIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &nameServer{name: "crawl-66-249-66-1.googlebot.com.", address: crawlerAddress}
		g := newGuard(t, shop, Options{RefuseFaked: true, Verifier: &crawlers.Verifier{Resolver: server}})
		for _, test := range []struct {
			address netip.Addr
			result  crawlers.Result
			action  Action
		}{
			{crawlerAddress, crawlers.Unknown, Pass},
			{crawlerAddress, crawlers.Verified, Pass},
			{otherAddress, crawlers.Unknown, Pass},
			{otherAddress, crawlers.Faked, Faked},
			{netip.Addr{}, crawlers.Unknown, Pass},
			{netip.MustParseAddr("10.0.0.1"), crawlers.Unknown, Pass},
			{netip.MustParseAddr("::ffff:127.0.0.1"), crawlers.Unknown, Pass},
			{netip.MustParseAddr("100.64.0.1"), crawlers.Unknown, Pass},
		} {
			d := g.Decide(Request{UserAgent: "Googlebot", Address: test.address, Target: "/"})
			if d.Identity.Result != test.result || d.Action != test.action || d.Refused != (d.Action == Faked) {
				t.Errorf("%s: %s, %s", test.address, d.Identity.Result, d.Reason())
			}
			synctest.Wait()
		}
		queries := server.queries
		time.Sleep(2 * identityLifetime)
		server.address = otherAddress
		d := g.Decide(Request{UserAgent: "Googlebot", Address: otherAddress, Target: "/"})
		synctest.Wait()
		again := g.Decide(Request{UserAgent: "Googlebot", Address: otherAddress, Target: "/"})
		if d.Action != Faked || again.Identity.Result != crawlers.Verified || server.queries != queries+1 {
			t.Errorf("after a day: %s, then %s, %d queries", d.Reason(), again.Reason(), server.queries-queries)
		}
	})
}

// TestLists: an address that a list does not have is faked at once, unless the DNS can verify it.
func TestLists(t *testing.T) {
	list, err := crawlers.ReadAddresses([]byte("198.51.100.0/24"))
	if err != nil {
		t.Fatal(err)
	}
	g := newGuard(t, shop, Options{Verifier: &crawlers.Verifier{Lists: map[string]*crawlers.Addresses{"GPTBot": list, "CCBot": list}}})
	for _, test := range []struct {
		userAgent string
		address   netip.Addr
		result    crawlers.Result
		action    Action
	}{
		{"GPTBot", otherAddress, crawlers.Verified, Block},
		{"GPTBot", crawlerAddress, crawlers.Faked, Block}, // by the file, as the crawler that it claims to be
		{"CCBot", otherAddress, crawlers.Verified, Pass},
		{"CCBot", crawlerAddress, crawlers.Faked, Faked},
		{"Bytespider", crawlerAddress, crawlers.Unknown, Pass},
	} {
		d := g.Decide(Request{UserAgent: test.userAgent, Address: test.address, Target: "/"})
		if d.Identity.Result != test.result || d.Action != test.action || d.Refused != (d.Action == Block) {
			t.Errorf("%s from %s: %s %s", test.userAgent, test.address, d.Action, d.Reason())
		}
	}
}
