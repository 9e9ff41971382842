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

//go:embed beat.lua
var beatText string

var (
	doneScript = script.New("#!lua flags=allow-oom\n" + commonText + doneText)
	beatScript = script.New(beatText)
)

// of returns a text with the name of an epoch in it: a server that knows it is one on
// which that epoch has been at work.
func of(text, epoch string) script.Script {
	return script.New(strings.Replace(text, "EPOCH", epoch, 1))
}

// micros is a time of the server's clock or a duration, in microseconds. Scripts
// count in doubles, which hold it exactly until the year 2255.
type micros = float64

func duration(d time.Duration) micros { return float64(d) / 1e3 }

// whole returns a duration rounded up.
func whole(d time.Duration) micros { return math.Ceil(duration(d)) }

func moment(t time.Time) micros { return float64(t.UnixMicro()) }

// instant returns a time of the server, the zero time for never.
func instant(m micros) time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(m)).UTC()
}

func put(b []byte, values ...micros) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// take reads doubles off a reply and reports whether it holds as many.
func take(reply string, values ...*micros) (rest string, ok bool) {
	if len(reply) < 8*len(values) {
		return reply, false
	}
	for _, v := range values {
		*v = math.Float64frombits(binary.LittleEndian.Uint64([]byte(reply[:8])))
		reply = reply[8:]
	}
	return reply, true
}

// Spans are sent from a little before to a little after the stretch that
// matters, so that the server finds its own time among them.
const (
	spanBefore = time.Minute
	spanAfter  = 5 * time.Minute
	farthest   = 48 * time.Hour // windows are at most a minute each
)

// named begins the argument of a request or of the end of a grant: its name, and the
// interval of its address, 0 without one.
func named(id uint64, gap micros) []byte {
	return put(binary.BigEndian.AppendUint64(make([]byte, 0, 96), id), gap)
}

// arg encodes what the script needs beside the state.
func (d *decision) arg() string {
	b := put(named(d.id, d.gap), math.Floor(duration(max(d.within, 0))), whole(max(d.floor, 0)), whole(d.schedule.Slowest()))
	if interval, ok := d.schedule.Steady(); ok {
		return string(put(b, 0, math.Inf(1), duration(interval)))
	}
	from := d.now.Add(-spanBefore)
	b = put(b, moment(from))
	for span := range d.schedule.Spans(from, d.now.Add(d.within+spanAfter)) {
		interval := duration(span.Interval)
		if !span.Open {
			interval = -1
		}
		b = put(b, moment(span.To), interval)
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
}

const (
	codeGranted = 'G'
	codeRefused = 'R'
	codeEpoch   = 'E' // the server's memory is of another epoch
	codeOutside = 'O' // the server's time is not among the spans
)

// answerSize is the length of one answer in a reply.
const answerSize = 38

// parseAnswer returns an answer in a reply, counted from 0.
func parseAnswer(reply string, at int) (a answer, ok bool) {
	if reply, ok = take(reply, &a.now); !ok {
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
	reply, _ = take(reply[1:answerSize], &a.start, &last, &retry, &ready)
	tail := []byte(reply)
	a.state = pace.State{
		Last:      instant(last),
		NotBefore: instant(retry),
		Address:   instant(ready),
		Busy:      tail[4] != 0,
		BackOff:   pace.BackOff{Factor: binary.LittleEndian.Uint16(tail), Step: binary.LittleEndian.Uint16(tail[2:])},
	}
	return a, a.code == codeGranted || a.code == codeRefused || a.code == codeOutside
}
