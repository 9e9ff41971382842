package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
)

// A permit is a permit of a client. Its id contains what a server with the same limiter and
// secret needs to release it.
type permit struct {
	pace.Permit
	hold time.Duration
}

func (p *permit) expires() time.Time { return p.Start.Add(p.hold) }

// The id of a permit is permitHead and base64url of: its start in milliseconds, its lifetime
// in seconds, the id in the limiter with its length, the origin, and macBytes of an HMAC over
// these.
const (
	permitHead = "p_"
	macBytes   = 16
)

func (s *Service) mac(payload []byte) []byte {
	h := hmac.New(sha256.New, s.parts.Secret)
	h.Write([]byte("permit 2\n"))
	h.Write(payload)
	return h.Sum(nil)[:macBytes]
}

// sign returns the id of a permit.
func (s *Service) sign(p *permit) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(p.Start.UnixMilli()))
	b = binary.BigEndian.AppendUint32(b, uint32(p.hold/time.Second))
	b = append(append(b, byte(len(p.ID))), p.ID...)
	b = append(b, p.Origin.String()...)
	return permitHead + base64.RawURLEncoding.EncodeToString(append(b, s.mac(b)...))
}

// verify reads the id of a permit from a server with the same secret.
func (s *Service) verify(id string) (*permit, bool) {
	text, ok := strings.CutPrefix(id, permitHead)
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if !ok || err != nil || len(b) < macBytes {
		return nil, false
	}
	b, mac := b[:len(b)-macBytes], b[len(b)-macBytes:]
	if !hmac.Equal(mac, s.mac(b)) {
		return nil, false
	}
	// The signature is valid, so the id is complete.
	const fixed = 8 + 4 + 1
	p := &permit{hold: time.Duration(binary.BigEndian.Uint32(b[8:])) * time.Second}
	p.Start = time.UnixMilli(int64(binary.BigEndian.Uint64(b))).UTC()
	n := int(b[fixed-1])
	p.ID = string(b[fixed : fixed+n])
	p.Expires = p.expires()
	p.Origin, _, err = robots.ParseURL(string(b[fixed+n:]) + "/")
	return p, err == nil
}
