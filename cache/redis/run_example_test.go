package redis_test

import (
	"testing"

	"github.com/robotskit/robots/internal/redistest"
)

func TestExample(t *testing.T) {
	redistest.RunExample(t, Example, "one has it: success\nanother has it: success\nthe site was asked 1 time\n")
}
