package source

import (
	"fmt"

	"github.com/robotskit/robots/cmd/internal/replace"
	"github.com/robotskit/robots/cmd/internal/screen"
)

// ReplaceFile writes a file in one step (replace.File). Its error has the name.
func ReplaceFile(name string, body []byte) error {
	if err := replace.File(name, body); err != nil {
		return fmt.Errorf("cannot write %s: %w", name, screen.Cause(err))
	}
	return nil
}
