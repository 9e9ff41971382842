package server

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/robotskit/robots/fetch"
)

// tokenBench is a service behind a gate with a token for each set of scopes.
func tokenBench(t *testing.T, c *Config) *gated {
	service, err := New(Parts{Fetch: fetch.Options{Transport: hostileSites{}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.Close() })
	return run(t, c, service.Handler(), nil)
}

// scopeTokens has a line for each set of scopes, and their tokens.
func scopeTokens() (text string, tokens map[Scope]string) {
	tokens = map[Scope]string{}
	for set := Scope(1); set <= allScopes; set++ {
		var list []string
		for i, name := range scopes {
			if set&(1<<i) != 0 {
				list = append(list, name)
			}
		}
		tokens[set] = strings.Join(list, "-") + strings.Repeat("s", 40)
		text += strings.Join(list, "_") + " " + strings.Join(list, ",") + " " + tokens[set] + "\n"
	}
	return text, tokens
}

// TestTokenScopes: for each operation of the document and each way to write its path, a client without a
// token or with a wrong one gets 401, a token without the scope 403, and only a token with it an answer.
// No token is in a response or in the log.
func TestTokenScopes(t *testing.T) {
	needed := map[string]Scope{
		"GET /v1/check": ScopeCheck, "POST /v1/check": ScopeCheck, "POST /v1/permits": ScopeCheck | ScopePermit, "POST /v1/permits/next": ScopeCheck | ScopePermit,
		"POST /v1/permits/{id}/done": ScopePermit, "GET /v1/robots": ScopeCheck, "POST /v1/robots/refresh": ScopeCheck | ScopeFetch, "GET /v1/schedule": ScopeCheck,
		"POST /v1/explain": ScopeCheck, "POST /v1/lint": ScopeCheck, "POST /v1/diff": ScopeCheck,
		"GET /version": 0, "GET /openapi.json": 0, "GET /docs": 0,
	}
	bodies := map[string]string{
		"GET /v1/check": "?url=http://a.example/", "GET /v1/robots": "?url=http://a.example/", "GET /v1/schedule": "?url=http://a.example/",
		"POST /v1/check": `{"questions":[]}`, "POST /v1/permits": `{"url":"http://a.example/"}`, "POST /v1/permits/next": `{"urls":["http://a.example/"]}`,
		"POST /v1/permits/{id}/done": `{}`, "POST /v1/robots/refresh": `{"url":"http://a.example/"}`,
		"POST /v1/explain": `{"robots":"","url":"/"}`, "POST /v1/lint": `{"robots":""}`, "POST /v1/diff": `{"old":"","new":""}`,
	}
	paths := openAPI()["paths"].(map[string]any)
	documented := 0
	for path, item := range paths {
		for method := range item.(map[string]any) {
			if method == "parameters" {
				continue
			}
			documented++
			if _, known := needed[strings.ToUpper(method)+" "+path]; !known {
				t.Errorf("%s %s is in the document and not in this test", method, path)
			}
		}
	}
	if documented != len(needed) {
		t.Errorf("the document has %d operations, this test %d", documented, len(needed))
	}
	text, tokens := scopeTokens()
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	closed := tokenBench(t, local(t, "tokens-file="+file))
	open := tokenBench(t, local(t, "tokens-file="+file, "anonymous=true", "host=robots.example"))
	full := "Authorization: Bearer " + tokens[allScopes] + "\r\n"
	send := func(s *gated, method, target, headers, body string) (status int) {
		t.Helper()
		resp := s.raw(method+" "+target+" HTTP/1.1\r\nHost: localhost\r\n"+headers+"Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body, false)
		if resp == nil {
			t.Fatalf("%s %s: no response", method, target)
		}
		text, _ := io.ReadAll(resp.Body)
		if strings.Contains(string(text), strings.Repeat("s", 40)) {
			t.Errorf("%s %s: a response has a token: %s", method, target, text)
		}
		return resp.StatusCode
	}
	send(closed, "GET", "/v1/robots?url=http://a.example/", full, "") // so that the record is in memory
	for operation, need := range needed {
		method, path, _ := strings.Cut(operation, " ")
		path = strings.ReplaceAll(path, "{id}", "p_x")
		body := bodies[operation]
		query := ""
		if method == "GET" {
			query, body = body, ""
		}
		wrong := map[string]string{
			"no token": "", "a wrong token": "Authorization: Bearer " + strings.Repeat("w", 40) + "\r\n", "a prefix": "Authorization: Bearer " + tokens[allScopes][:20] + "\r\n",
			"an empty token": "Authorization: Bearer \r\n", "another scheme": "Authorization: Basic " + tokens[allScopes] + "\r\n", "no scheme": "Authorization: " + tokens[allScopes] + "\r\n",
			"a proxy's header": "Proxy-Authorization: Bearer " + tokens[allScopes] + "\r\n", "a cookie": "Cookie: token=" + tokens[allScopes] + "\r\n",
			"two headers": full + "Authorization: Bearer " + strings.Repeat("w", 40) + "\r\n", "two headers, reversed": "Authorization: Basic x\r\n" + full, "the same twice": full + full,
			"a list": "Authorization: Bearer " + tokens[ScopeFetch] + ", Bearer " + tokens[allScopes] + "\r\n",
		}
		for name, headers := range wrong {
			bare := !strings.Contains(headers, "Authorization: Bearer") || strings.HasPrefix(headers, "Proxy") || strings.HasPrefix(headers, "Authorization: Basic") || name == "an empty token"
			switch status := send(closed, method, path+query, headers, body); {
			case need == 0 && bare && status != 200, need == 0 && !bare && status != 401, need != 0 && status != 401:
				t.Errorf("%s with %s: status %d", operation, name, status)
			}
			// Where clients need no token, a wrong one is an error all the same.
			if status := send(open, method, path+query, headers, body); (status == 401) == bare {
				t.Errorf("%s with %s, anonymous: status %d", operation, name, status)
			}
		}
		separator := "?"
		if query != "" {
			separator = "&"
		}
		if status := send(closed, method, path+query+separator+"access_token="+tokens[allScopes], "", body); need != 0 && status != 401 {
			t.Errorf("%s with a token in the query: status %d", operation, status)
		}
		for set, token := range tokens {
			for _, scheme := range []string{"Bearer", "bearer", "BEARER"} {
				status := send(closed, method, path+query, "Authorization: "+scheme+" "+token+"\r\n", body)
				if lacks := set&need != need; (status == 403) != lacks || status == 401 || status >= 500 {
					t.Errorf("%s with scopes %03b: status %d", operation, set, status)
				}
			}
		}
		if need == 0 {
			continue
		}
		// However the request is written, no client without a token gets an answer.
		for _, target := range []string{
			path, path + "/", "/" + path, path + "//", "/x/.." + path, "/." + path, strings.Replace(path, "v1", "%761", 1), strings.Replace(path, "/v1/", "/v1%2f", 1),
			strings.Replace(path, "/v1/", "//v1//", 1), strings.ToUpper(path), "http://localhost" + path, path + ";x", path + "%00", path + "/../" + filepath.Base(path), "/docs/.." + path,
		} {
			for _, m := range []string{method, "GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH", "CONNECT", "TRACE", "get"} {
				if m == "CONNECT" {
					target = "/" + strings.TrimPrefix(target, "http://localhost/")
				}
				if status := send(closed, m, target+query, "", body); status < 300 && status != 204 {
					t.Errorf("%s %s without a token: status %d", m, target, status)
				}
			}
		}
	}
	closed.stop()
	open.stop()
	if logged := closed.log.String() + open.log.String(); strings.Contains(logged, strings.Repeat("s", 40)) || strings.Contains(logged, "p_x") {
		t.Errorf("the log has a token or the id of a permit: %.2000s", logged)
	}
}

// TestTokenMessages: no error about tokens has a part of one, however the fields of a line are mixed up.
func TestTokenMessages(t *testing.T) {
	secret := strings.Repeat("secret", 8)
	for _, line := range []string{
		secret, "a " + secret, secret + " a check", secret + " check a", "a " + secret + " check", "a check," + secret + " " + secret, "a check " + secret + " b", "a check secret",
		"a b check " + secret, "a:check:" + secret, "secret-/ check " + secret, "a " + secret + ",check x",
	} {
		for _, c := range []*Config{{Tokens: line}, {TokensFile: tokenFile(t, line)}} {
			_, err := NewGate(c, slog.New(slog.DiscardHandler), NewMetrics())
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%q: %v", line, err)
			}
		}
	}
}

func tokenFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestTokenRemoved: a token that a reload removes, or whose scopes it changes, ends the requests in
// progress with 401, and no permit is acquired for them; others go on.
func TestTokenRemoved(t *testing.T) {
	for name, after := range map[string]string{"removed": "b check " + tokenB + "\n", "fewer scopes": "a check " + tokenA + "\nb check " + tokenB + "\n"} {
		waiting := make(chan struct{}, 2)
		more := make(chan struct{})
		s := run(t, local(t, "tokens-file="+tokenFile(t, "a check,permit "+tokenA+"\nb check "+tokenB+"\n")), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			exchangeOf(r.Context()).wait(func() {
				waiting <- struct{}{}
				select {
				case <-r.Context().Done():
				case <-more:
				}
			})
			_, _ = io.WriteString(w, "an answer")
		}), nil)
		statuses := map[string]chan int{}
		for _, token := range []string{tokenA, tokenB} {
			status := make(chan int, 1)
			statuses[token] = status
			conn := s.send("GET /v1/check HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+token+"\r\n\r\n", false)
			go func() {
				resp, err := http.ReadResponse(conn, nil)
				if err != nil {
					status <- 0
					return
				}
				status <- resp.StatusCode
			}()
		}
		<-waiting
		<-waiting
		if err := s.gate.Reload(local(t, "tokens-file="+tokenFile(t, after))); err != nil {
			t.Fatal(err)
		}
		if status := <-statuses[tokenA]; status != http.StatusUnauthorized {
			t.Errorf("%s: the waiting request has status %d", name, status)
		}
		close(more)
		if status := <-statuses[tokenB]; status != 200 {
			t.Errorf("%s: the request of another token has status %d", name, status)
		}
	}
}
