package fetch

import (
	"context"
	"net"
	"net/http"
	"testing"
)

// BenchmarkFetch is one fetch from a site on this machine. Its allocations do not depend on the
// protocol.
func BenchmarkFetch(b *testing.B) {
	text := whole("200 OK", someRules)
	for _, c := range []struct {
		name, url, proxy string
		raw              func(*site, net.Conn)
	}{
		{"http", "http://127.0.0.1:", "", speak(answer(text))},
		{"https", "https://127.0.0.1:", "", speak(answer(text))},
		{"http2", "https://127.0.0.1:", "", frames(func(f *framer) { f.file() })},
		{"https in CONNECT", "https://127.0.0.1:", "http://", speak(answer(text))},
		{"https in SOCKS5", "https://127.0.0.1:", "socks5://", speak(answer(text))},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newStage(b)
			o := s.options()
			if c.proxy != "" {
				o.Proxy = http.ProxyURL(mustURL(b, c.proxy+s.listen(b, "127.0.0.1:0", relay{}.serve).Addr().String()))
			}
			client, origin := s.client(b, o), mustOrigin(b, c.url+s.listen(b, "127.0.0.1:0", c.raw).port())
			b.ReportAllocs()
			for b.Loop() {
				if r, err := client.Fetch(context.Background(), origin); err != nil || r.Cause != OK {
					b.Fatal(r, err)
				}
			}
		})
	}
}
