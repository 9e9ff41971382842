package redis

import (
	_ "embed"
	"encoding/binary"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

//go:embed head.lua
var headText string

//go:embed tag.lua
var tagText string

//go:embed common.lua
var functionsText string

// commonText is the beginning of the scripts that know the state of an origin.
func commonText() string { return headText + functionsText }

//go:embed book.lua
var bookText string

//go:embed step.lua
var stepText string

//go:embed done.lua
var doneText string

//go:embed epoch.lua
var epochText string

//go:embed heartbeat.lua
var heartbeatText string

var (
	doneScript      = &script.Script{Text: func() string { return "#!lua flags=allow-oom\n" + lean(commonText()+doneText) }}
	heartbeatScript = &script.Script{Text: func() string { return "#!lua\n" + headText + heartbeatText }}
)

// lean removes the comments and indents of a script: a server keeps the text of one for
// each tag.
func lean(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimLeft(line, " "); line != "\n" && !strings.HasPrefix(line, "--") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// leanTexts are what every epoch asks for: of step.lua, which books at addresses before it
// makes what only origins need, and of site.lua.
var leanTexts struct {
	once       sync.Once
	step, site string
}

func makeLean() {
	leanTexts.once.Do(func() {
		leanTexts.step = "#!lua\n" + lean(headText+tagText+bookText+functionsText+stepText)
		leanTexts.site = "#!lua\n" + lean(headText+tagText+siteText)
	})
}

func stepLean() string {
	makeLean()
	return leanTexts.step
}

func siteLean() string {
	makeLean()
	return leanTexts.site
}

func beginText() string { return epochText }

// of returns a script with the name of an epoch in it: a server that knows it is one on
// which that epoch has been at work.
func of(text func() string, epoch string) *script.Script {
	return &script.Script{Text: func() string { return strings.Replace(text(), "EPOCH", epoch, 1) }}
}

// epochLook is the script that begins no epoch. It is not a GET, which rueidis would send again
// and again to a server that is gone.
var epochLook = &script.Script{Text: func() string { return strings.Replace(epochText, "EPOCH", "", 1) }}

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

// appendTo encodes the decision for the script, behind a head and others. gone is a worker
// that is known to be gone, for so long, "" for none.
func (d *decision) appendTo(b []byte, gone string, goneFor time.Duration) []byte {
	interval, steady := d.schedule.Steady()
	within := d.within
	if !steady {
		within = min(within, farthest)
	}
	b = binary.BigEndian.AppendUint64(b, d.id)
	if gone == "" {
		gone, goneFor = noWorker, -time.Second
	}
	b = append(b, gone...)
	b = appendDoubles(b, math.Floor(microsOf(goneFor)), math.Floor(microsOf(max(within, 0))), microsUp(max(d.earliest, 0)), microsUp(d.schedule.Slowest()))
	at := len(b)
	b = binary.LittleEndian.AppendUint16(b, 1)
	if steady {
		return appendDoubles(b, 0, math.Inf(1), microsOf(interval))
	}
	from := d.now.Add(-spanBefore)
	b = appendDoubles(b, microsAt(from))
	spans := uint16(0)
	for span := range d.schedule.Spans(from, d.now.Add(within+spanAfter)) {
		interval := microsOf(span.Interval)
		if !span.Open {
			interval = -1
		}
		b = appendDoubles(b, microsAt(span.To), interval)
		spans++
	}
	binary.LittleEndian.PutUint16(b[at:], spans)
	return b
}

// answer is what the script says of a decision. Times are the server's.
type answer struct {
	code  byte   // one of the codes below
	start micros // of a grant
	state pace.State
	held  bool   // NotBefore is of an operator
	doubt string // a worker whose grant is under way and that may be gone, noWorker for none
}

const (
	codeGranted = 'G'
	codeRefused = 'R'
	codeOutside = 'O' // the server's time is not among the spans
)

// noWorker is nobody's name in an id.
const noWorker = "\x00\x00\x00\x00\x00"

// heldRow is the held_row of common.lua.
const heldRow = "\x01held\x00\x00\x00"

// answerSize is the length of one answer in a reply.
const answerSize = 35

// parseAnswers returns the answers to n decisions, behind the time in a reply.
func parseAnswers(reply string, n int) (answers []answer, ok bool) {
	if len(reply) != n*answerSize {
		return nil, false
	}
	answers = make([]answer, n)
	for i := range answers {
		a := &answers[i]
		a.code = reply[0]
		var last, retry micros
		tail, _ := readDoubles(reply[1:answerSize], &a.start, &last, &retry)
		a.doubt = tail[5:]
		a.state = pace.State{
			Last:      timeAt(last),
			NotBefore: timeAt(retry),
			Busy:      tail[4]&1 != 0,
			BackOff:   pace.BackOff{Factor: binary.LittleEndian.Uint16([]byte(tail)), Step: binary.LittleEndian.Uint16([]byte(tail[2:]))},
		}
		a.held = tail[4]&2 != 0
		reply = reply[answerSize:]
		if a.code != codeGranted && a.code != codeRefused && a.code != codeOutside {
			return nil, false
		}
	}
	return answers, true
}
