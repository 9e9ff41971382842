// Dist prints the certificates of public authorities in PEM, for the image that
// .ci/dist makes: those of golang.org/x/crypto/x509roots, as those of the machine
// would differ from one to the next.
package main

import (
	"encoding/pem"
	"fmt"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	for root := range bundle.Roots() {
		if err := pem.Encode(os.Stdout, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			fmt.Fprintln(os.Stderr, "dist:", err)
			os.Exit(1)
		}
	}
}
