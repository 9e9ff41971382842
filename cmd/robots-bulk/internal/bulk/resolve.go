package bulk

import (
	"net/http"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/robots-bulk/internal/warc"
	"github.com/robotskit/robots/fetch"
)

// resolve returns the row of a response, after its revisits and redirects, and the response that
// has its body, nil if there is none.
func (s *runSet) resolve(response *archivedResponse) (*Capture, *archivedResponse, error) {
	capture, err := newCapture(response)
	if err != nil {
		return nil, nil, err
	}
	hops := []fetch.Hop{{URL: response.URL, Status: int(response.Status)}}
	for {
		if response.Revisit != nil {
			original, err := s.revisitOriginal(response)
			if err != nil {
				return nil, nil, err
			}
			if original == nil {
				capture.setUnresolved(OutcomeRevisitUnresolved, CauseRevisitUnresolved, response.Status)
				return capture, nil, nil
			}
			response = original
			if len(hops) == 1 {
				capture.Location = response.Location
			}
		}
		if response.Location == "" {
			capture.setOutcome(response)
			return capture, response, nil
		}
		if cause := packLimits.Redirected(hops, response.Location); cause != fetch.CauseNone {
			capture.setUnresolved(cause.Outcome().String(), cause.String(), response.Status)
			return capture, nil, nil
		}
		target, err := s.nearestResponse(response.Location, capture.Fetched.UnixMilli())
		if err != nil {
			return nil, nil, err
		}
		if target == nil {
			capture.setUnresolved(OutcomeRedirectUnresolved, CauseNotArchived, response.Status)
			return capture, nil, nil
		}
		response = target
		hops = append(hops, fetch.Hop{URL: response.URL, Status: int(response.Status)})
		capture.Hops = int32(len(hops) - 1)
		capture.ResolvedFrom = response.URL
	}
}

// referenceTolerance is how much later than the date of a revisit reference its response can be, in
// milliseconds: the date of a record can have fractions of a second that the reference lacks.
const referenceTolerance = 1000

// revisitOriginal returns the response to which a revisit refers, nil if it was not archived.
func (s *runSet) revisitOriginal(response *archivedResponse) (*archivedResponse, error) {
	reference := response.Revisit
	if reference.RecordID != "" {
		original, err := s.responseOfRecord(reference.RecordID, response.Time)
		if err != nil || original != nil {
			return original, err
		}
	}
	if reference.URL == "" || reference.Time == 0 {
		return nil, nil
	}
	prefix, err := urlKey(reference.URL)
	if err != nil {
		return nil, err
	}
	end := reference.Time + referenceTolerance
	for time := reference.Time; time < end; {
		_, next, err := s.neighbors(timeKey(prefix, time))
		if err != nil {
			return nil, err
		}
		nextTime, ok := keyTime(next.key, prefix)
		if !ok || nextTime >= end {
			return nil, nil
		}
		original, err := s.response(next)
		if err != nil || original.Revisit == nil {
			return original, err
		}
		time = nextTime + 1 // responses precede revisits of the same time
	}
	return nil, nil
}

// responseOfRecord returns the response of the record with an ID that is nearest to a time, nil if it
// was not archived.
func (s *runSet) responseOfRecord(id string, time int64) (*archivedResponse, error) {
	record, err := s.nearestPair(idKey(id), time, anyTime)
	if err != nil || record.key == nil {
		return nil, err
	}
	_, found, err := s.neighbors(record.value)
	if err != nil || found.key == nil {
		return nil, err
	}
	return s.response(found)
}

// newRevisit returns the response of a revisit record.
func newRevisit(record *warc.Record, name string) (*archivedResponse, error) {
	url, err := canonicalURL(record.URI)
	if err != nil {
		return nil, err
	}
	reference := &revisitReference{URL: url, RecordID: record.RefersTo.ID}
	if record.RefersTo.URI != "" {
		reference.URL, err = canonicalURL(record.RefersTo.URI)
		if err != nil {
			return nil, err
		}
	}
	if date, err := warc.ParseDate(record.RefersTo.Date); err == nil {
		reference.Time = date.UnixMilli()
	}
	return &archivedResponse{
		URL: url, Time: record.Date.UTC().UnixMilli(), Input: name, Offset: record.Offset, RecordID: record.ID,
		BodyOffset: -1, Revisit: reference,
	}, nil
}

// canonicalURL returns the normalized form of a URL, as responses have it.
func canonicalURL(url string) (string, error) {
	origin, _, err := robots.ParseURL(url)
	if err != nil {
		return "", err
	}
	judged, _, err := packLimits.Judge(origin, &fetch.Answer{URL: url, Status: http.StatusNotFound})
	if err != nil {
		return "", err
	}
	return judged.URL, nil
}
