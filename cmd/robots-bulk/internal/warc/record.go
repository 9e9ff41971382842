package warc

import (
	"bytes"
	"crypto/md5"  //nolint:gosec // a digest of WARC files
	"crypto/sha1" //nolint:gosec // likewise
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxHeaderBytes limits the header of a record, and that of an HTTP response in it.
const maxHeaderBytes = 64 << 10

// A Record is one WARC record. Its Block is valid until the next call of Reader.Next.
type Record struct {
	Type string // WARC-Type in lower case, such as "response"
	ID   string // WARC-Record-ID
	URI  string // WARC-Target-URI, without the angle brackets that some writers put around it
	Date time.Time
	// Truncated is the reason why the block is truncated: "length", "time", "disconnect",
	// "unspecified", or "segment" if continuation records have the rest, which are not read; "" if it is
	// complete.
	Truncated string
	RefersTo  Reference // of a revisit record: the record with the content
	Offset    int64     // in the file, of the compressed member or, in a plain file, of the record
	Length    int64     // Content-Length of the block

	ContentType    string // of the block: of a resource record that of the resource
	IdentifiedType string // WARC-Identified-Payload-Type

	Block io.Reader // ends with io.EOF if the record is complete, otherwise with a *Damage

	reader *Reader
}

// A Reference identifies another record. Fields that are missing are "".
type Reference struct {
	ID   string // WARC-Refers-To
	URI  string // WARC-Refers-To-Target-URI, without angle brackets
	Date string // WARC-Refers-To-Date
}

// parseHeader sets the fields of r, and returns what is invalid in the header, "" if nothing is.
func (r *Record) parseHeader(header http.Header) (problem string) {
	r.Type = strings.ToLower(header.Get("WARC-Type"))
	r.Truncated = strings.ToLower(header.Get("WARC-Truncated"))
	if r.Truncated == "" && header.Get("WARC-Segment-Number") != "" {
		r.Truncated = "segment"
	}
	r.ID = header.Get("WARC-Record-ID")
	r.URI = withoutBrackets(header.Get("WARC-Target-URI"))
	r.ContentType = header.Get("Content-Type")
	r.IdentifiedType = header.Get("WARC-Identified-Payload-Type")
	r.RefersTo = Reference{
		ID:   header.Get("WARC-Refers-To"),
		URI:  withoutBrackets(header.Get("WARC-Refers-To-Target-URI")),
		Date: header.Get("WARC-Refers-To-Date"),
	}
	if r.Type == "" {
		return "WARC-Type is missing"
	}
	length, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
	if err != nil || length < 0 {
		return fmt.Sprintf("invalid Content-Length %.40q", header.Get("Content-Length"))
	}
	r.Length = length
	r.Date, err = ParseDate(header.Get("WARC-Date"))
	if err != nil {
		return fmt.Sprintf("invalid WARC-Date %.40q", header.Get("WARC-Date"))
	}
	return ""
}

// withoutBrackets removes the angle brackets around a URI.
func withoutBrackets(uri string) string {
	if bare, ok := strings.CutPrefix(uri, "<"); ok {
		return strings.TrimSuffix(bare, ">")
	}
	return uri
}

// readHeader reads header fields up to an empty line. It returns false if the header is
// unterminated or ends more than maxHeaderBytes after start.
func readHeader(in *rewindReader, start int64) (header http.Header, ok bool) {
	header = http.Header{}
	name := "" // of the last field, which a folded line continues
	for {
		line, ok := in.readLine(maxHeaderBytes)
		if !ok || in.offset()-start > maxHeaderBytes {
			return header, false
		}
		if len(line) == 0 {
			return header, true
		}
		if line[0] == ' ' || line[0] == '\t' { // obsolete line folding
			if values := header[name]; len(values) > 0 {
				last := &values[len(values)-1]
				*last = strings.TrimSpace(*last + " " + string(bytes.TrimSpace(line)))
			}
			continue
		}
		before, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			name = ""
			continue
		}
		name = http.CanonicalHeaderKey(string(bytes.TrimSpace(before)))
		header[name] = append(header[name], string(bytes.TrimSpace(value)))
	}
}

// digestAlgorithms are those of WARC-Block-Digest, by name without hyphens.
var digestAlgorithms = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

// parseDigest parses a digest such as sha1:3I42H3S6..., in base 32 or hexadecimal. It returns
// the hash that computes it and its value, nil for an unknown algorithm or an invalid value.
func parseDigest(field string) (sum hash.Hash, digest []byte) {
	name, value, _ := strings.Cut(field, ":")
	newHash := digestAlgorithms[strings.ReplaceAll(strings.ToLower(name), "-", "")]
	if newHash == nil {
		return nil, nil
	}
	sum = newHash()
	value = strings.TrimRight(value, "=")
	digest, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(value))
	if err == nil && len(digest) == sum.Size() {
		return sum, digest
	}
	digest, err = hex.DecodeString(value)
	if err == nil && len(digest) == sum.Size() {
		return sum, digest
	}
	return nil, nil
}

// dateLayouts are those of record dates: RFC 3339, and what old programs write.
var dateLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", "20060102150405", "2006-01-02 15:04:05", "2006-01-02"}

// ParseDate parses the date of a record: RFC 3339, in UTC without a zone, or the 14 digits
// that old programs write. A leap second is the second after it.
func ParseDate(date string) (time.Time, error) {
	for _, layout := range dateLayouts {
		at, err := time.Parse(layout, date)
		if err == nil {
			return at.UTC(), nil
		}
	}
	if i := strings.Index(date, ":60"); i > 0 {
		at, err := time.Parse(time.RFC3339, date[:i]+":59"+date[i+3:])
		if err == nil {
			return at.Add(time.Second).UTC(), nil
		}
	}
	return time.Time{}, errors.New("invalid date")
}
