// Package robotstest contains test cases for robots.txt engines, as files that people can
// read and programs can run: one behavior per file, one column per dialect. Any engine can
// be tested with them.
//
// # Testing an engine
//
// An [Engine] is a function from a body, a dialect, the crawler's product tokens and a URL
// to an [Answer]. [Run] tests it with every cell of every case:
//
//	func TestCases(t *testing.T) {
//		engine := func(body []byte, dialect string, agents []string, url string) (robotstest.Answer, error) {
//			return robotstest.Boolean(myrobots.Allowed(body, agents[0], url)), nil
//		}
//		robotstest.Run(t, engine, robotstest.Options{Dialects: []string{"rfc9309"}, TwoValued: true})
//	}
//
// A line of -1 and an empty reason in an Answer are not compared. [Program] makes an engine
// from a command.
//
// # Case files
//
// A case file is a txtar archive. Its comment describes the behavior and refers to the
// clauses of docs/clauses.md; its sections are usually robots.txt and verdicts:
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
// [Parse] reads the format, which cases/README.md describes.
package robotstest
