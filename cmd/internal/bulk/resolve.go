package bulk

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/warc"
	"github.com/robotskit/robots/fetch"
)

// An archive is the runs of all inputs. It follows redirects and revisits in them: a hop is
// a search for a key in each run. It is safe for concurrent use.
type archive struct {
	runs   []*runFile
	window int64       // milliseconds
	read   map[int]int // the run that has an input
}

// openArchive opens the runs of a task, which must be complete.
func openArchive(first *Task) (*archive, error) {
	v := &archive{read: map[int]int{}}
	for i, s := range first.Shards {
		r, err := openRun(first.path(tableRuns, first.Name(s)))
		if err != nil {
			v.close()
			return nil, err
		}
		r.number = i
		v.runs = append(v.runs, r)
		for _, input := range s.Inputs {
			v.read[input] = i
		}
	}
	return v, nil
}

func (v *archive) close() {
	for _, r := range v.runs {
		r.Close()
	}
}

// answers yields the answers of a range of sites in order.
func (v *archive) answers(ctx context.Context, from, to string) iter.Seq2[*answer, error] {
	inputs := make([]io.Reader, len(v.runs))
	for i, r := range v.runs {
		inputs[i] = r.from(from)
	}
	return func(yield func(*answer, error) bool) {
		for p, err := range merge(inputs) {
			surt := ""
			if err == nil {
				surt, err = surtOf(p.key), ctx.Err()
			}
			switch {
			case err != nil:
			case surt < from:
				continue
			case to != "" && surt >= to:
				return
			}
			var a answer
			if err == nil {
				a.run = v.runs[v.read[int(inputOf(p.key))]]
				err = json.Unmarshal(p.value, &a)
			}
			if !yield(&a, err) {
				return
			}
		}
	}
}

// find returns the answer of a hash that is nearest to a time, nil if there is none in the
// window.
func (v *archive) find(hash [16]byte, at, window int64) (*answer, error) {
	var best key
	var in *runFile
	for _, r := range v.runs {
		k, ok, err := r.find(hash, at, window)
		if err != nil {
			return nil, err
		}
		if ok && (in == nil || k.nearer(best, at)) {
			best, in = k, r
		}
	}
	if in == nil {
		return nil, nil
	}
	return in.at(best.place)
}

// byURL returns the answer or revisit of a URL that is nearest to a time.
func (v *archive) byURL(url string, at int64) (*answer, error) {
	a, err := v.find(hashOf(byURL, url), at, v.window)
	if err != nil {
		return nil, err
	}
	b, err := v.find(hashOf(byRevisit, url), at, v.window)
	if err != nil || a == nil {
		return b, err
	}
	if b != nil && (key{at: b.At}).nearer(key{at: a.At}, at) {
		return b, nil
	}
	return a, nil
}

// resolve returns the row of an answer, and the answer that has its body.
func (v *archive) resolve(a *answer) (*Capture, *answer, error) {
	c, err := captureOf(a)
	if err != nil {
		return nil, nil, err
	}
	hops := []fetch.Hop{{URL: a.URL, Status: int(a.Status)}}
	for {
		if a.Revisit != nil {
			original, err := v.original(a)
			if err != nil {
				return nil, nil, err
			}
			if original == nil {
				c.Outcome, c.Cause, c.Status = RevisitUnresolved, RevisitUnresolved, a.Status
				return c, nil, nil
			}
			a = original
			if len(hops) == 1 {
				c.Location = a.Next
			}
		}
		if a.Next == "" {
			c.take(a)
			return c, a, nil
		}
		if cause := packLimits.Redirected(hops, a.Next); cause != fetch.CauseNone {
			c.Outcome, c.Cause, c.Status = cause.Outcome().String(), cause.String(), a.Status
			return c, nil, nil
		}
		next, err := v.byURL(a.Next, c.Fetched.UnixMilli())
		if err != nil {
			return nil, nil, err
		}
		if next == nil {
			c.Outcome, c.Cause, c.Status = Unresolved, NotArchived, a.Status
			return c, nil, nil
		}
		a = next
		hops = append(hops, fetch.Hop{URL: a.URL, Status: int(a.Status)})
		c.Hops, c.ResolvedFrom = int32(len(hops)-1), a.URL
	}
}

// original returns the answer to which a revisit refers, nil if it was not archived.
func (v *archive) original(a *answer) (*answer, error) {
	r := a.Revisit
	if r.ID != "" {
		found, err := v.find(hashOf(byID, r.ID), a.At, 1<<62)
		if err != nil || found != nil {
			return found, err
		}
	}
	if r.URL == "" || r.At == 0 {
		return nil, nil
	}
	// The date of a record can have fractions of a second that the reference lacks.
	return v.find(hashOf(byURL, r.URL), r.At, 999)
}

// revisited returns the answer of a revisit record.
func revisited(record *warc.Record, name string) (*answer, error) {
	url, err := canonical(record.URI)
	if err != nil {
		return nil, err
	}
	a := &answer{URL: url, At: record.Date.UTC().UnixMilli(), Input: name, Offset: record.Offset, ID: record.ID, Body: -1, Revisit: &revisit{}}
	refers := strings.TrimSuffix(strings.TrimPrefix(record.RefersTo.URI, "<"), ">")
	if refers == "" {
		refers = record.URI
	}
	if a.Revisit.URL, err = canonical(refers); err != nil {
		return nil, err
	}
	if at, err := warc.ParseDate(record.RefersTo.Date); err == nil {
		a.Revisit.At = at.UnixMilli()
	}
	a.Revisit.ID = record.RefersTo.ID
	return a, nil
}

// canonical returns the normalized form of a URL in answers.
func canonical(url string) (string, error) {
	origin, _, err := robots.ParseURL(url)
	if err != nil {
		return "", err
	}
	r, _, err := packLimits.Judge(origin, &fetch.Answer{URL: url, Status: http.StatusNotFound})
	if err != nil {
		return "", err
	}
	return r.URL, nil
}
