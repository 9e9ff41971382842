package bulk

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Queue is where shards are messages: a NATS JetStream of this process, or another. It
// carries names of parts and never data. A shard whose worker is silent for a lease is
// delivered again; a shard that is delivered too often is a dead letter, which the lead
// gives up if its tries say so. That a message is lost or comes twice does no harm: the
// lead sends what has no part, and a worker that finds the part acknowledges it.
type Queue struct {
	Listen string      // the address of a server of this process, as in 127.0.0.1:4222
	URL    string      // or of another server, as in nats://192.0.2.5:4222
	Token  string      // that server and clients share
	TLS    *tls.Config // of both sides, each of which asks for the other's certificate
	Flags  string      // what the line that says how workers join adds to it
}

func (q Queue) used() bool { return q.Listen != "" || q.URL != "" }

// The names of a stream and its subjects begin so; the rest is the task.
const (
	streamName   = "robots-bulk-"
	subjectName  = "robots.bulk."
	consumerName = "workers"
	metaDir      = "robots-dir" // the folder, as the lead calls it
)

// sendWait bounds how long one request to the server may take.
const sendWait = 10 * time.Second

// lookEvery is how often a lead looks at its queue.
const lookEvery = 250 * time.Millisecond

// id names a task on a server.
func (t *Task) id() (string, error) {
	text, err := os.ReadFile(filepath.Join(t.Dir, manifestFile))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// serve starts a server that keeps its queue in the folder of the task.
func (q Queue) serve(dir string) (*server.Server, error) {
	host, port, err := net.SplitHostPort(q.Listen)
	if err != nil {
		return nil, fmt.Errorf("%q is not an address such as 127.0.0.1:4222", q.Listen)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%q has no port such as 4222", q.Listen)
	}
	if ip := net.ParseIP(host); q.Token == "" && q.TLS == nil && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("whoever reaches %s could take shards: give a token or certificates, or listen on 127.0.0.1", q.Listen)
	}
	o := &server.Options{
		ServerName: "robots-bulk", Host: host, Port: int(number), Authorization: q.Token,
		NoSigs: true, MaxPayload: 64 << 10,
		JetStream: true, StoreDir: filepath.Join(dir, queueDir), SyncAlways: true,
		JetStreamMaxMemory: 16 << 20, JetStreamMaxStore: 4 << 30,
	}
	if number == 0 {
		o.Port = server.RANDOM_PORT
	}
	if q.TLS != nil {
		o.TLS, o.TLSVerify, o.TLSConfig, o.TLSTimeout = true, true, q.TLS, sendWait.Seconds()
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	log := &serverLog{}
	s.SetLogger(log, false, false)
	s.Start()
	if log.fatal() != "" || !s.ReadyForConnections(sendWait) {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, fmt.Errorf("cannot lead at %s: %s", q.Listen, cmp.Or(log.fatal(), "the server does not get ready"))
	}
	return s, nil
}

// lockQueue makes this process the one that serves the queue of a folder.
func lockQueue(dir string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Join(dir, queueDir), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, queueDir, "lock"), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if errors.Is(lockFile(f), errHeld) {
		f.Close()
		return nil, fmt.Errorf("another run leads in %s: join it with bulk work", dir)
	}
	return f, nil
}

// removeQueue removes the queue of a task that is done, if nobody serves it.
func removeQueue(dir string) {
	f, err := os.OpenFile(filepath.Join(dir, queueDir, "lock"), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if lockFile(f) == nil {
		os.RemoveAll(filepath.Join(dir, queueDir))
	}
}

// A serverLog keeps why a server cannot start, and nothing else.
type serverLog struct{ why atomic.Pointer[string] }

func (l *serverLog) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.why.CompareAndSwap(nil, &text)
}

func (l *serverLog) fatal() string {
	if text := l.why.Load(); text != nil {
		return *text
	}
	return ""
}

func (*serverLog) Noticef(string, ...any) {}
func (*serverLog) Warnf(string, ...any)   {}
func (*serverLog) Errorf(string, ...any)  {}
func (*serverLog) Debugf(string, ...any)  {}
func (*serverLog) Tracef(string, ...any)  {}

// connect connects to a server, s if it is of this process. The connection is made again
// whenever it breaks. With failed, which is told why it cannot be made, it need not be
// there yet.
func (q Queue) connect(s *server.Server, failed func(error)) (*nats.Conn, error) {
	o := []nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond), nats.Timeout(sendWait),
	}
	if failed != nil {
		o = append(o, nats.RetryOnFailedConnect(true), nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { failed(err) }))
	}
	if q.Token != "" {
		o = append(o, nats.Token(q.Token))
	}
	url := q.URL
	if s != nil {
		o = append(o, nats.InProcessServer(s))
		url = ""
	} else if q.TLS != nil {
		o = append(o, nats.Secure(q.TLS))
	}
	nc, err := nats.Connect(url, o...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q.URL, err)
	}
	return nc, nil
}

// A lead is the process that sends shards and sees to the end.
type lead struct {
	*runner
	id     string
	js     jetstream.JetStream
	stream jetstream.Stream
	rounds int
}

// lead sends what is to be done, works on it as any worker does, and returns when each
// shard is done or given up.
func (r *runner) lead(ctx context.Context, st *state) (err error) {
	var s *server.Server
	if r.o.Queue.Listen != "" {
		lock, err := lockQueue(r.t.Dir)
		if err != nil {
			return err
		}
		defer lock.Close()
		if s, err = r.o.Queue.serve(r.t.Dir); err != nil {
			return err
		}
		defer func() {
			s.Shutdown()
			s.WaitForShutdown()
		}()
		r.o.Progress.note("machines: robots bulk work nats://%s%s", s.Addr(), r.o.Queue.Flags)
	}
	nc, err := r.o.Queue.connect(s, nil)
	if err != nil {
		return err
	}
	defer nc.Close()
	r.o.Progress.lead()
	l := &lead{runner: r}
	if l.id, err = r.t.id(); err != nil {
		return err
	}
	if l.js, err = jetstream.New(nc, jetstream.WithDefaultTimeout(sendWait), jetstream.WithPublishAsyncMaxPending(256)); err != nil {
		return err
	}
	cons, err := l.create(ctx)
	if err != nil {
		return err
	}
	dead := make(chan uint64, 1024)
	if _, err := nc.Subscribe(server.JSAdvisoryConsumerMaxDeliveryExceedPre+"."+streamName+l.id+".>", func(m *nats.Msg) {
		var a server.JSConsumerDeliveryExceededAdvisory
		if json.Unmarshal(m.Data, &a) == nil {
			select {
			case dead <- a.StreamSeq:
			default: // found by its silence
			}
		}
	}); err != nil {
		return err
	}
	if _, err := nc.Subscribe(subjectName+l.id+".counts", func(m *nats.Msg) {
		var c Counts
		if json.Unmarshal(m.Data, &c) == nil {
			r.o.Progress.add(c)
		}
	}); err != nil {
		return err
	}

	working, stop := context.WithCancelCause(ctx)
	w := &member{runner: r, nc: nc, id: l.id}
	ended := w.start(working, stop, cons)
	if err = l.send(working, st.todo); err == nil {
		err = l.wait(working, dead, &w.over)
	}
	stop(nil)
	ended()
	if err != nil {
		return err
	}
	return l.js.DeleteStream(ctx, streamName+l.id)
}

// create makes the stream and what workers share of it, or finds those of a run before.
func (l *lead) create(ctx context.Context) (jetstream.Consumer, error) {
	dir, err := filepath.Abs(l.t.Dir)
	if err != nil {
		return nil, err
	}
	l.stream, err = l.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:     streamName + l.id,
		Subjects: []string{subjectName + l.id + ".shard"},
		Metadata: map[string]string{metaDir: dir},
		Storage:  jetstream.FileStorage, Retention: jetstream.WorkQueuePolicy,
		// Messages that are sent again by a lead that was killed; later ones find the part.
		Duplicates: 24 * time.Hour,
	})
	if err != nil {
		return nil, err
	}
	return l.stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: l.o.Lease, MaxDeliver: l.o.Tries, MaxAckPending: -1,
	})
}

// send sends shards. A round after the first sends what was delivered too often though it
// was not tried as often.
func (l *lead) send(ctx context.Context, shards []Shard) error {
	l.rounds++
	var sent []jetstream.PubAckFuture
	for _, s := range shards {
		name := l.t.Name(s)
		id := name
		if l.rounds > 1 {
			id += "." + strconv.Itoa(l.rounds) + "." + strconv.FormatInt(time.Now().UnixNano(), 36)
		}
		m := nats.NewMsg(subjectName + l.id + ".shard")
		m.Data = []byte(name)
		m.Header.Set(jetstream.MsgIDHeader, id)
		f, err := l.js.PublishMsgAsync(m, jetstream.WithStallWait(sendWait))
		if err != nil {
			return err
		}
		sent = append(sent, f)
	}
	for _, f := range sent {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// wait returns when the folder shows that all is done or given up. Over is set when workers
// have seen that and leave.
func (l *lead) wait(ctx context.Context, dead <-chan uint64, over *atomic.Bool) error {
	var left time.Time // when they had left
	tick := time.NewTicker(max(min(l.o.Lease/10, lookEvery), 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case seq := <-dead:
			if err := l.bury(ctx, seq); err != nil {
				return err
			}
			continue
		case <-tick.C:
		}
		info, err := l.stream.Info(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			continue // a server that is away for a while
		}
		cons, err := l.js.Consumer(ctx, streamName+l.id, consumerName)
		if err != nil {
			continue
		}
		in := cons.CachedInfo()
		lost, err := names(filepath.Join(l.t.Dir, errorsDir), ".jsonl")
		if err != nil {
			return err
		}
		l.o.Progress.queue(int(info.State.Msgs), len(lost), in.NumAckPending)
		switch {
		case info.State.Msgs == 0:
			st, err := l.t.survey(l.o.Slice)
			if err != nil {
				return err
			}
			if len(st.todo) == 0 {
				return nil
			}
			// They were acknowledged, so their parts are not seen here yet.
			if err := l.send(ctx, st.todo); err != nil {
				return err
			}
		case in.NumPending == 0 && in.NumAckPending == 0: // all that is left was delivered too often
			if err := l.bury(ctx, info.State.FirstSeq); err != nil {
				return err
			}
		case !over.Load():
		case left.IsZero():
			left = time.Now()
		case time.Since(left) > l.o.Lease: // an acknowledgement was lost, and nobody is there to take its message again
			return nil
		}
	}
}

// bury takes a dead letter from the queue: its shard is given up, or sent again if it was
// not tried as often as it was delivered, as workers were asked to stop.
func (l *lead) bury(ctx context.Context, seq uint64) error {
	m, err := l.stream.GetMsg(ctx, seq)
	if err != nil {
		return nil // done or buried already, else found again
	}
	if err := l.stream.DeleteMsg(ctx, seq); err != nil {
		return nil
	}
	s, ok := l.t.shard(string(m.Data))
	if !ok {
		return nil
	}
	name := string(m.Data)
	n, err := readTries(l.t.triesFile(name))
	switch {
	case err != nil:
		return err
	case l.t.isDone(name):
		return nil
	case n.Count >= l.o.Tries:
		return l.t.giveUp(name)
	}
	return l.send(ctx, []Shard{s})
}

// shard returns the shard of a name.
func (t *Task) shard(name string) (Shard, bool) {
	number, _, _ := strings.Cut(name, "-")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= len(t.Shards) || t.Name(t.Shards[n]) != name {
		return Shard{}, false
	}
	return t.Shards[n], true
}

// A member takes shards from a queue.
type member struct {
	*runner
	nc   *nats.Conn
	id   string
	over atomic.Bool // nothing is left

	mu   sync.Mutex
	seen time.Time // when the folder was last looked at
}

// start starts the workers of this process, and returns what waits for their end. One that
// cannot go on stops all.
func (w *member) start(ctx context.Context, stop func(error), cons jetstream.Consumer) (ended func()) {
	var workers sync.WaitGroup
	for range w.o.Workers {
		workers.Go(func() {
			if err := w.work(ctx, cons); err != nil {
				stop(err)
			}
		})
	}
	return workers.Wait
}

// work takes shards until all are done.
func (w *member) work(ctx context.Context, cons jetstream.Consumer) error {
	idle := max(w.o.Lease/6, 100*time.Millisecond)
	for !w.over.Load() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		wait, cancel := context.WithTimeout(ctx, idle)
		m, err := cons.Next(jetstream.FetchContext(wait))
		cancel()
		if err == nil {
			if err := w.take(ctx, m); err != nil {
				return err
			}
			continue
		}
		if err := w.look(idle); err != nil {
			return err
		}
		if wait.Err() == nil { // no server now, which says so at once
			select {
			case <-ctx.Done():
			case <-time.After(idle / 4):
			}
		}
	}
	return nil
}

// look sees in the folder whether anything is left, now and then.
func (w *member) look(every time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.seen) < every {
		return nil
	}
	w.seen = time.Now()
	st, err := w.t.survey(Slice{})
	if err != nil {
		return err
	}
	if len(st.todo) == 0 {
		w.over.Store(true)
	}
	return nil
}

// take does the shard of a message. While it does, it says so every third of the lease.
func (w *member) take(ctx context.Context, m jetstream.Msg) error {
	s, ok := w.t.shard(string(m.Data()))
	if !ok {
		return m.TermWithReason("no shard of this task")
	}
	alive, stop := context.WithCancel(ctx)
	var told sync.WaitGroup
	told.Go(func() {
		tick := time.NewTicker(w.o.Lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-alive.Done():
				return
			case <-tick.C:
				_ = m.InProgress() // else it is another's after the lease, which does no harm
			}
		}
	})
	counts, again, err := w.try(ctx, s)
	stop()
	told.Wait()
	switch {
	case err != nil:
		_ = m.Nak() // it is another's now rather than after the lease
		_ = w.nc.FlushTimeout(time.Second)
		return err
	case again > 0:
		_ = m.NakWithDelay(again)
		return nil
	}
	if text, err := json.Marshal(counts); err == nil && counts.any() {
		_ = w.nc.Publish(subjectName+w.id+".counts", text)
	}
	ack, cancel := context.WithTimeout(ctx, min(w.o.Lease, sendWait))
	defer cancel()
	_ = m.DoubleAck(ack) // else it comes again, and its part is found
	return nil
}

// Work takes shards from the queue of a lead until all are done. dir is the task's folder
// as this machine calls it, "" if it is called as on the lead's.
func Work(ctx context.Context, dir string, o RunOptions) error {
	o.defaults()
	lessGC(o.Workers)
	for {
		t, err := workOne(ctx, dir, o)
		_, lost := errors.AsType[*FailedError](err)
		if t == nil || !t.hidden() || err != nil && !lost {
			return err
		}
		select { // the lead goes on with the next task of the same work
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookEvery):
		}
	}
}

// workOne takes shards of one task, which it returns.
func workOne(ctx context.Context, dir string, o RunOptions) (*Task, error) {
	last := ""
	nc, err := o.Queue.connect(nil, func(err error) { // one call at a time
		if text := err.Error(); text != last {
			last = text
			o.Progress.note("waiting for %s: %s", o.Queue.URL, text)
		}
	})
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(sendWait))
	if err != nil {
		return nil, err
	}
	t, cons, err := find(ctx, nc, js, dir, &o)
	if err != nil {
		return nil, err
	}
	r := &runner{t: t, o: o}
	if cons == nil {
		return t, r.end()
	}
	o.Progress.join(o.Workers)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	id, err := t.id()
	if err != nil {
		return nil, err
	}
	w := &member{runner: r, nc: nc, id: id}
	w.start(ctx, stop, cons)()
	if !w.over.Load() {
		return t, context.Cause(ctx)
	}
	return t, r.end()
}

// find waits for the stream of a task, opens its folder, and takes over the lease. If all
// is done, there is nothing to take shards from.
func find(ctx context.Context, nc *nats.Conn, js jetstream.JetStream, dir string, o *RunOptions) (*Task, jetstream.Consumer, error) {
	for waited := false; ; waited = true {
		if nc.IsClosed() {
			return nil, nil, fmt.Errorf("%s: %w", o.Queue.URL, nc.LastError())
		}
		folders := map[string]string{} // of streams
		for _, d := range []string{dir, filepath.Join(dir, packDir, readDir), filepath.Join(dir, packDir, indexDir)} {
			if id, err := (&Task{Dir: d}).id(); err == nil && dir != "" {
				folders[streamName+id] = d
			}
		}
		var streams []*jetstream.StreamInfo
		if nc.IsConnected() {
			list := js.ListStreams(ctx, jetstream.WithStreamListSubject(subjectName+"*.shard"))
			for info := range list.Info() {
				if dir == "" || folders[info.Config.Name] != "" {
					streams = append(streams, info)
				}
			}
		}
		if len(streams) > 1 {
			return nil, nil, fmt.Errorf("%d tasks are led there: name the folder of one", len(streams))
		}
		if len(streams) == 1 {
			folder := cmp.Or(folders[streams[0].Config.Name], streams[0].Config.Metadata[metaDir])
			t, err := Open(folder)
			if err != nil {
				return nil, nil, err
			}
			if id, err := t.id(); err != nil || streamName+id != streams[0].Config.Name {
				return nil, nil, errors.Join(err, fmt.Errorf("%s is not the folder of the task that is led there", folder))
			}
			if cons, err := js.Consumer(ctx, streams[0].Config.Name, consumerName); err == nil {
				c := cons.CachedInfo().Config
				o.Lease, o.Tries = c.AckWait, c.MaxDeliver
				return t, cons, nil
			}
		}
		if dir != "" {
			if t, err := Open(dir); err != nil {
				return nil, nil, err
			} else if st, err := t.survey(Slice{}); err == nil && len(st.todo) == 0 {
				return t, nil, nil
			}
		}
		if !waited && nc.IsConnected() {
			o.Progress.note("waiting for a run that leads there")
		}
		select {
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-time.After(lookEvery):
		}
	}
}
