// Package proctest starts the servers and workers of tests. A test process can end without
// its cleanups: go test -timeout ends it by a panic, a time limit by kill -9. On Linux what
// was started here ends with it in any case, by SIGKILL from the kernel; elsewhere it stays.
package proctest

import "os/exec"

// Start starts a command as its own Start does; the caller waits for its end as usual. The
// kernel keeps this promise neither to what the process itself starts nor to a process that
// changes its user, so a daemon of a test is to stay the user that it is.
func Start(cmd *exec.Cmd) error { return start(cmd) }
