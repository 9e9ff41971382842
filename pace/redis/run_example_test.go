package redis_test

import (
	"testing"

	"github.com/robotskit/robots/internal/redistest"
)

func TestExample(t *testing.T) {
	redistest.RunExample(t, Example, "for all workers: the site said when to come again\n")
}
