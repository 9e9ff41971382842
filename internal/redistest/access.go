package redistest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// AccessRule returns the words after "ACL SETUSER robots" in the comment of a Go file, up
// to the next empty line of the comment, or in a block of a Markdown file. So a test uses the
// documented rule. Its password is SECRET.
func AccessRule(t testing.TB, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rule, ok := strings.Cut(string(text), "ACL SETUSER robots ")
	if !ok {
		t.Fatalf("%s has no text with ACL SETUSER robots", file)
	}
	rule, _, _ = strings.Cut(rule, "```")
	rule, _, _ = strings.Cut(rule, "\n//\n")
	return strings.Fields(strings.ReplaceAll(rule, "//", ""))
}

// certificate makes the file of a server with the self-signed certificate of httptest and its
// key, and the configuration of a client that trusts it.
func certificate(t testing.TB, dir string) (file string, config *tls.Config) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	secret, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "tls.pem")
	both := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...)
	if err := os.WriteFile(file, both, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, s.Client().Transport.(*http.Transport).TLSClientConfig
}
