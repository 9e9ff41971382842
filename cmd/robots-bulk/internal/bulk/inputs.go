package bulk

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/batch"
	"github.com/robotskit/robots/cmd/internal/lines"
	"github.com/robotskit/robots/cmd/robots-bulk/internal/warc"
	"github.com/robotskit/robots/fetch"
)

// This file reads the inputs of pack. The content of a file determines its form, as .zip is
// also a top-level domain; JSON Lines in a folder are known by name, as sites serve JSON too.

// A form is a file format.
type form string

const (
	formWARC  form = "warc"  // plain, gzip or zstd
	formTar   form = "tar"   // of files, also compressed
	formZip   form = "zip"   // of files
	formLines form = "lines" // JSON Lines of docs/batch.md, also compressed
	formFile  form = "file"  // one robots.txt
)

const sniffBytes = 4 << 10 // bytes that determine the form

// formOf returns the form of a file from its first bytes.
func formOf(head []byte) form {
	text := head
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return formZip
	case len(head) >= 4 && head[0]&0xF0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2A, 0x4D, 0x18}): // a zstd dictionary: only a WARC begins with one
		return formWARC
	case isPacked(head):
		in, _, err := unpack(bytes.NewReader(head))
		if err != nil {
			return formFile
		}
		text = make([]byte, sniffBytes)
		n, _ := io.ReadFull(in, text) // fewer bytes are not an error
		text = text[:n]
	}
	switch {
	case bytes.HasPrefix(text, []byte("WARC/")):
		return formWARC
	case len(text) > 262 && string(text[257:262]) == "ustar":
		return formTar
	case len(bytes.TrimLeft(text, " \t\r\n")) > 0 && bytes.TrimLeft(text, " \t\r\n")[0] == '{':
		return formLines
	}
	return formFile
}

func isPacked(head []byte) bool {
	return bytes.HasPrefix(head, []byte{0x1F, 0x8B, 0x08}) || bytes.HasPrefix(head, []byte{0x28, 0xB5, 0x2F, 0xFD})
}

// unpack decompresses gzip or zstd.
func unpack(in io.Reader) (io.Reader, func(), error) {
	b := bufio.NewReaderSize(in, 64<<10)
	head, _ := b.Peek(4) // the error is returned by the next read
	switch {
	case bytes.HasPrefix(head, []byte{0x1F, 0x8B}):
		z, err := gzip.NewReader(b)
		return z, func() {}, err
	case bytes.HasPrefix(head, []byte{0x28, 0xB5, 0x2F, 0xFD}):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return b, func() {}, nil
}

// isLines reports whether a file is named as JSON Lines.
func isLines(name string) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".ndjson")
}

// Inputs lists what is to be packed: files, and the files of folders. Of loose robots.txt
// files in a folder, which PackOptions.Files allows, the folder is the input, and its name
// ends in a slash. Inputs are sorted, and each is listed once.
func (o *PackOptions) Inputs(names []string) ([]Input, error) {
	found := map[string]Input{}
	for _, name := range names {
		name = filepath.Clean(name)
		folder := Input{Name: filepath.ToSlash(name) + "/"} // of its loose files
		sum := sha256.New()
		err := eachFile(name, func(file string) error {
			in, is, modified, err := describe(file, file != name)
			if err != nil {
				return err
			}
			if is == formFile || is == formLines { // its records take their times from it
				in.Hash += "@" + modified.UTC().Format(timeForm)
			}
			if o.Files && is == formFile && file != name {
				fmt.Fprintln(sum, in.Name, in.Hash)
				folder.Size += in.Size
				folder.Hash = hex.EncodeToString(sum.Sum(nil))
				in = folder
			}
			found[in.Name] = in
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Input) int { return strings.Compare(a.Name, b.Name) }), nil
}

// eachFile calls fn with every file below a folder, by name, except hidden ones.
func eachFile(root string, fn func(file string) error) error {
	return filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file != root && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		return fn(file)
	})
}

// describe returns the input of a file, its form, and its time. The hash is that of its size
// and of its first and last hashedBytes: to read all files before the work begins would double
// it.
func describe(name string, inFolder bool) (in Input, is form, modified time.Time, err error) {
	in.Name = filepath.ToSlash(name)
	info, err := os.Stat(name) // opening a named pipe would wait for its writer
	if err != nil {
		return in, "", modified, err
	}
	if !info.Mode().IsRegular() {
		return in, "", modified, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return in, "", modified, err
	}
	defer f.Close()
	in.Size = info.Size()
	head := make([]byte, min(hashedBytes, in.Size))
	if _, err := io.ReadFull(f, head); err != nil {
		return in, "", modified, fmt.Errorf("%s: %w", name, err)
	}
	sum := sha256.New()
	fmt.Fprintln(sum, in.Size)
	sum.Write(head)
	if _, err := io.Copy(sum, io.NewSectionReader(f, max(in.Size-hashedBytes, 0), hashedBytes)); err != nil {
		return in, "", modified, err
	}
	in.Hash = hex.EncodeToString(sum.Sum(nil))
	if is = formOf(head[:min(sniffBytes, len(head))]); inFolder && is == formLines && !isLines(name) {
		is = formFile
	}
	return in, is, info.ModTime(), nil
}

const hashedBytes = 64 << 10

// Paths reads a list of paths, one a line, also by gzip.
func Paths(in io.Reader) ([]string, error) {
	text, done, err := unpack(in)
	if err != nil {
		return nil, err
	}
	defer done()
	var names []string
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		if name := strings.TrimSpace(lines.Text()); name != "" {
			names = append(names, name)
		}
	}
	return names, lines.Err()
}

// noArchive is the kind of damage of an input that is none of the forms that pack reads.
const noArchive = "no-archive"

// An inputReader reads the answers in inputs.
type inputReader struct {
	files   bool                                         // read loose robots.txt files
	answer  func(a *archivedResponse, body []byte) error // must not keep the body
	buffer  []byte                                       // reused for bodies
	damaged func(Damaged)

	// member counts what has a checksum of its own: compressed members, files in a zip, and
	// whole compressed files. lost, if not nil, is called with the first of the members whose
	// answers are not reliable; all later ones up to the current are not either.
	member uint32
	lost   func(from uint32)
}

// begin begins a member, and returns its number.
func (r *inputReader) begin() uint32 {
	r.member++
	return r.member
}

// unreliable drops the answers of members from a number on, unless only the end of them is missing.
func (r *inputReader) unreliable(from uint32, err error) {
	if r.lost != nil && err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		r.lost(from)
	}
}

// read reads one input.
func (r *inputReader) read(ctx context.Context, in Input) error {
	if strings.HasSuffix(in.Name, "/") {
		return r.folder(ctx, in)
	}
	f, err := os.Open(filepath.FromSlash(in.Name))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != in.Size {
		return fmt.Errorf("%s has %d bytes and had %d when it was listed", in.Name, info.Size(), in.Size)
	}
	return r.stream(ctx, in.Name, f, info.ModTime(), false)
}

// folder reads the robots.txt files of a folder. Archives in it are inputs of their own.
func (r *inputReader) folder(ctx context.Context, in Input) error {
	root := filepath.FromSlash(strings.TrimSuffix(in.Name, "/"))
	return eachFile(root, func(file string) error {
		in, is, modified, err := describe(file, true)
		if err = cmp.Or(err, ctx.Err()); err != nil || is != formFile {
			return err
		}
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		below, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		return r.file(in.Name, filepath.ToSlash(below), f, modified)
	})
}

// stream reads a file of any form. The name of a file in a tar or zip is the name of both.
func (r *inputReader) stream(ctx context.Context, name string, in io.Reader, at time.Time, inside bool) error {
	b := bufio.NewReaderSize(in, 64<<10)
	head, err := b.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	is := formOf(head)
	if inside && is != formWARC && (is != formLines || !isLines(name)) {
		is = formFile
	}
	switch {
	case is == formWARC:
		return r.warc(ctx, name, b)
	case is == formLines:
		return r.lines(ctx, name, b, at)
	case is == formZip:
		if f, ok := in.(*os.File); ok {
			return r.zip(ctx, name, f)
		}
	case is == formTar && r.files:
		return r.tar(ctx, name, b)
	case is == formFile && r.files:
		_, file, ok := strings.Cut(name, "#")
		if !ok {
			file = path.Base(name)
		}
		return r.file(name, file, b, at)
	}
	r.notArchive(name)
	return nil
}

func (r *inputReader) notArchive(name string) {
	r.damaged(Damaged{Input: name, Kind: noArchive, Detail: "it is not a WARC, WACZ or JSON Lines file with data"})
}

// tar reads the files in a tar.
func (r *inputReader) tar(ctx context.Context, name string, in io.Reader) error {
	watched := &watch{in: in}
	text, done, err := unpack(watched)
	if err != nil {
		return r.broken(watched, name, "tar", err)
	}
	defer done()
	unpacked, from := &watch{in: text}, r.begin()
	for t := tar.NewReader(unpacked); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			if _, err = io.Copy(io.Discard, unpacked); err == nil { // up to its checksum
				return nil
			}
		}
		if err != nil {
			r.unreliable(from, unpacked.err)
			return r.broken(watched, name, "tar", err)
		}
		if h.Typeflag != tar.TypeReg || strings.HasPrefix(path.Base(h.Name), ".") {
			continue
		}
		entry := &watch{in: t}
		if err := r.stream(ctx, name+"#"+strings.TrimPrefix(h.Name, "./"), entry, h.ModTime, true); err != nil {
			if entry.err == nil {
				return err
			}
			r.unreliable(from, unpacked.err)
			return r.broken(watched, name, "tar", entry.err)
		}
	}
}

// zip reads the files in a zip.
func (r *inputReader) zip(ctx context.Context, name string, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		r.damaged(Damaged{Input: name, Kind: "zip", Detail: err.Error()})
		return nil
	}
	wacz := !r.files || slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == "datapackage.json" })
	archives := 0
	for _, file := range z.File {
		if err := ctx.Err(); err != nil {
			return err
		}
		if file.FileInfo().IsDir() || strings.HasPrefix(path.Base(file.Name), ".") {
			continue
		}
		in, err := file.Open()
		if err != nil {
			r.damaged(Damaged{Input: name, Kind: "zip", Detail: file.Name + ": " + err.Error()})
			continue
		}
		entry, from := &watch{in: in}, r.begin()
		if wacz {
			err = r.archived(ctx, name+"#"+file.Name, entry, &archives)
		} else {
			err = r.stream(ctx, name+"#"+file.Name, entry, file.Modified, true)
		}
		in.Close()
		switch {
		case entry.err != nil:
			r.unreliable(from, entry.err)
			r.damaged(Damaged{Input: name, Kind: "zip", Detail: file.Name + ": " + entry.err.Error()})
		case err != nil:
			return err
		}
	}
	if wacz && archives == 0 {
		r.notArchive(name)
	}
	return nil
}

// archived reads a file of a WACZ if it is a WARC. The others are indexes and lists of pages.
func (r *inputReader) archived(ctx context.Context, name string, in io.Reader, archives *int) error {
	b := bufio.NewReaderSize(in, 64<<10)
	if head, _ := b.Peek(sniffBytes); formOf(head) != formWARC { // an error of in is kept by it
		return nil
	}
	*archives++
	return r.warc(ctx, name, b)
}

// A watch keeps the error of a reader, except io.EOF.
type watch struct {
	in  io.Reader
	err error
}

func (w *watch) Read(p []byte) (int, error) {
	n, err := w.in.Read(p)
	if err != nil && err != io.EOF { // wrapped ones are errors
		w.err = err
	}
	return n, err
}

// broken reports that the rest of an input is damaged, unless reading it failed.
func (r *inputReader) broken(in *watch, name, kind string, err error) error {
	if in.err != nil {
		return in.err
	}
	r.damaged(Damaged{Input: name, Kind: kind, Detail: err.Error()})
	return nil
}

// file reads one robots.txt, named by its site.
func (r *inputReader) file(name, below string, in io.Reader, at time.Time) error {
	origin, err := originOf(below)
	if err != nil {
		r.damaged(Damaged{Input: name, Kind: "name", Detail: err.Error()})
		return nil
	}
	return r.kept(&fetch.Answer{URL: origin.RobotsURL(), At: at, Body: in}, name, 0)
}

// kept takes a body whose response was not archived.
func (r *inputReader) kept(a *fetch.Answer, name string, offset int64) error {
	a.Status = http.StatusOK
	kept, body, err := r.judge(a, name, offset)
	if err != nil || kept == nil {
		return err
	}
	kept.Status = 0
	return r.answer(kept, body)
}

// originOf returns the site that a file name stands for: HOST, HOST:PORT or an origin, with
// escapes as in https%3A%2F%2Fexample.com, with or without .txt; or a folder of that name with
// robots.txt in it, optionally in a folder http or https (default https). Wget writes + for
// the colon on some systems. An archive name is not a site: a failed download would be a site
// that allows everything.
func originOf(name string) (robots.Origin, error) {
	folders := strings.Split(name, "/")
	last := len(folders) - 1
	switch strings.ToLower(path.Ext(folders[last])) { // none of them a top-level domain
	case ".warc", ".wacz", ".arc", ".cdx", ".cdxj", ".wat", ".wet", ".tar", ".tgz", ".gz", ".zst", ".xml", ".jsonl", ".ndjson", ".parquet":
		return robots.Origin{}, errors.New("the name is that of an archive, the content is not")
	}
	if plain, err := url.PathUnescape(folders[last]); err == nil {
		folders[last] = plain
	}
	host := strings.TrimSuffix(folders[last], ".txt")
	if bare, ok := strings.CutSuffix(host, "robots"); ok && host != folders[last] {
		switch {
		case bare == "" && last > 0:
			last--
			host = folders[last]
		case len(bare) > 1 && strings.IndexByte("/._-", bare[len(bare)-1]) >= 0:
			host = bare[:len(bare)-1]
		}
	}
	if !strings.Contains(host, "://") {
		scheme := "https"
		if last > 0 && defaultPorts[folders[last-1]] != 0 {
			scheme = folders[last-1]
		}
		host = scheme + "://" + strings.Replace(host, "+", ":", 1)
	}
	origin, p, err := robots.ParseURL(host)
	if err == nil && p.String() != "/" {
		err = errors.New("it has a path")
	}
	if err != nil {
		return origin, fmt.Errorf("the file name is not a site: %w", err)
	}
	return origin, nil
}

// maxLine is the size limit of a line of JSON, in bytes.
const maxLine = 16 << 20

var errLong = fmt.Errorf("longer than %d bytes", maxLine)

// lines reads JSON Lines.
func (r *inputReader) lines(ctx context.Context, name string, in io.Reader, at time.Time) error {
	watched := &watch{in: in}
	text, done, err := unpack(watched)
	if err != nil {
		return r.broken(watched, name, "line", err)
	}
	defer done()
	from := r.begin()
	var line []byte
	for l := lines.NewReader(text, maxLine); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err = l.Next(line)
		long := errors.Is(err, lines.ErrLong)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !long:
			r.unreliable(from, err)
			return r.broken(watched, name, "line", err)
		}
		if err := r.line(name, l.Offset, bytes.TrimRight(line, "\r"), long, at); err != nil {
			return err
		}
	}
}

// line reads one line.
func (r *inputReader) line(name string, offset int64, line []byte, long bool, at time.Time) error {
	bad := func(err error) error {
		r.damaged(Damaged{Input: name, Offset: offset, Kind: "line", Detail: err.Error()})
		return nil
	}
	if long {
		return bad(errLong)
	}
	q := batch.Read(line)
	link, body, stated, err := q.Kept()
	if err != nil {
		return bad(err)
	}
	origin, _, err := robots.ParseURL(link)
	if err != nil {
		return bad(err)
	}
	if !stated.IsZero() {
		at = stated
	}
	return r.kept(&fetch.Answer{URL: origin.RobotsURL(), At: at, Body: bytes.NewReader(body)}, name, offset)
}

// warc reads an archive.
func (r *inputReader) warc(ctx context.Context, name string, in io.Reader) error {
	archive := warc.NewReader(in, func(d warc.Damage) {
		if d.LostRecords > 0 && r.lost != nil {
			r.lost(r.member)
		}
		r.damaged(Damaged{Input: name, Offset: d.Offset, Kind: string(d.Kind), Detail: d.Detail})
	})
	defer archive.Close()
	for last := int64(-1); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		record, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if record.Offset != last {
			last = record.Offset
			r.begin()
		}
		if err := r.record(record, name); err != nil {
			return err
		}
	}
}

// otherScheme matches a URL of another scheme than http, such as that of a DNS record; hostPort
// does not have one.
var (
	otherScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:.`)
	hostPort    = regexp.MustCompile(`^[^:]*:[0-9]+(/|$)`)
)

// record reads one record of an archive. Damage of its block costs the record, also if the block
// was not needed for the outcome.
func (r *inputReader) record(record *warc.Record, name string) error {
	intact := func() bool { // else the reader has reported it, or Next returns the error
		_, err := io.Copy(io.Discard, record.Block)
		return err == nil
	}
	bad := func(kind, detail string) error {
		if intact() {
			r.damaged(Damaged{Input: name, Offset: record.Offset, Kind: kind, Detail: detail})
		}
		return nil
	}
	switch record.Type {
	case "response", "resource", "revisit":
	case "warcinfo", "request", "metadata", "conversion", "continuation":
		return nil
	default:
		return bad("type", fmt.Sprintf("unknown WARC-Type %.40q", record.Type))
	}
	scheme, _, _ := strings.Cut(record.URI, ":")
	switch {
	case defaultPorts[strings.ToLower(scheme)] != 0:
	case record.URI == "":
		return bad("uri", "WARC-Target-URI is missing")
	case otherScheme.MatchString(record.URI) && !hostPort.MatchString(record.URI):
		return nil
	}
	if _, _, err := robots.ParseURL(record.URI); err != nil {
		return bad("uri", err.Error())
	}
	a := &fetch.Answer{URL: record.URI, At: record.Date, Body: record.Block, Cut: record.Truncated == "length"}
	if record.Type == "resource" {
		a.Status = http.StatusOK
	} else {
		response, err := record.Response()
		if record.Type == "revisit" && (err != nil || response.Status == http.StatusNotModified || response.Status/100 == 2) {
			kept, err := revisited(record, name)
			if err != nil {
				return bad("uri", err.Error())
			}
			if !intact() {
				return nil
			}
			return r.answer(kept, nil)
		}
		if damage, ok := errors.AsType[*warc.Damage](err); ok {
			if damage.Kind == warc.BadHTTP { // the reader has reported all others
				return bad(string(damage.Kind), damage.Detail)
			}
			return nil
		}
		if err != nil {
			return nil // an error of the disk, which Next returns
		}
		a.Protocol, a.Status, a.Header, a.Body = response.Protocol, response.Status, response.Header, response.Body
	}
	if record.Truncated != "" && !a.Cut {
		a.Body = io.MultiReader(a.Body, broken{}) // truncated in transfer
	}
	body := &bodyReader{Reader: a.Body}
	a.Body = body
	kept, text, err := r.judge(a, name, record.Offset)
	if damage, ok := errors.AsType[*warc.Damage](body.err); ok && damage.Kind == warc.BadHTTP {
		return bad(string(damage.Kind), damage.Detail)
	}
	if err != nil || kept == nil {
		return err
	}
	if !intact() {
		return nil
	}
	kept.ID = record.ID
	if record.Type == "resource" {
		kept.Status = 0
	}
	return r.answer(kept, text)
}

// A bodyReader keeps the error of a body.
type bodyReader struct {
	io.Reader
	err error
}

func (b *bodyReader) Read(p []byte) (n int, err error) {
	n, err = b.Reader.Read(p)
	b.err = err
	return n, err
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// judge determines the outcome of an answer.
func (r *inputReader) judge(a *fetch.Answer, name string, offset int64) (*archivedResponse, []byte, error) {
	origin, _, err := robots.ParseURL(a.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("%s at byte %d: %w", name, offset, err)
	}
	a.At = a.At.UTC().Truncate(time.Millisecond)
	a.Buffer = r.buffer
	whole := &digest{Hash: sha256.New()}
	a.Body = io.TeeReader(a.Body, whole)
	record, next, err := packLimits.Judge(origin, a)
	if err != nil {
		return nil, nil, err
	}
	if cap(record.Body) > cap(r.buffer) {
		r.buffer = record.Body[:0]
	}
	kept := &archivedResponse{
		URL: record.URL, At: a.At.UnixMilli(), Status: int32(record.Status), Next: next,
		Input: name, Offset: offset, Body: -1,
	}
	if next == "" {
		kept.Outcome, kept.Cause = record.Outcome.String(), record.Cause.String()
	}
	if record.Outcome != fetch.Success {
		return kept, nil, nil
	}
	kept.Truncated, kept.Kind = record.Truncated, kindOf(record.Body)
	if _, err := io.Copy(io.Discard, a.Body); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, nil // damage, which is reported elsewhere
	}
	if a.Header.Get("Content-Encoding") != "" || record.Truncated && a.Cut && len(record.Body) < limitedBody {
		whole = &digest{Hash: sha256.New()} // of what was kept
		_, _ = whole.Write(record.Body)
	}
	kept.Bytes, kept.SHA256 = whole.size, hex.EncodeToString(whole.Sum(nil))
	return kept, record.Body, nil
}

// A digest is the size and the hash of a body.
type digest struct {
	hash.Hash
	size int64
}

func (d *digest) Write(p []byte) (int, error) {
	d.size += int64(len(p))
	return d.Hash.Write(p)
}

// limitedBody is the size limit of packLimits, and maxKept how many bytes of a longer body are
// kept: package fetch leaves room for a byte order mark and a last line.
const (
	limitedBody = 512_000
	maxKept     = limitedBody + 1024
)

// kindOf returns the kind of content of a body, by its first bytes.
func kindOf(body []byte) string {
	if len(body) == 0 {
		return "empty"
	}
	switch is := http.DetectContentType(body); {
	case strings.HasPrefix(is, "text/html"):
		return "html"
	case strings.HasPrefix(is, "text/"):
		return "text"
	}
	return "binary"
}
