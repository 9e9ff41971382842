package robots

import "strings"

const notASCIIHost = "its host is not in ASCII: take the host that the browser's URL parser makes of it"

// asciiHost returns a host in lower case. The browser has the tables of Unicode already,
// which would be a third of the program here.
func asciiHost(host string) (ascii string, ok bool) {
	return strings.ToLower(host), isASCII(host)
}
