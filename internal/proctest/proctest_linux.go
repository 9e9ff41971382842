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
var commands = sync.OnceValue(func() chan<- order {
	c := make(chan order)
	go func() {
		runtime.LockOSThread()
		for o := range c {
			o.err <- o.cmd.Start()
		}
	}()
	return c
})

type order struct {
	cmd *exec.Cmd
	err chan<- error
}

func start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	err := make(chan error)
	commands() <- order{cmd, err}
	return <-err
}
