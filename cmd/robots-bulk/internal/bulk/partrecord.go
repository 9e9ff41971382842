package bulk

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
)

// recordsDir is the folder of part records, not of a table.
const recordsDir = "parts"

// captureInterval is the number of captures of a part between two keys in its record.
var captureInterval = 1000

// A partRecord is DIR/parts/NAME.json, written last: a shard is done when its record and the files in
// it exist. So a file that was removed or truncated is made again.
type partRecord struct {
	Files    map[string]fileRecord `json:"files"`              // by table
	Captures int64                 `json:"captures,omitempty"` // of a snapshot
	Count    int64                 `json:"count"`              // of what the task counts, for its progress
	// Keys are the SURT keys of every captureInterval-th capture, which divide the part.
	Keys []string `json:"keys,omitempty"`
}

// A fileRecord is what a complete file contains.
type fileRecord struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // in hex
}

// A tableFile is a file of a part that is being written.
type tableFile struct {
	*os.File
	bytes int64
	hash  hash.Hash
}

func newTableFile(f *os.File) *tableFile { return &tableFile{File: f, hash: sha256.New()} }

func (f *tableFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.bytes += int64(n)
	f.hash.Write(p[:n])
	return n, err
}

func (f *tableFile) record() fileRecord {
	return fileRecord{Bytes: f.bytes, SHA256: hex.EncodeToString(f.hash.Sum(nil))}
}

func (t *Task) recordPath(name string) string {
	return filepath.Join(t.Dir, recordsDir, name+".json")
}

// writeRecord writes the record of a part.
func (t *Task) writeRecord(name string, record *partRecord) error {
	if err := os.MkdirAll(filepath.Join(t.Dir, recordsDir), 0o777); err != nil {
		return err
	}
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return writeFile(t.recordPath(name), append(text, '\n'))
}

// readRecord reads the record of a part.
func (t *Task) readRecord(name string) (record partRecord, err error) {
	text, err := os.ReadFile(t.recordPath(name))
	if err != nil {
		return record, err
	}
	if err := json.Unmarshal(text, &record); err != nil {
		return record, fmt.Errorf("%s: %w", t.recordPath(name), err)
	}
	return record, nil
}

// checkSizes returns an error that names a file of a part that is missing or has another size than when
// it was written.
func (t *Task) checkSizes(name string, record *partRecord) error {
	for _, table := range t.Tables {
		path := t.partPath(table, name)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if want := record.Files[table].Bytes; info.Size() != want {
			return fmt.Errorf("%s is damaged: it has %d bytes and had %d", path, info.Size(), want)
		}
	}
	return nil
}

// checkContent returns an error that names a file of a part whose content has changed since it was
// written.
func (t *Task) checkContent(name string, record *partRecord) error {
	for _, table := range t.Tables {
		path := t.partPath(table, name)
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, f)
		f.Close()
		if err != nil {
			return err
		}
		if hex.EncodeToString(sum.Sum(nil)) != record.Files[table].SHA256 {
			return fmt.Errorf("%s is damaged: its SHA-256 is not that of its record", path)
		}
	}
	return nil
}

// doneRecord returns the record of a shard, and whether it is done.
func (t *Task) doneRecord(name string) (record partRecord, done bool) {
	record, err := t.readRecord(name)
	return record, err == nil && t.checkSizes(name, &record) == nil
}

// isDone reports whether a shard is done.
func (t *Task) isDone(name string) bool {
	_, done := t.doneRecord(name)
	return done
}
