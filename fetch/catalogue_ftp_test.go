package fetch

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// ftpServer is a scripted FTP server: the reply to each command, and what the data connection
// does. An empty field means the usual reply.
type ftpServer struct {
	banner, user, pass, noop, mode, epsv, pasv, retr, done string

	data   func(c net.Conn)          // by default sends someRules
	closes string                    // command after which the control connection ends
	last   string                    // command whose reply is the last word, the connection ends with it
	cut    int                       // bytes that are missing at the end of that reply
	stays  bool                      // the connection does not end with it
	wrap   func(c net.Conn) net.Conn // what is written to either connection goes through it
	hangs  string                    // command that is never answered
	resets bool                      // the data connection is reset
}

func (f ftpServer) serve(s *site, c net.Conn) {
	verb := "connect"
	say := func(text, usual string) {
		if text == "" {
			text = usual
		}
		if text += "\r\n"; verb == f.last {
			text = text[:len(text)-f.cut]
		}
		io.WriteString(c, text)
	}
	in := bufio.NewReader(c)
	if f.wrap != nil {
		c = f.wrap(c)
	}
	if f.hangs == "connect" {
		io.Copy(io.Discard, c)
		return
	}
	say(f.banner, "220 ready")
	if verb == f.last {
		return
	}
	var data net.Listener
	defer func() {
		if data != nil {
			data.Close()
		}
	}()
	port := func() (high, low int) {
		if data == nil {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return 0, 0
			}
			data = l
		}
		p := data.Addr().(*net.TCPAddr).Port
		return p >> 8, p & 255
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		verb, _, _ = strings.Cut(strings.TrimSpace(line), " ")
		switch verb {
		case f.closes:
			return
		case f.hangs:
			io.Copy(io.Discard, c)
			return
		}
		high, low := 0, 0
		if verb == "EPSV" || verb == "PASV" {
			high, low = port()
		}
		switch verb {
		case "USER":
			say(f.user, "331 password please")
		case "PASS":
			say(f.pass, "230 welcome")
		case "TYPE":
			say(f.mode, "200 binary")
		case "EPSV":
			say(f.epsv, fmt.Sprintf("229 entering (|||%d|)", high<<8|low))
		case "PASV":
			say(strings.NewReplacer("HIGH", fmt.Sprint(high), "LOW", fmt.Sprint(low)).Replace(f.pasv),
				fmt.Sprintf("227 entering (127,0,0,1,%d,%d)", high, low))
		case "RETR":
			if f.retr != "" && f.retr[0] != '1' {
				say(f.retr, "")
				break
			}
			say(f.retr, "150 here it comes")
			d, err := data.Accept()
			if err != nil {
				return
			}
			if f.wrap != nil {
				d = f.wrap(d)
			}
			switch {
			case f.data != nil:
				f.data(d)
			case strings.TrimSpace(line) == "RETR robots.txt":
				io.WriteString(d, someRules)
			}
			if f.resets {
				d.(*net.TCPConn).SetLinger(0)
			}
			d.Close()
			if f.done != "never" {
				verb = "226" // the second reply to RETR
				say(f.done, "226 done")
			}
		default:
			say(f.noop, "502 unknown")
		}
		if verb == f.last && !f.stays {
			return
		}
	}
}

func ftpFaults() []fault {
	of := func(name, does string, s ftpServer, cause Cause, status int) fault {
		f := fault{area: "ftp", name: name, does: does, url: "ftp://site.test:PORT/", raw: s.serve, cause: cause, status: status}
		if cause == OK {
			f.file = someRules
		}
		return f
	}
	held := func(f fault, within span) fault { f.within = within; return f }
	much := func(f fault, most size) fault { f.byteCount, f.file = most, ""; return f }
	flood := func(text string) func(c net.Conn) { return func(c net.Conn) { pour(c, 0, "", text) } }
	return []fault{
		of("file", "an anonymous login and a file", ftpServer{}, OK, 226),
		of("no password", "USER is enough", ftpServer{user: "230 welcome"}, OK, 226),
		of("long banner", "a banner of several lines", ftpServer{banner: "220-hello\r\n220-to all\r\n220 ready"}, OK, 226),
		of("PASV only", "a server without EPSV", ftpServer{epsv: "500 what"}, OK, 226),
		of("PASV of another host", "the address that PASV announces is not used", ftpServer{epsv: "500 what", pasv: "227 entering (10,0,0,1,HIGH,LOW)"}, OK, 226),
		of("PASV without parentheses", "the numbers are found anyway", ftpServer{epsv: "500 what", pasv: "227 entering 127,0,0,1,HIGH,LOW"}, OK, 226),
		of("250 at the end", "another code for success", ftpServer{done: "250 done"}, OK, 250),
		of("empty file", "no bytes", ftpServer{data: func(net.Conn) {}}, Empty, 226),
		of("550", "there is no such file", ftpServer{retr: "550 no such file"}, FTPAbsent, 550),
		of("553", "there is no such name", ftpServer{retr: "553 bad name"}, FTPAbsent, 553),
		of("530 to USER", "no anonymous login, the session stays open", ftpServer{user: "530 not here"}, FTPDenied, 530),
		of("530 to PASS", "no anonymous login, the session stays open", ftpServer{pass: "530 not here"}, FTPDenied, 530),
		of("530 to USER, closed", "too many users: the server closes the connection", ftpServer{user: "530 too many users", last: "USER"}, FTPTemporary, 530),
		of("530 to PASS, closed", "too many users: the server closes the connection", ftpServer{pass: "530 too many users", last: "PASS"}, FTPTemporary, 530),
		of("530 to PASS, closed later", "the server closes the connection at the next command", ftpServer{pass: "530 too many users", closes: "NOOP"}, FTPTemporary, 530),
		of("530 to PASS, then 421", "the server announces that it closes the connection", ftpServer{pass: "530 too many users", noop: "421 bye"}, FTPTemporary, 530),
		held(of("530 to PASS, then silent", "no further reply: whether the session stays open is unknown", ftpServer{pass: "530 not now", hangs: "NOOP"}, FTPTemporary, 530), untilHeader),
		of("530 as banner", "too many users, before login", ftpServer{banner: "530 too many users"}, FTPTemporary, 530),
		of("332", "an account is required", ftpServer{pass: "332 account please"}, FTPDenied, 332),
		of("332 to USER", "an account is required", ftpServer{user: "332 account please"}, FTPDenied, 332),
		of("532 to PASS", "an account is required", ftpServer{pass: "532 account please"}, FTPDenied, 532),
		of("332 as banner", "an account is required before login", ftpServer{banner: "332 account please"}, FTPTemporary, 332),
		of("532 as banner", "an account is required before login", ftpServer{banner: "532 account please"}, FTPTemporary, 532),
		of("530 to TYPE", "the login is no longer accepted", ftpServer{mode: "530 log in first"}, FTPTemporary, 530),
		of("530 to EPSV", "the login is no longer accepted", ftpServer{epsv: "530 log in first"}, FTPTemporary, 530),
		of("332 to PASV", "the login is no longer accepted", ftpServer{epsv: "500 what", pasv: "332 account please"}, FTPTemporary, 332),
		of("530 to RETR", "the login is no longer accepted", ftpServer{retr: "530 log in first"}, FTPTemporary, 530),
		of("332 to RETR", "the login is no longer accepted", ftpServer{retr: "332 account please"}, FTPTemporary, 332),
		of("532 to RETR", "the login is no longer accepted", ftpServer{retr: "532 account please"}, FTPTemporary, 532),
		of("530 at the end", "the transfer was aborted", ftpServer{done: "530 log in first"}, Incomplete, 530),
		of("550, closed", "there is no such file, and the server closes", ftpServer{retr: "550 no such file", last: "RETR"}, FTPAbsent, 550),
		of("550 of several lines", "only the last line begins with the code and a space", ftpServer{retr: "550-no\r\n226 such\r\n 550 file\r\n550 ok"}, FTPAbsent, 550),
		of("550 in LF", "a line can end in LF only", ftpServer{retr: "550 no such file\n", last: "RETR", cut: 2}, FTPAbsent, 550),
		of("550 without text", "a code without text is not a reply", ftpServer{retr: "550"}, BadResponse, 229),
		of("226 cut", "the reply that completes the file has no line end", ftpServer{last: "226", cut: 2}, Incomplete, 150),
		of("230 cut", "the control connection ends inside a reply", ftpServer{last: "PASS", cut: 1}, Incomplete, 331),
		of("229 cut", "the control connection ends inside a reply", ftpServer{last: "EPSV", cut: 2}, Incomplete, 200),
		of("530 cut", "the control connection ends inside a reply", ftpServer{user: "530 not here", last: "USER", cut: 2}, Incomplete, 220),
		of("550 cut", "the control connection ends inside a reply", ftpServer{retr: "550 no such file", last: "RETR", cut: 2}, Incomplete, 229),
		of("550 cut after the code", "the control connection ends inside a reply", ftpServer{retr: "550 ", last: "RETR", cut: 2}, Incomplete, 229),
		of("550 cut before LF", "the control connection ends inside a reply", ftpServer{retr: "550 no such file", last: "RETR", cut: 1}, Incomplete, 229),
		of("550 of several lines, cut", "the last line is missing", ftpServer{retr: "550-no such file", last: "RETR"}, Incomplete, 229),
		held(of("550, then silence", "a reply that never ends", ftpServer{retr: "550 no such file", cut: 2, last: "RETR", stays: true}, HeaderTimeout, 229), untilHeader),
		of("421 as banner", "busy", ftpServer{banner: "421 too many users"}, FTPTemporary, 421),
		of("120 as banner", "ready in a few minutes", ftpServer{banner: "120 wait"}, FTPTemporary, 120),
		of("421 to USER", "busy", ftpServer{user: "421 too many users"}, FTPTemporary, 421),
		of("425", "no data connection", ftpServer{retr: "425 cannot open"}, FTPTemporary, 425),
		of("450", "the file is not available now", ftpServer{retr: "450 busy"}, FTPTemporary, 450),
		of("451", "an error in processing", ftpServer{retr: "451 error"}, FTPTemporary, 451),
		of("426 at the end", "the transfer was aborted", ftpServer{done: "426 aborted"}, Incomplete, 426),
		of("552 at the end", "the transfer was aborted", ftpServer{done: "552 too much"}, Incomplete, 552),
		of("500 to USER", "the user is rejected", ftpServer{user: "500 what"}, BadResponse, 500),
		of("554 as banner", "the user is rejected", ftpServer{banner: "554 mail"}, BadResponse, 554),
		of("no TYPE", "binary is refused", ftpServer{mode: "504 no"}, BadResponse, 504),
		of("no passive mode", "neither EPSV nor PASV", ftpServer{epsv: "500 what", pasv: "502 no"}, BadResponse, 502),
		of("EPSV without a port", "a reply without a port", ftpServer{epsv: "229 entering"}, BadResponse, 229),
		of("PASV without a port", "a reply without a port", ftpServer{epsv: "500 what", pasv: "227 entering (1,2,3)"}, BadResponse, 227),
		of("data port 22", "the port of another service", ftpServer{epsv: "229 entering (|||22|)"}, PortRefused, 229),
		of("data port dead", "no listener at the data port", ftpServer{epsv: "229 entering (|||4001|)"}, ConnectRefused, 229),
		of("not FTP", "the port speaks HTTP", ftpServer{banner: "HTTP/1.1 400 Bad Request"}, BadResponse, 0),
		of("closed before login", "the control connection ends", ftpServer{closes: "USER"}, Closed, 220),
		of("closed before RETR", "the control connection ends", ftpServer{closes: "RETR"}, Closed, 229),
		of("data reset", "the data connection is reset", ftpServer{resets: true, data: func(c net.Conn) {
			io.WriteString(c, someRules[:9])
			time.Sleep(30 * time.Millisecond)
		}}, Reset, 150),
		held(of("no reply at the end", "the file was sent, but not the reply that completes it", ftpServer{done: "never"}, HeaderTimeout, 150), untilHeader),
		held(of("silent", "accepts and sends nothing", ftpServer{hangs: "connect"}, HeaderTimeout, 0), untilHeader),
		held(of("RETR unanswered", "no reply to RETR", ftpServer{hangs: "RETR"}, HeaderTimeout, 229), untilHeader),
		held(of("data stops", "part of the file, then nothing", ftpServer{data: func(c net.Conn) {
			io.WriteString(c, someRules[:9])
			io.Copy(io.Discard, c)
		}}, TooSlow, 150), untilGrace),
		much(of("endless file", "endless data", ftpServer{data: flood("Disallow: /" + strings.Repeat("x", 200) + "\n")}, OK, 150), upToFile),
		much(of("endless banner", "an endless banner", ftpServer{banner: "220-" + strings.Repeat("hello\r\n220-", 20_000) + "end"}, HeaderLimit, 0), upToHeaders),
	}
}

func guardFaults() []fault {
	of := func(name, does, url string, cause Cause) fault {
		return fault{area: "guard", name: name, does: does, url: url, raw: func(*site, net.Conn) {}, cause: cause, byteCount: nothing}
	}
	strict := func(o *Options) { o.Guard = Guard{} }
	list := []fault{
		of("loopback", "the address of the machine itself", "http://127.0.0.1:PORT/", AddressRefused),
		of("IPv6 loopback", "the address of the machine itself", "http://[::1]:PORT/", AddressRefused),
		of("a name of a loopback address", "the address counts, not the name", "http://site.test:PORT/", AddressRefused),
		of("metadata", "the metadata service of a cloud", "http://169.254.169.254/", AddressRefused),
		of("ftp to loopback", "the guard checks the control connection too", "ftp://127.0.0.1:PORT/", AddressRefused),
		of("mail port", "port 25", "http://site.test:25/", PortRefused),
	}
	for i := range list {
		list[i].options = strict
	}
	list[5].options = nil
	return list
}
