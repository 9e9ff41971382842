package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/netip"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
)

// keptPermits is what the file of a server keeps of its permits and of sites that are to be
// left alone, so that the next process with the file goes on with them. It is written when
// a process ends. While one runs there
// is the secret alone: of a process that was killed nobody knows what it gave last.
type keptPermits struct {
	Secret []byte     `json:"secret"`
	Ended  time.Time  `json:"ended,omitzero"` // when the process ended
	Loans  []keptLoan `json:"loans,omitempty"`
	Rests  []keptRest `json:"rests,omitempty"`
}

type keptLoan struct {
	ID     uint64     `json:"id"`
	Origin string     `json:"origin"`
	Addr   netip.Addr `json:"addr,omitzero"`
	Start  time.Time  `json:"start"`
	End    time.Time  `json:"end"`
}

type keptRest struct {
	Origin   string       `json:"origin"`
	Until    time.Time    `json:"until,omitzero"`
	Overload time.Time    `json:"overload,omitzero"`
	BackOff  pace.BackOff `json:"back_off,omitzero"`
}

// permitsName is the name of it in the file.
const permitsName = "permits"

// resume has a limiter go on where the process before ended, and returns the secret of
// permits.
func (s *service) resume(ctx context.Context, local *pace.Local) []byte {
	text, err := s.file.Kept(ctx, permitsName)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &s.kept)
	}
	if err != nil {
		s.log.Warn("permits of the process before have ended, and what sites said of waiting is forgotten: what is kept of them cannot be read", "error", err.Error())
		s.kept = keptPermits{}
	}
	var loans []pace.Loan
	for _, l := range s.kept.Loans {
		if origin, _, err := robots.ParseURL(l.Origin + "/"); err == nil {
			loans = append(loans, pace.Loan{ID: l.ID, Key: pace.Key{Origin: origin, Addr: l.Addr}, Start: l.Start, End: l.End})
		}
	}
	rests := map[robots.Origin]pace.History{}
	for _, r := range s.kept.Rests {
		if origin, _, err := robots.ParseURL(r.Origin + "/"); err == nil {
			rests[origin] = pace.History{NotBefore: r.Until, Overload: r.Overload, BackOff: r.BackOff}
		}
	}
	if text != nil || err != nil { // else there was no process before
		local.Resume(s.kept.Ended, loans, rests)
	}
	s.local, s.kept = local, keptPermits{Secret: s.kept.Secret}
	if len(s.kept.Secret) == 0 {
		s.kept.Secret = []byte(rand.Text() + rand.Text())
	}
	if err := s.writePermits(ctx); err != nil {
		s.log.Warn("the store fails, so permits may end with the process", "error", err.Error())
	}
	return s.kept.Secret
}

// keepPermits keeps the permits that are out, and which sites are to be left alone.
func (s *service) keepPermits() error {
	if s.local == nil {
		return nil
	}
	s.kept.Ended = s.now()
	for _, l := range s.local.Loans() {
		s.kept.Loans = append(s.kept.Loans, keptLoan{l.ID, l.Key.Origin.String(), l.Key.Addr, l.Start, l.End})
	}
	for origin, h := range s.local.Rests() {
		s.kept.Rests = append(s.kept.Rests, keptRest{origin.String(), h.NotBefore, h.Overload, h.BackOff})
	}
	return s.writePermits(context.Background())
}

func (s *service) writePermits(ctx context.Context) error {
	text, err := json.Marshal(&s.kept)
	if err != nil {
		return err
	}
	return s.file.Keep(ctx, permitsName, text)
}
