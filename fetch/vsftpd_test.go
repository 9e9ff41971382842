package fetch

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/freeport"
	"github.com/robotskit/robots/internal/proctest"
)

// TestVsftpd fetches from a real FTP server if one is installed.
func TestVsftpd(t *testing.T) {
	program, err := exec.LookPath("vsftpd")
	if err != nil {
		if program = "/usr/sbin/vsftpd"; exec.Command(program, "-v").Run() != nil {
			t.Skip("vsftpd is not installed; the scripted servers of the catalogue stand for it")
		}
	}
	if _, err := user.Lookup("ftp"); err != nil && os.Geteuid() == 0 {
		t.Skip("there is no user ftp for vsftpd to become")
	}
	s := newStage(t)
	for _, row := range []struct {
		name, file, settings string
		want                 Cause
		status               int
	}{
		{"file", someRules, "", OK, 226},
		{"large file", rulesOf(600_000), "", OK, 0},
		{"empty file", "", "", Empty, 226},
		{"no file", "-", "", FTPAbsent, 550},
		{"no EPSV", someRules, "cmds_denied=EPSV", OK, 226},
		{"no passive mode", someRules, "pasv_enable=NO", BadResponse, 0},
		{"no anonymous login", someRules, "anonymous_enable=NO\nlocal_enable=YES", FTPDenied, 530},
		{"no anonymous login, one attempt", someRules, "anonymous_enable=NO\nlocal_enable=YES\nmax_login_fails=1", FTPTemporary, 530},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			port := serveVsftpd(t, program, row.file, row.settings)
			o := s.options()
			r, err := s.client(t, o).Fetch(context.Background(), mustOrigin(t, fmt.Sprintf("ftp://site.test:%d/", port)))
			if err != nil {
				t.Fatal(err)
			}
			if r.Cause != row.want || row.status != 0 && r.Status != row.status {
				t.Errorf("got:  %v, %d (%s)\nwant: %v, %d", r.Cause, r.Status, r.Detail, row.want, row.status)
			}
			if row.want == OK && string(r.Body) != row.file[:min(len(row.file), len(r.Body))] || r.Truncated != (len(row.file) > 512_000+bodySlack) {
				t.Errorf("body of %d bytes, truncated %v", len(r.Body), r.Truncated)
			}
			checkVerdicts(t, r)
		})
	}
}

// vsftpd chooses the port of each file itself, by default from all above 1023. The guard refuses
// those of other protocols (badPorts), and other tests use ports of the system or of freeport,
// so it gets a range between these.
const vsftpdPorts, vsftpdSpan = 20_000, 5_000

// daemonPort returns a port of loopback for a daemon.
func daemonPort(t *testing.T) int {
	t.Helper()
	return int(netip.MustParseAddrPort(freeport.Addr(t)).Port())
}

// serveVsftpd runs vsftpd on a folder of its own until the test ends.
func serveVsftpd(t *testing.T, program, file, settings string) int {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"public", "empty"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// The folders above belong to the test and must be readable by the server's user.
	for dir := root; strings.HasPrefix(dir, os.TempDir()) && dir != os.TempDir(); dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755)
	}
	if file != "-" {
		if err := os.WriteFile(filepath.Join(root, "public", "robots.txt"), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.Chmod(filepath.Join(root, "public"), 0o555)
	t.Cleanup(func() { os.Chmod(filepath.Join(root, "public"), 0o755) })
	port := daemonPort(t)
	config := filepath.Join(root, "vsftpd.conf")
	text := fmt.Sprintf("listen=YES\nlisten_address=127.0.0.1\nlisten_port=%d\nbackground=NO\nanonymous_enable=YES\nlocal_enable=NO\n"+
		"anon_root=%s\nsecure_chroot_dir=%s\nseccomp_sandbox=NO\nxferlog_enable=NO\n"+
		"pasv_min_port=%d\npasv_max_port=%d\n", port, filepath.Join(root, "public"), filepath.Join(root, "empty"), vsftpdPorts, vsftpdPorts+vsftpdSpan-1)
	if os.Geteuid() != 0 {
		text += "run_as_launching_user=YES\n"
	}
	if err := os.WriteFile(config, []byte(text+settings+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd := exec.Command(program, config)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := proctest.Start(cmd); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for range 200 {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
			return port
		}
		time.Sleep(10 * time.Millisecond) // until the server listens
	}
	t.Skipf("vsftpd does not start here: %s", out.String())
	return 0
}
