// Package proctest starts the servers and workers of tests. A test process can end without its
// cleanups: by a panic of go test -timeout, or by kill -9. On Linux, the kernel then kills what
// was started here; on other systems it goes on.
package proctest

import "os/exec"

// Start starts a command like exec.Cmd.Start. The kernel kills neither the children of the process
// nor a process that changes its user, so a daemon in a test must keep its user.
func Start(cmd *exec.Cmd) error { return start(cmd) }
