package source

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/robotskit/robots/cmd/internal/ask"
)

// A LogLine has the fields of a line as the client sent them.
type LogLine struct {
	Host      string // of the connection, usually an address
	Forwarded string // X-Forwarded-For, "" if the log has none
	Request   string
	UserAgent string    // "-" if the request had none
	Common    bool      // the format has no User-Agent
	Time      time.Time // in the time zone of the log, zero if the format has none that is known
}

// A LogParser parses the lines of one log in turn. The zero value is ready for the first one.
type LogParser struct {
	fields []string // of the last #Fields line (W3C)
}

// Parse parses a line and returns its problem, "" if it is valid. Fields after those of the combined
// format are ignored. A comment has neither a problem nor a host.
func (p *LogParser) Parse(line string) (l LogLine, problem string) {
	switch {
	case strings.HasPrefix(line, "{"):
		return parseJSONLogLine(line)
	case strings.HasPrefix(line, "#"):
		if fields, ok := strings.CutPrefix(line, "#Fields:"); ok {
			p.fields = strings.Fields(fields)
		}
		return l, ""
	case p.fields != nil:
		return p.parseW3C(line)
	}
	return parseCombined(line)
}

// logTimeLayout is that of the common format.
const logTimeLayout = "02/Jan/2006:15:04:05 -0700"

// parseCombined parses a line in the common or combined format, or in one that begins or ends with more.
func parseCombined(line string) (l LogLine, problem string) {
	rest, problem := l.cutHosts(line)
	if problem != "" {
		return l, problem
	}
	// A user name can contain spaces and brackets, but no unescaped quote.
	end := strings.Index(rest, `] "`)
	if end < 0 {
		return l, "no time and request"
	}
	begin := strings.LastIndexByte(rest[:end], '[')
	var err error
	if l.Time, err = time.Parse(logTimeLayout, rest[begin+1:end]); begin < 0 || err != nil {
		return l, "invalid time (expected [10/Oct/2026:13:55:36 +0000])"
	}
	var ok bool
	if l.Request, rest, ok = quoted(rest[end+len("] "):]); !ok {
		return l, "unterminated request"
	}
	status, rest, _ := strings.Cut(strings.TrimPrefix(rest, " "), " ")
	size, rest, _ := strings.Cut(rest, " ")
	if !isNumber(status) || !isNumber(size) {
		return l, "no status and size after the request"
	}
	l.Common = strings.TrimSpace(rest) == ""
	if l.Common {
		return l, ""
	}
	if _, rest, ok = quoted(rest); !ok {
		return l, "unterminated Referer"
	}
	if l.UserAgent, rest, ok = quoted(strings.TrimPrefix(rest, " ")); !ok {
		return l, "missing or unterminated User-Agent"
	}
	if list, _, ok := quoted(strings.TrimPrefix(rest, " ")); ok && isAddressList(list) { // as in the format main of nginx
		l.Forwarded = list
	}
	return l, ""
}

// cutHosts reads the address at the beginning of a line, which can be a list of X-Forwarded-For with blanks after
// its commas, and can follow the name of a virtual host or another address. It returns the rest.
func (l *LogLine) cutHosts(line string) (rest, problem string) {
	first, rest, ok := cutList(line)
	switch {
	case !ok:
		return "", "only one word"
	case first == "":
		return "", "begins with a space"
	}
	l.Host = first
	second, behind, ok := cutList(rest)
	if !ok || !isAddressList(second) {
		return rest, ""
	}
	if isAddressList(first) {
		l.Forwarded = second
	} else {
		l.Host = second // after a virtual host
	}
	return behind, ""
}

// cutList returns the text up to the first space that does not follow a comma, and what comes after it.
func cutList(text string) (list, rest string, ok bool) {
	for i := range len(text) {
		if text[i] == ' ' && (i == 0 || text[i-1] != ',') {
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// isAddressList reports whether a text is an address, or several with commas between them.
func isAddressList(text string) bool {
	for item := range strings.SplitSeq(text, ",") {
		if _, err := netip.ParseAddr(strings.TrimSpace(item)); err != nil {
			return false
		}
	}
	return true
}

// Client returns the address of the client: the last of X-Forwarded-For and the connection that is not of a
// trusted proxy, because a client can send any list and each proxy adds one at its end. Private and loopback
// addresses are trusted. It is the first one if all are trusted, and the zero value for a name.
func (l *LogLine) Client(trusted []netip.Prefix) (client netip.Addr) {
	chain := strings.Split(l.Host, ",")
	if l.Forwarded != "" {
		chain = append(strings.Split(l.Forwarded, ","), chain...)
	}
	for _, text := range slices.Backward(chain) {
		address, err := ask.Address(strings.TrimSpace(text))
		if err != nil {
			return client // a name, or what follows has no meaning
		}
		client = address
		contains := func(p netip.Prefix) bool { return p.Contains(address) }
		if !address.IsPrivate() && !address.IsLoopback() && !slices.ContainsFunc(trusted, contains) {
			return client
		}
	}
	return client
}

// quoted returns the quoted string at the beginning of a text without its escapes, and the rest.
func quoted(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", text, false
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return unescape(text[1:i]), text[i+1:], true
		}
	}
	return "", text, false
}

// isNumber reports whether a field is a number or -.
func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 64)
	return err == nil || text == "-"
}

// escapes are those of Apache (\" \\ \n \t \xhh) and nginx (\xHH), and others of Go.
var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\([abfnrtv"\\]|x[[:xdigit:]]{2}|[0-3][0-7]{2})`) })

// unescape decodes the escapes that servers write for quotes, backslashes and control bytes. Other
// backslashes stay.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	return escapes().ReplaceAllStringFunc(text, func(escape string) string {
		value, _ := strconv.Unquote(`"` + escape + `"`) // which is valid
		return value
	})
}

// Target returns the target of a request line, "" if it has none: clients send anything.
func Target(request string) string {
	method, rest, ok := strings.Cut(request, " ")
	if !ok || method == "" || method == "CONNECT" {
		return ""
	}
	if i := strings.LastIndexByte(rest, ' '); i >= 0 && strings.HasPrefix(rest[i+1:], "HTTP/") {
		rest = rest[:i]
	}
	if strings.Contains(rest, " ") || !strings.HasPrefix(rest, "/") && !strings.Contains(rest, "://") {
		return ""
	}
	return rest
}
