package pace

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
)

func TestAddressPace(t *testing.T) {
	for _, tt := range []struct {
		text, prefix string
		interval     time.Duration
	}{
		{"104.16.0.0/13=50/s", "104.16.0.0/13", 20 * time.Millisecond},
		{"104.16.3.4/13=1/30s", "104.16.0.0/13", 30 * time.Second},
		{"192.0.2.1=400/h", "192.0.2.1/32", 9 * time.Second},
		{"2001:db8::/32=2/m", "2001:db8::/32", 30 * time.Second},
		{"::1=1/1d", "::1/128", 24 * time.Hour},
		{"::ffff:192.0.2.0/120=1/s", "192.0.2.0/24", time.Second},
		{"0.0.0.0/0=4294967295/s", "0.0.0.0/0", 1},
		{"::/0=none", "::/0", -1},
	} {
		var p AddressPace
		err := p.Set(tt.text)
		if err != nil || p.Prefix.String() != tt.prefix || p.Interval != tt.interval {
			t.Errorf("%s: got %v and %v, %v", tt.text, p.Prefix, p.Interval, err)
		}
	}
	for text, want := range map[string]string{
		"":                                  "is not PREFIX=RATE",
		"104.16.0.0/13":                     "is not PREFIX=RATE",
		"=50/s":                             "does not begin with a prefix",
		"104.16.0.0/33=50/s":                "does not begin with a prefix",
		"example.com=50/s":                  "does not begin with a prefix",
		"fe80::1%eth0=50/s":                 "does not begin with a prefix",
		"10.0.0.0/8=":                       "does not end with a rate",
		"10.0.0.0/8=50":                     "does not end with a rate",
		"10.0.0.0/8=50/":                    "does not end with a rate",
		"10.0.0.0/8=0/s":                    "does not end with a rate",
		"10.0.0.0/8=-1/s":                   "does not end with a rate",
		"10.0.0.0/8=1/0s":                   "does not end with a rate",
		"10.0.0.0/8=1/4294967295d":          "does not end with a rate",
		"10.0.0.0/8=0.5/s":                  "does not end with a rate",
		"10.0.0.0/8=NONE":                   "does not end with a rate",
		strings.Repeat("x", 1000) + "=none": "does not begin with a prefix",
	} {
		if err := new(AddressPace).Set(text); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("%.80q: got %v, want %s", text, err, want)
		}
	}
}

func TestAddressOptions(t *testing.T) {
	prefix := netip.MustParsePrefix
	o, err := Options{FetchInterval: -1, Addresses: []AddressPace{
		{prefix("10.0.0.0/8"), time.Second}, {prefix("10.1.2.0/24"), -5}, {prefix("::ffff:10.1.0.0/112"), 2 * time.Second},
	}}.filled()
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string][2]time.Duration{
		"10.2.0.1": {time.Second, time.Second}, "10.1.9.9": {2 * time.Second, 2 * time.Second}, "::ffff:10.1.9.9": {2 * time.Second, 2 * time.Second},
		"10.1.2.3": {}, "192.0.2.1": {defaultAddressInterval, 0}, "fe80::1%eth0": {defaultAddressInterval, 0},
	} {
		if requests, fetches := o.intervalsAt(netip.MustParseAddr(addr)); requests != want[0] || fetches != want[1] {
			t.Errorf("%s: got %v and %v, want %v", addr, requests, fetches, want)
		}
	}
	if requests, fetches := o.intervalsAt(netip.Addr{}); requests != 0 || fetches != 0 {
		t.Errorf("an unknown address has intervals of %v and %v", requests, fetches)
	}
}

// TestStartFetch: 10 fetches a second at an address by default, in the order of the calls; a
// canceled caller delays the others by at most one interval.
func TestStartFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := NewLocal(Options{})
		if err != nil {
			t.Fatal(err)
		}
		origin, _, _ := robots.ParseURL("https://a.example/")
		addr := netip.MustParseAddr("192.0.2.1")
		start := func(want time.Duration) {
			t.Helper()
			began := time.Now()
			if err := l.StartFetch(t.Context(), origin, addr); err != nil || time.Since(began) != want {
				t.Errorf("after %v, %v; want after %v", time.Since(began), err, want)
			}
		}
		start(0)
		for range 20 {
			start(100 * time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := l.StartFetch(ctx, origin, addr); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		start(190 * time.Millisecond)
		time.Sleep(time.Hour)
		start(0)
		// Nothing is kept of addresses without recent starts.
		for i := range 5000 {
			addr = netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
			start(0)
			time.Sleep(time.Millisecond)
		}
		if n := len(l.addrs); n > 2*leastSweep {
			t.Errorf("%d addresses are kept", n)
		}
	})
}
