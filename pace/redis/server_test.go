package redis

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/redistest"
)

// pipelined is how many commands of a benchmark are on their way at a time.
const pipelined = 500

// A serverBench is what the server's own time is measured of: rounds of commands, each for
// so many operations.
type serverBench struct {
	name       string
	operations int // of one command
	commands   func(c rueidis.Client, round int) []rueidis.Completed
}

// serverTime returns what the main thread of a server has worked, in microseconds.
func serverTime(s *redistest.Server) (used float64) {
	for line := range strings.Lines(s.Do("INFO", "cpu")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if strings.HasSuffix(name, "_main_thread") {
			seconds, _ := strconv.ParseFloat(value, 64)
			used += seconds * 1e6
		}
	}
	return used
}

// BenchmarkServer measures the server's own time, by what its main thread has worked, in
// alternate rounds: of a bare GET of a small value, and of decisions, Dones and whole pages,
// alone and together, in pipelines of 500. It reports µs of each, and the ratio to the GET.
func BenchmarkServer(b *testing.B) {
	server := redistest.Start(b, redistest.Options{})
	client := server.Client()
	l, err := New(client, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	ctx := context.Background()
	t := &l.tags[0]
	e := t.epoch.Load()
	head := t.head
	micro, hour := Steady(b, 1), Steady(b, 3600e9)
	client.Do(ctx, client.B().Set().Key("small").Value("value").Build())
	// So that the server knows the scripts.
	if err := e.step.ByText(ctx, client, []string{head + "epoch"}, []string{string(l.head)}).Error(); err != nil {
		b.Fatal(err)
	}
	doneScript.ByText(ctx, client, []string{head + "origin:x"}, []string{""}) // whose error is that nothing is given back
	key := func(kind string, round, i int) string {
		return fmt.Sprintf("%s%s:http://s%d-%d.example", head, kind, round, i)
	}
	step := func(c rueidis.Client, keys []string, arg []byte) rueidis.Completed {
		keys = append([]string{head + "epoch"}, keys...)
		return c.B().Evalsha().Sha1(e.step.SHA1()).Numkeys(int64(len(keys))).Key(keys...).Arg(string(arg)).Build()
	}
	decisions := func(batch int, grant bool, sites func(round, i int) (string, uint64)) func(rueidis.Client, int) []rueidis.Completed {
		return func(c rueidis.Client, round int) (list []rueidis.Completed) {
			for n := 0; n < pipelined; n += batch {
				var keys []string
				arg := slices.Clone(l.head)
				for i := n; i < min(n+batch, pipelined); i++ {
					k, id := sites(round, i)
					d := decision{schedule: hour}
					if grant {
						d.id, d.schedule = id, micro
					}
					keys = append(keys, k)
					arg = d.appendTo(arg, "", 0)
				}
				list = append(list, step(c, keys, arg))
			}
			return list
		}
	}
	dones := func(batch int, sites func(round, i int) (string, uint64)) func(rueidis.Client, int) []rueidis.Completed {
		return func(c rueidis.Client, round int) (list []rueidis.Completed) {
			for n := 0; n < pipelined; n += batch {
				var keys []string
				arg := appendDoubles(nil, microsUp(l.options.GrantTimeout), microsUp(l.options.Forget), 1e6)
				for i := n; i < min(n+batch, pipelined); i++ {
					k, id := sites(round, i)
					keys = append(keys, k)
					arg = binary.BigEndian.AppendUint64(arg, id)
					arg = appendDoubles(arg, 0, 0, resultUsual)
				}
				list = append(list, c.B().Evalsha().Sha1(doneScript.SHA1()).Numkeys(int64(len(keys))).Key(keys...).Arg(string(arg)).Build())
			}
			return list
		}
	}
	books := func(c rueidis.Client, round int) (list []rueidis.Completed) {
		for i := range pipelined {
			list = append(list, step(c, []string{key("address", 0, i)}, appendDoubles([]byte{'A', 0}, 1, 1, 0, math.Inf(1))))
		}
		return list
	}
	busy := func(_, i int) (string, uint64) { return key("origin", -1, i), serverGrant + uint64(i) }
	site := func(round, i int) (string, uint64) { return key("origin", round%4, i), serverGrant + uint64(i) }
	run := func(list []rueidis.Completed) {
		for _, r := range client.DoMulti(ctx, list...) {
			if err := r.Error(); err != nil {
				b.Fatal(err)
			}
		}
	}
	run(decisions(1, true, busy)(client, 0))
	get := func(c rueidis.Client, _ int) (list []rueidis.Completed) {
		for range pipelined {
			list = append(list, c.B().Get().Key("small").Build())
		}
		return list
	}
	both := func(a, z func(rueidis.Client, int) []rueidis.Completed) func(rueidis.Client, int) []rueidis.Completed {
		return func(c rueidis.Client, round int) []rueidis.Completed { return append(a(c, round), z(c, round)...) }
	}
	for _, bench := range []serverBench{
		{"Refused/1", 1, decisions(1, false, busy)},
		{"Refused/8", 1, decisions(8, false, busy)},
		{"Refused/32", 1, decisions(32, false, busy)},
		{"GrantAndDone/1", 2, both(decisions(1, true, site), dones(1, site))},
		{"GrantAndDone/8", 2, both(decisions(8, true, site), dones(8, site))},
		{"GrantAndDone/32", 2, both(decisions(32, true, site), dones(32, site))},
		{"Booked/1", 1, books},
		{"Page/1", 1, both(both(decisions(1, true, site), books), dones(1, site))},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var bare, took float64
			rounds := max(b.N/pipelined, 1)
			for round := range rounds {
				began := serverTime(server)
				run(get(client, round))
				between := serverTime(server)
				run(bench.commands(client, round))
				took += serverTime(server) - between
				bare += between - began
			}
			n := float64(rounds * pipelined)
			b.ReportMetric(took/n/float64(bench.operations), "µs/operation")
			b.ReportMetric(bare/n, "µs/GET")
			b.ReportMetric(bare*float64(bench.operations)/took, "of-bare-GETs")
			b.ReportMetric(0, "ns/op")
		})
	}
}
