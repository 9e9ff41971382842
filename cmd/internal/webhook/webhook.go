// Package webhook posts messages to an address on the web.
package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/robotskit/robots/cmd/internal/screen"
)

const (
	// TokenName is the environment variable with the bearer token.
	TokenName = "ROBOTS_WEBHOOK_TOKEN"
	// Attempts is how often a message is posted until it is accepted.
	Attempts = 4
)

// Wait is the time to the second attempt; it doubles. Tests shorten it.
var Wait = time.Second

// A Hook is an address that accepts messages by POST.
type Hook struct {
	URL       string
	UserAgent string
	Failed    func(err error) // called after a failure, before the next attempt
}

// Post posts a message as JSON, and tries again after failures.
func (h *Hook) Post(ctx context.Context, message any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := h.post(ctx, body)
		if err == nil {
			return nil
		}
		if attempt == Attempts {
			return fmt.Errorf("after %d attempts: %w", attempt, err)
		}
		if ctx.Err() == nil {
			h.Failed(err)
		}
		select {
		case <-ctx.Done():
			return screen.ErrInterrupted
		case <-time.After(Wait << (attempt - 1)): //nolint:forbidigo // between attempts
		}
	}
}

// post posts a body once.
func (h *Hook) post(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", h.UserAgent)
	if token := os.Getenv(TokenName); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return screen.Cause(err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be closed cleanly
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}
