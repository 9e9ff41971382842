package redis

import "time"

// SetBeat makes the beats of limiters made later faster.
func SetBeat(d time.Duration) { beatEvery = d }
