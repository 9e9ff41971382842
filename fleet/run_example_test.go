package fleet_test

import (
	"testing"

	"github.com/robotskit/robots/internal/redistest"
)

func TestExample(t *testing.T) {
	redistest.RunExample(t, Example, "/page 200 OK\n/private/diary disallowed by line 2: Disallow: /private/\n")
}
