package lint

// A Check is one kind of mistake.
type Check struct {
	ID       string // "RT401", never used again for something else
	Name     string // "no-leading-slash"
	Severity Severity
	What     string // what it finds: one sentence
	Why      string // what goes wrong then, one or two sentences
	Before   string // an example that it finds
	After    string // the same written right, "" if there is no single right way
	Clause   string // the statement of docs/clauses.md behind it, "" if none
	Fix      FixKind

	// anyKind lets it look at files that are no text, too.
	anyKind bool
	// proved marks those that take many steps: they do not run while they are off.
	// The others do, so that no other check tells what they are silent about.
	proved bool
	find   func(*pass)
}

// FixKind says what fixes a check offers.
type FixKind uint8

const (
	NoFix        FixKind = iota // somebody has to think
	SafeIfProved                // what should change nothing: safe once that is proved
	ChangesFile                 // what makes the file say what was probably meant
)

// String returns none, safe or change.
func (k FixKind) String() string {
	return [...]string{"none", "safe", "change"}[min(k, ChangesFile)]
}

// Checks are all checks, by id. They must not be changed.
var Checks []Check

func init() { Checks = checks() } // checks ask for each other by id

func checks() []Check {
	return []Check{
		{
			ID: "RT101", Name: "not-robots-txt", Severity: Error, Clause: "D-27", anyKind: true,
			What:   "The file begins like HTML, XML or JSON.",
			Why:    "Servers that answer every address with a page answer so here too. Crawlers skip the lines they cannot read, and so the file blocks nothing.",
			Before: "<!DOCTYPE html>\n<html>",
			find:   notRobotsTxt,
		},
		{
			ID: "RT102", Name: "not-utf8", Severity: Warning, Clause: "FORM-03",
			What:   "A byte is not UTF-8.",
			Why:    "robots.txt is UTF-8. Engines compare other bytes in different ways.",
			Before: "Disallow: /caf\xe9\n",
			After:  "Disallow: /caf%C3%A9\n",
			find:   notUTF8,
		},
		{
			ID: "RT103", Name: "utf-16", Severity: Error, Clause: "D-51", anyKind: true,
			What: "The file is UTF-16.",
			Why:  "No engine reads it, so it blocks nothing.",
			find: utf16,
		},
		{
			ID: "RT104", Name: "byte-order-mark", Severity: Note, Fix: SafeIfProved, Clause: "FORM-04",
			What:   "The file begins with a byte order mark.",
			Why:    "Engines skip it. Some small parsers take it for part of the first field.",
			Before: "\xef\xbb\xbfUser-agent: *\nDisallow: /a\n",
			After:  "User-agent: *\nDisallow: /a\n",
			find:   leadingMark,
		},
		{
			ID: "RT105", Name: "mark-inside", Severity: Error, Fix: ChangesFile,
			What:   "A byte order mark stands at the start of a later line.",
			Why:    "The mark is no blank, so the field after it is unknown and its line is skipped. Two files were probably joined.",
			Before: "User-agent: *\n\xef\xbb\xbfDisallow: /a\n",
			After:  "User-agent: *\nDisallow: /a\n",
			find:   innerMark,
		},
		{
			ID: "RT106", Name: "control-byte", Severity: Warning, Clause: "C-18",
			What:   "A line has a control byte other than a tab.",
			Why:    "Engines differ: one ends the line there, another compares it.",
			Before: "User-agent: *\nDisallow: /a\x00b\n",
			find:   controlByte,
		},
		{
			ID: "RT107", Name: "too-large", Severity: Error, Clause: "FORM-09",
			What: "The file is larger than engines read.",
			Why:  "What comes after the limit is not read; Yandex then ignores the whole file.",
			find: tooLarge,
		},
		{
			ID: "RT108", Name: "long-line", Severity: Warning, Clause: "C-05",
			What: "A line is longer than an engine reads.",
			Why:  "The rest of the line is lost, and what is left still counts.",
			find: longLine,
		},
		{
			ID: "RT109", Name: "too-many-rules", Severity: Warning,
			What: "The file has more than 2,048 rules.",
			Why:  "Yandex's tester refuses such a file.",
			find: tooManyRules,
		},
		{
			ID: "RT201", Name: "missing-colon", Severity: Error, Fix: ChangesFile, Clause: "C-03",
			What:   "A field name is followed by a blank and no colon.",
			Why:    "Only Google reads such a line. Everybody else skips it.",
			Before: "User-agent: *\nDisallow /a\n",
			After:  "User-agent: *\nDisallow: /a\n",
			find:   missingColon,
		},
		{
			ID: "RT202", Name: "misspelt-field", Severity: Error, Clause: "C-02", Fix: ChangesFile,
			What:   "A field name is nearly that of a known field.",
			Why:    "An unknown field has no effect. Google knows a few misspellings, the others none.",
			Before: "User-agent: *\nDisalow: /a\n",
			After:  "User-agent: *\nDisallow: /a\n",
			find:   misspeltField,
		},
		{
			ID: "RT203", Name: "unknown-field", Severity: Note, Clause: "FORM-02",
			What:   "A field is not known.",
			Why:    "A line with an unknown field has no effect here; some other program may read it.",
			Before: "Crawl-budget: 5\n",
			find:   unknownField,
		},
		{
			ID: "RT204", Name: "retired-field", Severity: Note,
			What:   "A field was used once and is read by nobody now.",
			Why:    "The line has no effect.",
			Before: "User-agent: *\nNoindex: /a\n",
			find:   retiredField,
		},
		{
			ID: "RT205", Name: "stray-text", Severity: Warning, Clause: "FORM-02",
			What:   "A line is neither a field nor a comment.",
			Why:    "Crawlers skip it. It is often a comment without its #, or half of a line that was broken.",
			Before: "All rights reserved\n",
			After:  "# All rights reserved\n",
			find:   strayText,
		},
		{
			ID: "RT206", Name: "two-fields", Severity: Error, Fix: ChangesFile,
			What:   "Two fields stand in one line.",
			Why:    "The second one is taken for part of the first one's value, so neither does what it says.",
			Before: "User-agent: a Disallow: /x\n",
			After:  "User-agent: a\nDisallow: /x\n",
			find:   twoFields,
		},
		{
			ID: "RT207", Name: "hash-in-path", Severity: Warning, Clause: "FORM-06",
			What:   "A # follows a path without a blank.",
			Why:    "It begins a comment, so the rule is shorter than it looks.",
			Before: "User-agent: *\nDisallow: /a#b\n",
			After:  "User-agent: *\nDisallow: /a%23b\n",
			find:   hashInPath,
		},
		{
			ID: "RT208", Name: "invisible-character", Severity: Error, Fix: ChangesFile,
			What:   "A line has a character that looks like nothing, or like a blank, a colon or a hyphen.",
			Why:    "It comes from a word processor or a web page, and no engine takes it for what it looks like.",
			Before: "User-agent: *\nDisallow:\u00a0/a\n",
			After:  "User-agent: *\nDisallow: /a\n",
			find:   invisibleCharacter,
		},
		{
			ID: "RT301", Name: "rule-before-group", Severity: Error, Clause: "GROUP-03",
			What:   "A rule stands before the first user-agent line.",
			Why:    "It belongs to no group and holds for nobody.",
			Before: "Disallow: /a\nUser-agent: *\nAllow: /\n",
			After:  "User-agent: *\nDisallow: /a\nAllow: /\n",
			find:   ruleBeforeGroup,
		},
		{
			ID: "RT302", Name: "token-cut", Severity: Note, Clause: "C-10",
			What:   "An engine reads only part of a crawler's name.",
			Why:    "Google reads letters, - and _ at the start of a name, and so AI2Bot means a crawler called AI.",
			Before: "User-agent: AI2Bot\nDisallow: /\n",
			find:   tokenCut,
		},
		{
			ID: "RT303", Name: "token-header", Severity: Error, Clause: "AGENT-07",
			What:   "A user-agent line holds a whole User-Agent header.",
			Why:    "A header is not a name. Most engines find no crawler in it.",
			Before: "User-agent: Mozilla/5.0 (compatible; SeznamBot/4.0)\nDisallow: /\n",
			After:  "User-agent: SeznamBot\nDisallow: /\n",
			find:   tokenHeader,
		},
		{
			ID: "RT304", Name: "token-list", Severity: Error, Clause: "GROUP-01", Fix: ChangesFile,
			What:   "A user-agent line holds several names.",
			Why:    "A line names one crawler. The names after the first comma are lost, or all are.",
			Before: "User-agent: a, b\nDisallow: /\n",
			After:  "User-agent: a\nUser-agent: b\nDisallow: /\n",
			find:   tokenList,
		},
		{
			ID: "RT305", Name: "token-wildcard", Severity: Error, Fix: ChangesFile, Clause: "AGENT-06",
			What:   "A name has a star in it.",
			Why:    "A star alone means everybody. Inside a name it is a letter like any other.",
			Before: "User-agent: Google*\nDisallow: /\n",
			After:  "User-agent: Google\nDisallow: /\n",
			find:   tokenWildcard,
		},
		{
			ID: "RT306", Name: "empty-user-agent", Severity: Error, Clause: "D-48",
			What:   "A user-agent line has no value.",
			Why:    "It names nobody. Some crawlers take it for everybody.",
			Before: "User-agent:\nDisallow: /\n",
			After:  "User-agent: *\nDisallow: /\n",
			find:   emptyUserAgent,
		},
		{
			ID: "RT307", Name: "fused-groups", Severity: Error, Clause: "D-07", Fix: ChangesFile,
			What:   "No rule stands between two groups.",
			Why:    "Only Allow and Disallow end a list of user-agent lines. So the rules below hold for both crawlers.",
			Before: "User-agent: a\nCrawl-delay: 5\n\nUser-agent: b\nDisallow: /\n",
			After:  "User-agent: a\nCrawl-delay: 5\n\nDisallow:\nUser-agent: b\nDisallow: /\n",
			find:   fusedGroups,
		},
		{
			ID: "RT308", Name: "group-without-rules", Severity: Note,
			What:   "The last group has no rules.",
			Why:    "It allows everything to its crawler, also what the group of * disallows.",
			Before: "User-agent: *\nDisallow: /a\n\nUser-agent: b\n",
			After:  "User-agent: *\nDisallow: /a\n\nUser-agent: b\nDisallow:\n",
			find:   groupWithoutRules,
		},
		{
			ID: "RT309", Name: "split-group", Severity: Note, Clause: "GROUP-08",
			What:   "A crawler is named in several groups.",
			Why:    "Engines read them as one group. Somebody who reads the file sees only one of them.",
			Before: "User-agent: a\nDisallow: /x\n\nUser-agent: b\nDisallow: /y\n\nUser-agent: a\nDisallow: /z\n",
			find:   splitGroup,
		},
		{
			ID: "RT310", Name: "repeated-user-agent", Severity: Note, Fix: SafeIfProved,
			What:   "A group names a crawler twice.",
			Why:    "The second line has no effect.",
			Before: "User-agent: a\nUser-agent: a\nDisallow: /\n",
			After:  "User-agent: a\nDisallow: /\n",
			find:   repeatedUserAgent,
		},
		{
			ID: "RT311", Name: "blank-after-agent", Severity: Note, Clause: "GROUP-05",
			What:   "A blank line stands between a user-agent line and what belongs to it.",
			Why:    "Yandex ends a group at a blank line.",
			Before: "User-agent: a\n\nDisallow: /\n",
			After:  "User-agent: a\nDisallow: /\n",
			find:   blankAfterAgent,
		},
		{
			ID: "RT401", Name: "no-leading-slash", Severity: Error, Clause: "D-09", Fix: ChangesFile,
			What:   "A path begins with neither / nor *.",
			Why:    "Every path of a URL begins with /, so the rule matches nothing.",
			Before: "User-agent: *\nDisallow: private/\n",
			After:  "User-agent: *\nDisallow: /private/\n",
			find:   noLeadingSlash,
		},
		{
			ID: "RT402", Name: "full-url", Severity: Error, Clause: "D-09", Fix: ChangesFile,
			What:   "A rule holds a whole URL.",
			Why:    "Rules hold paths; a URL matches nothing.",
			Before: "User-agent: *\nDisallow: https://example.com/a\n",
			After:  "User-agent: *\nDisallow: /a\n",
			find:   fullURL,
		},
		{
			ID: "RT403", Name: "dollar-inside", Severity: Warning, Clause: "MATCH-03",
			What:   "A $ stands inside a path.",
			Why:    "It means the end of the URL only as the last character. Elsewhere it is a dollar.",
			Before: "User-agent: *\nDisallow: /a$b\n",
			find:   dollarInside,
		},
		{
			ID: "RT404", Name: "trailing-star", Severity: Off, Clause: "MATCH-04",
			What:   "A path ends with a star.",
			Why:    "A rule matches all that begins with it, so the star adds no URL. It makes the rule one heavier.",
			Before: "User-agent: *\nDisallow: /a*\n",
			find:   trailingStar,
		},
		{
			ID: "RT405", Name: "star-dollar", Severity: Note, Clause: "MATCH-03",
			What:   "A path ends with *$.",
			Why:    "The star matches up to the end, so $ bounds nothing.",
			Before: "User-agent: *\nDisallow: /a*$\n",
			find:   starDollar,
		},
		{
			ID: "RT406", Name: "double-star", Severity: Note, Fix: SafeIfProved, Clause: "MATCH-03",
			What:   "Two stars stand together.",
			Why:    "One star means the same.",
			Before: "User-agent: *\nDisallow: /a**b\n",
			After:  "User-agent: *\nDisallow: /a*b\n",
			find:   doubleStar,
		},
		{
			ID: "RT407", Name: "broken-escape", Severity: Warning, Clause: "PCT-01",
			What:   "A % is not followed by two hexadecimal digits.",
			Why:    "Clients send a percent sign as %25. Engines differ about the rest.",
			Before: "User-agent: *\nDisallow: /100%\n",
			After:  "User-agent: *\nDisallow: /100%25\n",
			find:   brokenEscape,
		},
		{
			ID: "RT408", Name: "needless-escape", Severity: Warning, Clause: "PCT-02", Fix: ChangesFile,
			What:   "A letter, digit, -, ., _ or ~ is written as an escape.",
			Why:    "Google decodes it in the URL and not in the rule, so the rule matches nothing. The C++ library decodes neither: the rule misses URLs without the escape, and clients send what a link holds.",
			Before: "User-agent: *\nDisallow: /%7Euser\n",
			After:  "User-agent: *\nDisallow: /~user\n",
			find:   needlessEscape,
		},
		{
			ID: "RT409", Name: "blank-in-path", Severity: Warning, Clause: "PCT-05", Fix: ChangesFile,
			What:   "A path has a blank in it.",
			Why:    "Clients send a blank as %20, and Google compares without encoding.",
			Before: "User-agent: *\nDisallow: /a b\n",
			After:  "User-agent: *\nDisallow: /a%20b\n",
			find:   blankInPath,
		},
		{
			ID: "RT410", Name: "unsafe-byte", Severity: Warning, Clause: "PCT-05",
			What: "A path has a character that no URI may hold: one of \"<>\\^{}, a backtick or a vertical bar.",
			Why: "The C++ library matches it only as it is written, and which URLs hold it so depends on client and place. " +
				"Clients that follow the URL Standard of WHATWG, as browsers do, send \" < > always as escapes. " +
				"They send a backtick, { } and, since 2025, ^ as escapes in a path and raw in a query; | raw in both; \\ as / in a path and raw in a query. " +
				"Other clients escape all of them, or none. A rule for all of them is written in both forms; in all other dialects the two are equal.",
			Before: "User-agent: *\nDisallow: /a|b\n",
			After:  "User-agent: *\nDisallow: /a|b\nDisallow: /a%7Cb\n",
			find:   unsafeByte,
		},
		{
			ID: "RT411", Name: "looks-like-regex", Severity: Warning, Clause: "MATCH-03",
			What:   "A path is written as a regular expression.",
			Why:    "Only * and a $ at the end are special. A dot is a dot.",
			Before: "User-agent: *\nDisallow: /.*\\.php\n",
			find:   looksLikeRegex,
		},
		{
			ID: "RT412", Name: "dot-segment", Severity: Warning,
			What:   "A path has /./ or /../ in it.",
			Why:    "Clients resolve these before they ask, so no URL they send has them.",
			Before: "User-agent: *\nDisallow: /a/../b\n",
			find:   dotSegment,
		},
		{
			ID: "RT501", Name: "site-blocked", Severity: Warning,
			What:   "Everybody is shut out of the whole site.",
			Why:    "A line meant for a test site often comes to the live one. For a crawler that is named, this is a note.",
			Before: "User-agent: *\nDisallow: /\n",
			find:   siteBlocked,
		},
		{
			ID: "RT502", Name: "never-matches", Severity: Warning, Fix: SafeIfProved,
			What:   "A rule matches no URL.",
			Why:    "Google resolves dot segments, so there the rule has no effect.",
			Before: "User-agent: *\nDisallow: /a/..$\n",
			find:   neverMatches,
			proved: true,
		},
		{
			ID: "RT503", Name: "never-decides", Severity: Warning, Fix: SafeIfProved, Clause: "PREC-01",
			What:   "Heavier rules match every URL that this one matches, and say the opposite of some.",
			Why:    "It never decides, so it says something that is not so.",
			Before: "User-agent: *\nDisallow: /css/\nAllow: /*css/\n",
			After:  "User-agent: *\nAllow: /*css/\n",
			find:   neverDecides,
			proved: true,
		},
		{
			ID: "RT504", Name: "no-effect", Severity: Note, Fix: SafeIfProved,
			What:   "Without the rule no verdict changes.",
			Why:    "Other rules say the same already, or everything that it allows is allowed anyway. Of rules that stand in for each other one is left.",
			Before: "User-agent: *\nDisallow: /a\nDisallow: /a/b\n",
			After:  "User-agent: *\nDisallow: /a\n",
			find:   noEffect,
			proved: true,
		},
		{
			ID: "RT505", Name: "duplicate-rule", Severity: Note, Fix: SafeIfProved,
			What:   "A group holds the same rule twice.",
			Why:    "The second one has no effect.",
			Before: "User-agent: *\nDisallow: /a\nDisallow: /a\n",
			After:  "User-agent: *\nDisallow: /a\n",
			find:   duplicateRule,
		},
		{
			ID: "RT506", Name: "allow-and-disallow", Severity: Warning, Clause: "PREC-02",
			What:   "A group allows and disallows the same path.",
			Why:    "The allow wins, so the disallow has no effect.",
			Before: "User-agent: *\nDisallow: /a\nAllow: /a\n",
			find:   allowAndDisallow,
		},
		{
			ID: "RT507", Name: "css-js-blocked", Severity: Warning,
			What:   "A rule with a wildcard takes styles or scripts from Googlebot.",
			Why:    "Google renders pages. Without styles and scripts it sees other pages than people do.",
			Before: "User-agent: *\nDisallow: /*.js\n",
			find:   cssBlocked,
		},
		{
			ID: "RT508", Name: "sitemap-blocked", Severity: Warning,
			What:   "A sitemap that the file names is disallowed.",
			Why:    "A crawler that obeys cannot read it.",
			Before: "User-agent: *\nDisallow: /maps/\nSitemap: https://example.com/maps/a.xml\n",
			find:   sitemapBlocked,
		},
		{
			ID: "RT509", Name: "secret-in-path", Severity: Note,
			What:   "A path names what should not be public at all.",
			Why:    "robots.txt is public: it tells everybody where to look. Protect the path instead.",
			Before: "User-agent: *\nDisallow: /backup.sql\n",
			find:   secretInPath,
		},
		{
			ID: "RT601", Name: "sitemap-url", Severity: Error, Fix: ChangesFile, Clause: "MAP-01",
			What:   "A sitemap is not named by its whole URL.",
			Why:    "Engines want scheme and host; many skip anything else.",
			Before: "Sitemap: /sitemap.xml\n",
			After:  "Sitemap: https://example.com/sitemap.xml\n",
			find:   sitemapURL,
		},
		{
			ID: "RT602", Name: "repeated-sitemap", Severity: Note, Fix: SafeIfProved, Clause: "MAP-03",
			What:   "The same sitemap is named twice.",
			Why:    "The second line has no effect.",
			Before: "Sitemap: https://example.com/a.xml\nSitemap: https://example.com/a.xml\n",
			After:  "Sitemap: https://example.com/a.xml\n",
			find:   repeatedSitemap,
		},
		{
			ID: "RT603", Name: "bad-value", Severity: Warning, Clause: "D-44",
			What:   "The value of a record cannot be used.",
			Why:    "The line has no effect.",
			Before: "User-agent: *\nCrawl-delay: ten\n",
			After:  "User-agent: *\nCrawl-delay: 10\n",
			find:   badValue,
		},
		{
			ID: "RT604", Name: "pace-outside-group", Severity: Warning, Clause: "D-08",
			What:   "A delay, a rate or a visit time stands before any user-agent line.",
			Why:    "It belongs to no group and holds for nobody.",
			Before: "Crawl-delay: 5\nUser-agent: *\nDisallow:\n",
			After:  "User-agent: *\nCrawl-delay: 5\nDisallow:\n",
			find:   paceOutsideGroup,
		},
		{
			ID: "RT605", Name: "long-delay", Severity: Note,
			What:   "A Crawl-delay is over 60 seconds.",
			Why:    "A crawler that obeys reads fewer than 1,440 pages a day, so it may never come to the end of the site.",
			Before: "User-agent: *\nCrawl-delay: 600\n",
			find:   longDelay,
		},
		{
			ID: "RT606", Name: "pace-ignored", Severity: Note,
			What:   "A group of Googlebot has a Crawl-delay.",
			Why:    "Googlebot does not read Crawl-delay.",
			Before: "User-agent: Googlebot\nCrawl-delay: 5\nDisallow:\n",
			find:   paceIgnored,
		},
		{
			ID: "RT901", Name: "unused-ignore", Severity: Warning, Fix: SafeIfProved,
			What:   "A lint:ignore comment silences nothing.",
			Why:    "What it was for is gone, so it only hides what may come.",
			Before: "# lint:ignore RT401 old\nUser-agent: *\nDisallow: /a\n",
			After:  "User-agent: *\nDisallow: /a\n",
		},
		{
			ID: "RT902", Name: "bad-ignore", Severity: Warning,
			What:   "A lint:ignore comment names no known check, or gives no reason.",
			Why:    "It silences nothing.",
			Before: "# lint:ignore RT504\nUser-agent: *\nDisallow: /a\n",
		},
	}
}
