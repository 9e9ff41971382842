package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/robots-bulk/internal/warc"
	"github.com/robotskit/robots/fetch"
)

// readWARC reads the records of a WARC.
func (r *inputReader) readWARC(ctx context.Context, name string, in io.Reader) error {
	records := warc.NewReader(in, func(damage warc.Damage) {
		if damage.LostRecords > 0 && r.dropMembers != nil {
			r.dropMembers(r.memberNumber)
		}
		r.addDamage(Damage{Input: name, Offset: damage.Offset, Kind: string(damage.Kind), Detail: damage.Detail})
	})
	defer records.Close()
	memberOffset := int64(-1) // of the last record
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		record, err := records.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if record.Offset != memberOffset {
			memberOffset = record.Offset
			r.beginMember()
		}
		if err := r.readRecord(record, name); err != nil {
			return err
		}
	}
}

// readRecord reads one record of an archive. A record whose block is damaged has no response, also
// if the block is not needed for the outcome.
func (r *inputReader) readRecord(record *warc.Record, name string) error {
	switch record.Type {
	case "response", "resource", "revisit":
	case "warcinfo", "request", "metadata", "conversion", "continuation":
		return nil
	default:
		return r.addDamagedRecord(record, name, "type", fmt.Sprintf("unknown WARC-Type %.40q", record.Type))
	}
	if record.URI == "" {
		return r.addDamagedRecord(record, name, "uri", "WARC-Target-URI is missing")
	}
	if hasOtherScheme(record.URI) {
		return nil
	}
	if _, _, err := robots.ParseURL(record.URI); err != nil {
		return r.addDamagedRecord(record, name, "uri", err.Error())
	}
	if record.Type == "resource" {
		return r.readResource(record, name)
	}
	return r.readResponse(record, name)
}

var (
	anyScheme = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:.`) })
	// A host with a port matches anyScheme too, without a scheme.
	hostPort = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^:]*:[0-9]+(/|$)`) })
)

// hasOtherScheme reports whether a URL has a scheme without robots.txt, such as that of a DNS record.
func hasOtherScheme(url string) bool {
	scheme, _, _ := strings.Cut(url, ":")
	if defaultPorts[strings.ToLower(scheme)] != 0 {
		return false
	}
	return anyScheme().MatchString(url) && !hostPort().MatchString(url)
}

// isIntact reads the rest of the block of a record, and reports whether it is complete. Otherwise
// the reader of the archive has reported the damage, or its Next returns the error.
func isIntact(record *warc.Record) bool {
	_, err := io.Copy(io.Discard, record.Block)
	return err == nil
}

// addDamagedRecord reports damage of a record, unless that of its block was reported.
func (r *inputReader) addDamagedRecord(record *warc.Record, name, kind, detail string) error {
	if isIntact(record) {
		r.addDamage(Damage{Input: name, Offset: record.Offset, Kind: kind, Detail: detail})
	}
	return nil
}

// readResource reads a resource record, whose block is the body.
func (r *inputReader) readResource(record *warc.Record, name string) error {
	answer := &fetch.Answer{Status: http.StatusOK, Header: http.Header{}, Body: record.Block}
	if record.ContentType != "" {
		answer.Header.Set("Content-Type", record.ContentType)
	}
	response, body, err := r.recordOutcome(record, answer, name)
	if err != nil || response == nil {
		return err
	}
	response.Status = 0
	return r.addResponse(response, body)
}

// readResponse reads a response or revisit record.
func (r *inputReader) readResponse(record *warc.Record, name string) error {
	archived, err := record.Response()
	if record.Type == "revisit" && (err != nil || archived.Status == http.StatusNotModified || archived.Status/100 == 2) {
		return r.addRevisit(record, name)
	}
	if damage, ok := errors.AsType[*warc.Damage](err); ok {
		if damage.Kind == warc.BadHTTP { // the reader has reported all others
			return r.addDamagedRecord(record, name, string(damage.Kind), damage.Detail)
		}
		return nil
	}
	if err != nil {
		return nil // an error of the disk, which Next returns
	}
	answer := &fetch.Answer{Protocol: archived.Protocol, Status: archived.Status, Header: archived.Header, Body: archived.Body}
	response, body, err := r.recordOutcome(record, answer, name)
	if err != nil || response == nil {
		return err
	}
	return r.addResponse(response, body)
}

// addRevisit adds the response of a revisit record.
func (r *inputReader) addRevisit(record *warc.Record, name string) error {
	response, err := newRevisit(record, name)
	if err != nil {
		return r.addDamagedRecord(record, name, "uri", err.Error())
	}
	if !isIntact(record) {
		return nil
	}
	return r.addResponse(response, nil)
}

// recordOutcome returns the response of a record with its outcome, and its body. The response is
// nil if the record is damaged, which is reported.
func (r *inputReader) recordOutcome(record *warc.Record, answer *fetch.Answer, name string) (*archivedResponse, []byte, error) {
	answer.URL = record.URI
	answer.At = record.Date
	answer.Cut = record.Truncated == "length"
	contentType := answer.Header.Get("Content-Type") // read first: Judge takes the headers
	if record.Truncated != "" && !answer.Cut {
		answer.Body = io.MultiReader(answer.Body, interruptedReader{})
	}
	bodyReader := &errorReader{in: answer.Body}
	answer.Body = bodyReader
	response, body, err := r.outcome(answer, name, record.Offset)
	if damage, ok := errors.AsType[*warc.Damage](bodyReader.err); ok && damage.Kind == warc.BadHTTP {
		return nil, nil, r.addDamagedRecord(record, name, string(damage.Kind), damage.Detail)
	}
	if err != nil || response == nil || !isIntact(record) {
		return nil, nil, err
	}
	response.RecordID = record.ID
	response.ContentType = validUTF8(contentType)
	response.IdentifiedType = validUTF8(record.IdentifiedType)
	return response, body, nil
}

// An interruptedReader is the end of a body whose transfer was interrupted.
type interruptedReader struct{}

func (interruptedReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
