package fleet

import "testing"

func TestTooOld(t *testing.T) {
	for info, want := range map[string]string{
		"# Server\r\nredis_version:6.2.14\r\nredis_git_sha1:0\r\n": "6.2.14",
		"# Server\r\nredis_version:7.0.15\r\n":                     "",
		"# Server\r\nredis_version:10.1\r\n":                       "",
		"# Server\r\nserver_name:other\r\n":                        "",
		"":                                                         "",
	} {
		if got := tooOld(info); got != want {
			t.Errorf("%q is too old by %q, want %q", info, got, want)
		}
	}
}
