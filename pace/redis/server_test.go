package redis

import (
	"context"
	"embed"
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

// commands makes the commands of a round.
type commands = func(c rueidis.Client, round int) []rueidis.Completed

// A serverBench is what the server's own time is measured of: rounds of commands, each for
// so many operations, beside others.
type serverBench struct {
	name       string
	operations int // of one command
	commands   commands
	beside     commands
}

// oneSlot has the scripts of the layout before the 256 tags, which kept all keys in one slot
// and granted at origin and address together.
//
//go:embed testdata/oneslot
var oneSlot embed.FS

// onePage returns the commands of pages by the scripts of oneSlot: a grant and a Done each.
func onePage(b *testing.B, client rueidis.Client, l *Limiter) commands {
	b.Helper()
	name := fmt.Sprintf("%016d", 1) // of the epoch
	load := func(script string) (sha string) {
		var text strings.Builder
		for _, file := range []string{"common", script} {
			part, err := oneSlot.ReadFile("testdata/oneslot/" + file + ".lua")
			if err != nil {
				b.Fatal(err)
			}
			text.Write(part)
		}
		sha, err := client.Do(b.Context(), client.B().ScriptLoad().Script("#!lua flags=allow-oom\n"+strings.Replace(text.String(), "EPOCH", name, 1)).Build()).ToString()
		if err != nil {
			b.Fatal(err)
		}
		return sha
	}
	reserve, done := load("reserve"), load("done")
	const epoch, workers = "{one}:pace:1:epoch", "{one}:pace:1:workers"
	client.Do(b.Context(), client.B().Set().Key(epoch).Value(name+name+"000010").Build())
	timeout, forget := microsUp(l.options.GrantTimeout), microsUp(l.options.Forget)
	return func(c rueidis.Client, round int) (list []rueidis.Completed) {
		var dones []rueidis.Completed
		for i := range pipelined {
			origin, address := fmt.Sprintf("{one}:pace:1:origin:http://s%d-%d.example", round%4, i), fmt.Sprintf("{one}:pace:1:address:http://s0-%d.example", i)
			id := binary.BigEndian.AppendUint64(nil, serverGrant+uint64(i))
			list = append(list, c.B().Evalsha().Sha1(reserve).Numkeys(4).Key(epoch, workers, origin, address).
				Arg(string(appendDoubles(nil, 1, timeout, forget, microsUp(workerTimeout()))),
					string(appendDoubles(slices.Clone(id), 1, 0, 0, 1, 0, math.Inf(1), 0.001))).Build())
			dones = append(dones, c.B().Evalsha().Sha1(done).Numkeys(2).Key(origin, address).
				Arg(string(appendDoubles(nil, timeout, forget, 1e6)), string(appendDoubles(slices.Clone(id), 1, 0, 0, resultUsual))).Build())
		}
		return append(list, dones...)
	}
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
// alone and together, in pipelines of 500; and of pages beside those of the layout before. It
// reports µs of each, and the speed as a ratio, with its quartiles.
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
	head := tagHead(l.options.Prefix, 0)
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
	decisions := func(batch int, grant bool, sites func(round, i int) (string, uint64)) commands {
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
	dones := func(batch int, sites func(round, i int) (string, uint64)) commands {
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
	both := func(a, z commands) commands {
		return func(c rueidis.Client, round int) []rueidis.Completed { return append(a(c, round), z(c, round)...) }
	}
	page := both(both(decisions(1, true, site), books), dones(1, site))
	for _, bench := range []serverBench{
		{"Refused/1", 1, decisions(1, false, busy), get},
		{"Refused/8", 1, decisions(8, false, busy), get},
		{"Refused/32", 1, decisions(32, false, busy), get},
		{"GrantAndDone/1", 2, both(decisions(1, true, site), dones(1, site)), get},
		{"GrantAndDone/8", 2, both(decisions(8, true, site), dones(8, site)), get},
		{"GrantAndDone/32", 2, both(decisions(32, true, site), dones(32, site)), get},
		{"Booked/1", 1, books, get},
		{"Page/1", 1, page, get},
		{"PageOfOneSlot/1", 1, page, onePage(b, client, l)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var beside, took, ratios []float64
			rounds := max(b.N/pipelined, 1)
			each := float64(pipelined)
			for round := range rounds {
				began := serverTime(server)
				run(bench.beside(client, round))
				between := serverTime(server)
				run(bench.commands(client, round))
				x, y := (between-began)/each, (serverTime(server)-between)/each/float64(bench.operations)
				beside, took, ratios = append(beside, x), append(took, y), append(ratios, x/y)
			}
			part := func(of []float64, quarters int) float64 {
				slices.Sort(of)
				return of[(len(of)-1)*quarters/4]
			}
			b.ReportMetric(part(took, 2), "µs/operation")
			b.ReportMetric(part(beside, 2), "µs/beside")
			b.ReportMetric(part(ratios, 2), "of-beside")
			b.ReportMetric(part(ratios, 1), "of-beside-25%")
			b.ReportMetric(part(ratios, 3), "of-beside-75%")
			b.ReportMetric(0, "ns/op")
		})
	}
}
