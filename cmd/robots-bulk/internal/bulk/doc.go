// Package bulk makes tables of archived robots.txt files: a snapshot of archives, and
// tables of verdicts of a snapshot.
//
// Work is a [Task], divided into shards. A shard makes one part of each table: a file whose
// name is a hash of its input, written aside and renamed when it is complete. So the folder
// alone shows the progress of a task: manifest.json, written first, lists the shards, and a
// shard is done when the record of its part exists, which has sizes and hashes. A shard that is repeated gives the
// same bytes under the same name. [Run] does all shards or a [Share] of them, so many
// machines can work on a task as an array of jobs.
//
// A WARC record becomes rows in these steps:
//
//	listinputs.go      PackOptions.ListInputs lists archives, the inputs of pack read
//	inputreader.go     inputReader.read reads an input by its format (inputformat.go)
//	record.go          readWARC and readRecord take the response out of a record (package warc)
//	outcome.go         outcome judges the response as a fetch: an archivedResponse and its body
//	runwriter.go       writeRun sorts the responses of a shard by site (sorter) into a sorted run
//	runset.go          runSet.responses merges all runs (sortedrun.go) for a shard of pack resolve
//	resolve.go         runSet.resolve follows revisits and redirects: a Capture
//	snapshotwriter.go  runSet.writePart writes the tables captures and bodies (table.go, parquet.go)
//	filetables.go      fileTables.write writes the rows about a body (filerows.go, filereader.go)
//	snapshot.go        readCaptures reads a snapshot for ask.go, join.go and diff.go
//	evaluator.go       evaluator evaluates a capture for all crawlers: rows of verdict.go
//
// The output folder of a task holds:
//
//	DIR/manifest.json        the task
//	DIR/TABLE/00017-….EXT    parts
//	DIR/parts/00017-….json   records of complete parts
//	DIR/errors/00017-….jsonl why a shard failed
//	DIR/.tmp/                unfinished parts
//	DIR/.pack/               runs of an unfinished snapshot
package bulk
