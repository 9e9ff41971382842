package fetch

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/textproto"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// ftp fetches robots.txt from the root of an anonymous login (FETCH-02, D-37), passive and
// binary. It uses no library, because the outcome depends on the code of each reply and on
// what follows: 530 to USER means that the site requires a login; 421, or 530 and the end of
// the connection, that it is busy.
func (s *session) ftp() {
	o := s.record.Origin
	defer s.endHop()
	conn, f := s.open(o, "")
	if f != nil {
		s.fail(f)
		return
	}
	defer conn.Close()
	defer s.closeOnCancel(conn)()
	conn.setQuota(s.client.limits.MaxHeaderBytes, HeaderLimit)
	t := &ftpTalk{session: s, conn: conn, in: bufio.NewReader(conn)}
	began := time.Now()
	data, f := t.begin()
	s.hop().Header = time.Since(began)
	if f == nil {
		f = t.receive(data)
	}
	s.hop().Received += conn.received
	s.hop().Status = s.record.Status
	if s.record.Status != 0 {
		s.hop().Protocol = "FTP"
	}
	if f != nil {
		s.record.Body = nil
		s.fail(f)
	}
}

// ftpTalk is the control connection.
type ftpTalk struct {
	*session
	conn *limitedConn
	in   *bufio.Reader
}

// begin logs in and starts the transfer.
func (t *ftpTalk) begin() (*limitedConn, *failure) {
	if _, _, f := t.send("", 220); f != nil {
		return nil, f
	}
	code, _, f := t.send("USER anonymous", 230, 331)
	if code == 331 {
		code, _, f = t.send("PASS anonymous@", 230, 202)
	}
	if f != nil {
		if isLogin(code) && (code != 530 || t.stays()) {
			f.cause = FTPDenied // like 401
		}
		return nil, f
	}
	if _, _, f := t.send("TYPE I", 200); f != nil {
		return nil, f
	}
	port, f := t.passive()
	if f != nil {
		return nil, f
	}
	data, f := t.data(port)
	if f != nil {
		return nil, f
	}
	// Relative to the login's root, which can differ from the server's.
	code, text, f := t.send("RETR robots.txt", 125, 150, 550, 553)
	if f == nil && code > 500 {
		f = &failure{FTPAbsent, text}
	}
	if f != nil {
		data.Close()
		return nil, f
	}
	return data, nil
}

// stays reports whether the session continues after a refused login. A server that requires a
// password continues, so that another name can be tried. One with too many users should send
// 421, but often sends 530 (ProFTPD) and closes the connection. The text of a reply is for
// people. A session that ends, or has no reply in time, counts as busy, which permits nothing.
func (t *ftpTalk) stays() bool {
	refusal := t.record.Status
	defer func() { t.record.Status = refusal }()
	code, _, _ := t.send("NOOP", 200)
	return code != 0 && code != 221 && code != 421
}

// receive reads the file and the reply that confirms it is complete.
func (t *ftpTalk) receive(data *limitedConn) *failure {
	defer data.Close()
	defer t.closeOnCancel(data)()
	t.readBody(&reply{Response: &http.Response{ContentLength: -1}, body: data, conn: data})
	t.hop().Received += data.received
	if t.record.Outcome != Success || t.record.Truncated {
		return nil
	}
	data.Close() // some servers wait for it before they reply
	code, text, f := t.send("", 226, 250)
	if f != nil && code != 0 {
		f = &failure{Incomplete, strconv.Itoa(code) + " " + text}
	}
	return f
}

// send sends a command, if there is one, and reads a reply, which must be an expected one. It
// has one or more lines (RFC 959 section 4.2), which end in CRLF or LF. A reply whose last line
// does not end is truncated, whatever its code (D-59).
func (t *ftpTalk) send(command string, expected ...int) (code int, text string, f *failure) {
	t.conn.setPhase(t.phaseDeadline(t.client.limits.Header, HeaderTimeout))
	if command != "" {
		if _, err := io.WriteString(t.conn, command+"\r\n"); err != nil && t.conn.limitReached != CauseNone {
			return 0, "", t.conn.classify(err, Reset)
		}
	}
	if _, err := t.in.Peek(1); errors.Is(err, io.EOF) {
		return 0, "", &failure{Closed, "the control connection"}
	}
	code, text, err := textproto.NewReader(t.in).ReadResponse(0)
	if t.in.UnreadByte() == nil {
		if last, _ := t.in.ReadByte(); last != '\n' {
			err = io.ErrUnexpectedEOF
		}
	}
	if err != nil {
		return 0, "", t.conn.classify(err, BadResponse)
	}
	t.record.Status = code
	if !slices.Contains(expected, code) {
		f = ftpFailure(code, text)
	}
	return code, text, f
}

// isLogin reports whether a reply requests a login or an account. As a reply to a login it
// means that anonymous users are refused (D-59).
func isLogin(code int) bool { return code == 530 || code == 332 || code == 532 }

// ftpFailure returns the failure for an unexpected reply (D-37).
func ftpFailure(code int, text string) *failure {
	if isLogin(code) || 400 <= code && code <= 499 || code == 120 {
		return &failure{FTPTemporary, text}
	}
	return &failure{BadResponse, strconv.Itoa(code) + " " + text}
}

// passive requests a port to connect to: EPSV, then PASV for servers without it. The address
// in the reply to PASV is not used, as it is often wrong and could lead anywhere.
func (t *ftpTalk) passive() (uint16, *failure) {
	code, text, f := t.send("EPSV", 229)
	if f != nil && code >= 500 && code <= 599 && !isLogin(code) {
		code, text, f = t.send("PASV", 227)
	}
	if f != nil {
		return 0, f
	}
	if m := portAt()[code].FindStringSubmatch(text); m != nil {
		high, err1 := strconv.ParseUint("0"+m[1], 10, 8)
		low, err2 := strconv.ParseUint(m[2], 10, 16)
		if port := high<<8 + low; err1 == nil && err2 == nil && 0 < port && port < 1<<16 {
			return uint16(port), nil
		}
	}
	return 0, &failure{BadResponse, strconv.Itoa(code) + " " + text}
}

// portAt finds a port in a reply: "(|||port|)" (RFC 2428 section 3), or "h1,h2,h3,h4,p1,p2" with
// or without parentheses (RFC 1123 section 4.1.2.6).
var portAt = sync.OnceValue(func() map[int]*regexp.Regexp {
	return map[int]*regexp.Regexp{
		229: regexp.MustCompile(`\([^\w\s]{3}()(\d{1,5})[^\w\s]\)`),
		227: regexp.MustCompile(`^\D*\d+,\d+,\d+,\d+,(\d{1,3}),(\d{1,3})(?:[^\d,]|$)`),
	}
})

// data opens the data connection to the host of the control connection and a port that no
// well-known service uses; the Guard checks it again. It takes no further place in the pool,
// as the control connection is idle meanwhile.
func (t *ftpTalk) data(port uint16) (*limitedConn, *failure) {
	if port < 1024 {
		return nil, &failure{PortRefused, "data port " + strconv.Itoa(int(port)) + " belongs to another service"}
	}
	permitted, err := t.client.permittedAddresses(t.host, []netip.Addr{t.addresses[0].Addr()}, port)
	if err != nil {
		return nil, t.classifyConnectError(err)
	}
	began := time.Now()
	conn, err := t.connect(permitted[0], t.client.limits.Connect)
	t.hop().Connect += time.Since(began)
	if err != nil {
		return nil, t.classifyConnectError(err)
	}
	return &limitedConn{Conn: conn}, nil
}
