package fleet

import (
	"slices"
	"testing"
	"time"
)

func TestTooOld(t *testing.T) {
	for version, want := range map[string]string{
		"6.2.14": "6.2.14",
		"7.0.15": "",
		"10.1":   "",
		"other":  "",
		"":       "",
	} {
		if got := (&node{info: map[string]string{"redis_version": version}}).tooOld(); got != want {
			t.Errorf("%q is too old by %q, want %q", version, got, want)
		}
	}
}

// TestMemoryLimit: memory of more than nine tenths is a finding.
func TestMemoryLimit(t *testing.T) {
	for used, want := range map[string]bool{"899": false, "900": false, "901": true} {
		var checks []string
		n := &node{info: map[string]string{"used_memory": used, "maxmemory": "1000"}}
		n.examineInfo(nil, func(check, _, _ string, _ ...any) { checks = append(checks, check) })
		if slices.Contains(checks, "memory") != want {
			t.Errorf("%s of 1000 bytes: findings of %q", used, checks)
		}
	}
}

// TestEarlierDown: a fleet is down since the first of its parts is.
func TestEarlierDown(t *testing.T) {
	var up time.Time
	first := time.Unix(1, 0)
	second := time.Unix(2, 0)
	for _, tt := range []struct{ store, limiter, want time.Time }{
		{up, up, up}, {first, up, first}, {up, first, first}, {first, second, first}, {second, first, first},
	} {
		if got := earlierDown(tt.store, tt.limiter); got != tt.want {
			t.Errorf("%v and %v: %v, want %v", tt.store, tt.limiter, got, tt.want)
		}
	}
}
