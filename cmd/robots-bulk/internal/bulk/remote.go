package bulk

import (
	"fmt"
	"regexp"
	"sync"
)

var remoteName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+://`) })

// IsRemote reports whether the name of a file or folder is a URL, which this program neither reads
// nor writes.
func IsRemote(name string) bool { return remoteName().MatchString(name) }

// checkLocal returns an error for an input that is remote.
func checkLocal(name string) error {
	if IsRemote(name) {
		return fmt.Errorf("%s is remote; download it first, and name the local copy", name)
	}
	return nil
}
