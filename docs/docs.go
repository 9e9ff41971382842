// Package docs holds pages of the documentation that a program shows.
package docs

import "embed"

// Clauses is clauses.md, the statements behind every decision of the engine: a
// heading "## " for each section, a heading "#### " with the id for each
// statement, and in the line below that the statement.
//
//go:embed clauses.md
var Clauses string

// Commands is commands.md: a heading "## " for each command, then in blocks of code its usage, parts
// of its description and, last, its examples. A table of its flags, which is generated, ends the section.
//
//go:embed commands.md
var Commands string

// Pages are all documents and their images, as the service and the static site show them.
//
//go:embed *.md *.png *.svg
var Pages embed.FS
