package indexing

// This file contains the names of constants in JSON, and their sentences.

type named struct{ name, sentence string }

func nameAt(list []named, i int) named {
	if i < len(list) {
		return list[i]
	}
	return named{"invalid", "a value that no function here returns"}
}

var words = []named{Unsure: {name: "unknown"}, No: {name: "no"}, AddressOnly: {name: "address"}, Yes: {name: "yes"}}

// String returns the word in JSON: unknown, no, address or yes.
func (w Word) String() string { return nameAt(words, int(w)).name }

// MarshalText returns the word.
func (w Word) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

var reasons = []named{
	NotAsked:    {"not-asked", "no robots.txt is given"},
	Allowed:     {"allowed", "robots.txt allows the page"},
	Disallowed:  {"disallowed", "robots.txt disallows the page"},
	Undecided:   {"undecided", "robots.txt is unreachable, so nothing is fetched for now"},
	Unread:      {"unread", "the page has not been read"},
	NothingSaid: {"nothing-said", "nothing restricts it"},
	ByRule:      {"rule", "a rule of the page forbids it"},
	Limited:     {"limited", "the page sets a limit"},
	Expires:     {"expires", "until the time that the page states"},
	Expired:     {"expired", "the time that the page states has passed"},
	Embedded:    {"embedded", "a rule of the page forbids it, except where another page embeds it"},
	NotIndexed:  {"not-indexed", "a page that is not indexed is not shown"},
	Missing:     {"missing", "the status says that the page does not exist"},
	Redirects:   {"redirects", "the status redirects crawlers"},
	Failing:     {"failing", "the status is an error: crawlers retry, and drop a page that keeps failing"},
}

// String returns the name in JSON, such as "disallowed".
func (r Reason) String() string { return nameAt(reasons, int(r)).name }

// Sentence returns the reason as a phrase for people.
func (r Reason) Sentence() string { return nameAt(reasons, int(r)).sentence }

// MarshalText returns the name.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

var effects = []named{
	Counts:       {"counts", "counts"},
	Default:      {"default", "states the default"},
	Hidden:       {"hidden", "would count, but robots.txt prevents crawlers from reading it"},
	Overruled:    {"overruled", "another rule contradicts it and counts"},
	NoEffect:     {"no-effect", "has no effect without noindex"},
	OtherCrawler: {"other-crawler", "addresses another crawler"},
	NotRead:      {"not-read", "is not documented by this engine"},
	Meaningless:  {"meaningless", "has no effect"},
}

// String returns the name in JSON, such as "overruled".
func (e Effect) String() string { return nameAt(effects, int(e)).name }

// Sentence returns the effect as a phrase for people.
func (e Effect) Sentence() string { return nameAt(effects, int(e)).sentence }

// MarshalText returns the name.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

var problems = []named{
	NoProblem:     {"none", "is valid"},
	UnknownRule:   {"unknown-rule", "is not documented by any engine"},
	MissingComma:  {"missing-comma", "lacks a comma between its rules"},
	BadValue:      {"bad-value", "has an invalid value"},
	NeedlessValue: {"needless-value", "takes no value"},
}

// String returns the name in JSON, such as "bad-value".
func (p Problem) String() string { return nameAt(problems, int(p)).name }

// Sentence returns the problem as a phrase for people.
func (p Problem) Sentence() string { return nameAt(problems, int(p)).sentence }

// MarshalText returns the name.
func (p Problem) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
