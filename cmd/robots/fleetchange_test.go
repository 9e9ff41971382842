package main

import (
	"bufio"
	"errors"
	"strings"
	"testing"

	"github.com/robotskit/robots/cmd/internal/screen"
)

// TestChangePart: a change of several sites is made where it is possible, and what failed is named.
func TestChangePart(t *testing.T) {
	var out, said strings.Builder
	std := &screen.Streams{Out: bufio.NewWriter(&out), Err: &said, Name: "robots fleet forget"}
	flags := &fleetChangeFlags{yes: true}
	status, err := flags.change(std, "delete %s", []string{"https://a.example", "https://b.example", "https://c.example"}, func(i int) (string, error) {
		if i == 1 {
			return "", errors.Join(errors.New("slots 0 to 5: connection refused"), errors.New("slots 6 to 9: connection refused"))
		}
		return "deleted", nil
	})
	std.Out.Flush()
	if status != exitBad || err != nil || out.String() != "https://a.example: deleted\nhttps://c.example: deleted\n" ||
		said.String() != "robots fleet forget: https://b.example: slots 0 to 5: connection refused; slots 6 to 9: connection refused\n" {
		t.Errorf("status %d, %v\n%s%s", status, err, &out, &said)
	}
}
