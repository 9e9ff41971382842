//go:build amd64 || arm64

package bolt

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"unsafe"
)

// How a call to the system fails.
type failure uint8

const (
	ioError  failure = iota // EIO, nothing done
	noSpace                 // ENOSPC, nothing done
	torn                    // half of a write done, then EIO
	doneOnly                // a write done, and EIO nevertheless
	failures
)

var failureNames = [failures]string{"EIO", "ENOSPC", "EIO after half", "EIO after all"}

// of reports whether a call can fail in this way.
func (f failure) of(call uintptr) bool {
	return f < torn || call == syscall.SYS_PWRITE64
}

var callNames = map[uintptr]string{
	syscall.SYS_PWRITE64: "pwrite64", syscall.SYS_FDATASYNC: "fdatasync", syscall.SYS_FSYNC: "fsync",
	syscall.SYS_FTRUNCATE: "ftruncate", syscall.SYS_MMAP: "mmap", syscall.SYS_OPENAT: "openat",
}

// A disk holds of one file what a loss of power leaves: what a sync has confirmed.
// What a failed sync was to write is lost, as some kernels have it.
type disk struct {
	kept, next []byte
}

func (d *disk) write(at int64, b []byte) {
	if end := at + int64(len(b)); end > int64(len(d.next)) {
		d.resize(end)
	}
	copy(d.next[at:], b)
}

func (d *disk) resize(n int64) {
	d.next = append(d.next[:min(n, int64(len(d.next)))], make([]byte, max(0, n-int64(len(d.next))))...)
}

// A kernel decides what becomes of the calls of this process on files below dir.
type kernel struct {
	listener int
	mem      *os.File // of this process
	dir      string

	mu      sync.Mutex
	armed   bool
	at      int // the first call that fails
	many    int // how many do
	how     failure
	called  []uintptr
	struck  []uintptr
	watched bool
	seen    [][]byte        // what each sync left, while watched
	calls   map[uintptr]int // all that failed
	disks   map[uint64]*disk
	trouble error
}

// The interface of seccomp(2) and seccomp_unotify(2).
type (
	sockFilter struct {
		code   uint16
		jt, jf uint8
		k      uint32
	}
	sockFprog struct {
		n      uint16
		filter *sockFilter
	}
	notification struct {
		id         uint64
		pid, flags uint32
		nr         int32
		arch       uint32
		ip         uint64
		args       [6]uint64
	}
	response struct {
		id    uint64
		val   int64
		err   int32
		flags uint32
	}
)

const (
	prSetNoNewPrivs = 38
	setModeFilter   = 1

	flagTsync        = 1 << 0
	flagListener     = 1 << 3
	flagTsyncEsrch   = 1 << 4
	flagWaitKillable = 1 << 5 // signals of the runtime interrupt nothing

	actAllow  = 0x7fff0000
	actNotify = 0x7fc00000

	ioctlReceive = 0xc0502100
	ioctlSend    = 0xc0182101
	respContinue = 1
)

// install puts the kernel between this process and the system.
func install(dir string) (*kernel, error) {
	seccomp, arch := uintptr(317), uint32(0xc000003e)
	if runtime.GOARCH == "arm64" {
		seccomp, arch = 277, 0xc00000b7
	}
	const (
		load, equal, set, ret = 0x20, 0x15, 0x45, 0x06
		mapFlags              = 16 + 3*8 // the fourth argument
	)
	filter := []sockFilter{
		{load, 0, 0, 4},
		{equal, 1, 0, arch},
		{ret, 0, 0, actAllow},
		{load, 0, 0, 0},
	}
	for call := range callNames {
		if call != syscall.SYS_MMAP {
			filter = append(filter, sockFilter{equal, 0, 1, uint32(call)}, sockFilter{ret, 0, 0, actNotify})
		}
	}
	// The runtime maps memory while it may not wait for anybody; of files it does not.
	filter = append(filter,
		sockFilter{equal, 1, 0, syscall.SYS_MMAP}, sockFilter{ret, 0, 0, actAllow},
		sockFilter{load, 0, 0, mapFlags}, sockFilter{set, 0, 1, syscall.MAP_ANONYMOUS}, sockFilter{ret, 0, 0, actAllow},
		sockFilter{ret, 0, 0, actNotify})
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil, err
	}
	k := &kernel{mem: mem, dir: dir + "/", calls: map[uintptr]int{}, disks: map[uint64]*disk{}}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); e != 0 {
		return nil, os.NewSyscallError("prctl", e)
	}
	prog := sockFprog{uint16(len(filter)), &filter[0]}
	fd, _, e := syscall.RawSyscall(seccomp, setModeFilter, flagTsync|flagListener|flagTsyncEsrch|flagWaitKillable, uintptr(unsafe.Pointer(&prog)))
	if e != 0 {
		return nil, os.NewSyscallError("seccomp", e)
	}
	k.listener = int(fd)
	go k.serve()
	return k, nil
}

// serve answers calls. It must make none of those that it answers.
func (k *kernel) serve() {
	for {
		var n notification
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, uintptr(k.listener), ioctlReceive, uintptr(unsafe.Pointer(&n))); e != 0 {
			if e == syscall.EINTR || e == syscall.ENOENT {
				continue
			}
			panic(os.NewSyscallError("ioctl", e))
		}
		r := response{id: n.id, flags: respContinue}
		if e := k.decide(uintptr(n.nr), n.args); e != 0 {
			r.err, r.flags = -int32(e), 0
		}
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, uintptr(k.listener), ioctlSend, uintptr(unsafe.Pointer(&r))); e != 0 && e != syscall.ENOENT {
			panic(os.NewSyscallError("ioctl", e))
		}
	}
}

// decide returns the error of a call, 0 to let it go on.
func (k *kernel) decide(call uintptr, args [6]uint64) syscall.Errno {
	k.mu.Lock()
	defer k.mu.Unlock()
	fd := int(int32(args[0]))
	if call == syscall.SYS_MMAP {
		fd = int(int32(args[4]))
	}
	if call == syscall.SYS_OPENAT {
		b := make([]byte, 4096)
		n, _ := k.mem.ReadAt(b, int64(args[1]))
		name, _, _ := bytes.Cut(b[:n], []byte{0})
		if !k.armed || !strings.HasPrefix(string(name), k.dir) {
			return 0
		}
		e, _ := k.fails(call)
		return e
	}
	var name [4096]byte
	n, err := syscall.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd), name[:])
	if err != nil || !strings.HasPrefix(string(name[:n]), k.dir) {
		return 0
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		k.trouble = err
		return 0
	}
	d := k.disks[st.Ino]
	if d == nil {
		d = &disk{}
		k.disks[st.Ino] = d
	}
	e, how := syscall.Errno(0), ioError
	if k.armed {
		e, how = k.fails(call)
	}
	switch call {
	case syscall.SYS_PWRITE64:
		n := int(args[2])
		switch {
		case e != 0 && how == torn:
			n /= 2
		case e != 0 && how != doneOnly:
			return e
		}
		b := make([]byte, n)
		if _, err := k.mem.ReadAt(b, int64(args[1])); err != nil {
			k.trouble = err
		}
		d.write(int64(args[3]), b)
		if e != 0 {
			vector := [2]uint64{args[1], uint64(n)}
			if _, _, e := syscall.Syscall6(syscall.SYS_PWRITEV, uintptr(fd), uintptr(unsafe.Pointer(&vector)), 1, uintptr(args[3]), 0, 0); e != 0 {
				k.trouble = e
			}
		}
	case syscall.SYS_FTRUNCATE:
		if e == 0 {
			d.resize(int64(args[1]))
		}
	case syscall.SYS_FDATASYNC, syscall.SYS_FSYNC:
		if e == 0 {
			d.kept = append(d.kept[:0], d.next...)
			if k.watched {
				k.seen = append(k.seen, bytes.Clone(d.kept))
			}
		} else {
			d.next = append(d.next[:0], d.kept...)
		}
	}
	return e
}

func (k *kernel) fails(call uintptr) (syscall.Errno, failure) {
	k.called = append(k.called, call)
	if n := len(k.called); n < k.at || n >= k.at+k.many || !k.how.of(call) {
		return 0, 0
	}
	k.struck = append(k.struck, call)
	k.calls[call]++
	switch {
	case call == syscall.SYS_MMAP:
		return syscall.ENOMEM, k.how
	case k.how == noSpace:
		return syscall.ENOSPC, k.how
	}
	return syscall.EIO, k.how
}

func (k *kernel) arm(on bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.armed = on
}

// left returns what a loss of power would leave of a file.
func (k *kernel) left(path string) (kept []byte, ok bool) {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return nil, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	d := k.disks[st.Ino]
	if d == nil {
		return nil, false
	}
	return bytes.Clone(d.kept), true
}

// watch begins or ends to note what each sync leaves.
func (k *kernel) watch(on bool) [][]byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	seen := k.seen
	k.watched, k.seen = on, nil
	return seen
}
