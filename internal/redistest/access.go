package redistest

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
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
	_, rule, ok := bytes.Cut(text, []byte("ACL SETUSER robots "))
	limit := "\n//\n"
	if strings.HasSuffix(file, ".md") {
		limit = "```"
	}
	rule, _, end := bytes.Cut(rule, []byte(limit))
	if !ok || !end {
		t.Fatalf("%s has no text with ACL SETUSER robots", file)
	}
	return strings.Fields(strings.ReplaceAll(string(rule), "//", ""))
}

// certificate makes the files of a server with the self-signed certificate of httptest,
// and the configuration of a client that trusts it.
func certificate(t testing.TB, dir string) (cert, key string, config *tls.Config) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	secret, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return cert, key, &tls.Config{RootCAs: roots}
}
