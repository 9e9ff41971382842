package bulk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/robots-bulk/internal/warc"
	"github.com/robotskit/robots/fetch"
)

// An archive is the runs of all inputs. It follows redirects and revisits in them: a hop is
// a search for a key in each run. It is safe for concurrent use.
type archive struct {
	runs   []*runFile
	window int64 // milliseconds
}

// openArchive opens the runs of a task, which must be complete.
func openArchive(first *Task) (*archive, error) {
	v := &archive{}
	for i, s := range first.Shards {
		r, err := openRun(first.path(tableRuns, first.Name(s)))
		if err != nil {
			v.close()
			return nil, err
		}
		r.number = i
		v.runs = append(v.runs, r)
	}
	return v, nil
}

func (v *archive) close() {
	for _, r := range v.runs {
		r.Close()
	}
}

// answers yields the answers of a range of sites in order.
func (v *archive) answers(ctx context.Context, from, to string) iter.Seq2[*archivedResponse, error] {
	files := make([]*pairFile, len(v.runs))
	for i, r := range v.runs {
		files[i] = r.pairFile
	}
	return func(yield func(*archivedResponse, error) bool) {
		for p, err := range merge(files, []byte(from)) {
			var a *archivedResponse
			if err = cmp.Or(err, ctx.Err()); err == nil {
				switch surt := surtOf(p.key); {
				case surt < from:
					continue
				case surt >= cmp.Or(to, behindSites):
					return
				}
				a, err = v.answer(p)
			}
			if !yield(a, err) {
				return
			}
		}
	}
}

// answer returns the answer of a pair in one of the runs.
func (v *archive) answer(p pair) (*archivedResponse, error) {
	a := &archivedResponse{run: v.runs[p.source]}
	return a, json.Unmarshal(p.value, a)
}

// around is pairFile.around for all runs.
func (v *archive) around(key []byte) (before, from pair, err error) {
	for i, r := range v.runs {
		b, f, err := r.around(key)
		if err != nil {
			return b, f, err
		}
		b.source, f.source = i, i
		if b.key != nil && bytes.Compare(b.key, before.key) > 0 {
			before = b
		}
		if f.key != nil && (from.key == nil || bytes.Compare(f.key, from.key) < 0) {
			from = f
		}
	}
	return before, from, nil
}

// nearest returns the pair of a prefix that is nearest to a time, at most a window away; of two
// equally near ones the earlier, of those of one moment the first. It has no key if there is none.
func (v *archive) nearest(prefix []byte, at, window int64) (p pair, err error) {
	before, from, err := v.around(atTime(prefix, at))
	if err != nil {
		return p, err
	}
	least := window
	if then, ok := momentOf(from.key, prefix); ok && then-at <= least {
		p, least = from, then-at
	}
	if then, ok := momentOf(before.key, prefix); ok && at-then <= least {
		_, p, err = v.around(atTime(prefix, then))
	}
	return p, err
}

// byURL returns the answer or revisit of a URL that is nearest to a time, nil if there is none
// in the window.
func (v *archive) byURL(url string, at int64) (*archivedResponse, error) {
	prefix, err := urlKey(url)
	if err != nil {
		return nil, nil // an archive has no such URL
	}
	p, err := v.nearest(prefix, at, v.window)
	if err != nil || p.key == nil {
		return nil, err
	}
	return v.answer(p)
}

// resolve returns the row of an answer, and the answer that has its body.
func (v *archive) resolve(a *archivedResponse) (*Capture, *archivedResponse, error) {
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
func (v *archive) original(a *archivedResponse) (*archivedResponse, error) {
	r := a.Revisit
	if r.ID != "" {
		p, err := v.nearest(idKey(r.ID), a.At, 1<<62)
		if err == nil && p.key != nil {
			_, p, err = v.around(p.value)
		}
		if err != nil {
			return nil, err
		}
		if p.key != nil {
			return v.answer(p)
		}
	}
	if r.URL == "" || r.At == 0 {
		return nil, nil
	}
	prefix, err := urlKey(r.URL)
	// The date of a record can have fractions of a second that the reference lacks.
	for at := r.At; err == nil && at < r.At+1000; {
		var p pair
		if _, p, err = v.around(atTime(prefix, at)); err != nil {
			break
		}
		then, ok := momentOf(p.key, prefix)
		if !ok || then >= r.At+1000 {
			return nil, nil
		}
		if found, err := v.answer(p); err != nil || found.Revisit == nil {
			return found, err
		}
		at = then + 1 // those of a time that are no revisits come first
	}
	return nil, err
}

// revisited returns the answer of a revisit record.
func revisited(record *warc.Record, name string) (*archivedResponse, error) {
	url, err := canonical(record.URI)
	if err != nil {
		return nil, err
	}
	a := &archivedResponse{URL: url, At: record.Date.UTC().UnixMilli(), Input: name, Offset: record.Offset, ID: record.ID, Body: -1, Revisit: &revisit{}}
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
