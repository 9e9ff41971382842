package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/robotskit/robots"
)

// TestGuardRanges: both ends of every special network and the addresses next to them, as in the
// registries; what the settings open and close.
func TestGuardRanges(t *testing.T) {
	denied := []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
		"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32", "168.63.129.16/32", "169.254.169.254/32", "100.100.100.200/32",
		"192.0.0.192/32",
		"::/96", "::1/128", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2001::/23", "2001:db8::/32",
		"2002::/16", "3fff::/20", "5f00::/16", "fc00::/7", "fd00:ec2::254/128", "fe80::/10", "fec0::/10", "ff00::/8",
	}
	checked := 0
	for _, text := range denied {
		p := netip.MustParsePrefix(text)
		last := p.Masked().Addr().AsSlice()
		for i := p.Bits(); i < len(last)*8; i++ {
			last[i/8] |= 0x80 >> (i % 8)
		}
		end, _ := netip.AddrFromSlice(last)
		ends := []netip.Addr{p.Masked().Addr(), end}
		if p.Addr().Is4() {
			for _, a := range ends[:2] { // the mapped form is the same address
				ends = append(ends, netip.AddrFrom16(a.As16()))
			}
		}
		for _, a := range ends {
			checked++
			var refused *RefusedError
			if err := (Guard{}).Check(netip.AddrPortFrom(a, 80)); !errors.As(err, &refused) {
				t.Errorf("%s of %s passes", a, text)
			}
		}
	}
	public := []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.88.98.255",
		"192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "203.0.112.255", "223.255.255.255",
		"168.63.129.15", "168.63.129.17", "::ffff:8.8.8.8", "2001:200::1", "2001:4860:4860::8888", "2001:db7:ffff::1", "2001:db9::1", "2003::1",
		"2606:4700::1111", "2a00:1450::1", "3fff:1000::1", "2620:4f:8000::1", "192.31.196.1", "192.52.193.1", "192.175.48.1",
	}
	for _, text := range public {
		checked++
		if err := (Guard{}).Check(netip.AddrPortFrom(netip.MustParseAddr(text), 443)); err != nil {
			t.Errorf("%s is refused: %v", text, err)
		}
	}
	for _, row := range []struct {
		guard   Guard
		address string
		passes  bool
	}{
		{Guard{AllowLoopback: true}, "127.0.0.1", true},
		{Guard{AllowLoopback: true}, "::1", true},
		{Guard{AllowLoopback: true}, "10.0.0.1", false},
		{Guard{AllowPrivate: true}, "10.0.0.1", true},
		{Guard{AllowPrivate: true}, "127.0.0.1", true},
		{Guard{AllowPrivate: true}, "fd12::1", true},
		{Guard{AllowPrivate: true}, "fd00:ec2::254", false},
		{Guard{AllowPrivate: true}, "100.100.100.200", false},
		{Guard{AllowPrivate: true}, "169.254.169.254", false},
		{Guard{AllowPrivate: true}, "192.0.2.1", false},
		{Guard{AllowPrivate: true, Deny: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}, "10.1.2.3", false},
		{Guard{Deny: []netip.Prefix{netip.MustParsePrefix("8.8.8.0/24")}}, "::ffff:8.8.8.8", false},
		{Guard{AllowNAT64: true}, "64:ff9b::808:808", true},
		{Guard{AllowNAT64: true}, "64:ff9b::a00:1", false},
		{Guard{AllowNAT64: true}, "64:ff9b::7f00:1", false},
		{Guard{AllowNAT64: true}, "64:ff9b:1::808:808", false},
		{Guard{AllowLoopback: true}, "fe80::1%eth0", false},
	} {
		checked++
		if err := row.guard.Check(netip.AddrPortFrom(netip.MustParseAddr(row.address), 80)); (err == nil) != row.passes {
			t.Errorf("%+v, %s: %v", row.guard, row.address, err)
		}
	}
	allow := Guard{Allow: []netip.AddrPort{
		netip.MustParseAddrPort("127.0.0.1:4001"), netip.MustParseAddrPort("[::1]:4001"), netip.MustParseAddrPort("127.0.0.1:25"),
		netip.MustParseAddrPort("169.254.169.254:80"),
	}}
	ports := Guard{Ports: []uint16{80, 443}, Allow: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:8080")}}
	for _, row := range []struct {
		guard  Guard
		passes []string
		fail   []string
	}{
		{Guard{}, []string{"93.184.215.14:8080"}, []string{"93.184.215.14:25"}},
		{allow, []string{"127.0.0.1:4001", "[::ffff:127.0.0.1]:4001", "[::1]:4001"},
			[]string{"127.0.0.1:4002", "127.0.0.2:4001", "10.0.0.1:4001", "127.0.0.1:25", "169.254.169.254:80", "192.0.2.1:4001"}},
		{ports, []string{"93.184.215.14:80", "93.184.215.14:443", "127.0.0.1:8080"},
			[]string{"93.184.215.14:8080", "93.184.215.14:22", "127.0.0.1:80"}},
	} {
		for _, at := range slices.Concat(row.passes, row.fail) {
			checked++
			if err := row.guard.Check(netip.MustParseAddrPort(at)); (err == nil) != slices.Contains(row.passes, at) {
				t.Errorf("%+v, %s: %v", row.guard, at, err)
			}
		}
	}
	for _, c := range []struct{ network, address string }{
		{"udp4", "8.8.8.8:80"}, {"tcp4", "8.8.8.8"}, {"tcp4", "example.com:80"}, {"tcp4", "8.8.8.8:25"}, {"tcp6", "[::1]:80"}, {"tcp4", "127.0.0.1:80"},
	} {
		checked++
		if err := (Guard{}).Control(c.network, c.address, nil); err == nil {
			t.Errorf("Control(%s, %s) passes", c.network, c.address)
		}
	}
	t.Logf("%d addresses", checked)
}

// TestGuardMetadata: no setting permits the metadata service of a cloud, however its address is
// written, and the refusal names it.
func TestGuardMetadata(t *testing.T) {
	guards := []Guard{{}, {AllowPrivate: true}, {AllowPrivate: true, AllowLoopback: true, AllowNAT64: true}}
	refuse := func(g Guard, text string, named bool) {
		t.Helper()
		var refused *RefusedError
		err := g.Check(netip.AddrPortFrom(netip.MustParseAddr(text), 80))
		if !errors.As(err, &refused) || named && !strings.Contains(err.Error(), "cloud metadata address") {
			t.Errorf("%+v, %s: got %v, want a refusal (as metadata: %v)", g, text, err, named)
		}
	}
	for _, text := range []string{
		"169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16", "192.0.0.192",
	} {
		b := netip.MustParseAddr(text).As4()
		for _, g := range guards {
			refuse(g, text, true)
			refuse(g, "::ffff:"+text, true)
			refuse(g, fmt.Sprintf("0:0:0:0:0:ffff:%02x%02x:%02x%02x", b[0], b[1], b[2], b[3]), true)
			refuse(g, "64:ff9b::"+text, g.AllowNAT64)
			refuse(g, "64:ff9b:1::"+text, false)
			refuse(g, "::"+text, false)
			refuse(g, "::ffff:0:"+text, false) // RFC 2765, translated
			refuse(g, fmt.Sprintf("2002:%02x%02x:%02x%02x::1", b[0], b[1], b[2], b[3]), false)
			refuse(g, fmt.Sprintf("2001:0:1::%02x%02x:%02x%02x", ^b[0], ^b[1], ^b[2], ^b[3]), false)
		}
	}
	for _, text := range []string{
		"fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:100::100:200", "fd00:a9fe:a9fe::1", "fd00:42::42",
	} {
		for _, g := range guards {
			refuse(g, text, true)
			refuse(g, text+"%eth0", false)
		}
	}
	// The addresses next to them are not affected.
	for _, text := range []string{"100.100.100.199", "fd00:ec2::255", "fd20:ce::253", "fd00:42::43"} {
		if err := (Guard{AllowPrivate: true}).Check(netip.AddrPortFrom(netip.MustParseAddr(text), 80)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// spellings of 127.0.0.1 and of names that resolve to it, as hosts of a URL.
var spellings = []string{
	"127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "127.000.000.001", "2130706433", "0x7f000001", "0x7F.0.0.1", "0x7f.1", "017700000001",
	"0177.0.0.1", "0177.0x0.0.01", "127.0.0.0x1", "%31%32%37.0.0.1", "127%2E0%2E0%2E1", "①②⑦.⓪.⓪.①", "１２７.０.０.１", "127。0。0。1",
	"user@127.0.0.1", "user:pass@127.0.0.1", "example.com@127.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
	"[0:0:0:0:0:ffff:7f00:0001]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]",
	"LOCAL.test", "local.test.", "xn--local-.test", "lo\u00adcal.test", "ｌｏｃａｌ.test", "alias.test", "rebinding.test", "mixed.test",
}

// entries are the ways in which an address reaches a fetch.
var entries = []string{"url", "redirect", "second redirect", "ftp", "url, default guard"}

// TestGuardSpellings: however a forbidden address is spelled and wherever it comes from, nothing
// is sent to it, which a listener proves.
func TestGuardSpellings(t *testing.T) {
	s := newStage(t)
	var places sync.Map // by the Host of the request
	forbidden := s.listen(t, "127.0.0.1:0", func(*site, net.Conn) {})
	// The redirecting site is at another loopback address, which Deny does not cover.
	first := s.listen(t, "127.0.0.2:0", speak(func(p *peer) {
		place, _ := places.Load(p.host)
		if p.path == "/robots.txt" && strings.HasPrefix(p.host, "twice") {
			place = "/again"
		}
		to("302 Found", func(*peer) string { return place.(string) })(p)
	}))
	for _, name := range []string{"local.test", "rebinding.test", "xn--local-.test"} {
		s.dns.name(name, addresses("127.0.0.1"))
	}
	s.dns.name("alias.test", alias("localhost", "127.0.0.1"))
	s.dns.name("mixed.test", addresses("127.0.0.1", "10.0.0.1", "::1"))
	o := s.options()
	o.Guard = Guard{AllowLoopback: true, Deny: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("::1/128")}}
	c := s.client(t, o)
	o.Guard = Guard{}
	strict := s.client(t, o)

	cases, unusable := 0, 0
	for i, host := range spellings {
		for _, entry := range entries {
			cases++
			url := "http://" + host + ":" + forbidden.port() + "/robots.txt"
			start := url
			switch entry {
			case "ftp":
				start = strings.Replace(url, "http:", "ftp:", 1)
			case "redirect", "second redirect":
				name := fmt.Sprintf("once%d.test", i)
				if entry != "redirect" {
					name = fmt.Sprintf("twice%d.test", i)
				}
				s.dns.name(name, addresses("127.0.0.2"))
				start = "http://" + name + ":" + first.port() + "/"
				places.Store(name+":"+first.port(), url)
			}
			origin, _, err := robots.ParseURL(start)
			if err != nil {
				unusable++ // not a URL for anyone here: nothing to fetch
				continue
			}
			by := c
			if entry == "url, default guard" {
				by = strict
			}
			r, err := by.Fetch(context.Background(), origin)
			if err != nil {
				t.Errorf("%s, %s: %v", host, entry, err)
				continue
			}
			// An invalid URL and an unknown name have their own causes; every other outcome must
			// be a refusal.
			switch r.Cause {
			case AddressRefused, BadRedirect, DNSNotFound:
			default:
				t.Errorf("%s, %s: %v (%s)", host, entry, r.Cause, r.Detail)
			}
			if strings.HasPrefix(host, "127") && r.Cause != AddressRefused {
				t.Errorf("%s, %s: %v, not a refusal", host, entry, r.Cause)
			}
		}
	}
	if n := forbidden.accepted.Load(); n != 0 {
		t.Errorf("%d connections reached the forbidden address", n)
	}
	t.Logf("%d cases (%d spellings by %d ways), %d no URL at all, 0 connections", cases, len(spellings), len(entries), unusable)
	if cases < 120 {
		t.Errorf("%d cases, fewer than 120", cases)
	}
}

// TestGuardRebinding: a name is resolved once, and the dialer checks the address that it
// connects to.
func TestGuardRebinding(t *testing.T) {
	s := newStage(t)
	forbidden := s.listen(t, "127.0.0.1:0", func(*site, net.Conn) {})
	o := s.options()
	o.Guard = Guard{}
	c := s.client(t, o)
	// A resolver that changes its answer after the check: the connection is refused.
	c.connect = func(ctx context.Context, d *net.Dialer, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "tcp", forbidden.Addr().String())
	}
	s.dns.name("public.test", addresses("8.8.8.8"))
	r, err := c.Fetch(context.Background(), mustOrigin(t, "http://public.test:"+forbidden.port()+"/"))
	if err != nil || r.Cause != AddressRefused {
		t.Errorf("got %v, %v", r, err)
	}
	if n := forbidden.accepted.Load(); n != 0 {
		t.Errorf("%d connections reached the forbidden address", n)
	}
}
