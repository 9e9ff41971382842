// Package bulk is robots-bulk: from archives of robots.txt to a snapshot, from a
// snapshot to tables of answers.
//
// Work is a [Task], cut into shards. A shard makes one part a table: a file whose name
// comes from what it is made of, written aside and renamed when it is whole. So the
// folder is the only truth about how far a task has come: manifest.json, which is
// written first, says which parts there will be, and a shard is done when its part of
// the last table is there. A shard that is done twice gives the same bytes under the same
// name. [Run] does all shards or a [Slice] of them, so many machines work on a task as an
// array of jobs.
//
//	DIR/manifest.json        what is to be done
//	DIR/TABLE/00017-….EXT    the parts
//	DIR/errors/00017-….jsonl why a shard failed
//	DIR/.tmp/                what is being written
package bulk
