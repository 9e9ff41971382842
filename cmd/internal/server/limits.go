package server

import (
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/batch"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/lint"
)

// This file has the limits of requests that no setting changes. Those of work and memory of one request are in
// package budget.

// Entries of lists in a request, and their sizes.
const (
	mostQuestions = 1000 // of a batch
	mostURLs      = 1000 // of POST /v1/permits/next
	mostReturns   = 100  // permits that a request releases
	mostAgents    = 20   // product tokens of a crawler
	longestAgent  = 128  // bytes of a product token
	mostCompared  = 1000 // crawlers of a diff
	mostNamed     = 100  // of these in the request
	mostDialects  = 20   // of lint
	maxNested     = 32   // depth of lists and objects in JSON
)

// Lists in an answer, which a site could make as long as its robots.txt. Answers count what they leave out.
const (
	mostEntries  = 1000 // of each list, except
	mostRates    = 100
	mostChanges  = 1000    // of a crawler and direction in a diff
	longestLists = 2 << 20 // bytes of all paths, patterns and values in a diff
)

var (
	answerLimits  = robots.JSONLimits{Lines: mostEntries, Rates: mostRates, Sitemaps: mostEntries}
	explainLimits = answer.ExplainLimits{Check: answerLimits, Matches: mostEntries, Signals: mostEntries}
)

// questionLimits returns the limits for a question of a batch.
func (s *Service) questionLimits() batch.Limits {
	return batch.Limits{URL: int(s.parts.URLBytes), Tokens: mostAgents, Token: longestAgent, Answer: answerLimits}
}

// Steps of all proofs in a request together. Lint also reads a file in each dialect, and has fewer.
const (
	diffSteps = 5 * compare.DefaultSteps
	lintSteps = lint.DefaultMaxSteps / 4
)

// Bytes that parts of an answer take.
const (
	longestPermit = 8 << 10 // more than a permit with its reasons
	bytesOfEntry  = 256     // about an entry of a schedule
)

// How long a request waits for a fetch. The least is for a record in the store, and for the refusal
// of a fetch.
const (
	leastWait = 100 * time.Millisecond
	usualWait = 10 * time.Second
	mostWait  = 30 * time.Second

	// waitCeiling is the longest wait of a response for a fetch and a permit.
	waitCeiling = time.Minute
	// pendingAfter is the Retry-After while a fetch is in progress.
	pendingAfter = 2 * time.Second
	// stuckAfter is how long requests can wait, with none being served, until the service is not ready.
	stuckAfter = 10 * time.Second
)

// Lifetimes of permits, and how long a client waits for one.
const (
	usualHold   = 2 * time.Minute
	longestHold = time.Hour

	// anonymousHold is the usual and the longest lifetime for a client without a token, where anyone can
	// be a client.
	anonymousHold = 10 * time.Second
	mostWithin    = 30 * time.Second
)

// leastToken is the minimum length of an access token in bytes.
const leastToken = 32

// firstBuffer is the largest part of a body for which there is memory before it arrives.
const firstBuffer = 4 << 10

// usualAnswer is more than the bytes of most answers to one question.
const usualAnswer = 1 << 10

// Limits of all requests together.
const (
	mostHeld     = 256 << 20 // bytes of bodies and responses
	mostParallel = 128       // sites that a request waits for at a time, each of which can have a large file

	// mostClients is the number of clients that are remembered, in about 20 MB. Of more, those
	// that sent no request for the longest time get new limits.
	mostClients = 1 << 16
	// stepsOfQuestion are the steps that count as one question in the rate limit.
	stepsOfQuestion = budget.Steps / 1000
)
