package lint

import "testing"

// TestFormatMark: a byte order mark, or a part of one, after the beginning of the file is text.
// Formatting never moves it to the beginning, where engines skip it.
func TestFormatMark(t *testing.T) {
	for body, want := range map[string]string{
		"\xEF\xBB\xBFfoo: x\nUser-agent: a\nDisallow: /\n":       "foo: x\nUser-agent: a\nDisallow: /\n",
		"\n\xEF\xBB\xBFfoo: x\nUser-agent: a\nDisallow: /\n":     "\n\xEF\xBB\xBFfoo: x\nUser-agent: a\nDisallow: /\n",
		"\n\n \xEF\xBB\xBFUser-agent: a\nDisallow: /\n":          "\n\xEF\xBB\xBFUser-agent: a\nDisallow: /\n",
		" \xEF\xBB\xBFUser-agent: a\nDisallow: /\n":              "\n\xEF\xBB\xBFUser-agent: a\nDisallow: /\n",
		"\xEF\xBB\xBF\xEF\xBB\xBFUser-agent: a\nDisallow: /\n":   "\n\xEF\xBB\xBFUser-agent: a\nDisallow: /\n",
		"\xEF\xBB\xBF\n\xEF\xBB\xBF\nUser-agent: a\nAllow: /b\n": "\n\xEF\xBB\xBF\nUser-agent: a\nAllow: /b\n",
		"\r\n\xEFUser-agent: a\r\nDisallow: /\r\n":               "\n\xEFUser-agent: a\nDisallow: /\n",
		"\xEF\xBBUser-agent: a\nDisallow: /\n":                   "\xEF\xBBUser-agent: a\nDisallow: /\n",
		" \xEF\xBBUser-agent: a\nDisallow: /\n":                  "\n\xEF\xBBUser-agent: a\nDisallow: /\n",
		"# c\n\xEF\xBB\xBFfoo: x\n":                              "# c\n\xEF\xBB\xBFfoo: x\n",
	} {
		got, err := Format([]byte(body))
		if err != nil || string(got) != want {
			t.Errorf("%q is laid out %q, %v, want %q", body, got, err, want)
			continue
		}
		if again, err := Format(got); err != nil || string(again) != want {
			t.Errorf("%q is laid out %q the second time, %v", body, again, err)
		}
	}
}
