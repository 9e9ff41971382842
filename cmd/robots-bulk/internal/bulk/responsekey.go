package bulk

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/robotskit/robots"
)

// The key of a response is its SURT key, origin, and a hash of its URL; then its time, whether
// it is a revisit, its input, and its member and offset there. So all responses to requests for
// one robots.txt are neighbors, in the order of time.

// urlKey returns the beginning of the keys of all responses of a URL.
func urlKey(url string) ([]byte, error) {
	origin, _, err := robots.ParseURL(url)
	if err != nil {
		return nil, err
	}
	return hashKey(SURT(origin)+"\x00"+origin.String()+"\x00", url), nil
}

// idKey returns the beginning of the keys of a record ID. Its value is the key of a response.
func idKey(id string) []byte { return hashKey(afterAllSites, id) }

// afterAllSites sorts after the SURT keys of all sites.
const afterAllSites = "\xff"

func hashKey(prefix, name string) []byte {
	hash := sha256.Sum256([]byte(name))
	return append([]byte(prefix), hash[:16]...)
}

const signBit = 1 << 63 // makes times before 1970 sort first

// timeKey returns a key that sorts before those of a time and after those of all earlier times.
func timeKey(prefix []byte, time int64) []byte {
	return binary.BigEndian.AppendUint64(slices.Clip(prefix), uint64(time)^signBit)
}

// keySuffixBytes is the size of what follows the prefix.
const keySuffixBytes = 8 + 1 + 8 + 8

// key appends to a prefix what distinguishes a response.
func (r *archivedResponse) key(prefix []byte, member memberID) []byte {
	key := timeKey(prefix, r.Time)
	if r.Revisit == nil {
		key = append(key, 0)
	} else {
		key = append(key, 1)
	}
	key = binary.BigEndian.AppendUint64(key, uint64(member))
	return binary.BigEndian.AppendUint64(key, uint64(r.Offset))
}

// A memberID is the number of an input, and that of a member in it.
type memberID uint64

func newMemberID(input int, member uint32) memberID { return memberID(input)<<32 | memberID(member) }

// keyMember returns the member in the key of a response.
func keyMember(key []byte) memberID {
	return memberID(binary.BigEndian.Uint64(key[len(key)-16:]))
}

// keyTime returns the time in the key of a response, false if the key has another prefix.
func keyTime(key, prefix []byte) (time int64, ok bool) {
	if len(key) != len(prefix)+keySuffixBytes || !bytes.HasPrefix(key, prefix) {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(key[len(prefix):]) ^ signBit), true
}

// keySURT returns the SURT key in the key of a response.
func keySURT(key []byte) string {
	surt, _, _ := bytes.Cut(key, []byte{0})
	return string(surt)
}
