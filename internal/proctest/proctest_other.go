//go:build !linux

package proctest

import "os/exec"

func start(cmd *exec.Cmd) error { return cmd.Start() }
