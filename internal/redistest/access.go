package redistest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// AccessRule returns the words after "ACL SETUSER robots" in the comment of a Go file, up
// to the next empty line of the comment. So a test uses the documented rule. Its
// password is SECRET.
func AccessRule(t testing.TB, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rule, ok := bytes.Cut(text, []byte("ACL SETUSER robots "))
	rule, _, end := bytes.Cut(rule, []byte("\n//\n"))
	if !ok || !end {
		t.Fatalf("%s has no comment with ACL SETUSER robots", file)
	}
	return strings.Fields(strings.ReplaceAll(string(rule), "//", ""))
}

// certificate makes the files of a server with a self-signed certificate, and the
// configuration of a client that trusts it.
func certificate(t testing.TB, dir string) (cert, key string, config *tls.Config) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: public}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	parsed, err := x509.ParseCertificate(public)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(parsed)
	return cert, key, &tls.Config{RootCAs: roots}
}
