package bulk

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A Plan is what a run would do.
type Plan struct {
	Shards, Done, Failed int           // of the slice
	Bytes                int64         // of the inputs that are to be read
	Out                  int64         // bytes that will be written, about; 0 if that is not known
	Took                 time.Duration // about; 0 if that is not known
	Workers              int
	Free                 int64 // bytes where they will be written; negative if that is not known
}

// NewPlan says what a run would do, and writes nothing.
func NewPlan(t *Task, o RunOptions) (Plan, error) {
	o.defaults()
	if _, err := t.check(); err != nil {
		return Plan{}, err
	}
	st, err := t.survey(o.Slice)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Shards: st.shards, Done: st.done, Failed: len(st.lost), Workers: o.Workers, Free: -1}
	for _, s := range append(st.todo, st.lost...) {
		p.Bytes += t.size(s)
	}
	p.Out = int64(float64(p.Bytes) * t.Expect.Out)
	if t.Expect.Rate > 0 {
		p.Took = time.Duration(float64(p.Bytes) / t.Expect.Rate / float64(o.Workers) * float64(time.Second))
	}
	for dir := filepath.Clean(t.Dir); ; dir = filepath.Dir(dir) { // the folder need not be there yet
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			if free, known := freeSpace(dir); known {
				p.Free = free
			}
			return p, nil
		}
	}
}

// Short reports whether what will be written has no room.
func (p Plan) Short() bool { return p.Free >= 0 && p.Out > p.Free }

// String is one line.
func (p Plan) String() string {
	s := Thousands(int64(p.Shards)) + " shards"
	if p.Done > 0 {
		s += fmt.Sprintf(", %s of them done", Thousands(int64(p.Done)))
	}
	if p.Failed > 0 {
		s += fmt.Sprintf(", %s failed before", Thousands(int64(p.Failed)))
	}
	s += "; " + Bytes(p.Bytes) + " to read"
	if p.Out > 0 {
		s += ", about " + Bytes(p.Out) + " to write"
	}
	if p.Free >= 0 {
		s += ", " + Bytes(p.Free) + " free"
	}
	if p.Took > 0 {
		s += "; about " + Duration(p.Took)
		if p.Workers > 1 {
			s += fmt.Sprintf(" with %d workers", p.Workers)
		}
	}
	return s
}
