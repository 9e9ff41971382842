package fleet

import "testing"

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
