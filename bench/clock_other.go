//go:build !linux

package main

import "time"

const clockName = "wall time"

var begun = time.Now()

func now() time.Duration { return time.Since(begun) }
