package bulk

// This file has the rows of the tables about files. They state what is true of a body whoever sent it, as
// rfc9309 reads it, so a part of a snapshot has them once for each body.

// A FileSummary is a row of files: the layout of a body. A body that is not a robots.txt, such as an
// error page, has no rows in the next tables: its lines are not fields. Lines are those that rfc9309
// reads, which are complete and in the first 512,000 bytes. The columns are a contract.
type FileSummary struct {
	SHA256    string `parquet:"sha256"`    // of the body, as in captures and bodies
	Bytes     int64  `parquet:"bytes"`     // size of the body
	Truncated bool   `parquet:"truncated"` // bodies has only its beginning
	Kind      string `parquet:"kind,dict"` // text, html, empty, binary: as in captures
	// OtherFormat is UTF-16, gzip, HTML or XML, or JSON; null for a robots.txt. A page with a
	// user-agent line is a robots.txt: crawlers read its rules.
	OtherFormat string `parquet:"other_format,optional,dict"`
	BOM         bool   `parquet:"bom"` // it begins with the byte order mark of UTF-8
	// LineEnds is lf, crlf, cr or mixed; null without a line end.
	LineEnds    string `parquet:"line_ends,optional,dict"`
	Lines       int32  `parquet:"lines"`        // physical lines
	LongestLine int32  `parquet:"longest_line"` // bytes, without the line end
	Comments    *int32 `parquet:"comments"`     // lines with a comment, null in another format
	Groups      *int32 `parquet:"groups"`       // runs of lines User-agent with their rules, null in another format
	UserAgents  *int32 `parquet:"user_agents"`  // lines User-agent, null in another format
	Rules       *int32 `parquet:"rules"`        // lines Allow and Disallow, null in another format
	Sitemaps    *int32 `parquet:"sitemaps"`     // lines Sitemap with a value, null in another format
	// UnknownFields are lines with an unknown field, null in another format.
	UnknownFields *int32 `parquet:"unknown_fields"`
	// Lint is complete or undecided (the proofs took too many steps: there might be more findings),
	// null without --lint.
	Lint       string `parquet:"lint,optional,dict"`
	BlankLines *int32 `parquet:"blank_lines"` // lines of spaces and tabs only, null in another format
	// OtherLines have text before any comment, but no field, so crawlers ignore them; null in another
	// format.
	OtherLines *int32 `parquet:"other_lines"`
}

// A FieldLine is a row of rules: a line with a field, whether a rule or not. The columns are a contract.
type FieldLine struct {
	SHA256 string `parquet:"sha256,dict"` // of the file
	Line   int32  `parquet:"line"`        // from 1
	Field  string `parquet:"field,dict"`  // a known name in lower case, an unknown one as written
	Known  bool   `parquet:"known"`       // the field is known
	// GroupNumber is the number of the group in the file, from 1; null outside of groups, and for
	// fields that apply to the whole file, such as Sitemap.
	GroupNumber int32 `parquet:"group_number,optional"`
	// GroupTokens are the product tokens to which the line applies, separated by spaces: those of
	// its group, of a line User-agent its own, of a Crawl-delay between lines User-agent those
	// directly above it. They are null if there are none, or more than 1,000.
	GroupTokens string `parquet:"group_tokens,optional,dict"`
	Value       string `parquet:"value,optional"` // without comment, null if empty
}

// A NamedAgent is a row of agents: a name in a file, which is a value of lines User-agent. The columns are
// a contract.
type NamedAgent struct {
	SHA256  string `parquet:"sha256,dict"`           // of the file
	Name    string `parquet:"name,dict"`             // as written
	RFC9309 string `parquet:"rfc9309,optional,dict"` // first product token that rfc9309 reads, in lower case, null if none
	Google  string `parquet:"google,optional,dict"`  // likewise in google, null if none
	Line    int32  `parquet:"line"`                  // of the first line, from 1
	Lines   int32  `parquet:"lines"`                 // lines with this value that either dialect reads as User-agent
	// Crawler is the name of the crawler in the directory, null if it has none.
	Crawler  string `parquet:"crawler,optional,dict"`
	Operator string `parquet:"operator,optional,dict"` // of the crawler, null without one, or unknown
	Purpose  string `parquet:"purpose,optional,dict"`  // of the crawler, null without one, or unknown
	// Access is all, part, none or undecided, as in verdicts for rfc9309; null without --access, and
	// if rfc9309 reads no token.
	Access string `parquet:"access,optional,dict"`
}

// A SignalValue is a row of signals: a value of a line Content-Signal, Content-Usage or License that
// has an effect. The columns are a contract.
type SignalValue struct {
	SHA256 string `parquet:"sha256,dict"`                // of the file
	Line   int32  `parquet:"line"`                       // from 1
	Field  string `parquet:"field,dict"`                 // content-signal, content-usage or license
	Name   string `parquet:"name,optional,dict"`         // of the preference, null for a license
	Value  string `parquet:"value,dict"`                 // such as yes, no, y or n; the URL of a license
	Path   string `parquet:"path,optional,dict"`         // pattern of the paths to which it applies, null for all
	Scope  string `parquet:"scope,dict"`                 // file or group
	Known  bool   `parquet:"known"`                      // the document that defines the field has this name and value
	Tokens string `parquet:"group_tokens,optional,dict"` // as in rules, null for scope file
}

// A SitemapLine is a row of sitemaps: a line Sitemap with a value. The columns are a contract.
type SitemapLine struct {
	SHA256 string `parquet:"sha256,dict"`          // of the file
	Line   int32  `parquet:"line"`                 // from 1
	URL    string `parquet:"url"`                  // as written
	Origin string `parquet:"origin,optional,dict"` // of the URL, null if it is not an absolute URL of http, https or ftp
}

// A FindingCount is a row of findings: a check of robots lint that finds something in a file, with pack
// --lint. The columns are a contract.
type FindingCount struct {
	SHA256   string `parquet:"sha256,dict"`   // of the file
	ID       string `parquet:"id,dict"`       // of the check
	Severity string `parquet:"severity,dict"` // error, warning or note
	Findings int32  `parquet:"findings"`      // at most 1,000
}
