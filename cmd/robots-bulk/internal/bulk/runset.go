package bulk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
)

// A runSet is the sorted runs of all inputs, in which redirects and revisits are followed: a hop
// is a search for a key in each run. It is safe for concurrent use.
type runSet struct {
	runs           []*sortedRun
	redirectWindow int64 // milliseconds
}

// openRuns opens the runs of a task of pack read, which must be complete.
func openRuns(readTask *Task) (*runSet, error) {
	set := &runSet{}
	for i, shard := range readTask.Shards {
		run, err := openSortedRun(readTask.partPath(tableRuns, readTask.PartName(shard)))
		if err != nil {
			set.close()
			return nil, err
		}
		run.number = i
		set.runs = append(set.runs, run)
	}
	return set, nil
}

func (s *runSet) close() {
	for _, run := range s.runs {
		run.Close()
	}
}

// responseBytes returns about how many bytes the responses of a range of sites have.
func (s *runSet) responseBytes(from, before string) (n int64) {
	for _, run := range s.runs {
		for _, block := range run.siteBlocks() {
			if from <= block.surt && block.surt < before {
				n += block.size
			}
		}
	}
	return n
}

// bytesPerResponse returns the mean size of a response.
func (s *runSet) bytesPerResponse() int64 {
	responses := int64(0)
	for _, run := range s.runs {
		responses += run.Responses
	}
	return s.responseBytes("", afterAllSites) / max(responses, 1)
}

// responses yields the responses of a range of sites in order.
func (s *runSet) responses(ctx context.Context, from, to string) iter.Seq2[*archivedResponse, error] {
	files := make([]*pairFile, len(s.runs))
	for i, run := range s.runs {
		files[i] = run.pairFile
	}
	end := cmp.Or(to, afterAllSites)
	return func(yield func(*archivedResponse, error) bool) {
		for p, err := range mergePairs(files, []byte(from)) {
			err = cmp.Or(err, ctx.Err())
			if err != nil {
				yield(nil, err)
				return
			}
			surt := keySURT(p.key)
			if surt < from {
				continue
			}
			if surt >= end {
				return
			}
			response, err := s.response(p)
			if !yield(response, err) || err != nil {
				return
			}
		}
	}
}

// response returns the response of a pair in one of the runs.
func (s *runSet) response(p pair) (*archivedResponse, error) {
	response := &archivedResponse{run: s.runs[p.input]}
	return response, json.Unmarshal(p.value, response)
}

// neighbors is pairFile.neighbors for all runs.
func (s *runSet) neighbors(key []byte) (before, next pair, err error) {
	for i, run := range s.runs {
		runBefore, runNext, err := run.neighbors(key)
		if err != nil {
			return before, next, err
		}
		if runBefore.key != nil && bytes.Compare(runBefore.key, before.key) > 0 {
			before = runBefore
			before.input = i
		}
		if runNext.key != nil && (next.key == nil || bytes.Compare(runNext.key, next.key) < 0) {
			next = runNext
			next.input = i
		}
	}
	return before, next, nil
}

// anyTime is a window, in milliseconds, that holds all times.
const anyTime = 1 << 62

// nearestPair returns the pair of a prefix that is nearest to a time, at most a window away; of two
// equally near ones the earlier, of those of one time the first. It has no key if there is none.
func (s *runSet) nearestPair(prefix []byte, time, window int64) (nearest pair, err error) {
	before, next, err := s.neighbors(timeKey(prefix, time))
	if err != nil {
		return nearest, err
	}
	distance := window
	if nextTime, ok := keyTime(next.key, prefix); ok && nextTime-time <= distance {
		nearest = next
		distance = nextTime - time
	}
	if timeBefore, ok := keyTime(before.key, prefix); ok && time-timeBefore <= distance {
		_, nearest, err = s.neighbors(timeKey(prefix, timeBefore)) // before is the last of that time
	}
	return nearest, err
}

// nearestResponse returns the response or revisit of a URL that is nearest to a time, nil if there
// is none in the redirect window.
func (s *runSet) nearestResponse(url string, time int64) (*archivedResponse, error) {
	prefix, err := urlKey(url)
	if err != nil {
		return nil, nil // no archive has such a URL
	}
	nearest, err := s.nearestPair(prefix, time, s.redirectWindow)
	if err != nil || nearest.key == nil {
		return nil, err
	}
	return s.response(nearest)
}
