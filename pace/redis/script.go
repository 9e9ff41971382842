package redis

import (
	_ "embed"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

//go:embed common.lua
var commonText string

//go:embed reserve.lua
var reserveText string

//go:embed done.lua
var doneText string

//go:embed epoch.lua
var epochText string

//go:embed heartbeat.lua
var heartbeatText string

var (
	doneScript      = script.New("#!lua flags=allow-oom\n" + commonText + doneText)
	heartbeatScript = script.New(heartbeatText)
)

// of returns a text with the name of an epoch in it: a server that knows it is one on
// which that epoch has been at work.
func of(text, epoch string) script.Script {
	return script.New(strings.Replace(text, "EPOCH", epoch, 1))
}

// micros is a time of the server's clock or a duration, in microseconds. Scripts
// count in doubles, which hold it exactly until the year 2255.
type micros = float64

func microsOf(d time.Duration) micros { return float64(d) / 1e3 }

// microsUp returns a duration rounded up.
func microsUp(d time.Duration) micros { return math.Ceil(microsOf(d)) }

func microsAt(t time.Time) micros { return float64(t.UnixMicro()) }

// timeAt returns a time of the server, the zero time for never.
func timeAt(m micros) time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(m)).UTC()
}

func appendDoubles(b []byte, values ...micros) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// readDoubles reads doubles off a reply and reports whether there are as many.
func readDoubles(reply string, values ...*micros) (rest string, ok bool) {
	if len(reply) < 8*len(values) {
		return reply, false
	}
	for _, v := range values {
		*v = math.Float64frombits(binary.LittleEndian.Uint64([]byte(reply[:8])))
		reply = reply[8:]
	}
	return reply, true
}

// Spans are sent from a little before to a little after the time that matters, so that
// the server finds its own time among them.
const (
	spanBefore = time.Minute
	spanAfter  = 5 * time.Minute
	farthest   = 48 * time.Hour // windows are at most a minute each
)

// argHead begins the argument of a decision or of a release: the id of the grant, and the
// interval of its address, 0 without a pace.
func argHead(id uint64, addrInterval micros) []byte {
	return appendDoubles(binary.BigEndian.AppendUint64(make([]byte, 0, 96), id), addrInterval)
}

// arg encodes what the script needs beside the state.
func (d *decision) arg() string {
	interval, steady := d.schedule.Steady()
	within := d.within
	if !steady {
		within = min(within, farthest)
	}
	b := appendDoubles(argHead(d.id, d.addrInterval), math.Floor(microsOf(max(within, 0))), microsUp(max(d.earliest, 0)), microsUp(d.schedule.Slowest()))
	if steady {
		return string(appendDoubles(b, 0, math.Inf(1), microsOf(interval)))
	}
	from := d.now.Add(-spanBefore)
	b = appendDoubles(b, microsAt(from))
	for span := range d.schedule.Spans(from, d.now.Add(within+spanAfter)) {
		interval := microsOf(span.Interval)
		if !span.Open {
			interval = -1
		}
		b = appendDoubles(b, microsAt(span.To), interval)
	}
	return string(b)
}

// answer is what the script says of a decision. Times are the server's.
type answer struct {
	code    byte // one of the codes below
	now     micros
	start   micros // of a grant
	workers int    // on the list
	state   pace.State
	held    bool // NotBefore is of an operator
}

const (
	codeGranted = 'G'
	codeRefused = 'R'
	codeEpoch   = 'E' // the server's memory is of another epoch
	codeOutside = 'O' // the server's time is not among the spans
)

// heldRow is the held_row of common.lua.
const heldRow = "\x01held\x00\x00\x00"

// answerSize is the length of one answer in a reply.
const answerSize = 38

// parseAnswer returns an answer in a reply, counted from 0.
func parseAnswer(reply string, at int) (a answer, ok bool) {
	if reply, ok = readDoubles(reply, &a.now); !ok {
		return a, false
	}
	if reply == "" {
		a.code = codeEpoch
		return a, true
	}
	if len(reply) < 5+(at+1)*answerSize {
		return a, false
	}
	a.workers, _ = strconv.Atoi(reply[:5])
	reply = reply[5+at*answerSize:]
	a.code = reply[0]
	var last, retry, ready micros
	reply, _ = readDoubles(reply[1:answerSize], &a.start, &last, &retry, &ready)
	tail := []byte(reply)
	a.state = pace.State{
		Last:      timeAt(last),
		NotBefore: timeAt(retry),
		Address:   timeAt(ready),
		Busy:      tail[4]&1 != 0,
		BackOff:   pace.BackOff{Factor: binary.LittleEndian.Uint16(tail), Step: binary.LittleEndian.Uint16(tail[2:])},
	}
	a.held = tail[4]&2 != 0
	return a, a.code == codeGranted || a.code == codeRefused || a.code == codeOutside
}
