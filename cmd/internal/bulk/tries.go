package bulk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// The tries of a shard are lines in a file of its name, which goes when the shard is done.
// They outlive the worker that a shard killed, and are the one count of how often it was
// tried, also where a queue gives it out: a queue counts what was delivered, a worker that
// was asked to stop included.
const (
	begun       = "begun"
	failed      = "failed"
	interrupted = "interrupted"
)

// A try is a line of the file.
type try struct {
	Event  string    `json:"event"`
	Error  string    `json:"error,omitempty"`
	Worker string    `json:"worker,omitempty"`
	At     time.Time `json:"at"`
}

// tries are the tries of a shard.
type tries struct {
	Count int    // that began and were not interrupted
	Dark  int    // of which no end is known: they killed their worker, or are going on
	Error string // of the last
}

// worker names this process in the files of tries.
var worker = sync.OnceValue(func() string {
	host, _ := os.Hostname() // else the number alone
	return fmt.Sprintf("%s:%d", host, os.Getpid())
})

func (t *Task) triesFile(name string) string { return filepath.Join(t.Dir, tmpDir, name+".tries") }
func (t *Task) errorFile(name string) string { return filepath.Join(t.Dir, errorsDir, name+".jsonl") }

// note adds a line to the tries of a shard. The first is that it began; of a shard that
// another has done meanwhile, no other is kept.
func (t *Task) note(name, event string, err error) error {
	line := try{Event: event, At: time.Now().UTC().Truncate(time.Millisecond)}
	flags := os.O_APPEND | os.O_WRONLY
	if event == begun {
		line.Worker = worker()
		flags |= os.O_CREATE
	}
	if err != nil {
		line.Error = clip(err.Error())
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	for {
		f, err := os.OpenFile(t.triesFile(name), flags, 0o666)
		switch {
		case err == nil:
			_, err = f.Write(append(text, '\n'))
			return errors.Join(err, f.Close())
		case !errors.Is(err, fs.ErrNotExist):
			return err
		case event != begun:
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(t.triesFile(name)), 0o777); err != nil {
			return err
		}
	}
}

// readTries reads the tries of a shard; no file is no try.
func readTries(file string) (n tries, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	var before string
	for line := range bytes.Lines(text) {
		var l try
		if json.Unmarshal(line, &l) != nil {
			continue // cut by the end of its machine
		}
		switch l.Event {
		case begun:
			before = n.Error
			n.Count++
			n.Dark++
			n.Error = fmt.Sprintf("worker %s, which began it at %s, ended in it", l.Worker, l.At.Format(time.RFC3339))
		case failed:
			n.Dark--
			n.Error = l.Error
		case interrupted:
			n.Count--
			n.Dark--
			n.Error = before
		}
	}
	return n, err
}

// giveUp lists a shard among the errors with its tries.
func (t *Task) giveUp(name string) error {
	if err := os.MkdirAll(filepath.Join(t.Dir, errorsDir), 0o777); err != nil {
		return err
	}
	err := os.Rename(t.triesFile(name), t.errorFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody else has
	}
	return err
}

// clip bounds a message.
func clip(s string) string {
	if len(s) > 2000 {
		return s[:2000] + "…"
	}
	return s
}
