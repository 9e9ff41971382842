// Package bulk is robots bulk: from archives of robots.txt to a snapshot, from a
// snapshot to tables of answers, on one machine or on many, the same bytes each
// time.
package bulk
