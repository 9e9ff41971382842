package robots

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

// An Origin is a scheme, host and port, to which one robots.txt applies (SCOPE-06). It is
// comparable and can be a map key. The zero value is not an origin.
type Origin struct {
	scheme    string // lower case
	authority string // host in ASCII and lower case, IPv6 in brackets, and ":port" unless that is the default
}

// defaultPort returns the port of a scheme, 0 if it has none (SCOPE-13).
func defaultPort(scheme string) int {
	switch scheme {
	case "http":
		return 80
	case "https":
		return 443
	case "ftp":
		return 21
	}
	return 0
}

// Scheme returns the scheme in lower case.
func (o Origin) Scheme() string { return o.scheme }

// Host returns the host in its ASCII form, an IPv6 address without brackets.
func (o Origin) Host() string {
	host, _ := splitPort(o.authority)
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// Port returns the port of the URL, or else the default of the scheme, or else 0.
func (o Origin) Port() int {
	_, port := splitPort(o.authority)
	if port == "" {
		return defaultPort(o.scheme)
	}
	n, _ := parsePort(port) // which is valid
	return n
}

// splitPort returns the host and the port of an authority, "" if it has none. Only the host
// of an IPv6 address has colons, in brackets.
func splitPort(authority string) (host, port string) {
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && authority[len(authority)-1] != ']' {
		return authority[:i], authority[i+1:]
	}
	return authority, ""
}

// IsZero reports whether o is the zero value.
func (o Origin) IsZero() bool { return o.authority == "" }

// String returns the canonical form, scheme://host with the port if it is not the
// default: "https://example.com", "http://[::1]:8080".
func (o Origin) String() string {
	if o.IsZero() {
		return ""
	}
	return o.scheme + "://" + o.authority
}

// RobotsURL returns the URL of the origin's robots.txt (SCOPE-05).
func (o Origin) RobotsURL() string {
	if o.IsZero() {
		return ""
	}
	return o.String() + "/robots.txt"
}

// ParseURL splits an absolute URL into its origin and the path to match. Only scheme and
// authority can be invalid: path and query are any bytes. User information and fragment are
// ignored. The host is normalized: lower case, ASCII (UTS 46, D-36), no trailing dot, IPv4 in
// dotted decimal, IPv6 as in RFC 5952. The error quotes rawURL without its user and password; no rules allow the zero Path.
func ParseURL(rawURL string) (Origin, Path, error) {
	switch {
	case len(rawURL) > 8 && equalFold(rawURL[:8], "https://"):
		return parseAuthority(rawURL, "https", rawURL[8:])
	case len(rawURL) > 7 && equalFold(rawURL[:7], "http://"):
		return parseAuthority(rawURL, "http", rawURL[7:])
	}
	scheme, rest, ok := strings.Cut(rawURL, ":")
	if !ok || !isScheme(scheme) || !strings.HasPrefix(rest, "//") {
		return Origin{}, Path{}, urlError(rawURL, "not an absolute URL such as https://example.com/page")
	}
	return parseAuthority(rawURL, strings.ToLower(scheme), rest[2:])
}

// ParsePath returns the path to match of an absolute URL, a URL without a scheme
// ("//example.com/page") or a request target ("/page?q=1"). Anything else is an error, and
// the Path is then zero.
func ParsePath(s string) (Path, error) {
	switch {
	case strings.HasPrefix(s, "//"):
		_, p, err := parseAuthority(s, "http", s[2:])
		return p, err
	case strings.HasPrefix(s, "/"):
		return newPath(s), nil
	}
	_, p, err := ParseURL(s)
	if err != nil && !strings.Contains(s, "://") {
		return Path{}, urlError(s, "not an absolute URL such as https://example.com/page, nor a path that begins with /")
	}
	return p, err
}

func parseAuthority(rawURL, scheme, rest string) (Origin, Path, error) {
	end := plainHost(rest)
	if end > 0 && (end == len(rest) || endsAuthority(rest[end])) { // as nearly all
		return Origin{scheme, rest[:end]}, newPath(rest[end:]), nil
	}
	for end < len(rest) && !endsAuthority(rest[end]) {
		end++
	}
	authority := rest[:end]
	path := rest[end:]
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		if strings.IndexByte(authority[:i], '\\') >= 0 {
			// Invalid by RFC 3986 section 3.2.1, and browsers end the host there.
			return Origin{}, Path{}, urlError(rawURL, "a backslash precedes its host")
		}
		authority = authority[i+1:]
	}
	host, port := splitPort(authority)
	if strings.HasPrefix(authority, "[") {
		i := strings.IndexByte(authority, ']')
		if i < 0 {
			return Origin{}, Path{}, urlError(rawURL, "its host has a [ without a ]")
		}
		if i+1 < len(authority) && authority[i+1] != ':' {
			return Origin{}, Path{}, urlError(rawURL, "there is text between its host and its port")
		}
	}
	site, reason := canonicalHost(host)
	if port != "" {
		n, ok := parsePort(port)
		switch {
		case !ok:
			return Origin{}, Path{}, urlError(rawURL, "its port is not a number from 1 to 65535")
		case n == defaultPort(scheme):
		case site == host && port[0] != '0':
			site = authority
		default:
			site += ":" + strconv.Itoa(n)
		}
	}
	if reason != "" {
		return Origin{}, Path{}, urlError(rawURL, reason)
	}
	return Origin{scheme, site}, newPath(path), nil
}

func endsAuthority(c byte) bool { return c == '/' || c == '?' || c == '#' }

// plainHost returns the length of a canonical host at the start of s, or 0 if there is none or
// that is not obvious: the last label might be a number, and "--" Punycode.
func plainHost(s string) int {
	s = s[:min(len(s), maxPlainHost+1)]
	i := 0
	labelStart := 0 // where the current label begins
	for ; ; i++ {
		for i < len(s) && hostBytes[s[i]] {
			i++
		}
		if i == len(s) {
			break
		}
		if c := s[i]; c == '.' && i > labelStart {
			labelStart = i + 1
		} else if c != '-' || i > labelStart && s[i-1] == '-' {
			break
		}
	}
	if i == labelStart || i > maxPlainHost || s[labelStart] < 'a' {
		return 0
	}
	return i
}

// maxPlainHost is the length of the longest DNS name.
const maxPlainHost = 253

// hostBytes are the bytes that are canonical anywhere in a label.
var hostBytes = func() (t [256]bool) {
	for _, c := range "abcdefghijklmnopqrstuvwxyz0123456789_" {
		t[c] = true
	}
	return t
}()

// maxQuoted is the number of bytes of an invalid URL that an error quotes.
const maxQuoted = 120

func urlError(rawURL, reason string) error {
	if rawURL == "" {
		return errors.New("the URL is empty")
	}
	rawURL = hideUser(rawURL)
	if len(rawURL) > maxQuoted {
		rawURL = rawURL[:maxQuoted] + "..."
	}
	return errors.New("URL " + strconv.Quote(rawURL) + ": " + reason)
}

// hideUser replaces the user and password of a URL by ***.
func hideUser(rawURL string) string {
	scheme, rest, _ := strings.Cut(rawURL, "//")
	end := strings.IndexAny(rest+"/", "/?#")
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		return rawURL
	}
	return scheme + "//***" + rest[at:]
}

// isScheme follows RFC 3986 section 3.1.
func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.')) {
			return false
		}
	}
	return s != ""
}

func parsePort(s string) (int, bool) {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || '9' < s[i] {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
		if n > 65535 {
			return 0, false
		}
	}
	return n, n > 0
}

// maxHost is the length limit of a host: that of a DNS name, 253 bytes, in percent-encoded
// UTF-8.
const maxHost = 9 * 253

// canonicalHost returns the normalized host, or why it is invalid.
func canonicalHost(host string) (canonical, reason string) {
	if n := plainHost(host); n > 0 && n == len(host) {
		return host, ""
	}
	if host != "" && host[0] <= '9' {
		if a, err := netip.ParseAddr(host); err == nil && a.Is4() { // ParseAddr accepts no other form of IPv4
			return host, ""
		}
	}
	return normalizeHost(host)
}

// normalizeHost is canonicalHost for every host.
func normalizeHost(host string) (canonical, reason string) {
	if host == "" {
		return "", "it has no host"
	}
	if len(host) > maxHost {
		return "", "its host is longer than any DNS name"
	}
	if host[0] == '[' {
		a, err := netip.ParseAddr(host[1 : len(host)-1])
		if err != nil || !a.Is6() || a.Zone() != "" {
			return "", "its host is not an IPv6 address"
		}
		return "[" + a.String() + "]", ""
	}
	host, ok := unescapeHost(host)
	if !ok {
		return "", "its host has a broken escape"
	}
	if host, ok = asciiHost(host); !ok {
		return "", "its host is not a valid internationalized domain name"
	}
	for i := range len(host) {
		if c := host[i]; !hostBytes[c] && (c <= ' ' || c >= 0x7F || strings.IndexByte("\"#%/:<>?@[\\]^`{|}", c) >= 0) {
			return "", "its host contains an invalid character"
		}
	}
	host = strings.TrimSuffix(host, ".")
	if host == "" || host[0] == '.' || host[len(host)-1] == '.' || strings.Contains(host, "..") {
		return "", "its host has an empty label"
	}
	if last := host[strings.LastIndexByte(host, '.')+1:]; isNumber(last) {
		a, ok := parseIPv4(host)
		if !ok {
			return "", "its host is not an IPv4 address, though it ends in a number"
		}
		return a, ""
	}
	return host, ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func unescapeHost(s string) (string, bool) {
	if strings.IndexByte(s, '%') < 0 {
		return s, true
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		v, ok := decodeEscape(s, i)
		if !ok {
			return "", false
		}
		b = append(b, v)
		i += 2
	}
	return string(b), true
}

// isNumber reports whether a label is a number by the WHATWG URL standard, so that its host
// must be an IPv4 address.
func isNumber(s string) bool {
	if s == "" || s[0] < '0' || '9' < s[0] {
		return false
	}
	_, ok := parseNumber(s)
	return ok || strings.Trim(s, "0123456789") == ""
}

// parseNumber reads a decimal, octal (0...) or hexadecimal (0x...) number of at
// most 32 bits.
func parseNumber(s string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		s = s[2:]
		base = 16
		if s == "" {
			return 0, true
		}
	case len(s) > 1 && s[0] == '0':
		s = s[1:]
		base = 8
	}
	n, err := strconv.ParseUint(s, base, 33)
	return n, err == nil && s[0] != '+'
}

// parseIPv4 reads every notation of an IPv4 address that some system accepts: one to four
// numbers, the last of which fills the remaining bytes (127.1, 0x7f000001, 0177.0.0.1), so
// that all notations are one origin.
func parseIPv4(host string) (string, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return "", false
	}
	var sum uint64
	for i, part := range parts {
		n, ok := parseNumber(part)
		if !ok {
			return "", false
		}
		if i == len(parts)-1 {
			if n >= 1<<(8*(5-len(parts))) {
				return "", false
			}
			sum |= n
		} else {
			if n > 255 {
				return "", false
			}
			sum |= n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}).String(), true
}
