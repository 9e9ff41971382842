package indexing

// This file has the names of closed sets, as JSON has them, and their sentences.

type named struct{ name, sentence string }

func at(list []named, i int) named {
	if i < len(list) {
		return list[i]
	}
	return named{"invalid", "a value that no function here returns"}
}

var words = []named{Unsure: {name: "unknown"}, No: {name: "no"}, AddressOnly: {name: "address"}, Yes: {name: "yes"}}

// String returns the word in answers: unknown, no, address or yes.
func (w Word) String() string { return at(words, int(w)).name }

// MarshalText returns the word.
func (w Word) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

var reasons = []named{
	NotAsked:    {"not-asked", "no robots.txt is given"},
	Allowed:     {"allowed", "robots.txt allows the page"},
	Disallowed:  {"disallowed", "robots.txt disallows the page"},
	Undecided:   {"undecided", "robots.txt cannot be had, so nothing is fetched for now"},
	Unread:      {"unread", "the page has not been read"},
	NothingSaid: {"nothing-said", "nothing restricts it"},
	ByRule:      {"rule", "the page says so"},
	Limited:     {"limited", "the page sets a limit"},
	Expires:     {"expires", "until the time that the page names"},
	Expired:     {"expired", "the time that the page names has passed"},
	Embedded:    {"embedded", "the page says so, except where another page embeds it"},
	NotIndexed:  {"not-indexed", "what is not indexed is not shown"},
	Missing:     {"missing", "the status says that there is no page for crawlers"},
	Redirects:   {"redirects", "the status sends crawlers to another address"},
	Failing:     {"failing", "the status is a failure: crawlers come again, and drop a page that stays so"},
}

// String returns the reason's name in JSON, such as "disallowed".
func (r Reason) String() string { return at(reasons, int(r)).name }

// Sentence returns the reason as a clause for people.
func (r Reason) Sentence() string { return at(reasons, int(r)).sentence }

// MarshalText returns the reason's name.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

var effects = []named{
	Counts:       {"counts", "counts"},
	Default:      {"default", "says what holds anyway"},
	Hidden:       {"hidden", "would count, but nobody may read it"},
	Overruled:    {"overruled", "another rule contradicts it and counts"},
	NoEffect:     {"no-effect", "has no effect without noindex"},
	OtherCrawler: {"other-crawler", "addresses another crawler"},
	NotRead:      {"not-read", "is no rule that this engine documents"},
	Meaningless:  {"meaningless", "says nothing"},
}

// String returns the effect's name in JSON, such as "overruled".
func (e Effect) String() string { return at(effects, int(e)).name }

// Sentence returns the effect as a clause for people.
func (e Effect) Sentence() string { return at(effects, int(e)).sentence }

// MarshalText returns the effect's name.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

var problems = []named{
	NoProblem:     {"none", "says what it says"},
	UnknownRule:   {"unknown-rule", "is no rule that an engine here documents"},
	MissingComma:  {"missing-comma", "lacks a comma between its rules"},
	BadValue:      {"bad-value", "has a value that cannot be read"},
	NeedlessValue: {"needless-value", "takes no value"},
}

// String returns the problem's name in JSON, such as "bad-value".
func (p Problem) String() string { return at(problems, int(p)).name }

// Sentence returns the problem as a clause for people.
func (p Problem) Sentence() string { return at(problems, int(p)).sentence }

// MarshalText returns the problem's name.
func (p Problem) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
