// Package bulk is robots bulk: from archives of robots.txt to a snapshot, from a
// snapshot to tables of answers, on one core or on many machines.
//
// Work is a [Task], cut into shards. A shard makes one part a table: a file whose name
// comes from what it is made of, written aside and renamed when it is whole. So the
// folder is the only truth about how far a task has come: manifest.json, which is
// written first, says which parts there will be, and a shard is done when its part of
// the last table is there. A shard that is done twice, by a process that was paused or
// a message that came again, gives the same bytes under the same name.
//
//	DIR/manifest.json        what is to be done
//	DIR/TABLE/00017-….EXT    the parts
//	DIR/errors/00017-….jsonl the tries of a shard that was given up
//	DIR/.tmp/                what is being written, and tries of shards that are not done
//	DIR/.queue/              the queue of a run that leads other machines
//
// [Run] works on this machine, or leads others: then shards are messages of a NATS
// JetStream, which carries their names and never data, and [Work] takes them.
package bulk
