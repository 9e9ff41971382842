// Package robotstest holds what a robots.txt engine should answer, as files
// that people can read and programs can run: one behaviour per file, one column
// per dialect. It is for this module's own engine and for any other.
//
// # Holding an engine against the cases
//
// An engine is a function from a body, a dialect, the crawler's product tokens
// and a URL to an [Answer]. [Run] asks it every cell of every case:
//
//	func TestCases(t *testing.T) {
//		engine := func(body []byte, dialect string, agents []string, url string) (robotstest.Answer, error) {
//			return robotstest.Boolean(myrobots.Allowed(body, agents[0], url)), nil
//		}
//		robotstest.Run(t, engine, robotstest.Options{Dialects: []string{"rfc9309"}, TwoValued: true})
//	}
//
// An engine that answers less than the cases know leaves it out: a line of -1
// and an empty reason are not compared. [Program] makes an engine of a command.
//
// # Case files
//
// A case file is a txtar archive. Its comment says what is shown and why, with
// the statements of docs/clauses.md behind it; then come sections, of which robots.txt
// and verdicts are the usual two:
//
//	A group for a name that no crawler has still ends the group before it (D-48).
//	-- robots.txt --
//	User-agent: *
//	Disallow: /x
//	User-agent: 008
//	Disallow: /
//	-- verdicts --
//	agent      url  all            yandex
//	GooseBot   /x   disallow:2     =
//	GooseBot   /y   allow:no-rule  =
//
// The format is described in cases/README.md and read by [Parse].
package robotstest
