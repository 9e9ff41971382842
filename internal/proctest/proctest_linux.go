package proctest

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// The signal is sent when the thread that started the process ends, which can be long before the
// test process ends (https://go.dev/issue/27505). So one goroutine, which keeps its thread and
// never ends, starts all of them.
var starter = sync.OnceValue(func() chan<- func() {
	c := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range c {
			start()
		}
	}()
	return c
})

// Start starts a command like exec.Cmd.Start. The kernel kills neither the children of the process
// nor a process that changes its user, so a daemon in a test must keep its user.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	err := make(chan error)
	starter() <- func() { err <- cmd.Start() }
	return <-err
}
