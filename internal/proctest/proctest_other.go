//go:build !linux

package proctest

import "os/exec"

// Start starts a command.
func Start(cmd *exec.Cmd) error { return cmd.Start() }
