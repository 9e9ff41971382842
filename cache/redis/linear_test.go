package redis

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
)

// What one call asked and got. Times are those of the call, in nanoseconds.
type asked struct {
	what       string // "lease", "release", "put", "get", "delete"
	origin     int
	call, back int64
	token      uint64        // of release, fence of put
	epoch      uint64        // of put: which one it is
	d          time.Duration // of lease
}

type got struct {
	lease   cache.Lease
	fence   uint64 // of get
	epoch   uint64
	absent  bool // of get
	fenced  bool // of put
	unknown bool // the call failed: it was done, or will be, or never
}

// kept is what the store has for an origin.
type kept struct {
	token        uint64 // of the lease in force, 0 for none
	first, last  int64  // when the lease ends at the earliest and at the latest
	granted      uint64 // the highest token
	there        bool
	fence, epoch uint64
}

// contract is the sequential meaning of the calls.
var contract = porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		by := map[int][]porcupine.Operation{}
		for _, op := range history {
			i := op.Input.(asked).origin
			by[i] = append(by[i], op)
		}
		var all [][]porcupine.Operation
		for _, ops := range by {
			all = append(all, ops)
		}
		return all
	},
	Init: func() []any { return []any{kept{}} },
	Step: func(state, input, output any) []any {
		s, in, out := state.(kept), input.(asked), output.(got)
		var next kept
		ok := true
		switch in.what {
		case "get":
			next = s
			ok = out.unknown || out.absent == !s.there && out.fence == s.fence && out.epoch == s.epoch
		case "put":
			next = s
			if late := s.there && in.token < s.fence; !late {
				next.there, next.fence, next.epoch = true, in.token, in.epoch
				ok = !out.fenced
			} else {
				ok = out.fenced || out.unknown
			}
		case "delete":
			next = s
			next.there, next.fence, next.epoch = false, 0, 0
		case "lease":
			next = s
			if !out.lease.Granted {
				ok = s.token != 0 && in.call < s.last
				break
			}
			ok = (s.token == 0 || in.back > s.first) && out.lease.Token > s.granted && out.lease.Token > s.fence
			next.token, next.granted = out.lease.Token, out.lease.Token
			next.first = in.call + int64(in.d)
			next.last = in.back + int64(in.d+2*time.Millisecond) // the server counts whole ones
		case "release":
			next = s
			if s.token == in.token {
				next.token = 0
			}
		}
		switch {
		case !ok:
			return nil
		case out.unknown && next != s:
			return []any{s, next}
		}
		return []any{next}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// TestLinearizable records what several clients ask and get, and looks for an
// order in which one store would have said the same.
func TestLinearizable(t *testing.T) {
	rounds := campaign.Size(3, 10, 100)
	for _, tt := range []struct {
		name string
		cut  bool
		each int
	}{
		{"leases and puts", false, 60},
		{"puts over breaking connections", true, 40},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := redistest.Start(t, redistest.Options{})
			operations, unknown, granted, fenced := 0, 0, 0, 0
			for round := range rounds {
				h := record(t, server, fmt.Sprint("linear-", round), tt.cut, tt.each, uint64(round))
				operations += len(h)
				for _, op := range h {
					out := op.Output.(got)
					for _, count := range []struct {
						n  *int
						is bool
					}{{&unknown, out.unknown}, {&granted, out.lease.Granted}, {&fenced, out.fenced}} {
						if count.is {
							*count.n++
						}
					}
				}
				result, info := porcupine.CheckOperationsVerbose(contract.ToModel(), h, time.Minute)
				if result != porcupine.Ok {
					file := filepath.Join(os.TempDir(), "linearizable.html")
					if f, err := os.Create(file); err == nil {
						_ = porcupine.Visualize(contract.ToModel(), info, f)
						_ = f.Close()
					}
					t.Fatalf("round %d: the history is %s, see %s", round, result, file)
				}
			}
			t.Logf("%d histories, %d calls (%d leases granted, %d puts too late, %d with unknown outcome)", rounds, operations, granted, fenced, unknown)
		})
	}
}

// record lets clients with connections of their own ask at random.
func record(t *testing.T, server *redistest.Server, prefix string, cut bool, each int, seed uint64) []porcupine.Operation {
	const clients, origins = 6, 2
	proxy := redistest.NewProxy(t, server.Addr)
	stores := make([]*Store, clients)
	for i := range stores {
		o := server.Option()
		if cut {
			o.InitAddress[0] = proxy.Addr
		}
		client := redistest.NewClient(t, o)
		defer client.Close()
		stores[i] = newStore(t, client, Options{Prefix: prefix})
		defer stores[i].Close()
	}
	var mu sync.Mutex
	var history []porcupine.Operation
	var held [origins][]uint64 // tokens granted, guarded by mu
	began := time.Now()
	var wg sync.WaitGroup
	for c, s := range stores {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(c)))
			for step := range each {
				in := asked{what: "get", origin: random.IntN(origins), epoch: uint64(1 + c*each + step)}
				o := cachetest.Origin(in.origin)
				mu.Lock()
				if tokens := held[in.origin]; len(tokens) > 0 {
					in.token = tokens[max(0, len(tokens)-1-random.IntN(3))]
				}
				mu.Unlock()
				switch k := random.IntN(20); {
				case k < 6 && !cut:
					in.what, in.d = "lease", time.Duration(1+random.IntN(3))*time.Millisecond
					if random.IntN(2) == 0 {
						in.d = time.Hour
					}
				case k < 10 && !cut:
					in.what = "release"
				case k < 14:
					in.what = "put"
					if random.IntN(4) == 0 || cut {
						in.token = uint64(random.IntN(4))
					}
				case k < 15:
					in.what = "delete"
				}
				var out got
				var err error
				if cut && c == 0 && step%8 == 7 {
					proxy.Switch(server.Addr) // ends all connections
				}
				in.call = time.Since(began).Nanoseconds()
				switch in.what {
				case "lease":
					out.lease, err = s.Lease(ctx, o, in.d)
				case "release":
					err = s.Release(ctx, o, in.token)
				case "put":
					err = s.Put(ctx, cache.Entry{Record: cachetest.Record(o, textOf(in.epoch)), Fence: in.token, Epoch: in.epoch}, time.Hour)
					if errors.Is(err, cache.ErrFenced) {
						out.fenced, err = true, nil
					}
				case "delete":
					err = s.Delete(ctx, o)
				case "get":
					out, err = read(s, o)
				}
				in.back = time.Since(began).Nanoseconds()
				op := porcupine.Operation{ClientId: c, Input: in, Call: in.call, Output: out, Return: in.back}
				if errors.As(err, new(downError)) {
					continue // not tried
				}
				if err != nil {
					if !cut {
						t.Errorf("%s: %v", in.what, err)
						return
					}
					op.Output, op.Return = got{unknown: true}, math.MaxInt64
				}
				mu.Lock()
				history = append(history, op)
				if out.lease.Granted {
					held[in.origin] = append(held[in.origin], out.lease.Token)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return history
}

// textOf returns the body of an entry, of which every third has a key of its own.
func textOf(epoch uint64) string {
	text := fmt.Sprint(epoch % 7)
	if epoch%3 == 0 {
		text = strings.Repeat(text, largeBody+1)
	}
	return text
}

// read is a Get.
func read(s *Store, o robots.Origin) (out got, err error) {
	e, err := s.Get(ctx, o)
	switch {
	case errors.Is(err, cache.ErrAbsent):
		return got{absent: true}, nil
	case err == nil && string(e.Record.Body) != textOf(e.Epoch):
		err = fmt.Errorf("entry %d has body %.20q", e.Epoch, e.Record.Body)
		panic(err)
	}
	return got{fence: e.Fence, epoch: e.Epoch}, err
}
