package main

import (
	"context"
	"crypto/rand"
	"errors"
)

// What the file of a server keeps beside records, so that the next process with the file goes on with its permits and rests: the
// secret of permits, and the state of the limiter. The latter is written when a process ends. While one runs there is none, since
// a process that was killed leaves no record of its last permits.
const (
	secretName  = "secret"
	permitsName = "permits"
)

// resume makes the limiter go on where the process before ended, and returns the secret of permits.
func (s *service) resume(ctx context.Context) []byte {
	secret, err := s.file.Kept(ctx, secretName)
	permits, unread := s.file.Kept(ctx, permitsName)
	if err = errors.Join(err, unread); err != nil || len(secret) > 0 { // else no process has had the file
		err = errors.Join(err, s.local.Resume(permits))
	}
	if err != nil {
		s.log.Warn("the permits and rests of the process before cannot be read and have ended", "error", err.Error())
	}
	if len(secret) == 0 {
		secret = []byte(rand.Text() + rand.Text())
	}
	if err := errors.Join(s.file.Keep(ctx, secretName, secret), s.file.Keep(ctx, permitsName, nil)); err != nil {
		s.log.Warn("the store failed, so permits might end with the process", "error", err.Error())
	}
	return secret
}
