// Hello is the least that a Go program can do: what its start costs belongs to Go.
package main

import "os"

func main() { _, _ = os.Stdout.WriteString("allow\n") }
