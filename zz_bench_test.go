package robots

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

type zq struct {
	body  []byte
	f     *File
	paths [8]Path
	agent string
	r     *Rules
}

func zload(t testing.TB) (qs []zq, total int) {
	rng := rand.New(rand.NewPCG(1, 1))
	corpus(t, func(name string, body []byte) {
		if len(trimVertical(body)) > 0 && trimVertical(body)[0] == '<' {
			return
		}
		if len(body) > 512000 {
			body = body[:1+bytes.LastIndexByte(body[:512000], '\n')]
		}
		q := zq{body: body, f: Parse(body), agent: []string{"Googlebot", "UnknownBot"}[rng.IntN(2)]}
		ps := corpusPaths(rng, q.f, 8)
		for i := range q.paths {
			q.paths[i] = Path{ps[i]}
			if rng.IntN(10) >= 4 {
				q.paths[i] = Path{fmt.Sprintf("/category/item-%d/page%d.html", rng.IntN(1e6), rng.IntN(99))}
			}
		}
		qs = append(qs, q)
		total += len(body)
	})
	return
}

func BenchmarkZOne(b *testing.B) {
	qs, total := zload(b)
	b.SetBytes(int64(total))
	n := 0
	for b.Loop() {
		for i := range qs {
			if Allowed(qs[i].body, RFC9309, qs[i].paths[n%8], qs[i].agent) {
				n++
			}
		}
	}
}
func BenchmarkZOneSmall(b *testing.B) {
	qs, _ := zload(b)
	total := 0
	n := 0
	k := 0
	for i := range qs {
		if len(qs[i].body) <= 1024 {
			total += len(qs[i].body)
			k++
		}
	}
	b.SetBytes(int64(total))
	for b.Loop() {
		for i := range qs {
			if len(qs[i].body) <= 1024 && Allowed(qs[i].body, RFC9309, qs[i].paths[n%8], qs[i].agent) {
				n++
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(k), "ns/file")
}
func BenchmarkZParse(b *testing.B) {
	qs, total := zload(b)
	b.SetBytes(int64(total))
	b.ReportAllocs()
	for b.Loop() {
		for i := range qs {
			qs[i].f = Parse(qs[i].body)
		}
	}
	b.ReportMetric(float64(len(qs)), "files")
}
func BenchmarkZRules(b *testing.B) {
	qs, total := zload(b)
	b.SetBytes(int64(total))
	for b.Loop() {
		for i := range qs {
			qs[i].r = qs[i].f.Rules(RFC9309, qs[i].agent)
		}
	}
}
func BenchmarkZMatch(b *testing.B) {
	qs, _ := zload(b)
	for i := range qs {
		qs[i].r = qs[i].f.Rules(RFC9309, qs[i].agent)
	}
	n := 0
	start := time.Now()
	k := 0
	for b.Loop() {
		for i := range qs {
			for j := range qs[i].paths {
				if qs[i].r.Allowed(qs[i].paths[j]) {
					n++
				}
				k++
			}
		}
	}
	b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64(k), "ns/url")
}
