package lint

import "github.com/robotskit/robots"

// A Check finds one kind of mistake.
type Check struct {
	ID       string // "RT401"; never reused
	Name     string // "no-leading-slash"
	Severity Severity
	What     string // what it finds, in one sentence
	Why      string // the consequences, in one or two sentences
	Before   string // an example
	After    string // the example fixed, "" if there is no single fix
	Instead  string // what to write instead, if there is no After
	Clause   string // id of the clause in docs/clauses.md, or ""
	Fix      FixKind

	// anyKind is set if it also runs on files that are not a robots.txt.
	anyKind bool
	// proved is set if it needs a proof and does not run while it is off. Other checks
	// always run, so that a check can omit what another one reports.
	proved bool
	// One of these finds the mistakes: in the file, a line, or a rule with its path.
	find func(*pass)
	line func(*pass, robots.Line)
	path func(p *pass, l robots.Line, path string)
}

// FixKind is the kind of a check's fixes.
type FixKind uint8

const (
	NoFix        FixKind = iota // none
	SafeIfProved                // expected to change no verdict: safe if that is proved
	ChangesFile                 // changes the file to what was probably intended
)

// String returns none, safe or change.
func (k FixKind) String() string {
	return [...]string{"none", "safe", "change"}[min(k, ChangesFile)]
}

// Checks lists all checks, by id. It must not be changed.
var Checks []Check

func init() { Checks = checks() } // some checks refer to others by id

func checks() []Check {
	return []Check{
		{
			ID: "RT101", Name: "not-robots-txt", Severity: Error, Clause: "D-27", anyKind: true,
			What:    "The file looks like HTML, XML or JSON, or is compressed with gzip.",
			Why:     "Some servers return a page for every URL, /robots.txt included. Crawlers ignore lines that they cannot read, so the file blocks nothing.",
			Before:  "<!DOCTYPE html>\n<html>",
			Instead: "Serve the rules as plain text, or respond with 404 if there are none.",
			find:    notRobotsTxt,
		},
		{
			ID: "RT102", Name: "not-utf8", Severity: Warning, Clause: "FORM-03",
			What:   "The file contains invalid UTF-8.",
			Why:    "robots.txt is UTF-8. Engines differ in how they compare other bytes.",
			Before: "Disallow: /caf\xe9\n",
			After:  "Disallow: /caf%C3%A9\n",
			find:   notUTF8,
		},
		{
			ID: "RT103", Name: "utf-16", Severity: Error, Clause: "D-51", anyKind: true,
			What:    "The file is UTF-16.",
			Why:     "No engine reads UTF-16, so the file blocks nothing.",
			Instead: "Save the file as UTF-8.",
			find:    utf16,
		},
		{
			ID: "RT104", Name: "byte-order-mark", Severity: Note, Fix: SafeIfProved, Clause: "FORM-04",
			What:   "The file starts with a byte order mark.",
			Why:    "Engines ignore the mark. Some small parsers read it as part of the first field.",
			Before: "\xef\xbb\xbfUser-agent: *\nDisallow: /a\n",
			After:  "User-agent: *\nDisallow: /a\n",
			find:   leadingMark,
		},
		{
			ID: "RT105", Name: "mark-inside", Severity: Error, Fix: ChangesFile,
			What:   "There is a byte order mark inside the file, or a damaged one at its start.",
			Why:    "The mark makes the field unknown, so the line is ignored. Two files were probably joined.",
			Before: "User-agent: *\n\xef\xbb\xbfDisallow: /a\n",
			After:  "User-agent: *\nDisallow: /a\n",
			line:   innerMark,
		},
		{
			ID: "RT106", Name: "control-byte", Severity: Warning, Clause: "C-18",
			What:    "A line contains a control byte other than a tab.",
			Why:     "Some engines end the line at the byte, others compare it.",
			Before:  "User-agent: *\nDisallow: /a\x00b\n",
			Instead: "Delete the byte, or write it as an escape such as %00.",
			line:    controlByte,
		},
		{
			ID: "RT107", Name: "too-large", Severity: Error, Clause: "FORM-09",
			What:    "The file exceeds a size limit.",
			Why:     "Engines do not read past their limit; Yandex ignores the whole file.",
			Instead: "Merge rules with a common prefix until the file is below 500 kB.",
			find:    tooLarge,
		},
		{
			ID: "RT108", Name: "long-line", Severity: Warning, Clause: "C-05",
			What:    "A line exceeds an engine's line limit.",
			Why:     "The rest of the line is ignored; the part before the limit counts.",
			Instead: "Write shorter lines, each with its own field.",
			line:    longLine,
		},
		{
			ID: "RT109", Name: "too-many-rules", Severity: Warning,
			What:    "The file has more than 2,048 rules.",
			Why:     "Yandex's tester rejects the file.",
			Instead: "Merge rules with a common prefix.",
			find:    tooManyRules,
		},
		{
			ID: "RT110", Name: "unrendered-template", Severity: Error, anyKind: true,
			What:   "The file is a template that was not rendered.",
			Why:    "Crawlers read the template's code as fields and values, not the rendered rules.",
			Before: "User-agent: *\nDisallow: /a\nSitemap: {{ site.url }}/sitemap.xml\n",
			After:  "User-agent: *\nDisallow: /a\nSitemap: https://example.com/sitemap.xml\n",
			find:   unrenderedTemplate,
		},
		{
			ID: "RT201", Name: "missing-colon", Severity: Error, Fix: ChangesFile, Clause: "C-03",
			What:   "A field name is followed by a space, = or ; instead of a colon.",
			Why:    "Engines ignore a line without a colon; only Google reads one with a space.",
			Before: "User-agent: *\nDisallow /a\n",
			After:  "User-agent: *\nDisallow: /a\n",
			line:   missingColon,
		},
		{
			ID: "RT202", Name: "misspelt-field", Severity: Error, Clause: "C-02", Fix: ChangesFile,
			What:   "A field name is misspelled.",
			Why:    "An unknown field has no effect. Google accepts a few misspellings, other engines none.",
			Before: "User-agent: *\nDisalow: /a\n",
			After:  "User-agent: *\nDisallow: /a\n",
			line:   misspelledField,
		},
		{
			ID: "RT203", Name: "unknown-field", Severity: Note, Clause: "FORM-02",
			What:    "A field is unknown.",
			Why:     "Crawlers ignore the line; another program might read it.",
			Before:  "Crawl-budget: 5\n",
			Instead: "Delete the line, or write a field that crawlers read.",
			line:    unknownField,
		},
		{
			ID: "RT204", Name: "retired-field", Severity: Note,
			What:    "A field is no longer read by any engine.",
			Why:     "The line has no effect.",
			Before:  "User-agent: *\nNoindex: /a\n",
			Instead: "For noindex and the like, send a robots meta tag or an X-Robots-Tag header with the page; for Host, redirect to the main host.",
			line:    retiredField,
		},
		{
			ID: "RT205", Name: "stray-text", Severity: Warning, Clause: "FORM-02",
			What:   "A line is neither a field nor a comment.",
			Why:    "Crawlers ignore the line. It is often a comment without its #, or part of a wrapped line.",
			Before: "All rights reserved\n",
			After:  "# All rights reserved\n",
			line:   strayText,
		},
		{
			ID: "RT206", Name: "two-fields", Severity: Error, Fix: ChangesFile,
			What:   "A line contains two fields.",
			Why:    "The second field is read as part of the first one's value, so neither works.",
			Before: "User-agent: a Disallow: /x\n",
			After:  "User-agent: a\nDisallow: /x\n",
			line:   twoFields,
		},
		{
			ID: "RT207", Name: "hash-in-path", Severity: Warning, Clause: "FORM-06",
			What:   "A # follows a path without a space.",
			Why:    "The # starts a comment, so the path is shorter than it looks.",
			Before: "User-agent: *\nDisallow: /a#b\n",
			After:  "User-agent: *\nDisallow: /a%23b\n",
			line:   hashInPath,
		},
		{
			ID: "RT208", Name: "invisible-character", Severity: Error, Fix: ChangesFile,
			What:   "A line contains an invisible character, or one that looks like a space, a colon or a hyphen.",
			Why:    "Engines do not read the character as the one it looks like. It usually comes from a word processor or a web page.",
			Before: "User-agent: *\nDisallow:\u00a0/a\n",
			After:  "User-agent: *\nDisallow: /a\n",
			line:   invisibleCharacter,
		},
		{
			ID: "RT209", Name: "quoted-value", Severity: Error, Fix: ChangesFile,
			What:   "A value is in quotes.",
			Why:    "Quotes are part of the value: a rule in quotes matches nothing, a name in quotes names no crawler.",
			Before: "User-agent: *\nDisallow: \"/a\"\n",
			After:  "User-agent: *\nDisallow: /a\n",
			line:   quotedValue,
		},
		{
			ID: "RT210", Name: "several-values", Severity: Error, Fix: ChangesFile,
			What:   "A line lists several paths or URLs.",
			Why:    "A rule has one path, a Sitemap line one URL. Engines read a list as a single value, which matches nothing.",
			Before: "User-agent: *\nDisallow: /a, /b\n",
			After:  "User-agent: *\nDisallow: /a\nDisallow: /b\n",
			line:   severalValues,
		},
		{
			ID: "RT211", Name: "wrong-comment", Severity: Warning, Fix: ChangesFile, Clause: "FORM-06",
			What:   "A comment starts with // or a semicolon.",
			Why:    "Only # starts a comment. After a value, engines read the comment as part of it.",
			Before: "User-agent: *\nDisallow: /a // old pages\n",
			After:  "User-agent: *\nDisallow: /a # old pages\n",
			line:   wrongComment,
		},
		{
			ID: "RT301", Name: "rule-before-group", Severity: Error, Clause: "GROUP-03",
			What:   "A rule precedes the first User-agent line.",
			Why:    "The rule belongs to no group and applies to no crawler.",
			Before: "Disallow: /a\nUser-agent: *\nAllow: /\n",
			After:  "User-agent: *\nDisallow: /a\nAllow: /\n",
			find:   ruleBeforeGroup,
		},
		{
			ID: "RT302", Name: "token-cut", Severity: Note, Clause: "C-10",
			What:    "An engine reads only part of a crawler's name.",
			Why:     "Google reads the letters, - and _ at the start of a name, so AI2Bot names a crawler called AI.",
			Before:  "User-agent: AI2Bot\nDisallow: /\n",
			Instead: "Nothing, if the crawler documents this name. The finding lists the dialects that read another name.",
			find:    tokenCut,
		},
		{
			ID: "RT303", Name: "token-header", Severity: Error, Clause: "AGENT-07",
			What:   "The value of a User-agent line is a full User-Agent header.",
			Why:    "Most engines expect a product token and find no crawler in a header.",
			Before: "User-agent: Mozilla/5.0 (compatible; SeznamBot/4.0)\nDisallow: /\n",
			After:  "User-agent: SeznamBot\nDisallow: /\n",
			find:   tokenHeader,
		},
		{
			ID: "RT304", Name: "token-list", Severity: Error, Clause: "GROUP-01", Fix: ChangesFile,
			What:   "A User-agent line lists several names.",
			Why:    "A line names one crawler. Engines ignore the names after the first comma, or the whole line.",
			Before: "User-agent: a, b\nDisallow: /\n",
			After:  "User-agent: a\nUser-agent: b\nDisallow: /\n",
			find:   tokenList,
		},
		{
			ID: "RT305", Name: "token-wildcard", Severity: Error, Fix: ChangesFile, Clause: "AGENT-06",
			What:   "A name contains a *.",
			Why:    "A * alone means all crawlers; inside a name it is a literal character.",
			Before: "User-agent: Google*\nDisallow: /\n",
			After:  "User-agent: Google\nDisallow: /\n",
			find:   tokenWildcard,
		},
		{
			ID: "RT306", Name: "empty-user-agent", Severity: Error, Clause: "D-48",
			What:   "A User-agent line has no value.",
			Why:    "The line names no crawler. Some crawlers read it as *.",
			Before: "User-agent:\nDisallow: /\n",
			After:  "User-agent: *\nDisallow: /\n",
			find:   emptyUserAgent,
		},
		{
			ID: "RT307", Name: "fused-groups", Severity: Error, Clause: "D-07", Fix: ChangesFile,
			What:   "There is no rule between two groups.",
			Why:    "Only Allow and Disallow end a list of User-agent lines, so the rules below apply to both crawlers.",
			Before: "User-agent: a\nCrawl-delay: 5\n\nUser-agent: b\nDisallow: /\n",
			After:  "User-agent: a\nCrawl-delay: 5\n\nDisallow:\nUser-agent: b\nDisallow: /\n",
			find:   fusedGroups,
		},
		{
			ID: "RT308", Name: "group-without-rules", Severity: Note,
			What:   "The last group has no rules.",
			Why:    "A group without rules allows everything, including what the group of * disallows.",
			Before: "User-agent: *\nDisallow: /a\n\nUser-agent: b\n",
			After:  "User-agent: *\nDisallow: /a\n\nUser-agent: b\nDisallow:\n",
			find:   groupWithoutRules,
		},
		{
			ID: "RT309", Name: "split-group", Severity: Note, Clause: "GROUP-08",
			What:    "Several groups name the same crawler.",
			Why:     "Engines combine the groups, which a reader of one can miss.",
			Before:  "User-agent: a\nDisallow: /x\n\nUser-agent: b\nDisallow: /y\n\nUser-agent: a\nDisallow: /z\n",
			Instead: "Put all rules for a crawler into one group.",
			find:    splitGroup,
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
			What:   "There is a blank line between a User-agent line and its rules.",
			Why:    "Yandex ends a group at a blank line.",
			Before: "User-agent: a\n\nDisallow: /\n",
			After:  "User-agent: a\nDisallow: /\n",
			find:   blankAfterAgent,
		},
		{
			ID: "RT312", Name: "dropped-rules", Severity: Warning, Fix: ChangesFile, Clause: "GROUP-07", proved: true,
			What:   "The group of a crawler disallows nothing, but the group of * does.",
			Why:    "A crawler with its own group ignores the group of *, so none of those rules apply to it. To allow everything, write an empty Disallow.",
			Before: "User-agent: *\nDisallow: /a\n\nUser-agent: b\nCrawl-delay: 5\n",
			After:  "User-agent: *\nDisallow: /a\n\nUser-agent: b\nCrawl-delay: 5\nDisallow: /a\n",
			find:   droppedRules,
		},
		{
			ID: "RT401", Name: "no-leading-slash", Severity: Error, Clause: "D-09", Fix: ChangesFile,
			What:   "A path starts with neither / nor *.",
			Why:    "Every URL path starts with /, so the rule matches nothing.",
			Before: "User-agent: *\nDisallow: private/\n",
			After:  "User-agent: *\nDisallow: /private/\n",
			path:   noLeadingSlash,
		},
		{
			ID: "RT402", Name: "full-url", Severity: Error, Clause: "D-09", Fix: ChangesFile,
			What:   "The value of a rule is a full URL, or begins with a host name.",
			Why:    "Rules match paths, so a full URL matches nothing.",
			Before: "User-agent: *\nDisallow: https://example.com/a\n",
			After:  "User-agent: *\nDisallow: /a\n",
			path:   fullURL,
		},
		{
			ID: "RT403", Name: "dollar-inside", Severity: Warning, Clause: "MATCH-03",
			What:    "A path contains a $ before its end.",
			Why:     "Only a final $ matches the end of the URL. Any other is a literal $.",
			Before:  "User-agent: *\nDisallow: /a$b\n",
			Instead: "Keep the $ for a literal $. For the end of the URL, make it the last character: Disallow: /a$",
			path:    dollarInside,
		},
		{
			ID: "RT404", Name: "trailing-star", Severity: Off, Clause: "MATCH-04",
			What:    "A path ends with *.",
			Why:     "A rule matches every URL that starts with its path, so a final * adds nothing. Except in yandex, it makes the rule one byte longer.",
			Before:  "User-agent: *\nDisallow: /a*\n",
			Instead: "Leave out the last *: Disallow: /a",
			path:    trailingStar,
		},
		{
			ID: "RT405", Name: "star-dollar", Severity: Note, Clause: "MATCH-03",
			What:    "A path ends with *$.",
			Why:     "The * matches to the end of the URL, so the $ has no effect.",
			Before:  "User-agent: *\nDisallow: /a*$\n",
			Instead: "Leave out *$: Disallow: /a",
			path:    starDollar,
		},
		{
			ID: "RT406", Name: "double-star", Severity: Note, Fix: SafeIfProved, Clause: "MATCH-03",
			What:   "A path contains **.",
			Why:    "A single * means the same.",
			Before: "User-agent: *\nDisallow: /a**b\n",
			After:  "User-agent: *\nDisallow: /a*b\n",
			path:   doubleStar,
		},
		{
			ID: "RT407", Name: "broken-escape", Severity: Warning, Clause: "PCT-01",
			What:   "A % is not followed by two hexadecimal digits.",
			Why:    "Clients send a percent sign as %25. Engines differ in other cases.",
			Before: "User-agent: *\nDisallow: /100%\n",
			After:  "User-agent: *\nDisallow: /100%25\n",
			path:   brokenEscape,
		},
		{
			ID: "RT408", Name: "needless-escape", Severity: Warning, Clause: "PCT-02", Fix: ChangesFile,
			What:   "A letter, digit, -, ., _ or ~ is escaped.",
			Why:    "Google decodes the escape in URLs but not in rules, so the rule matches nothing. The C++ library decodes neither, so the rule matches only URLs with the escape; clients send URLs as links contain them.",
			Before: "User-agent: *\nDisallow: /%7Euser\n",
			After:  "User-agent: *\nDisallow: /~user\n",
			path:   needlessEscape,
		},
		{
			ID: "RT409", Name: "blank-in-path", Severity: Warning, Clause: "PCT-05", Fix: ChangesFile,
			What:   "A path contains a space.",
			Why:    "Clients send a space as %20, and Google does not encode the rule.",
			Before: "User-agent: *\nDisallow: /a b\n",
			After:  "User-agent: *\nDisallow: /a%20b\n",
			find:   blankInPath,
		},
		{
			ID: "RT410", Name: "unsafe-byte", Severity: Warning, Clause: "PCT-05",
			What: "A path contains a character that is invalid in URIs: one of \"<>\\^{}, a backtick or a vertical bar.",
			Why: "The C++ library matches the character literally, and clients differ in escaping it. " +
				"Browsers (URL Standard of WHATWG) always escape \" < >, and in paths only, a backtick, { } and, since 2025, ^. " +
				"They never escape |, and send \\ as / in paths and raw in queries. Other clients escape all or none. " +
				"To match all clients, write both forms; other dialects treat them as equal.",
			Before: "User-agent: *\nDisallow: /a|b\n",
			After:  "User-agent: *\nDisallow: /a|b\nDisallow: /a%7Cb\n",
			find:   unsafeByte,
		},
		{
			ID: "RT411", Name: "looks-like-regex", Severity: Warning, Clause: "MATCH-03",
			What:    "A path looks like a regular expression.",
			Why:     "Only * and a final $ are special.",
			Before:  "User-agent: *\nDisallow: /.*\\.php\n",
			Instead: "Write * for any characters and $ for the end: Disallow: /*.php$",
			path:    looksLikeRegex,
		},
		{
			ID: "RT412", Name: "dot-segment", Severity: Warning,
			What:    "A path contains /./ or /../.",
			Why:     "Clients resolve dot segments, so no URL that they send contains one.",
			Before:  "User-agent: *\nDisallow: /a/../b\n",
			Instead: "Write the path as clients send it: Disallow: /b",
			path:    dotSegment,
		},
		{
			ID: "RT501", Name: "site-blocked", Severity: Warning,
			What:    "A crawler is blocked from the whole site.",
			Why:     "Often a test site's file was deployed to the live site. A note for named crawlers.",
			Before:  "User-agent: *\nDisallow: /\n",
			Instead: "To open the site write an empty Disallow:, or delete the rule.",
			find:    siteBlocked,
		},
		{
			ID: "RT502", Name: "never-matches", Severity: Warning, Fix: SafeIfProved,
			What:    "A rule matches no URL.",
			Why:     "The rule has no effect. Google, for example, resolves dot segments.",
			Before:  "User-agent: *\nDisallow: /a/..$\n",
			Instead: "Delete the rule, or write the path as clients send it.",
			find:    neverMatches,
			proved:  true,
		},
		{
			ID: "RT503", Name: "never-decides", Severity: Warning, Fix: SafeIfProved, Clause: "PREC-01",
			What:   "A rule never decides: longer rules match all its URLs, and decide the opposite for some.",
			Why:    "Longer rules decide every URL that the rule matches, so it is misleading.",
			Before: "User-agent: *\nDisallow: /css/\nAllow: /*css/\n",
			After:  "User-agent: *\nAllow: /*css/\n",
			find:   neverDecides,
			proved: true,
		},
		{
			ID: "RT504", Name: "no-effect", Severity: Note, Fix: SafeIfProved,
			What:   "A rule has no effect: without it no verdict changes.",
			Why:    "Other rules have the same effect, or what it allows is allowed anyway. Of interchangeable rules, one is kept.",
			Before: "User-agent: *\nDisallow: /a\nDisallow: /a/b\n",
			After:  "User-agent: *\nDisallow: /a\n",
			find:   noEffect,
			proved: true,
		},
		{
			ID: "RT505", Name: "duplicate-rule", Severity: Note, Fix: SafeIfProved,
			What:   "A group contains the same rule twice.",
			Why:    "The second rule has no effect.",
			Before: "User-agent: *\nDisallow: /a\nDisallow: /a\n",
			After:  "User-agent: *\nDisallow: /a\n",
			find:   duplicateRule,
		},
		{
			ID: "RT506", Name: "allow-and-disallow", Severity: Warning, Clause: "PREC-02",
			What:    "A group allows and disallows the same path.",
			Why:     "The Allow wins, so the Disallow has no effect.",
			Before:  "User-agent: *\nDisallow: /a\nAllow: /a\n",
			Instead: "Keep one of the two rules.",
			find:    allowAndDisallow,
		},
		{
			ID: "RT507", Name: "css-js-blocked", Severity: Warning,
			What:    "A rule with a wildcard blocks styles or scripts for Googlebot.",
			Why:     "Google renders pages; without styles and scripts it sees another page than users.",
			Before:  "User-agent: *\nDisallow: /*.js\n",
			Instead: "Delete the rule, or allow the files that pages need: Allow: /static/*.js",
			find:    cssBlocked,
		},
		{
			ID: "RT508", Name: "sitemap-blocked", Severity: Warning,
			What:    "A sitemap that the file lists is disallowed.",
			Why:     "A crawler that obeys the rule cannot fetch the sitemap.",
			Before:  "User-agent: *\nDisallow: /maps/\nSitemap: https://example.com/maps/a.xml\n",
			Instead: "Allow the path of the sitemap: Allow: /maps/a.xml",
			find:    sitemapBlocked,
		},
		{
			ID: "RT509", Name: "secret-in-path", Severity: Note,
			What:    "A path reveals the location of sensitive files.",
			Why:     "Everybody can read robots.txt.",
			Before:  "User-agent: *\nDisallow: /backup.sql\n",
			Instead: "Protect the path on the server, and delete the rule.",
			path:    secretInPath,
		},
		{
			ID: "RT510", Name: "rendering-blocked", Severity: Warning,
			What:   "A rule blocks scripts or styles for a crawler of a search engine.",
			Why:    "Search engines render pages; without scripts and styles they see another page than users. A note for crawlers other than Googlebot.",
			Before: "User-agent: *\nDisallow: /wp-includes/\n",
			After:  "User-agent: *\nDisallow: /wp-includes/\nAllow: /wp-includes/*.js\nAllow: /wp-includes/*.css\n",
			find:   renderingBlocked,
		},
		{
			ID: "RT601", Name: "sitemap-url", Severity: Error, Fix: ChangesFile, Clause: "MAP-01",
			What:   "The value of a Sitemap line is not a full URL.",
			Why:    "Engines require scheme and host; many ignore anything else.",
			Before: "Sitemap: /sitemap.xml\n",
			After:  "Sitemap: https://example.com/sitemap.xml\n",
			find:   sitemapURL,
		},
		{
			ID: "RT602", Name: "repeated-sitemap", Severity: Note, Fix: SafeIfProved, Clause: "MAP-03",
			What:   "The same sitemap is listed twice.",
			Why:    "The second line has no effect.",
			Before: "Sitemap: https://example.com/a.xml\nSitemap: https://example.com/a.xml\n",
			After:  "Sitemap: https://example.com/a.xml\n",
			find:   repeatedSitemap,
		},
		{
			ID: "RT603", Name: "bad-value", Severity: Warning, Clause: "D-44",
			What:   "The value of a record is invalid.",
			Why:    "The line has no effect.",
			Before: "User-agent: *\nCrawl-delay: ten\n",
			After:  "User-agent: *\nCrawl-delay: 10\n",
			line:   badValue,
		},
		{
			ID: "RT604", Name: "pace-outside-group", Severity: Warning, Clause: "D-08",
			What:   "A Crawl-delay, Request-rate or Visit-time precedes the first User-agent line.",
			Why:    "The line belongs to no group and applies to no crawler.",
			Before: "Crawl-delay: 5\nUser-agent: *\nDisallow:\n",
			After:  "User-agent: *\nCrawl-delay: 5\nDisallow:\n",
			find:   paceOutsideGroup,
		},
		{
			ID: "RT605", Name: "long-delay", Severity: Note,
			What:    "A Crawl-delay is over 60 seconds.",
			Why:     "A crawler that obeys the delay fetches fewer than 1,440 pages a day, and might never finish the site.",
			Before:  "User-agent: *\nCrawl-delay: 600\n",
			Instead: "Write a delay of a few seconds: Crawl-delay: 5",
			line:    longDelay,
		},
		{
			ID: "RT606", Name: "pace-ignored", Severity: Note,
			What:    "A group for Googlebot has a Crawl-delay.",
			Why:     "Googlebot ignores Crawl-delay.",
			Before:  "User-agent: Googlebot\nCrawl-delay: 5\nDisallow:\n",
			Instead: "Delete the line. To slow Googlebot down, respond with 503 or 429 for a short time.",
			find:    paceIgnored,
		},
		{
			ID: "RT607", Name: "sitemap-host", Severity: Warning,
			What:   "The host of a sitemap is private or a placeholder.",
			Why:    "Crawlers cannot fetch the sitemap. A test site's file was probably deployed.",
			Before: "Sitemap: http://localhost:3000/sitemap.xml\n",
			After:  "Sitemap: https://example.com/sitemap.xml\n",
			find:   sitemapHost,
		},
		{
			ID: "RT901", Name: "unused-ignore", Severity: Warning, Fix: SafeIfProved,
			What:   "A lint:ignore comment is unused.",
			Why:    "The finding is gone, so the comment only hides future ones.",
			Before: "# lint:ignore RT401 old\nUser-agent: *\nDisallow: /a\n",
			After:  "User-agent: *\nDisallow: /a\n",
		},
		{
			ID: "RT902", Name: "bad-ignore", Severity: Warning,
			What:    "A lint:ignore comment names an unknown check, or gives no reason.",
			Why:     "The comment has no effect.",
			Before:  "# lint:ignore RT504\nUser-agent: *\nDisallow: /a\n",
			Instead: "Name a check and give a reason: # lint:ignore RT504 kept for the old crawler",
		},
	}
}
