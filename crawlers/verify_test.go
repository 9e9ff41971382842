package crawlers

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/dnstest"
)

// zone has crawlers, and addresses whose owners claim to be one.
var zone = `
66.249.66.1    PTR   crawl-66-249-66-1.googlebot.com
crawl-66-249-66-1.googlebot.com  A  66.249.66.1
157.55.39.1    PTR   MSNBot-157-55-39-1.Search.MSN.com
msnbot-157-55-39-1.search.msn.com  A  157.55.39.1
2001:4860:4801::1  PTR  crawl-v6.googlebot.com
crawl-v6.googlebot.com  AAAA  2001:4860:4801::1
crawl-v6.googlebot.com  A     66.249.66.9
203.0.113.1    PTR   crawl-66-249-66-1.googlebot.com
203.0.113.2    PTR   crawl.evilgooglebot.com
crawl.evilgooglebot.com  A  203.0.113.2
203.0.113.3    PTR   crawl.googlebot.com.evil.example
crawl.googlebot.com.evil.example  A  203.0.113.3
203.0.113.4    PTR   nobody.googlebot.com
203.0.113.5    SERVFAIL
203.0.113.6    SILENT
203.0.113.7    PTR   broken.googlebot.com
broken.googlebot.com  SERVFAIL
203.0.113.8    PTR   silent.googlebot.com
silent.googlebot.com  SILENT
203.0.113.9    PTR   googlebot.com
googlebot.com  A     192.0.2.1
203.0.113.10   PTR   host.example
host.example   A     203.0.113.10
203.0.113.11   PTR   v6only.googlebot.com
v6only.googlebot.com  AAAA  2001:db8::1
203.0.113.12   PTR   host.example
203.0.113.12   PTR   crawl-203-0-113-12.googlebot.com
crawl-203-0-113-12.googlebot.com  A  203.0.113.99
crawl-203-0-113-12.googlebot.com  A  203.0.113.12
203.0.113.13   REFUSED
203.0.113.14   PTR   a<b>.googlebot.com
` + manyNames("203.0.113.20", 50)

// manyNames is an address with many names of a crawler, of which only the last is confirmed.
func manyNames(address string, n int) string {
	text := ""
	for i := range n {
		text += fmt.Sprintf("%s PTR n%d.googlebot.com\n", address, i)
	}
	return text + fmt.Sprintf("n%d.googlebot.com A %s\n", n-1, address)
}

func resolver(address string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
}

// A patient connection has no deadline, after which Go's resolver would repeat a query.
type patient struct{ *net.UDPConn }

func (patient) SetDeadline(time.Time) error { return nil }

func find(t *testing.T, name string) Crawler {
	c, ok := Find(name)
	if !ok {
		t.Fatal("the directory has no", name)
	}
	return c
}

// check verifies the claim of an address to be a crawler.
func check(t *testing.T, v Verifier, address, as string, want Result, why string) Identity {
	t.Helper()
	got := v.Verify(t.Context(), netip.MustParseAddr(address), find(t, as))[0]
	if got.Result != want || !strings.Contains(got.Why, why) {
		t.Errorf("%s: %s\nwant %s: %s", got.Result, got.Why, want, why)
	}
	return got
}

func TestVerify(t *testing.T) {
	server := dnstest.Start(t, zone)
	for _, test := range []struct {
		address, as string
		want        Result
		why         string
	}{
		{"66.249.66.1", "Googlebot", Verified, "its name crawl-66-249-66-1.googlebot.com resolves back to it"},
		{"::ffff:66.249.66.1", "Googlebot", Verified, "resolves back"},
		{"66.249.66.1", "Googlebot-Image", Verified, "resolves back"},
		{"66.249.66.1", "bingbot", Faked, "its name crawl-66-249-66-1.googlebot.com is not in search.msn.com"},
		{"157.55.39.1", "bingbot", Verified, "its name msnbot-157-55-39-1.search.msn.com resolves"},
		{"2001:4860:4801::1", "Googlebot", Verified, "resolves back"},
		{"203.0.113.1", "Googlebot", Faked, "its name crawl-66-249-66-1.googlebot.com does not resolve back to it"},
		{"203.0.113.2", "Googlebot", Faked, "its name crawl.evilgooglebot.com is not in googlebot.com"},
		{"203.0.113.3", "Googlebot", Faked, "its name crawl.googlebot.com.evil.example is not in googlebot.com"},
		{"203.0.113.4", "Googlebot", Faked, "does not resolve back"},
		{"203.0.113.5", "Googlebot", Unknown, "the name server did not return its name: "},
		{"203.0.113.6", "Googlebot", Unknown, "no answer in time"},
		{"203.0.113.7", "Googlebot", Unknown, "the name server did not return the address of its name broken.googlebot.com: "},
		{"203.0.113.8", "Googlebot", Unknown, "no answer in time"},
		{"203.0.113.9", "Googlebot", Faked, "its name googlebot.com does not resolve back"},
		{"203.0.113.10", "Googlebot", Faked, "its name host.example is not in googlebot.com"},
		{"203.0.113.11", "Googlebot", Faked, "does not resolve back"},
		{"203.0.113.12", "Googlebot", Verified, "its name crawl-203-0-113-12.googlebot.com resolves back"},
		{"203.0.113.13", "Googlebot", Unknown, "the name server did not return its name"},
		{"203.0.113.14", "Googlebot", Unknown, "the name server did not return its name"}, // Go's resolver takes no such name
		{"203.0.113.15", "Googlebot", Faked, "it has no name"},
		{"203.0.113.20", "Googlebot", Faked, "does not resolve back"}, // after ten names
		{"66.249.66.1", "GPTBot", Unknown, "its operator publishes a list, which was not given: https://openai.com/gptbot.json"},
		{"66.249.66.1", "MJ12bot", Unknown, "the directory has no way to verify MJ12bot"},
		{"fe80::1%eth0", "Googlebot", Unknown, "it is not an address on the internet"},
	} {
		t.Run(test.address+" "+test.as, func(t *testing.T) {
			t.Parallel()
			v := Verifier{Resolver: resolver(server.Addr())}
			if strings.Contains(test.why, "in time") {
				v.Timeout = 50 * time.Millisecond
			}
			got := check(t, v, test.address, test.as, test.want, test.why)
			if failed := strings.Contains(got.Why, "name server"); got.Failed != failed {
				t.Errorf("Failed is %t: %s", got.Failed, got.Why)
			}
		})
	}
}

// TestVerifyAsksOnce: for any number of claims of an address its name and the addresses of that
// are looked up once; of many names ten are looked up.
func TestVerifyAsksOnce(t *testing.T) {
	server := dnstest.Start(t, zone)
	v := Verifier{Timeout: time.Hour, Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.MustParseAddrPort(server.Addr())))
		return patient{conn}, err
	}}}
	as := []Crawler{find(t, "Googlebot"), find(t, "Googlebot-Image"), find(t, "bingbot"), find(t, "GPTBot")}
	v.Verify(t.Context(), netip.MustParseAddr("66.249.66.1"), as...)
	if ptr, a, all := server.Queries("PTR 66.249.66.1"), server.Queries("A crawl-66-249-66-1.googlebot.com"), server.Queries(""); ptr != 1 || a != 1 || all != 2 {
		t.Errorf("%d questions for the name, %d for the address, %d in all", ptr, a, all)
	}
	v.Verify(t.Context(), netip.MustParseAddr("66.249.66.1"), as[3])
	if n := server.Queries(""); n != 2 {
		t.Errorf("the DNS was asked for a crawler that it cannot verify: %d questions", n)
	}
	v.Verify(t.Context(), netip.MustParseAddr("203.0.113.20"), as...)
	n := 0
	for i := range 50 {
		n += server.Queries(fmt.Sprintf("A n%d.googlebot.com", i))
	}
	if n != mostNames {
		t.Errorf("%d of 50 names were looked up, want %d", n, mostNames)
	}
}

func addresses(t *testing.T, text string) *Addresses {
	a, err := ReadAddresses([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestIdentify(t *testing.T) {
	server := dnstest.Start(t, zone)
	both := &Verifier{Resolver: resolver(server.Addr()), Lists: map[string]*Addresses{
		"GPTBot": addresses(t, "192.0.2.0/24"), "Facebot": addresses(t, "192.0.2.0/24\n198.51.100.0/24"),
	}}
	for _, test := range []struct {
		v       *Verifier
		address string
		want    Result
		first   string
		why     string
	}{
		{both, "66.249.66.1", Verified, "Googlebot", "resolves back"},
		{both, "157.55.39.1", Verified, "bingbot", "resolves back"},
		{both, "192.0.2.7", Verified, "GPTBot", "it is in the list of GPTBot"},
		{both, "::ffff:192.0.2.7", Verified, "GPTBot", "it is in the list of GPTBot"},
		{both, "203.0.113.1", Faked, "Googlebot", "does not resolve back"},
		{both, "198.51.100.1", Unknown, "", "it has no name"}, // but is in the list of a former crawler
		{both, "203.0.113.2", Unknown, "", "its name crawl.evilgooglebot.com is not in the domain of a crawler"},
		{both, "203.0.113.15", Unknown, "", "it has no name"},
		{both, "203.0.113.5", Unknown, "", "the name server did not return its name"},
		{&Verifier{}, "66.249.66.1", Unknown, "", "no list was given, and DNS was not queried"},
		{&Verifier{Lists: both.Lists}, "66.249.66.1", Unknown, "", "it is in no given list"},
	} {
		got := test.v.Identify(t.Context(), netip.MustParseAddr(test.address))
		first := ""
		if i := slices.IndexFunc(got.Crawlers, func(c Crawler) bool { return c.Status != Used }); i >= 0 {
			t.Errorf("%s: %s is not in use", test.address, got.Crawlers[i].Name)
		}
		if len(got.Crawlers) > 0 {
			first = got.Crawlers[0].Name
		}
		if got.Result != test.want || first != test.first || !strings.Contains(got.Why, test.why) {
			t.Errorf("%s: %s %q %s\nwant %s %q %s", test.address, got.Result, first, got.Why, test.want, test.first, test.why)
		}
	}
}

// TestVerifyByList: verification by lists alone, and together with DNS.
func TestVerifyByList(t *testing.T) {
	server := dnstest.Start(t, zone)
	list, damaged := addresses(t, "192.0.2.0/24"), addresses(t, "192.0.2.0/24\n198.51.100.0/")
	dns := resolver(server.Addr())
	for _, test := range []struct {
		name, as, address string
		list              *Addresses
		dns               Resolver
		want              Result
		why               string
	}{
		{"in it", "GPTBot", "192.0.2.1", list, nil, Verified, "it is in the list of GPTBot"},
		{"not in it", "GPTBot", "198.51.100.1", list, nil, Faked, "it is not in the list of GPTBot"},
		{"in a damaged one", "GPTBot", "192.0.2.1", damaged, nil, Verified, "it is in the list"},
		{"not in a damaged one", "GPTBot", "198.51.100.1", damaged, nil, Unknown, "which has invalid lines"},
		{"not in it, DNS was not queried", "Googlebot", "66.249.66.1", list, nil, Faked, "not in the list"},
		{"not in it, the DNS says yes", "Googlebot", "66.249.66.1", list, dns, Verified, "resolves back"},
		{"not in it, the DNS says no", "Googlebot", "203.0.113.1", list, dns, Faked, "does not resolve back to it, and it is not in the list of Googlebot"},
		{"not in a damaged one, the DNS says no", "Googlebot", "203.0.113.1", damaged, dns, Faked, "does not resolve back to it"},
		{"not in it, the DNS says nothing", "Googlebot", "203.0.113.5", list, dns, Unknown, "the name server"},
		{"in it, whatever the DNS would say", "Googlebot", "192.0.2.1", list, dns, Verified, "it is in the list"},
		{"none, and DNS was not queried", "Googlebot", "66.249.66.1", nil, nil, Unknown, "DNS was not queried"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := Verifier{Resolver: test.dns}
			if test.list != nil {
				v.Lists = map[string]*Addresses{test.as: test.list}
			}
			got := check(t, v, test.address, test.as, test.want, test.why)
			if test.list == damaged && strings.Contains(got.Why, "it is not in") && test.want == Faked {
				t.Errorf("a damaged list denies: %s", got.Why)
			}
		})
	}
}

func TestReadAddresses(t *testing.T) {
	for _, test := range []struct {
		name, text string
		in, out    string // addresses that the list holds, and that it does not
		size       int
		problems   string
		err        string
	}{
		{
			"as Google, Bing and OpenAI write it",
			`{"creationTime": "2026-01-02T03:04:05.000000", "prefixes": [{"ipv6Prefix": "2001:db8:10::/48"}, {"ipv4Prefix": "192.0.2.0/27"}]}`,
			"192.0.2.0 192.0.2.31 ::ffff:192.0.2.9 2001:db8:10:: 2001:db8:10:ffff:ffff:ffff:ffff:ffff",
			"192.0.1.255 192.0.2.32 2001:db8:f:ffff:ffff:ffff:ffff:ffff 2001:db8:11:: ::192.0.2.1 0.0.0.0 ::", 2, "", "",
		},
		{"numbered objects", "{\"0\": {\"guid\": \"x\", \"ip\": \"192.0.2.1\", \"ipv6\": \"\", \"countryiso\": \"GB\"},\n\"1\": {\"ip\": \"192.0.2.3\", \"n\": [1, true, null]}}", "192.0.2.1 192.0.2.3", "192.0.2.2", 2, "", ""},
		{"an array of texts", `["192.0.2.1", "2001:db8::/32"]`, "192.0.2.1 2001:db8::5", "192.0.2.2", 2, "", ""},
		{"an array in a member", `{"ok": "10.0.0.1", "addresses": ["192.0.2.1"], "version": "10.0.0.2"}`, "192.0.2.1", "10.0.0.1 10.0.0.2", 1, "", ""},
		{"JSON with a bad prefix", "{\"prefixes\": [\n{\"ipv4Prefix\": \"192.0.2.0/24\"},\n{\"ipv4Prefix\": \"192.0.2.0/33\"}\n]}", "192.0.2.1", "192.0.3.1", 1, `line 3: "192.0.2.0/33" is not an address or a prefix`, ""},
		{"text", "\uFEFF# all of them\r\n192.0.2.1\r\n\r\n  198.51.100.0/24 # old\n2001:db8::1", "192.0.2.1 198.51.100.255 2001:db8::1", "192.0.2.2 2001:db8::2", 3, "", ""},
		{"a geofeed", "192.0.2.0/24,US,US-CA,Menlo Park,\n2001:db8::/32,IE,,,\n", "192.0.2.4 2001:db8:ffff::", "192.0.3.1", 2, "", ""},
		{"bits behind the prefix", "192.0.2.77/24", "192.0.2.0 192.0.2.255", "192.0.3.0", 1, "", ""},
		{"IPv6 of all bits", "2001:db8::1/128\n2001:db8:1::/112", "2001:db8::1 2001:db8:1::ffff", "2001:db8::2 2001:db8:1::1:0", 2, "", ""},
		{"IPv4 in IPv6", "::ffff:192.0.2.0/120\n::ffff:198.51.100.1", "192.0.2.9 198.51.100.1", "192.0.3.0", 2, "", ""},
		{"overlapping, in any order", "192.0.2.128/25\n192.0.2.0/24\n192.0.2.7\n192.0.3.0/24", "192.0.2.0 192.0.2.255 192.0.3.255", "192.0.1.255 192.0.4.0", 4, "", ""},
		{"the ends", "255.255.255.255\n::1\nffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "255.255.255.255 ::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "255.255.255.254 :: ::2", 3, "", ""},
		{"bad lines", "192.0.2.1\nhello\n192.0.2.256\n1.2.3\n192.0.2.0/\nfe80::1%eth0\n,x\n", "192.0.2.1", "192.0.2.2", 1,
			`line 2: "hello" is not an address or a prefix|line 3: "192.0.2.256" is not an address or a prefix|line 4: "1.2.3" is not an address or a prefix|line 5: "192.0.2.0/" is not an address or a prefix|line 6: "fe80::1%eth0" is not an address or a prefix|line 7: "" is not an address or a prefix`, ""},
		{"everybody", "0.0.0.0/0\n192.0.2.1\n10.0.0.0/7\n::/0\n2000::/3\n::ffff:0.0.0.0/96", "192.0.2.1", "10.0.0.1 2001:db8::1 198.51.100.1", 1,
			`line 1: "0.0.0.0/0" contains more addresses than any crawler has (shorter than /8)|line 3: "10.0.0.0/7" contains more addresses than any crawler has (shorter than /8)|` +
				`line 4: "::/0" contains more addresses than any crawler has (shorter than /16)|line 5: "2000::/3" contains more addresses than any crawler has (shorter than /16)|` +
				`line 6: "::ffff:0.0.0.0/96" contains more addresses than any crawler has (shorter than /8)`, ""},
		{"nothing", "", "", "", 0, "", "it contains no address"},
		{"comments alone", "# nothing\n", "", "", 0, "", "it contains no address"},
		{"a page", "<!doctype html>\n<title>404</title>", "", "", 0, "", `it contains no address: line 1: "<!doctype" is not an address or a prefix`},
		{"other JSON", `{"error": "192.0.2.1"}`, "", "", 0, "", "it contains no address"},
		{"JSON that ends too early", `{"prefixes": [{"ipv4Prefix": "192.0.2.0/24"}`, "", "", 0, "", "it is incomplete JSON"},
		{"no JSON", `{"prefixes": [192.0.2.1]}`, "", "", 0, "", "it is not JSON: "},
		{"JSON without an end of depth", strings.Repeat("[", 100_000), "", "", 0, "", "it is incomplete JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, err := ReadAddresses([]byte(test.text))
			if err != nil || test.err != "" {
				if err == nil || test.err == "" || !strings.HasPrefix(err.Error(), test.err) {
					t.Fatalf("error %v, want %q", err, test.err)
				}
				return
			}
			if got := strings.Join(a.Problems, "|"); got != test.problems || a.Len() != test.size {
				t.Errorf("%d prefixes, problems %s\nwant %d, %s", a.Len(), got, test.size, test.problems)
			}
			for _, text := range strings.Fields(test.in) {
				if !a.Contains(netip.MustParseAddr(text)) {
					t.Errorf("%s is missing", text)
				}
			}
			for _, text := range strings.Fields(test.out) {
				if a.Contains(netip.MustParseAddr(text)) {
					t.Errorf("%s is in it", text)
				}
			}
		})
	}
	for created, want := range map[string]string{"2026-01-02T03:04:05.000000": "2026-01-02", "2026-01-02": "2026-01-02", "yesterday": "", "2026-1-2": "", "": "", "9999-99-99T": ""} {
		if a := addresses(t, `{"creationTime": "`+created+`", "prefixes": [{"ipv4Prefix": "192.0.2.0/24"}]}`); a.Created != want {
			t.Errorf("created %q: %q, want %q", created, a.Created, want)
		}
	}
	a := addresses(t, "192.0.2.1\n"+strings.Repeat("bad\n", 1000))
	if a.Bad != 1000 || len(a.Problems) != mostProblems {
		t.Errorf("%d problems of %d kept", len(a.Problems), a.Bad)
	}
	if (&Addresses{}).Contains(netip.MustParseAddr("0.0.0.0")) || a.Contains(netip.Addr{}) {
		t.Error("an empty list, or one asked for no address, holds it")
	}
}

// FuzzAddresses: a list contains exactly the addresses of its lines.
func FuzzAddresses(f *testing.F) {
	f.Add("192.0.2.0/24\n192.0.2.77/31\n2001:db8::/32", "192.0.2.78")
	f.Add(`{"prefixes":[{"ipv4Prefix":"192.0.2.0/24"}]}`, "192.0.2.1")
	f.Add("fe80::/64", "fe80::1%eth0")
	f.Add("::ffff:10.0.0.0/104\n10.255.255.255", "10.1.2.3")
	f.Fuzz(func(t *testing.T, text, address string) {
		list, err := ReadAddresses([]byte(text))
		a, bad := netip.ParseAddr(address)
		if err != nil || bad != nil || strings.ContainsAny(text, "{[") {
			return
		}
		want := false
		for line := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
			line, _, _ = strings.Cut(line, "#")
			value := strings.TrimSpace(line)
			if i := strings.IndexAny(value, ", \t;"); i >= 0 {
				value = value[:i]
			}
			p, why := parsePrefix(value)
			want = want || why == "" && p.Contains(a.Unmap())
		}
		if got := list.Contains(a); got != want {
			t.Errorf("%q holds %s: %t", text, a, got)
		}
	})
}

// TestCut: a name, which the owner of an address chooses, is printed with escapes if it is not of printable ASCII.
func TestCut(t *testing.T) {
	for name, want := range map[string]string{
		"a.example": "a.example", "a b": `"a b"`, "\x1b[2J": `"\x1b[2J"`, "a\x7f": `"a\x7f"`, "a\u0085": `"a\u0085"`, "b\xffc": `"b\xffc"`,
	} {
		if got := cut(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
