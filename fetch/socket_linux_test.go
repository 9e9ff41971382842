package fetch

import (
	"context"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// silentDial connects to a listener whose queue is full, so that the TCP handshake is never
// answered, as with a firewall that drops packets.
func silentDial(ctx context.Context, d *net.Dialer) (net.Conn, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "listener")
	defer f.Close()
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return nil, err
	}
	if err := syscall.Listen(fd, 0); err != nil {
		return nil, err
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		return nil, err
	}
	address := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: at.(*syscall.SockaddrInet4).Port}).String()
	for range 4 {
		c, err := (&net.Dialer{Timeout: 50 * time.Millisecond}).Dial("tcp", address)
		if err != nil {
			break
		}
		defer c.Close()
	}
	return d.DialContext(ctx, "tcp", address)
}

// waitDrained waits until the peer has acknowledged everything and had time to read it.
func waitDrained(raw syscall.RawConn) {
	for range 100 {
		left := int32(0)
		raw.Control(func(fd uintptr) {
			syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&left)))
		})
		if left == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond)
}
