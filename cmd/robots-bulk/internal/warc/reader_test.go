package warc

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/robotskit/robots/internal/campaign"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// rec returns a WARC 1.1 record; more are header lines that replace or follow the usual ones.
func rec(kind, uri, block string, more ...string) string {
	h := []string{
		"WARC-Type: " + kind, "WARC-Target-URI: " + uri, "WARC-Date: 2026-05-01T10:00:00Z",
		"WARC-Record-ID: <urn:uuid:1>", "Content-Length: " + fmt.Sprint(len(block)),
	}
	for _, m := range more {
		name, value, _ := strings.Cut(m, ":")
		h = slices.DeleteFunc(h, func(l string) bool { return strings.HasPrefix(l, name+":") })
		if value != "" {
			h = append(h, m)
		}
	}
	return "WARC/1.1\r\n" + strings.Join(h, "\r\n") + "\r\n\r\n" + block + "\r\n\r\n"
}

const robotsURL = "http://a.test/robots.txt"

// ok is a record with a response.
func ok(answer string, more ...string) string { return rec("response", robotsURL, answer, more...) }

// digestsOf returns records with one block and the digests of another.
func digestsOf(block, of string) (records []string) {
	text := []byte(of)
	one, two, four, five := sha1.Sum(text), sha256.Sum256(text), sha512.Sum512(text), md5.Sum(text)
	for _, digest := range []string{
		fmt.Sprintf("sha1:%x", one), "SHA-1:" + base32.StdEncoding.EncodeToString(one[:]), fmt.Sprintf("sha-256:%X", two),
		"sha256:" + base32.StdEncoding.EncodeToString(two[:]), "sha256:" + strings.TrimRight(base32.StdEncoding.EncodeToString(two[:]), "="),
		fmt.Sprintf("sha512:%x", four), fmt.Sprintf("sha384:%x", sha512.Sum384(text)), fmt.Sprintf("sha224:%x", sha256.Sum224(text)), "md5:" + base32.StdEncoding.EncodeToString(five[:]),
	} {
		records = append(records, ok(block, "WARC-Block-Digest: "+digest))
	}
	return records
}

const hello = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nAllow: /\n"

var wantHello = "200 Allow: /\n"

func zip(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

func zstandardOf(s string, o ...zstd.EOption) string {
	w, _ := zstd.NewWriter(nil, append(o, zstd.WithEncoderConcurrency(1))...)
	defer w.Close()
	return string(w.EncodeAll([]byte(s), nil))
}

// skip is a frame without data.
func skip(magic uint32, payload string) string {
	head := binary.LittleEndian.AppendUint32(nil, magic)
	return string(binary.LittleEndian.AppendUint32(head, uint32(len(payload)))) + payload
}

// packings are the forms of compression of a file.
var packings = []struct {
	name string
	pack func(records []string) string
}{
	{"plain", func(r []string) string { return strings.Join(r, "") }},
	{"gzip a record", func(r []string) string {
		var b strings.Builder
		for _, s := range r {
			b.WriteString(zip(s))
		}
		return b.String()
	}},
	{"gzip a file", func(r []string) string { return zip(strings.Join(r, "")) }},
	{"zstd a record", func(r []string) string {
		b := skip(0x184D2A50, "whatever")
		for _, s := range r {
			b += zstandardOf(s)
		}
		return b
	}},
	{"zstd a file", func(r []string) string { return zstandardOf(strings.Join(r, "")) }},
}

// read returns the status and body of each response, the type of other records, and the kinds
// of damage.
func read(in io.Reader) (got []string, damage []DamageKind, err error) {
	r := NewReader(in, func(d Damage) { damage = append(damage, d.Kind) })
	defer r.Close()
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return got, damage, nil
		}
		if err != nil {
			return got, damage, err
		}
		if record.Type != "response" {
			got = append(got, record.Type)
			continue
		}
		a, err := record.Response()
		var body []byte
		if err == nil {
			body, err = io.ReadAll(a.Body)
		}
		if d, ok := errors.AsType[*Damage](err); ok {
			if d.Kind == BadHTTP {
				damage = append(damage, BadHTTP)
			}
			continue
		}
		if a == nil {
			continue // Next says why
		}
		s := fmt.Sprint(a.Status, " ", string(body))
		if e := a.Header.Get("Content-Encoding"); e != "" {
			s = e + " " + s
		}
		if record.Truncated != "" {
			s = record.Truncated + " " + s
		}
		if err != nil {
			s += " " + err.Error()
		}
		got = append(got, s)
	}
}

func TestReader(t *testing.T) {
	next := rec("response", "http://b.test/robots.txt", "HTTP/1.1 404 Not Found\r\n\r\n")
	many := strings.Repeat("Disallow: /a\n", 6_000)
	tests := []struct {
		name    string
		records []string
		want    []string
		damage  []DamageKind
	}{
		{"two", []string{ok(hello), next}, []string{wantHello, "404 "}, nil},
		{"other types", []string{rec("warcinfo", "", "x"), rec("request", robotsURL, "GET"), ok(hello), rec("metadata", robotsURL, ""), rec("revisit", robotsURL, "HTTP/1.1 200 OK\r\n\r\n"), rec("conversion", robotsURL, "x")}, []string{"warcinfo", "request", wantHello, "metadata", "revisit", "conversion"}, nil},
		{"version 1.0", []string{strings.Replace(ok(hello), "WARC/1.1", "WARC/1.0", 1)}, []string{wantHello}, nil},
		{"LF", []string{strings.ReplaceAll(ok(hello, fmt.Sprint("Content-Length: ", len(hello)-3)), "\r\n", "\n")}, []string{wantHello}, nil},
		{"folded field", []string{ok(hello, "WARC-Concurrent-To: a\r\n b")}, []string{wantHello}, nil},
		{"field in other letters", []string{ok(hello, "WARC-Type:", "warc-TYPE:   Response  ")}, []string{wantHello}, nil},
		{"fraction of a second", []string{ok(hello, "WARC-Date: 2026-05-01T10:00:00.123456Z")}, []string{wantHello}, nil},
		{"no zone", []string{ok(hello, "WARC-Date: 2026-05-01T10:00:00")}, []string{wantHello}, nil},
		{"leap second", []string{ok(hello, "WARC-Date: 2016-12-31T23:59:60Z")}, []string{wantHello}, nil},
		{"14 digits", []string{ok(hello, "WARC-Date: 20260501100000")}, []string{wantHello}, nil},
		{"no date", []string{ok(hello, "WARC-Date: yesterday"), next}, []string{"404 "}, []DamageKind{BadHeader}},
		{"no type", []string{ok(hello, "WARC-Type:"), next}, []string{"404 "}, []DamageKind{BadHeader}},
		{"no length", []string{ok(hello, "Content-Length:"), next}, []string{"404 "}, []DamageKind{BadHeader}},
		{"negative length", []string{ok(hello, "Content-Length: -1"), next}, []string{"404 "}, []DamageKind{BadHeader}},
		{"endless header", []string{ok(hello, "X: "+strings.Repeat("x", 70_000)), next}, []string{"404 "}, []DamageKind{BadHeader}},
		{"too long", []string{ok(hello, "Content-Length: 99999"), next}, []string{"404 "}, []DamageKind{BadLength}},
		{"too short", []string{ok(hello, "Content-Length: 20"), next}, []string{"404 "}, []DamageKind{BadLength}},
		{"too short by one line", []string{ok(hello+"x\r\nmore", fmt.Sprint("Content-Length: ", len(hello)+1)), next}, []string{wantHello + "x", "404 "}, []DamageKind{Garbage}},
		{"garbage between", []string{ok(hello), "garbage\r\nmore\r\n", next}, []string{wantHello, "404 "}, []DamageKind{Garbage}},
		{"garbage first", []string{"garbage\r\n", next}, []string{"404 "}, []DamageKind{Garbage}},
		{"garbage last", []string{next, "garbage"}, []string{"404 "}, []DamageKind{Garbage}},
		{"empty lines between", []string{"\r\n\r\n\r\n" + ok(hello), "\r\n", next}, []string{wantHello, "404 "}, nil},
		{"no empty lines", []string{strings.TrimSuffix(ok(hello), "\r\n\r\n") + "\r\n", next}, []string{wantHello, "404 "}, nil},
		{"block that looks like records", []string{ok("HTTP/1.1 200 OK\r\n\r\n" + next), next}, []string{"200 " + next, "404 "}, nil},
		{"large", []string{ok("HTTP/1.1 200 OK\r\n\r\n" + many), next}, []string{"200 " + many, "404 "}, nil},
		{"skipped", []string{rec("resource", robotsURL, many), next}, []string{"resource", "404 "}, nil},
		{"digest", []string{ok(hello, "WARC-Block-Digest: sha1:NOSBQQ4YQXLNYMZHKT7CB6JNCEDYJ4JZ"), ok(hello, "WARC-Block-Digest: SHA1:6ba418439885d6dc332754fe20f92d110784f139")}, []string{wantHello, wantHello}, nil},
		{"digest of other bytes", []string{ok(strings.Replace(hello, "/\n", "*\n", 1), "WARC-Block-Digest: sha1:NOSBQQ4YQXLNYMZHKT7CB6JNCEDYJ4JZ"), next}, []string{"404 "}, []DamageKind{BadDigest}},
		{"unknown digest", []string{ok(hello, "WARC-Block-Digest: sha512:00"), ok(hello, "WARC-Block-Digest: sha1:00"), ok(hello, "WARC-Block-Digest: crc:00")}, []string{wantHello, wantHello, wantHello}, nil},
		{"digests by any algorithm", digestsOf(hello, hello), slices.Repeat([]string{wantHello}, 9), nil},
		{"digests of other bytes by any algorithm", digestsOf(strings.Replace(hello, "/\n", "*\n", 1), hello), nil, slices.Repeat([]DamageKind{BadDigest}, 9)},
		{"empty block", []string{ok(""), next}, []string{"404 "}, []DamageKind{BadHTTP}},

		{"HTTP/2", []string{ok("HTTP/2 200\r\na: b\r\n\r\nx")}, []string{"200 x"}, nil},
		{"no reason", []string{ok("HTTP/1.1 200\r\n\r\nx")}, []string{"200 x"}, nil},
		{"two blanks", []string{ok("HTTP/1.0  301 Moved\r\n\r\n")}, []string{"301 "}, nil},
		{"no headers", []string{ok("HTTP/1.1 200 OK\r\n\r\n")}, []string{"200 "}, nil},
		{"headers without an end", []string{ok("HTTP/1.1 200 OK\r\nContent-Type: te"), ok("HTTP/1.1 200 OK\r\n"), ok("HTTP/1.1 200 OK"), next}, []string{"404 "}, []DamageKind{BadHTTP, BadHTTP, BadHTTP}},
		{"LF alone", []string{ok("HTTP/1.1 200 OK\nA: b\n\nx\r\ny")}, []string{"200 x\r\ny"}, nil},
		{"folded header", []string{ok("HTTP/1.1 200 OK\r\nContent-Encoding:\r\n gzip\r\n\r\n" + zip("x"))}, []string{"gzip 200 " + zip("x")}, nil},
		{"no status", []string{ok("hello\r\n\r\n"), next}, []string{"404 "}, []DamageKind{BadHTTP}},
		{"status of words", []string{ok("HTTP/1.1 OK 200\r\n\r\n"), next}, []string{"404 "}, []DamageKind{BadHTTP}},
		{"long head", []string{ok("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 70_000) + "\r\n\r\n"), next}, []string{"404 "}, []DamageKind{BadHTTP}},
		{"chunks", []string{ok("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")}, []string{"200 abcde"}, nil},
		{"chunks in name only", []string{ok("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nUser-agent: *\r\n")}, []string{"200 User-agent: *\r\n"}, nil},
		{"chunks that end early", []string{ok("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n9\r\nde")}, nil, []DamageKind{BadHTTP}},
		{"no chunk", []string{ok("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), next}, []string{"404 "}, []DamageKind{BadHTTP}},
		{"no chunk of gzip", []string{ok("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"), next}, []string{"404 "}, []DamageKind{BadHTTP}},
		{"no chunk, cut by the archive", []string{ok("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "WARC-Truncated: Length")}, []string{"length 200  unexpected EOF"}, nil},
		{"last chunk without trailers", []string{ok("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"), next}, []string{"404 "}, []DamageKind{BadHTTP}},
		{"last chunk only", []string{ok("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")}, []string{"200 "}, nil},
		{"nothing of a gzip body", []string{ok("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 99\r\n\r\n")}, []string{"200  unexpected EOF"}, nil},
		{"gzip", []string{ok("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + zip("x"))}, []string{"gzip 200 " + zip("x")}, nil},
		{"chunked gzip", []string{ok(fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(zip("x")), zip("x")))}, []string{"gzip 200 " + zip("x")}, nil},
		{"gzip in name only", []string{ok("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 99\r\n\r\nAllow: /\n")}, []string{wantHello}, nil},
		{"brotli in name only", []string{ok("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\nAllow: /\n")}, []string{wantHello}, nil},
		{"brotli", []string{ok("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n\x0b\x02\x80abc\x03")}, []string{"br 200 \x0b\x02\x80abc\x03"}, nil},
		{"renamed headers", []string{ok("HTTP/1.1 200 OK\r\nX-Crawler-Content-Encoding: gzip\r\nX-Crawler-Transfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\nAllow: /\n")}, []string{wantHello}, nil},
		{"cut on the way", []string{ok("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nAllow: /\n")}, []string{wantHello + " unexpected EOF"}, nil},
		{"first segment", []string{ok(hello, "WARC-Segment-Number: 1"), rec("continuation", robotsURL, "Disallow: /\n", "WARC-Segment-Number: 2")}, []string{"segment " + wantHello, "continuation"}, nil},
		{"cut by the archive", []string{ok("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nAllow: /\n", "WARC-Truncated: Length")}, []string{"length " + wantHello}, nil},
		{"longer than it says", []string{ok("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nAllow: /\n")}, []string{wantHello}, nil},
	}
	for _, test := range tests {
		for _, p := range packings {
			t.Run(test.name+"/"+p.name, func(t *testing.T) {
				file := p.pack(test.records)
				for way, in := range map[string]io.Reader{"whole": strings.NewReader(file), "by the byte": iotest.OneByteReader(strings.NewReader(file))} {
					got, damage, err := read(in)
					if err != nil || !slices.Equal(got, test.want) || !slices.Equal(damage, test.damage) {
						t.Errorf("%s: got %.300q, damage %q, %v\nwant %.300q, damage %q", way, got, damage, err, test.want, test.damage)
					}
				}
			})
		}
	}
}

// TestDamagedMembers: damage anywhere in a compressed file loses only the damaged record.
func TestDamagedMembers(t *testing.T) {
	a, b, c := ok(hello), rec("response", "http://b.test/robots.txt", "HTTP/1.1 404 Not Found\r\n\r\n"), rec("response", "http://c.test/", "HTTP/1.1 500 Oh\r\n\r\n")
	flip := func(s string, at int) string { return s[:at] + string(s[at]^0xFF) + s[at+1:] }
	sum := zstd.WithEncoderCRC(true)
	tests := []struct {
		name, file string
		want       []string
		damage     []DamageKind
	}{
		{"checksum of gzip", zip(a) + flip(zip(b), len(zip(b))-6) + zip(c), []string{wantHello, "500 "}, []DamageKind{BadGzip}},
		{"data of gzip", zip(a) + flip(zip(b), 14) + zip(c), []string{wantHello, "500 "}, []DamageKind{BadGzip}},
		{"header of gzip", zip(a) + flip(zip(b), 3) + zip(c), []string{wantHello, "500 "}, []DamageKind{BadGzip}},
		{"magic of gzip", zip(a) + flip(zip(b), 0) + zip(c), []string{wantHello, "500 "}, []DamageKind{Garbage}},
		{"gzip cut in the middle", zip(a) + zip(b)[:60] + zip(c), []string{wantHello, "500 "}, []DamageKind{BadGzip}},
		{"gzip cut at the end", zip(a) + zip(b)[:60], []string{wantHello}, []DamageKind{BadGzip}},
		{"garbage between members", zip(a) + "garbage\x1F\x8B\x08more" + zip(c), []string{wantHello, "500 "}, []DamageKind{Garbage}},
		{"zeros at the end", zip(a) + "\x00\x00\x00\x00", []string{wantHello}, []DamageKind{Garbage}},
		{"a member that holds no record", zip(a) + zip("hello\r\n") + zip(c), []string{wantHello, "500 "}, []DamageKind{Garbage}},
		{"an empty member", zip(a) + zip("") + zip(c), []string{wantHello, "500 "}, nil},
		{"checksum of zstd", zstandardOf(a) + flip(zstandardOf(b, sum), len(zstandardOf(b, sum))-2) + zstandardOf(c), []string{wantHello, "500 "}, []DamageKind{BadZstd}},
		{"magic of zstd", zstandardOf(a) + flip(zstandardOf(b), 1) + zstandardOf(c), []string{wantHello, "500 "}, []DamageKind{Garbage}},
		{"zstd cut at the end", zstandardOf(a) + zstandardOf(b)[:60], []string{wantHello}, []DamageKind{BadZstd}},
		{"empty frames", skip(0x184D2A5F, "") + zstandardOf(a) + skip(0x184D2A51, "xyz") + zstandardOf(c), []string{wantHello, "500 "}, nil},
		{"a frame without its end", zstandardOf(a) + skip(0x184D2A51, "xyz")[:9], []string{wantHello}, []DamageKind{BadZstd}},
		{"a dictionary that is none", skip(dictionaryFrame, "hello") + zstandardOf(a), []string{wantHello}, []DamageKind{BadZstd}},
		{"a dictionary of gigabytes", skip(dictionaryFrame, "hello")[:4] + "\xFF\xFF\xFF\xFF", nil, []DamageKind{BadZstd, BadZstd}},
		{"nothing", "", nil, nil},
		{"text", "hello\nworld\n", nil, []DamageKind{Garbage}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, damage, err := read(strings.NewReader(test.file))
			if err != nil || !slices.Equal(got, test.want) || !slices.Equal(damage, test.damage) {
				t.Errorf("got %.300q, damage %q, %v\nwant %.300q, damage %q", got, damage, err, test.want, test.damage)
			}
		})
	}
}

// TestLost: damage of a member counts the records that were read from it before, unless only its
// end is missing.
func TestLost(t *testing.T) {
	three := ok(hello) + rec("request", robotsURL, strings.Repeat("x", 300_000)) + ok(hello) // several blocks of zstd
	gz := zip(three)
	zs := zstandardOf(three, zstd.WithEncoderCRC(true))
	for name, test := range map[string]struct {
		file string
		want int
	}{
		"checksum of gzip": {gz[:len(gz)-6] + "xx" + gz[len(gz)-4:], 3},
		"size of gzip":     {gz[:len(gz)-2] + "xx", 3},
		"end of gzip":      {gz[:len(gz)-2], 0},
		"checksum of zstd": {zs[:len(zs)-2] + "xx", 2}, // it is read with the last block
		"end of zstd":      {zs[:len(zs)-2], 0},
		"one record":       {zip(ok(hello)) + zip(ok(hello))[:20] + "xxxx" + zip(ok(hello))[24:], 0},
	} {
		lost := -1
		r := NewReader(strings.NewReader(test.file), func(d Damage) { lost = d.LostRecords })
		for {
			if _, err := r.Next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if r.Close(); lost != test.want {
			t.Errorf("%s: %d records are lost, want %d", name, lost, test.want)
		}
	}
}

// TestDictionary reads frames that share a dictionary, as such and compressed.
func TestDictionary(t *testing.T) {
	var samples [][]byte
	for i := range 200 {
		samples = append(samples, []byte(ok(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX: %d\r\n\r\nUser-agent: *\nDisallow: /%d/%d\n", i, i*i, i*7919%1000))))
	}
	dict, err := zstd.BuildDict(zstd.BuildDictOptions{ID: 7, Contents: samples, History: []byte(strings.Repeat(string(samples[3]), 3)), Offsets: [3]int{1, 4, 8}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderDict(dict), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	sized := func(n int) string { return string(dict) + strings.Repeat("\x00", n-len(dict)) }
	for size, want := range map[int]int{maxDictionary: 0, maxDictionary + 1: 1} {
		if _, damage, err := read(strings.NewReader(skip(dictionaryFrame, sized(size)) + zstandardOf(ok(hello)))); err != nil || len(damage) != want {
			t.Errorf("a dictionary of %d bytes: damage %q, %v", size, damage, err)
		}
	}
	for name, frame := range map[string]string{"plain": string(dict), "compressed": zstandardOf(string(dict))} {
		file := skip(dictionaryFrame, frame)
		for _, s := range samples {
			file += string(w.EncodeAll(s, nil))
		}
		got, damage, err := read(strings.NewReader(file))
		if err != nil || len(got) != len(samples) || len(damage) > 0 {
			t.Errorf("%s: %d records, damage %q, %v", name, len(got), damage, err)
		}
	}
}

// TestDisk: a read error is not reported as damage.
func TestDisk(t *testing.T) {
	broken := errors.New("the disk is broken")
	for _, p := range packings {
		file := p.pack([]string{ok(hello), ok(hello), ok("HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 1000))})
		for n := range len(file) {
			got, damage, err := read(io.MultiReader(strings.NewReader(file[:n]), iotest.ErrReader(broken)))
			if !errors.Is(err, broken) || len(damage) > 0 {
				t.Fatalf("%s, %d bytes: got %q, damage %q, %v", p.name, n, got, damage, err)
			}
		}
	}
}

// TestLongRecord: a record of any length is skipped in bounded memory.
func TestLongRecord(t *testing.T) {
	size := campaign.Size[int64](1<<24, 1<<26, 1<<32) // 4 GiB in the whole campaign
	head := strings.Replace(rec("resource", robotsURL, ""), "Content-Length: 0", fmt.Sprint("Content-Length: ", size), 1)
	head = strings.TrimSuffix(head, "\r\n\r\n")
	in := io.MultiReader(strings.NewReader(head), io.LimitReader(zeros{}, size), strings.NewReader("\r\n\r\n"+ok(hello)))
	r := NewReader(in, func(d Damage) { t.Error(d) })
	for _, want := range []string{"resource", "response"} {
		if record, err := r.Next(); err != nil || record.Type != want {
			t.Fatalf("%v, %v; want %s", record, err, want)
		}
	}
	if got := cap(r.content.buffer) + cap(r.file.buffer); got > 4*maxRewind {
		t.Errorf("%d bytes are held", got)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func FuzzReader(f *testing.F) {
	for _, p := range packings {
		f.Add([]byte(p.pack([]string{ok(hello), "garbage", ok(hello, "Content-Length: 9"), rec("revisit", robotsURL, "x")})))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		got, _, err := read(bytes.NewReader(file))
		if err != nil {
			t.Fatalf("an error of a file in memory: %v", err)
		}
		// A good record behind whatever came before is found where pieces have a
		// beginning that says so.
		if bytes.HasPrefix(file, gzipMagic[:2]) {
			const last = "HTTP/1.1 299 Last\r\n\r\n"
			more, _, err := read(bytes.NewReader(append(bytes.Clone(file), zip(ok(last))...)))
			if err != nil || len(more) == 0 || more[len(more)-1] != "299 " {
				t.Fatalf("the last record was lost: %.100q, then %.100q, %v", got, more, err)
			}
		}
	})
}
