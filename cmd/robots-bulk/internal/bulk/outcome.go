package bulk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// packLimits are those of a fetch: only the beginning of a longer file is kept.
var packLimits fetch.Limits

const (
	bodyLimit = 512_000 // that of packLimits, in bytes
	// maxBodyBytes of a longer body are kept: package fetch leaves room for a byte order mark and
	// a last line.
	maxBodyBytes = bodyLimit + 1024
)

// outcome returns a response with its outcome, and its body, which is valid until the next call.
// The response is nil if the body is damaged.
func (r *inputReader) outcome(answer *fetch.Answer, name string, offset int64) (*archivedResponse, []byte, error) {
	origin, _, err := robots.ParseURL(answer.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("%s at byte %d: %w", name, offset, err)
	}
	answer.At = answer.At.UTC().Truncate(time.Millisecond)
	answer.Buffer = r.bodyBuffer
	digest := &bodyDigest{Hash: sha256.New()}
	answer.Body = io.TeeReader(answer.Body, digest)
	judged, location, err := packLimits.Judge(origin, answer)
	if err != nil {
		return nil, nil, err
	}
	if cap(judged.Body) > cap(r.bodyBuffer) {
		r.bodyBuffer = judged.Body[:0]
	}
	response := &archivedResponse{
		URL: judged.URL, Time: answer.At.UnixMilli(), Status: int32(judged.Status), Location: location,
		Input: name, Offset: offset, BodyOffset: -1,
	}
	if location == "" {
		response.Outcome = judged.Outcome.String()
		response.Cause = judged.Cause.String()
	}
	if judged.Outcome != fetch.Success {
		return response, nil, nil
	}
	_, err = io.Copy(io.Discard, answer.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, nil // damage, which is reported elsewhere
	}
	if answer.Header.Get("Content-Encoding") != "" || judged.Truncated && answer.Cut && len(judged.Body) < bodyLimit {
		digest = &bodyDigest{Hash: sha256.New()} // of the decoded body, or of its complete lines
		_, _ = digest.Write(judged.Body)
	}
	response.SHA256 = hex.EncodeToString(digest.Sum(nil))
	response.Bytes = digest.size
	response.Truncated = judged.Truncated
	response.ContentKind = contentKind(judged.Body)
	return response, judged.Body, nil
}

// A bodyDigest is the size and the hash of a body.
type bodyDigest struct {
	hash.Hash
	size int64
}

func (d *bodyDigest) Write(p []byte) (int, error) {
	d.size += int64(len(p))
	return d.Hash.Write(p)
}

// contentKind returns the kind of content of a body, by its first bytes.
func contentKind(body []byte) string {
	if len(body) == 0 {
		return "empty"
	}
	mediaType := http.DetectContentType(body)
	switch {
	case strings.HasPrefix(mediaType, "text/html"):
		return "html"
	case strings.HasPrefix(mediaType, "text/"):
		return "text"
	}
	return "binary"
}
