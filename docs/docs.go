// Package docs holds pages of the documentation that a program shows.
package docs

import _ "embed" // for Clauses

// Clauses is clauses.md, the statements behind every decision of the engine: a
// heading for each section and below it a table with a row for each statement.
//
//go:embed clauses.md
var Clauses string
