// Package bulk makes tables of archived robots.txt files: a snapshot of archives, and
// tables of verdicts of a snapshot.
//
// Work is a [Task], divided into shards. A shard makes one part of each table: a file whose
// name is a hash of its input, written aside and renamed when it is complete. So the folder
// alone shows the progress of a task: manifest.json, written first, lists the shards, and a
// shard is done when its part of the last table exists. A shard that is repeated gives the
// same bytes under the same name. [Run] does all shards or a [Share] of them, so many
// machines can work on a task as an array of jobs.
//
//	DIR/manifest.json        the task
//	DIR/TABLE/00017-….EXT    parts
//	DIR/errors/00017-….jsonl why a shard failed
//	DIR/.tmp/                unfinished parts
//	DIR/.pack/               runs of an unfinished snapshot
package bulk
