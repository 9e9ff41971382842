package redis_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// BenchmarkLeased compares the pace that a worker keeps by itself under leases with that of
// pace.Local, by the processor time of alternate rounds: a grant and its end at one of 4,096
// sites whose leases it has, and Next for 500 of them.
func BenchmarkLeased(b *testing.B) {
	ctx := b.Context()
	s := steady(b, time.Nanosecond)
	own, err := pace.NewLocal(pace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	leased := newLeased(b, redistest.Start(b, redistest.Options{}).Client(), redis.Options{}, time.Hour)
	asked := make([]pace.Question, 1<<12)
	for i := range asked {
		asked[i] = pace.Question{Key: pace.Key{Origin: originOf(b, fmt.Sprintf("site%d.example", i))}, Schedule: s}
	}
	cycle := func(l pace.Limiter) func(int) {
		return func(i int) {
			g, err := l.Reserve(ctx, asked[i%len(asked)].Key, s, time.Minute)
			if err != nil || !g.OK() || !l.Valid(g) {
				b.Fatal(g, err)
			}
			if err := l.Done(ctx, g, ok); err != nil {
				b.Fatal(err)
			}
		}
	}
	next := func(l pace.Chooser) func(int) {
		return func(i int) {
			from := i * 500 % (len(asked) - 500)
			answers, err := l.Next(ctx, asked[from:from+500], 0)
			if err != nil || len(answers) != 500 {
				b.Fatal(err)
			}
		}
	}
	for _, l := range []pace.Chooser{own, leased} { // takes the leases
		if _, err := l.Next(ctx, asked, 0); err != nil {
			b.Fatal(err)
		}
	}
	for _, bench := range []struct {
		name       string
		own, lease func(int)
	}{{"Cycle", cycle(own), cycle(leased)}, {"Next", next(own), next(leased)}} {
		b.Run(bench.name, func(b *testing.B) {
			const rounds = 100
			x, y, ratios := work(rounds, max(b.N/rounds/2, 1), bench.own, bench.lease)
			b.ReportMetric(ratios[rounds/2], "of-local") // a quarter of the rounds is below the next, and one above the last
			b.ReportMetric(ratios[rounds/4], "of-local-25%")
			b.ReportMetric(ratios[rounds*3/4], "of-local-75%")
			b.ReportMetric(x, "ns/local")
			b.ReportMetric(y, "ns/leased")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// work returns what one of each takes of this process's processor time, in nanoseconds, and
// the ratios of rounds in which both take turns.
func work(rounds, each int, a, b func(i int)) (x, y float64, ratios []float64) {
	used := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			panic(err)
		}
		return float64(u.Utime.Nano() + u.Stime.Nano())
	}
	x, y = math.Inf(1), math.Inf(1)
	for round := range rounds {
		var took [2]float64
		for n := range took {
			f := []func(int){a, b}[(n+round)%2]
			began := used()
			for i := range each {
				f(round*each + i)
			}
			took[(n+round)%2] = (used() - began) / float64(each)
		}
		x, y = min(x, took[0]), min(y, took[1])
		ratios = append(ratios, took[0]/took[1])
	}
	slices.Sort(ratios)
	return x, y, ratios
}

// BenchmarkLease is what leases cost the server, in its main thread: to give one, to refuse
// it, and to give it back, each beside a GET of a small key in a pipeline of 500.
func BenchmarkLease(b *testing.B) {
	const sites, batch = 20_000, 500
	server := redistest.Start(b, redistest.Options{})
	first, second := newLeased(b, server.Client(), redis.Options{}, time.Hour), newLeased(b, server.Client(), redis.Options{}, time.Hour)
	asked := make([]pace.Question, sites)
	for i := range asked {
		asked[i].Key.Origin = originOf(b, fmt.Sprintf("site%d.example", i))
	}
	all := func(l *redis.Leased) func() {
		return func() {
			for part := range slices.Chunk(asked, batch) {
				if _, err := l.Next(b.Context(), part, 0); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	get := serverTime(b, server, sites, getMany(b, server.Client(), sites, batch))
	for _, step := range []struct {
		name string
		do   func()
	}{{"give", all(first)}, {"refuse", all(second)}, {"back", func() { first.Close() }}} {
		took := serverTime(b, server, sites, step.do)
		b.ReportMetric(took, "µs-"+step.name)
		b.ReportMetric(get/took, step.name+"-of-GET")
	}
	b.ReportMetric(get, "µs-GET")
	b.ReportMetric(0, "ns/op")
}

// getMany returns a function that gets a small key so many times, in pipelines.
func getMany(b *testing.B, c rueidis.Client, n, batch int) func() {
	ctx := context.Background()
	if err := c.Do(ctx, c.B().Set().Key("small").Value("value").Build()).Error(); err != nil {
		b.Fatal(err)
	}
	return func() {
		for range n / batch {
			cmds := make(rueidis.Commands, batch)
			for i := range cmds {
				cmds[i] = c.B().Get().Key("small").Build()
			}
			for _, r := range c.DoMulti(ctx, cmds...) {
				if err := r.Error(); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

// serverTime returns how long one of n operations takes the server's main thread, in
// microseconds, while f runs: what is read from its sockets, done and answered.
func serverTime(b *testing.B, server *redistest.Server, n int, f func()) float64 {
	b.Helper()
	seconds := func() (total float64) {
		info := server.Do("INFO", "cpu")
		for _, part := range []string{"user", "sys"} {
			_, text, _ := strings.Cut(info, "used_cpu_"+part+"_main_thread:")
			text, _, _ = strings.Cut(text, "\r")
			s, err := strconv.ParseFloat(text, 64)
			if err != nil {
				b.Fatal(err)
			}
			total += s
		}
		return total
	}
	before := seconds()
	f()
	return (seconds() - before) * 1e6 / float64(n)
}

// BenchmarkNext is what a frontier costs the server, in its main thread, beside a GET of a
// small key in a pipeline of 500, in alternate rounds: a look at a site that rests, and a
// grant or a Done, with 500 and with 4,000 sites in a call.
func BenchmarkNext(b *testing.B) {
	const sites, rounds = 8_000, 20
	server := redistest.Start(b, redistest.Options{})
	l := newLimiter(b, server.Client(), redis.Options{})
	for _, batch := range []int{500, 4_000} {
		b.Run(fmt.Sprint(batch), func(b *testing.B) {
			pass := func(asked []pace.Question, k int) func() {
				return func() {
					for part := range slices.Chunk(asked, batch) {
						if n, _ := next(b, l, part, k); n != k {
							b.Fatalf("%d of %d granted", n, k)
						}
					}
				}
			}
			resting := questions(b, "rests-"+fresh()+"-", sites, steady(b, time.Hour))
			ready := questions(b, "ready-"+fresh()+"-", sites, steady(b, time.Nanosecond))
			pass(resting, batch)()
			pass(resting, 0)() // given back
			pass(ready, batch)()
			pass(ready, 0)()
			get := getMany(b, server.Client(), sites, 500)
			var gets, looks, steps, ofLook, ofStep []float64
			for range rounds {
				get := serverTime(b, server, sites, get)
				look := serverTime(b, server, sites, pass(resting, 0))
				granted := serverTime(b, server, sites, pass(ready, batch))
				given := serverTime(b, server, sites, pass(ready, 0)) // back
				step := (granted+given)/2 - serverTime(b, server, sites, pass(ready, 0))
				gets, looks, steps = append(gets, get), append(looks, look), append(steps, step)
				ofLook, ofStep = append(ofLook, get/look), append(ofStep, get/step)
			}
			part := func(of []float64, quarters int) float64 {
				slices.Sort(of)
				return of[rounds*quarters/4]
			}
			b.ReportMetric(part(gets, 2), "µs/GET")
			b.ReportMetric(part(looks, 2), "µs/look")
			b.ReportMetric(part(steps, 2), "µs/step")
			b.ReportMetric(part(ofLook, 2), "look-of-GET")
			b.ReportMetric(part(ofStep, 2), "step-of-GET")
			b.ReportMetric(part(ofStep, 1), "step-of-GET-25%")
			b.ReportMetric(part(ofStep, 3), "step-of-GET-75%")
			b.ReportMetric(0, "ns/op")
		})
	}
}
