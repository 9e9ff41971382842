package robotstest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program returns an Engine that runs a command, such as "robots_main %robots% %user-agent%
// %url%", without a shell. Placeholders are %robots%, a file with the body, %url%,
// %user-agent% and %dialect%. Exit status 0 means allowed and 1 disallowed; any other is an
// error with the command's standard error. Several tokens, or a NUL, are
// errors.ErrUnsupported.
func Program(template string) Engine {
	words := strings.Fields(template)
	return func(body []byte, dialect string, agents []string, url string) (Answer, error) {
		switch {
		case len(words) == 0:
			return Answer{}, errors.New("the command template is empty")
		case len(agents) != 1:
			return Answer{}, fmt.Errorf("several tokens on one command line: %w", errors.ErrUnsupported)
		case strings.IndexByte(url+agents[0], 0) >= 0:
			return Answer{}, fmt.Errorf("NUL on a command line: %w", errors.ErrUnsupported)
		}
		dir, err := os.MkdirTemp("", "robotstest")
		if err != nil {
			return Answer{}, err
		}
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, "robots.txt")
		if err := os.WriteFile(file, body, 0o600); err != nil {
			return Answer{}, err
		}
		fill := strings.NewReplacer("%robots%", file, "%url%", url, "%user-agent%", agents[0], "%dialect%", dialect)
		args := make([]string, len(words))
		for i, word := range words {
			args[i] = fill.Replace(word)
		}
		cmd := exec.Command(args[0], args[1:]...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		err = cmd.Run()
		var exit *exec.ExitError
		switch {
		case err == nil:
			return Boolean(true), nil
		case errors.As(err, &exit) && exit.ExitCode() == 1:
			return Boolean(false), nil
		}
		return Answer{}, fmt.Errorf("%s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
}
