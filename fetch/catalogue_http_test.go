package fetch

import (
	"fmt"
	"io"
	"strings"
	"time"
)

func statusFaults() []fault {
	of := func(status, does string, cause Cause) fault {
		code := 0
		fmt.Sscan(status, &code)
		return fault{area: "status", name: status, does: does, serve: answer(whole(status, someRules)), cause: cause, status: code, hops: 1}
	}
	list := []fault{
		of("200 OK", "a file", OK),
		of("201 Created", "2xx like any other", OK),
		of("203 Non-Authoritative Information", "2xx like any other", OK),
		{area: "status", name: "204 No Content", does: "an empty file", serve: answer("HTTP/1.1 204 No Content\r\n\r\n"), cause: Empty, status: 204},
		{area: "status", name: "205 Reset Content", does: "an empty file", serve: answer("HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n"), cause: Empty, status: 205},
		of("204 No Content with a length", "a status without content, with content", BadResponse),
		of("205 Reset Content with a length", "a status without content, with content", BadResponse),
		of("206 Partial Content", "partial content without a range request", Partial),
		of("299 Whatever", "2xx like any other", OK),
		{area: "status", name: "200 empty", does: "an empty body", serve: answer(whole("200 OK", "")), cause: Empty, status: 200},
		{area: "status", name: "200 HTML", does: "an HTML page: its lines are read like any others", serve: answer(whole("200 OK", "<html><body>hello</body></html>", "Content-Type: text/html")), cause: OK, status: 200},
		{area: "status", name: "200 meta refresh", does: "a redirect in HTML is not followed", serve: answer(whole("200 OK", `<meta http-equiv="refresh" content="0;url=/else">`)), cause: OK, status: 200, hops: 1},
		of("300 Multiple Choices", "no single location", BadRedirect),
		of("304 Not Modified", "although the request was not conditional", NotModified),
		of("305 Use Proxy", "no single location", BadRedirect),
		of("306 Unused", "no single location", BadRedirect),
		of("399 Whatever", "no single location", BadRedirect),
	}
	for _, status := range []string{"400 Bad Request", "401 Unauthorized", "402 Payment Required", "403 Forbidden", "404 Not Found",
		"405 Method Not Allowed", "410 Gone", "418 I'm a teapot", "451 Unavailable For Legal Reasons", "499 Whatever"} {
		list = append(list, of(status, "4xx: no file, whatever the body", ClientError))
	}
	list = append(list, of("429 Too Many Requests", "asks to retry later", TooManyRequests))
	for _, status := range []string{"500 Internal Server Error", "501 Not Implemented", "502 Bad Gateway", "503 Service Unavailable",
		"504 Gateway Timeout", "520 Whatever", "599 Whatever"} {
		list = append(list, of(status, "5xx: the body is not read", ServerError))
	}
	return append(list,
		of("600 Whatever", "not an HTTP status", BadStatus),
		of("999 Request denied", "not an HTTP status", BadStatus),
		of("000 Zero", "not an HTTP status", BadStatus),
		of("099 Low", "not an HTTP status", BadStatus),
		fault{area: "status", name: "42 Short", does: "not three digits", serve: answer(whole("42 Short", "")), cause: BadResponse},
		fault{area: "status", name: "100 then 200", does: "an interim response first", serve: answer("HTTP/1.1 100 Continue\r\n\r\n" + whole("200 OK", someRules)), cause: OK, status: 200, file: someRules},
		fault{area: "status", name: "102 103 199 then 200", does: "several interim responses first", serve: answer("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 199 Whatever\r\n\r\n" + whole("200 OK", someRules)), cause: OK, status: 200, file: someRules},
		fault{area: "status", name: "101 Switching Protocols", does: "switches protocols and keeps the connection open", serve: kept("HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: upgrade\r\n\r\n"), cause: Switching, status: 101},
		fault{area: "status", name: "103 and nothing more", does: "nothing follows the interim response", serve: kept("HTTP/1.1 103 Early Hints\r\n\r\n"), cause: HeaderTimeout, within: untilHeader},
	)
}

func framingFaults() []fault {
	of := func(name, does, text string, cause Cause) fault {
		f := fault{area: "framing", name: name, does: does, serve: answer(text), cause: cause}
		if cause == OK {
			f.file = someRules
		}
		return f
	}
	large := func(f fault) fault { f.byteCount = upToHeaders; return f }
	empty := func(name, does, text string, cause Cause) fault {
		f := of(name, does, text, cause)
		f.file = ""
		return f
	}
	cutTLS := func(name, does, text string, cause Cause) fault {
		return fault{area: "framing", name: name, does: does, url: "https://site.test:PORT/", cause: cause, serve: severed(text)}
	}
	n := fmt.Sprint(len(someRules))
	chunk := func(body string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(body), body) }
	const head = "HTTP/1.1 200 OK\r\n"
	var trailers []fault
	for _, section := range []struct {
		name, lines string
		cause       Cause
	}{
		{"empty value", "Expires:\r\n\r\n", OK},
		{"folded", "Expires: a\r\n b\r\n\r\n", OK},
		{"LF only", "Expires: now\n\n", OK},
		{"long", strings.Repeat("X-Long: "+strings.Repeat("x", 1000)+"\r\n", 8) + "\r\n", OK},
		{"framing headers", "Content-Length: 5\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", OK}, // they belong before the body
		{"no colon", "what is this\r\n\r\n", BadResponse},
		{"no name", ": now\r\n\r\n", BadResponse},
		{"pseudo header", ":status: 200\r\n\r\n", BadResponse},
		{"space in a name", "Some Trailer: x\r\n\r\n", BadResponse},
		{"space before the colon", "Expires : now\r\n\r\n", BadResponse},
		{"tab before the colon", "Expires\t: now\r\n\r\n", BadResponse},
		{"non-ASCII name", "Expir\u00e9s: now\r\n\r\n", BadResponse},
		{"fold first", " Expires: now\r\n\r\n", BadResponse},
		{"fold first, tab", "\tExpires: now\r\n\r\n", BadResponse},
		{"encoding in a fold", "X: y\r\n Content-Encoding: gzip\r\n\r\n", BadResponse},
		{"CR", "X: y\rZ: z\r\n\r\n", BadResponse},
		{"two CRs", "Expires: now\r\n\r\r\n", BadResponse},
		{"NUL", "X: \x00\r\n\r\n", BadResponse},
		{"a second response", whole("200 OK", someRules), BadResponse},
		{"missing", "", Incomplete},
		{"closed in the name", "Expi", Incomplete},
		{"closed in the value", "Expires: now", Incomplete},
		{"closed after a field", "Expires: now\r\n", Incomplete},
		{"closed in the empty line", "Expires: now\r\n\r", Incomplete},
	} {
		f := of("trailers, "+section.name, "a field section after the last chunk", head+"Transfer-Encoding: chunked\r\n\r\n"+chunk(someRules)+"0\r\n"+section.lines, section.cause)
		if section.name == "long" {
			f = large(f)
		}
		trailers = append(trailers, f)
	}
	return append([]fault{
		empty("204", "no content, and the connection ends", "HTTP/1.1 204 No Content\r\n\r\n", Empty),
		empty("204 of HTTP/1.0", "no content, and the connection ends", "HTTP/1.0 204 No Content\r\n\r\n", Empty),
		empty("204, length 0", "a length that fits", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", Empty),
		empty("204, length", "a length, and no content comes", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", BadResponse),
		empty("204, length no number", "a length of words", "HTTP/1.1 204 No Content\r\nContent-Length: many\r\n\r\n", BadResponse),
		empty("204, bytes follow", "content that no header announces", "HTTP/1.1 204 No Content\r\n\r\n"+someRules, BadResponse),
		empty("204, length 0, bytes follow", "bytes after the stated length", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"+someRules, BadResponse),
		empty("204, a second answer follows", "bytes after the headers", "HTTP/1.1 204 No Content\r\n\r\n"+whole("200 OK", someRules), BadResponse),
		empty("204, chunked", "a transfer coding, which 204 cannot have (RFC 9112 section 6.1)", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", BadResponse),
		empty("204, chunks", "a transfer coding with content", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk(someRules)+"0\r\n\r\n", BadResponse),
		empty("205", "no length: the end of the connection ends the body", "HTTP/1.1 205 Reset Content\r\n\r\n", Empty),
		empty("205, last chunk", "no chunk but the last", "HTTP/1.1 205 Reset Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", Empty),
		empty("205, chunks", "content in chunks", "HTTP/1.1 205 Reset Content\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk(someRules)+"0\r\n\r\n", BadResponse),
		empty("205, chunked, bytes follow", "bytes after the last chunk", "HTTP/1.1 205 Reset Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+someRules, BadResponse),
		empty("205, chunks cut", "closes before the last chunk", "HTTP/1.1 205 Reset Content\r\nTransfer-Encoding: chunked\r\n\r\n", Incomplete),
		empty("205, length", "a length, and no content comes", "HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\n", BadResponse),
		empty("205, bytes follow", "content that no header announces", "HTTP/1.1 205 Reset Content\r\n\r\n"+someRules, BadResponse),
		empty("205, length 0, bytes follow", "bytes after the stated length", "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n"+someRules, BadResponse),
		{area: "framing", name: "204, bytes follow later", does: "content in another packet", serve: func(p *peer) {
			p.say("HTTP/1.1 204 No Content\r\n\r\n")
			time.Sleep(20 * time.Millisecond)
			p.say(someRules)
		}, cause: BadResponse},
		{area: "framing", name: "204, reset", does: "the connection is reset instead of ended", serve: func(p *peer) {
			p.say("HTTP/1.1 204 No Content\r\n\r\n")
			time.Sleep(20 * time.Millisecond) // so that the client reads the headers first
			p.reset()
		}, cause: Reset},
		{area: "framing", name: "204, kept open", does: "the connection stays open, though the request says close", serve: kept("HTTP/1.1 204 No Content\r\n\r\n"), cause: Empty, within: untilGrace},
		{area: "framing", name: "205, kept open", does: "no length, and the connection stays open", serve: kept("HTTP/1.1 205 Reset Content\r\n\r\n"), cause: TooSlow, within: untilGrace},
		cutTLS("204, TLS cut", "TCP ends without the end of TLS", "HTTP/1.1 204 No Content\r\n\r\n", Incomplete),
		cutTLS("205, TLS cut", "TCP ends without the end of TLS", "HTTP/1.1 205 Reset Content\r\n\r\n", Incomplete),
		cutTLS("205, length 0, TLS cut", "TCP ends after the stated length", "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n", Empty),
		cutTLS("404, TLS cut", "TCP ends after the headers", "HTTP/1.1 404 Not Found\r\n\r\n", ClientError),
		cutTLS("404, TLS cut in the headers", "TCP ends before the end of the headers", "HTTP/1.1 404 Not Found\r\nServer: x\r\n", Incomplete),
		of("length too long", "Content-Length above the body", head+"Content-Length: 1000\r\n\r\n"+someRules, Incomplete),
		of("length too short", "bytes after the stated length", head+"Content-Length: "+n+"\r\n\r\n"+someRules+"Disallow: /more\n", OK),
		of("length negative", "Content-Length: -1", head+"Content-Length: -1\r\n\r\n"+someRules, BadResponse),
		of("length no number", "Content-Length: many", head+"Content-Length: many\r\n\r\n"+someRules, BadResponse),
		of("lengths differ", "two lengths that differ", head+"Content-Length: "+n+"\r\nContent-Length: 5\r\n\r\n"+someRules, BadResponse),
		of("lengths agree", "two equal lengths", head+"Content-Length: "+n+"\r\nContent-Length: "+n+"\r\n\r\n"+someRules, OK),
		of("no length", "the end of the connection ends the body", head+"\r\n"+someRules, OK),
		of("HTTP/1.0", "an old server", "HTTP/1.0 200 OK\r\n\r\n"+someRules, OK),
		of("HTTP/0.9", "a body without headers", someRules, BadResponse),
		of("HTTP/2.0 in words", "a version that was not offered", "HTTP/2.0 200 OK\r\nContent-Length: "+n+"\r\n\r\n"+someRules, BadResponse),
		of("another protocol", "the banner of a mail server", "220 mail.example ESMTP\r\n", BadResponse),
		of("chunked", "two chunks", head+"Transfer-Encoding: chunked\r\n\r\n"+chunk(someRules[:5])+chunk(someRules[5:])+"0\r\n\r\n", OK),
		of("chunked and length", "chunks count", head+"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk(someRules)+"0\r\n\r\n", OK),
		of("trailers", "headers after the chunks", head+"Transfer-Encoding: chunked\r\n\r\n"+chunk(someRules)+"0\r\nExpires: now\r\n\r\n", OK),
		of("chunk without end", "closes before the last chunk", head+"Transfer-Encoding: chunked\r\n\r\n"+chunk(someRules), Incomplete),
		of("chunk cut", "closes inside a chunk", head+"Transfer-Encoding: chunked\r\n\r\n40\r\n"+someRules, Incomplete),
		of("chunk size bad", "a size that is not a number", head+"Transfer-Encoding: chunked\r\n\r\n"+chunk(someRules)+"zz\r\n", Incomplete),
		of("chunk size huge", "a size of 17 digits", head+"Transfer-Encoding: chunked\r\n\r\n"+strings.Repeat("f", 17)+"\r\n", Incomplete),
		of("chunk longer than its size", "no line end after the chunk", head+"Transfer-Encoding: chunked\r\n\r\n3\r\n"+someRules, Incomplete),
		of("unknown transfer coding", "Transfer-Encoding: gzip, chunked", head+"Transfer-Encoding: gzip, chunked\r\n\r\n"+chunk(someRules)+"0\r\n\r\n", BadResponse),
		of("header without colon", "a line that is not a header", head+"what is this\r\n\r\n"+someRules, BadResponse),
		of("headers cut", "closes between two headers", head+"Server: x\r\n", Incomplete),
		of("header cut", "closes inside a header", head+"Content-Le", Incomplete),
		of("chunked in HTTP/1.0", "a version without chunks (RFC 9112 section 6.1)", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk(someRules)+"0\r\n\r\n", BadResponse),
		of("chunked and length in HTTP/1.0", "a version without chunks", "HTTP/1.0 200 OK\r\nContent-Length: 9\r\ntransfer-encoding: chunked\r\n\r\n"+chunk(someRules)+"0\r\n\r\n", BadResponse),
		of("chunked in HTTP/1.0, two blanks", "two spaces before the status do not hide the version", "HTTP/1.0  200\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk(someRules)+"0\r\n\r\n", BadResponse),
		of("two blanks before the status", "two spaces in the status line (RFC 9112 section 4)", "HTTP/1.1  200 OK\r\nContent-Length: "+n+"\r\n\r\n"+someRules, OK),
		of("404, chunked in HTTP/1.0", "no body of a 404 is read", "HTTP/1.0 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ClientError),
		of("chunked in a fold of HTTP/1.0", "a value on the next line is the header's", "HTTP/1.0 200 OK\r\nTransfer-Encoding:\r\n\tchunked\r\n\r\n"+chunk(someRules)+"0\r\n\r\n", BadResponse),
		of("two transfer codings", "two headers of one coding each", head+"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk(someRules)+"0\r\n\r\n", BadResponse),
		of("blank before the colon of a coding", "Transfer-Encoding : chunked (RFC 9112 section 5.1)", head+"Transfer-Encoding : chunked\r\n\r\n"+chunk(someRules)+"0\r\n\r\n", BadResponse),
		of("blank before the colon of an encoding", "Content-Encoding : gzip", head+"Content-Encoding : gzip\r\n\r\n"+gzipped(someRules), BadResponse),
		of("blank before the colon of a length", "Content-Length : 5", head+"Content-Length: "+n+"\r\nContent-Length : 5\r\n\r\n"+someRules, BadResponse),
		of("blank in a name", "a name with a space", head+"Some Header: x\r\n\r\n"+someRules, BadResponse),
		of("tab before the colon", "a tab counts as a space", head+"Content-Encoding\t: gzip\r\n\r\n"+gzipped(someRules), BadResponse),
		of("header without a name", "a line that begins with the colon", head+": gzip\r\n\r\n"+someRules, BadResponse),
		of("name with a blank of no width", "non-ASCII bytes in a name", head+"Content\u200b-Encoding: gzip\r\n\r\n"+gzipped(someRules), BadResponse),
		of("folded header", "a value that continues on the next line", head+"X-Long: a\r\n b\r\n\t\r\nContent-Length: "+n+"\r\n\r\n"+someRules+"more", OK),
		of("folded length", "a value on the next line is the header's", head+"Content-Length:\r\n "+n+"\r\n\r\n"+someRules+"more", OK),
		of("encoding in a fold", "a header that a blank before it makes part of another", head+"X: y\r\n Content-Encoding: gzip\r\n\r\n"+gzipped(someRules), BadResponse),
		of("coding in a fold", "a header that a blank before it makes part of another", head+"X: y\r\n\ttransfer-encoding : chunked\r\n\r\n"+chunk(someRules)+"0\r\n\r\n", BadResponse),
		of("blank before the first header", "it would continue the status line", "HTTP/1.1 200 OK\r\n Content-Encoding: gzip\r\n\r\n"+gzipped(someRules), BadResponse),
		of("CR in a header", "a line that ends in CR only", head+"X: y\rContent-Encoding: gzip\r\n\r\n"+gzipped(someRules), BadResponse),
		of("CR in the status line", "a line that ends in CR only", "HTTP/1.1 200 OK\rContent-Encoding: gzip\r\n\r\n"+gzipped(someRules), BadResponse),
		of("two CRs", "CR CR LF at the end of the headers", head+"Content-Length: "+n+"\r\n\r\r\n"+someRules, BadResponse),
		of("NUL in a header", "a byte of 0", head+"X: \x00\r\n\r\n"+someRules, BadResponse),
		of("NUL in the status line", "a byte of 0", "HTTP/1.1 200 O\x00K\r\n\r\n"+someRules, BadResponse),
		of("length with a sign", "Content-Length: +5", head+"Content-Length: +5\r\n\r\n"+someRules, BadResponse),
		of("lengths in a list", "one header with two equal lengths", head+"Content-Length: "+n+", "+n+"\r\n\r\n"+someRules, BadResponse),
		of("length of nothing", "a length without a number", head+"Content-Length:\r\n\r\n"+someRules, BadResponse),
		of("status of two digits", "HTTP/1.1 20 OK", "HTTP/1.1 20 OK\r\n\r\n"+someRules, BadResponse),
		of("status with a sign", "HTTP/1.1 +40 OK", "HTTP/1.1 +40 OK\r\n\r\n"+someRules, BadResponse),
		of("empty lines first", "line ends before the status line", "\r\n\r\n"+head+"\r\n"+someRules, BadResponse),
		of("lower case", "http/1.1 200 OK", "http/1.1 200 OK\r\n\r\n"+someRules, BadResponse),
		of("HTTP/1.7", "a later version of the same kind", "HTTP/1.7 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk(someRules)+"0\r\n\r\n", OK),
		large(of("long headers", "headers of 20 KiB", head+strings.Repeat("X-Long: "+strings.Repeat("x", 5000)+"\r\n", 4)+"Content-Length: "+n+"\r\n\r\n"+someRules+"more", OK)),
		of("bare line feeds", "headers end in LF only", "HTTP/1.1 200 OK\nContent-Length: "+n+"\n\n"+someRules, OK),
		{area: "framing", name: "chunk extensions", does: "endless extensions of a chunk", serve: func(p *peer) {
			pour(p.Conn, 0, head+"Transfer-Encoding: chunked\r\n\r\n1;", strings.Repeat("x", 1<<10))
		}, cause: Incomplete, byteCount: upToHeaders},
		{area: "framing", name: "endless trailers", does: "endless trailers", serve: func(p *peer) {
			pour(p.Conn, 0, head+"Transfer-Encoding: chunked\r\n\r\n"+chunk(someRules)+"0\r\n", "X-Trailer: "+strings.Repeat("x", 1<<10)+"\r\n")
		}, cause: HeaderLimit, byteCount: upToRaw},
		{area: "framing", name: "answer before the request", does: "an answer as soon as the connection is there", raw: nil, serve: answer(whole("200 OK", someRules)), cause: OK},
	}, trailers...)
}

// to answers with a redirect to a location made from the request.
func to(status string, place func(p *peer) string) func(p *peer) {
	return func(p *peer) {
		p.say("HTTP/1.1 " + status + "\r\nLocation: " + place(p) + "\r\nContent-Length: 0\r\n\r\n")
	}
}

// chain answers with n redirects, each to a location made from the next number, then with a
// file.
func chain(n int, place func(p *peer, i int) string) func(p *peer) {
	return func(p *peer) {
		i := 0
		fmt.Sscanf(strings.TrimLeft(p.path, "/"), "%d", &i)
		if i >= n {
			p.say(whole("200 OK", someRules))
			return
		}
		to("302 Found", func(p *peer) string { return place(p, i+1) })(p)
	}
}

// away answers /robots.txt with a redirect and everything else with another text.
func away(status, place, elsewhere string) func(p *peer) {
	return func(p *peer) {
		if p.path != "/robots.txt" {
			p.say(elsewhere)
			return
		}
		to(status, func(p *peer) string { return strings.ReplaceAll(place, "PORT", p.site.port()) })(p)
	}
}

// once answers /robots.txt with a redirect and everything else with a file.
func once(status, place string) func(p *peer) { return away(status, place, whole("200 OK", someRules)) }

func redirectFaults() []fault {
	of := func(name, does string, serve func(p *peer), cause Cause, hops int) fault {
		f := fault{area: "redirect", name: name, does: does, serve: serve, cause: cause, hops: hops}
		if cause == OK {
			f.file = someRules
		}
		return f
	}
	local := func(p *peer, i int) string { return fmt.Sprintf("/%d", i) }
	list := []fault{
		of("five", "five redirects, then a file", chain(5, local), OK, 6),
		of("six", "six redirects", chain(6, local), RedirectLimit, 6),
		of("endless", "endless redirects", chain(1<<30, local), RedirectLimit, 6),
		of("to itself", "the location is the same URL", once("302 Found", "/robots.txt"), RedirectLoop, 1),
		of("circle of two", "back and forth", away("302 Found", "/b", whole("302 Found", "", "Location: /robots.txt")), RedirectLoop, 2),
		of("to another host", "the rules apply to the first host", once("301 Moved", "http://other.test:PORT/there.txt"), OK, 2),
		of("to https", "http to https", once("301 Moved", "https://site.test:PORT/there.txt"), OK, 2),
		func() fault {
			f := of("to http", "https to http, followed and reported", once("301 Moved", "http://site.test:PORT/there.txt"), OK, 2)
			f.url = "https://site.test:PORT/"
			return f
		}(),
		of("no Location", "a redirect without a location", answer(whole("302 Found", "")), BadRedirect, 1),
		of("empty Location", "an empty location", answer(whole("302 Found", "", "Location: ")), BadRedirect, 1),
		of("two Locations", "two different locations", answer(whole("302 Found", "", "Location: /a", "Location: /b")), BadRedirect, 1),
		of("the same Location twice", "two equal locations", once("302 Found", "/a\r\nLocation: /a"), OK, 2),
		of("bad port", "a location on port 99999", once("302 Found", "http://site.test:99999/"), BadRedirect, 1),
		of("bad host", "a location whose host is spaces", once("302 Found", "http://a b/"), BadRedirect, 1),
		of("no host", "http:/robots.txt", once("302 Found", "http:/a"), BadRedirect, 1),
		of("to ftp", "another scheme", once("302 Found", "ftp://site.test/robots.txt"), ForeignScheme, 1),
		of("to file", "another scheme", once("302 Found", "file:///etc/passwd"), ForeignScheme, 1),
		of("to gopher", "another scheme", once("302 Found", "gopher://site.test:70/1"), ForeignScheme, 1),
		of("to data", "another scheme", once("302 Found", "data:text/plain,User-agent"), ForeignScheme, 1),
		of("to javascript", "another scheme", once("302 Found", "JavaScript:alert(1)"), ForeignScheme, 1),
		of("then 404", "no file at the location", away("302 Found", "/gone", whole("404 Not Found", "")), ClientError, 2),
		of("then 503", "the location fails", away("302 Found", "/down", whole("503 Service Unavailable", "", "Retry-After: 120")), ServerError, 2),
		of("then no such host", "the name of the location does not exist", once("302 Found", "http://nowhere.invalid/"), DNSNotFound, 2),
		of("then a private address", "the guard checks every hop", once("302 Found", "http://10.0.0.1/"), AddressRefused, 2),
		of("then a forbidden port", "the guard checks every hop", once("302 Found", "http://site.test:25/"), PortRefused, 2),
		of("header in the place", "line ends cannot be injected into the request", once("302 Found", "/a%0d%0aX-Evil: 1"), OK, 2),
	}
	for _, status := range []string{"301 Moved Permanently", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"} {
		list = append(list, of(status, "followed", once(status, "/there.txt"), OK, 2))
	}
	for _, place := range []struct{ name, location string }{
		{"relative", "there.txt"}, {"relative with dots", "./a/../there.txt"}, {"above the root", "../../there.txt"},
		{"query", "?x=1"}, {"without scheme", "//other.test:PORT/there"}, {"upper case", "HTTP://OTHER.TEST:PORT/there"},
		{"userinfo", "http://user:secret@site.test:PORT/there"}, {"fragment", "/there#part"}, {"raw UTF-8", "/dé pôt"}, {"broken escape", "/a%zz"},
	} {
		list = append(list, of("place "+place.name, "Location: "+strings.ReplaceAll(place.location, "|", "%7C"), once("302 Found", place.location), OK, 2))
	}
	return list
}

func encodingFaults() []fault {
	of := func(name, does, encoding, body string, cause Cause) fault {
		f := fault{area: "encoding", name: name, does: does, serve: answer(whole("200 OK", body, "Content-Encoding: "+encoding)), cause: cause}
		if cause == OK {
			f.file = someRules
		}
		return f
	}
	empty := func(name, does, version, encoding, body string, cause Cause) fault {
		return fault{area: "encoding", name: name, does: does, cause: cause,
			serve: answer("HTTP/" + version + " 200 OK\r\nContent-Encoding: " + encoding + "\r\n\r\n" + body)}
	}
	zipped := gzipped(someRules)
	bad := []byte(zipped)
	bad[len(bad)-5] ^= 0xFF // in the checksum
	return []fault{
		of("gzip", "as requested", "gzip", zipped, OK),
		of("x-gzip", "the old name", "x-gzip", zipped, OK),
		of("GZIP", "in capitals", "GZIP", zipped, OK),
		of("deflate", "as requested", "deflate", zlibbed(someRules), OK),
		of("raw deflate", "without the zlib header", "deflate", deflated(someRules), OK),
		empty("empty raw deflate", "of two bytes", "1.0", "deflate", "\x03\x00", Empty),
		of("identity", "explicitly, although it is the default", "identity", someRules, OK),
		of("two members", "gzip with two members", "gzip", gzipped(someRules[:9])+gzipped(someRules[9:]), OK),
		of("brotli", "not requested", "br", someRules, BadEncoding),
		of("zstd", "not requested", "zstd", someRules, BadEncoding),
		of("compress", "not requested", "compress", someRules, BadEncoding),
		of("gzip twice", "two encodings", "gzip, gzip", gzipped(zipped), BadEncoding),
		of("gzip, identity", "two encodings", "gzip, identity", zipped, BadEncoding),
		of("a charset", "no encoding at all", "utf-8", someRules, BadEncoding),
		of("not gzip", "announced but not applied", "gzip", someRules, Undecodable),
		of("not deflate", "announced but not applied", "deflate", "\xFF\xFF"+someRules, Undecodable),
		of("bad checksum", "the gzip checksum is wrong", "gzip", string(bad), Undecodable),
		of("gzip cut", "the compressed data end early", "gzip", zipped[:len(zipped)-9], Incomplete),
		of("gzip of one byte", "the compressed data end early", "gzip", zipped[:1], Incomplete),
		of("bytes after gzip", "something follows the compressed data", "gzip", zipped+"and something else", Undecodable),
		of("bytes after deflate", "something follows the compressed data", "deflate", zlibbed(someRules)+"more", Undecodable),
		of("gzip of nothing", "an empty file, compressed", "gzip", gzipped(""), Empty),
		of("gzip announced, empty", "Content-Length: 0", "gzip", "", Empty),
		empty("gzip announced, no chunks", "only the last chunk", "1.1", "gzip\r\nTransfer-Encoding: chunked", "0\r\n\r\n", Empty),
		empty("deflate announced, no chunks", "only the last chunk", "1.1", "deflate\r\nTransfer-Encoding: chunked", "0\r\n\r\n", Empty),
		empty("gzip announced, last chunk missing", "closes before the first chunk", "1.1", "gzip\r\nTransfer-Encoding: chunked", "", Incomplete),
		empty("gzip announced, length too long", "closes before the first byte", "1.1", "gzip\r\nContent-Length: 9", "", Incomplete),
		empty("gzip announced, HTTP/1.0", "an HTTP/1.0 server ends every body like this", "1.0", "gzip", "", Empty),
		empty("gzip announced, closed", "closes before the first byte, although HTTP/1.1 would mark the end", "1.1", "gzip", "", Incomplete),
		{area: "encoding", name: "gzip without a word", does: "a compressed file without Content-Encoding is read as it is ([FORM-02](clauses.md#form-02))", serve: answer(whole("200 OK", zipped)), cause: OK, file: zipped},
		{area: "encoding", name: "gzip in short body", does: "complete compressed data, and a longer length", serve: answer("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9000\r\n\r\n" + zipped), cause: Incomplete},
	}
}

func sizeFaults() []fault {
	const head = "HTTP/1.1 200 OK\r\n"
	line := "Disallow: /" + strings.Repeat("x", 100) + "\n"
	return []fault{
		{area: "size", name: "file at the limit", does: "512,000 bytes", serve: func(p *peer) { p.say(whole("200 OK", rulesOf(512_000))) }, cause: OK, file: rulesOf(512_000), byteCount: upToFile},
		{area: "size", name: "file over the limit", does: "600,000 bytes: the whole lines within the limit count", serve: func(p *peer) { p.say(whole("200 OK", rulesOf(600_000))) }, cause: OK, file: rulesOf(600_000)[:512_000+bodySlack], byteCount: upToFile},
		{area: "size", name: "endless file", does: "an endless body", serve: func(p *peer) { pour(p.Conn, 0, head+"\r\nUser-agent: *\n", strings.Repeat(line, 100)) }, cause: OK, byteCount: upToFile},
		{area: "size", name: "endless chunks", does: "endless chunks", serve: func(p *peer) {
			pour(p.Conn, 0, head+"Transfer-Encoding: chunked\r\n\r\n", fmt.Sprintf("%x\r\n%s\r\n", len(line)*50, strings.Repeat(line, 50)))
		}, cause: OK, byteCount: upToFile},
		{area: "size", name: "chunks of one byte", does: "six bytes on the wire per byte of the file", serve: func(p *peer) {
			pour(p.Conn, 0, head+"Transfer-Encoding: chunked\r\n\r\n", strings.Repeat("1\r\n#\r\n", 200))
		}, cause: RawLimit, byteCount: upToRaw},
		{area: "size", name: "gzip bomb", does: "64 MiB of zeros in 64 KiB: reading stops at the limit of the file", setup: func(*stage) { bomb() }, serve: func(p *peer) {
			p.say(whole("200 OK", bomb(), "Content-Encoding: gzip"))
		}, cause: OK, byteCount: upToFile},
		{area: "size", name: "empty deflate blocks", does: "endless empty compressed blocks", serve: func(p *peer) {
			pour(p.Conn, 0, head+"Content-Encoding: deflate\r\n\r\n", strings.Repeat("\x00\x00\x00\xFF\xFF", 1000))
		}, cause: RawLimit, byteCount: upToRaw},
		{area: "size", name: "empty gzip members", does: "endless empty compressed blocks", serve: func(p *peer) {
			pour(p.Conn, 0, head+"Content-Encoding: gzip\r\n\r\n", strings.Repeat(gzipped(""), 100))
		}, cause: RawLimit, byteCount: upToRaw},
		{area: "size", name: "header flood", does: "endless headers", serve: func(p *peer) { pour(p.Conn, 0, head, "X-Flood: "+strings.Repeat("x", 1000)+"\r\n") }, cause: HeaderLimit, byteCount: upToHeaders},
		{area: "size", name: "one long header", does: "one endless header", serve: func(p *peer) { pour(p.Conn, 0, head+"X-Flood: ", strings.Repeat("x", 1000)) }, cause: HeaderLimit, byteCount: upToHeaders},
		{area: "size", name: "long status line", does: "an endless status line", serve: func(p *peer) { pour(p.Conn, 0, "HTTP/1.1 200 ", strings.Repeat("x", 1000)) }, cause: HeaderLimit, byteCount: upToHeaders},
		{area: "size", name: "endless 103", does: "endless interim responses", serve: func(p *peer) { pour(p.Conn, 0, "", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n") }, cause: HeaderLimit, byteCount: upToHeaders},
		{area: "size", name: "dripping headers", does: "the headers, byte by byte", serve: func(p *peer) { drip(p, head+"X-Slow: ", "x") }, cause: HeaderTimeout, within: untilHeader},
		{area: "size", name: "dripping body", does: "the file, byte by byte", serve: func(p *peer) { drip(p, head+"Content-Length: 9000\r\n\r\nUser-agent: *\n", "#") }, cause: TooSlow, within: untilGrace},
		{area: "size", name: "body stops", does: "part of the file, then nothing", serve: kept(head + "Content-Length: 9000\r\n\r\nUser-agent: *\n"), cause: TooSlow, within: untilGrace},
		{area: "size", name: "just fast enough", does: "keeps the minimum rate until the fetch times out", serve: func(p *peer) { drip(p, head+"\r\n"+rulesOf(2000), strings.Repeat("#", 100)) }, cause: Timeout, within: untilTotal, byteCount: upToFile},
		{area: "size", name: "slow redirects", does: "each hop takes nearly as long as permitted", serve: func(p *peer) {
			time.Sleep(350 * time.Millisecond)
			chain(9, func(p *peer, i int) string { return fmt.Sprintf("/%d", i) })(p)
		}, cause: Timeout, within: untilTotal},
	}
}

// drip sends start and then more every 20 ms.
func drip(p *peer, start, more string) { pour(p.Conn, 20*time.Millisecond, start, more) }

// pour sends start, and then more after each pause until the client has disconnected.
func pour(c io.Writer, pause time.Duration, start, more string) {
	for text := start; ; text = more {
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
		time.Sleep(pause)
	}
}
