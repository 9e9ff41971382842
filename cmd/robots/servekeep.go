package main

import (
	"context"
	"crypto/rand"
	"encoding/json"

	"github.com/robotskit/robots/pace"
)

// keptPermits is what the file of a server keeps of its limiter, so that the next process with the file goes on with its permits
// and rests. It is written when a process ends. While one runs there is the secret alone, since a process that was killed leaves
// no record of its last permits.
type keptPermits struct {
	Secret  []byte          `json:"secret"`
	Limiter json.RawMessage `json:"limiter,omitempty"`
}

// permitsName is its name in the file.
const permitsName = "permits"

// resume makes a limiter go on where the process before ended, and returns the secret of permits.
func (s *service) resume(ctx context.Context, local *pace.Local) []byte {
	text, err := s.file.Kept(ctx, permitsName)
	if err == nil && text != nil {
		if err = json.Unmarshal(text, &s.kept); err == nil {
			err = local.Resume(s.kept.Limiter)
		}
	}
	if err != nil {
		s.log.Warn("the permits and rests of the process before cannot be read and have ended", "error", err.Error())
		s.kept.Limiter = nil
		_ = local.Resume(nil) // without data there is no error
	}
	s.local, s.kept = local, keptPermits{Secret: s.kept.Secret}
	if len(s.kept.Secret) == 0 {
		s.kept.Secret = []byte(rand.Text() + rand.Text())
	}
	if err := s.writePermits(ctx); err != nil {
		s.log.Warn("the store failed, so permits might end with the process", "error", err.Error())
	}
	return s.kept.Secret
}

// keepPermits keeps the permits and rests of the limiter.
func (s *service) keepPermits() error {
	if s.local == nil {
		return nil
	}
	s.kept.Limiter = s.local.Snapshot()
	return s.writePermits(context.Background())
}

func (s *service) writePermits(ctx context.Context) error {
	text, err := json.Marshal(&s.kept)
	if err != nil {
		return err
	}
	return s.file.Keep(ctx, permitsName, text)
}
