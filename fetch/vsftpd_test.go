package fetch

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/freeport"
)

// TestVsftpd fetches from a real FTP server if one is installed.
func TestVsftpd(t *testing.T) {
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
			root := t.TempDir()
			// The folders above belong to the test and must be readable by the server's user.
			for dir := root; strings.HasPrefix(dir, os.TempDir()) && dir != os.TempDir(); dir = filepath.Dir(dir) {
				os.Chmod(dir, 0o755)
			}
			if row.file != "-" {
				if err := os.WriteFile(filepath.Join(root, "robots.txt"), []byte(row.file), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			os.Chmod(root, 0o555)
			t.Cleanup(func() { os.Chmod(root, 0o755) })
			if os.Geteuid() != 0 {
				row.settings += "\nrun_as_launching_user=YES"
			}
			address := daemon(t, "vsftpd", "", "listen=YES\nlisten_address=127.0.0.1\nlisten_port=%d\nbackground=NO\nanonymous_enable=YES\n"+
				"local_enable=NO\nseccomp_sandbox=NO\nxferlog_enable=NO\nanon_root="+root+"\nsecure_chroot_dir="+t.TempDir()+
				fmt.Sprintf("\npasv_min_port=%d\npasv_max_port=%d\n", vsftpdPorts, vsftpdPorts+vsftpdSpan-1)+row.settings+"\n")
			_, port, _ := net.SplitHostPort(address)
			o := s.options()
			r, err := s.client(t, o).Fetch(context.Background(), mustOrigin(t, "ftp://site.test:"+port+"/"))
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
