package indexing

import (
	"sync"

	"github.com/robotskit/robots"
)

// Rule is what a directive says: a closed set.
type Rule uint8

// The rules. Those from All to Archive say what holds anyway.
const (
	Unknown Rule = iota
	All          // index and follow
	Index
	Follow
	Archive
	None // noindex and nofollow
	NoIndex
	NoFollow
	NoArchive       // no link to a copy of the page
	NoSnippet       // no text and no video of the page in results
	NoTranslate     // no offer to translate it
	NoImageIndex    // its images are not indexed
	NoYaca          // no description that Yandex makes itself
	IndexIfEmbedded // with noindex: but its content where another page embeds it
	MaxSnippet
	MaxImagePreview
	MaxVideoPreview
	UnavailableAfter // not in results after that time
	Retired          // a rule that engines once read: noodp, noydir and the like
	ruleCount
)

// places are where an engine reads a rule, as a set.
type places uint8

const (
	inMeta places = 1 << iota
	inHeader
	inBoth = inMeta | inHeader
)

// valueKind is what stands behind the colon of a rule.
type valueKind uint8

const (
	noValue valueKind = iota
	numberValue
	sizeValue
	dateValue
)

// Engine is whose reading of a page is asked for: a closed set.
type Engine uint8

// The engines. AnyEngine, the zero value, stands for one that documents nothing: it
// is taken to read every rule that one of the others reads, and the more restrictive
// of two.
const (
	AnyEngine Engine = iota
	Google
	Bing
	Yandex
	Seznam
	engineCount
)

// A profile is what is known of an engine.
type profile struct {
	name, title string
	source      string // the page that is followed
	// permitsWin: of two directives that contradict each other the one that permits
	// counts. Else it is the more restrictive one.
	permitsWin bool
	// names address all crawlers of the engine, beside their own tokens.
	names []string
}

var engines = [engineCount]profile{
	AnyEngine: {name: "any", title: "an engine without a page of its own"},
	// "In the case of conflicting robots rules, the more restrictive rule applies", and
	// of rules to all and to one crawler the sum of the negative ones counts.
	Google: {name: "google", title: "Google", source: "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications, https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag"},
	Bing: {name: "bing", title: "Bing", source: "Robots Metatags, https://www.bing.com/webmaster/help/which-robots-metatags-does-bing-support-5198d240",
		names: []string{"bingbot", "msnbot"}},
	// "Allow directives have priority over prohibiting directives if there's a
	// combination of both."
	Yandex: {name: "yandex", title: "Yandex", source: "Robots meta tag and X-Robots-Tag HTTP header, https://yandex.com/support/webmaster/controlling-robot/meta-robots.html",
		permitsWin: true, names: []string{"yandex"}},
	Seznam: {name: "seznam", title: "Seznam", source: "Indexing control, https://napoveda.seznam.cz/en/full-text-search/indexing-control/"},
}

// rules says where each engine reads a rule. noindex, nofollow, index, follow, none and
// all are from the meeting of May 1996 that appendix B.4 of HTML 4.01 reports, so every
// engine is taken to read them; Seznam's page does not speak of headers, and is taken to
// read them as the others do. All else is as its page says, nothing where it is silent.
var rules = [...]struct {
	name                         string
	rule                         Rule
	value                        valueKind
	google, bing, yandex, seznam places
}{
	{"all", All, noValue, inBoth, inBoth, inMeta, inBoth},
	{"index", Index, noValue, inBoth, inBoth, inMeta, inBoth},
	{"follow", Follow, noValue, inBoth, inBoth, inMeta, inBoth},
	{"archive", Archive, noValue, 0, 0, inMeta, 0},
	{"none", None, noValue, inBoth, inBoth, inBoth, inBoth},
	{"noindex", NoIndex, noValue, inBoth, inBoth, inBoth, inBoth},
	{"nofollow", NoFollow, noValue, inBoth, inBoth, inBoth, inBoth},
	{"noarchive", NoArchive, noValue, 0, inBoth, inBoth, 0}, // Google shows no copies since 2024
	{"nocache", NoArchive, noValue, 0, inBoth, 0, 0},
	{"nosnippet", NoSnippet, noValue, inBoth, inBoth, 0, 0},
	{"notranslate", NoTranslate, noValue, inBoth, 0, 0, 0},
	{"noimageindex", NoImageIndex, noValue, inBoth, 0, 0, 0},
	{"noyaca", NoYaca, noValue, 0, 0, inMeta, 0},
	{"indexifembedded", IndexIfEmbedded, noValue, inBoth, 0, 0, 0},
	{"max-snippet", MaxSnippet, numberValue, inBoth, inBoth, 0, 0},
	{"max-image-preview", MaxImagePreview, sizeValue, inBoth, inBoth, 0, 0},
	{"max-video-preview", MaxVideoPreview, numberValue, inBoth, inBoth, 0, 0},
	{"unavailable_after", UnavailableAfter, dateValue, inBoth, 0, 0, 0},
	{"noodp", Retired, noValue, 0, 0, 0, 0},                // the Open Directory closed in 2017
	{"noydir", Retired, noValue, 0, 0, 0, 0},               // that of Yahoo in 2014
	{"nopreview", Retired, noValue, 0, 0, 0, 0},            // Bing's document preview
	{"nositelinkssearchbox", Retired, noValue, 0, 0, 0, 0}, // Google's, until 2024
}

var ruleByName = sync.OnceValue(func() map[string]int {
	m := map[string]int{}
	for i := range rules {
		m[rules[i].name] = i
	}
	return m
})

// EngineOf returns the engine whose dialect of robots.txt it is, AnyEngine for
// robots.RFC9309.
func EngineOf(d robots.Dialect) Engine {
	switch d.Name {
	case robots.Bing.Name:
		return Bing
	case robots.Yandex.Name:
		return Yandex
	case robots.Seznam.Name:
		return Seznam
	case robots.Google.Name, robots.GoogleCPP.Name, robots.Google2019.Name, robots.GoogleLegacy.Name:
		return Google
	}
	return AnyEngine
}

// String returns the engine's name in JSON, such as "google".
func (e Engine) String() string { return e.profile().name }

// Title returns the engine's name in sentences, such as "Google".
func (e Engine) Title() string { return e.profile().title }

// Source names the page that is followed, with its address, "" for AnyEngine.
func (e Engine) Source() string { return e.profile().source }

// MarshalText returns the engine's name.
func (e Engine) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

func (e Engine) profile() *profile {
	if e >= engineCount {
		e = AnyEngine
	}
	return &engines[e]
}

// reads reports whether the engine reads a directive where it stands.
func (e Engine) reads(d *Directive) bool {
	i, ok := ruleByName()[d.Name]
	if !ok {
		return false
	}
	r := &rules[i]
	by := r.google | r.bing | r.yandex | r.seznam
	switch e {
	case Google:
		by = r.google
	case Bing:
		by = r.bing
	case Yandex:
		by = r.yandex
	case Seznam:
		by = r.seznam
	}
	if d.Place.Header > 0 {
		return by&inHeader != 0
	}
	return by&inMeta != 0
}
