// Package bolt is a cache.Store in a bbolt file (go.etcd.io/bbolt), for one process at a time.
//
//	store, err := bolt.Open("robots.cache", bolt.Options{})
//	if err != nil { ... } // one sentence for the user
//	defer store.Close()
//	c, err := cache.New(cache.Options{Store: store})
//
// # Guarantees
//
// When Put returns nil, the entry is on the disk, whatever happens to the process. Concurrent
// Puts share a write to the disk, so they are much cheaper than consecutive ones. If Put
// returns an error, the entry might still be stored, but then completely.
//
// Open reads the beginning of each page once before it writes, about a second for a file of
// 500,000 sites. It refuses a file of another program, a truncated file, or one whose pages are
// unreadable or do not form a tree, says what to do, and changes no byte. Each record has a
// checksum: a damaged one costs that entry only, when it is read. Other damage makes calls fail.
//
// # Format
//
// There are three buckets. Numbers are big-endian, with their sizes in bytes.
//
//	meta     "format" = "github.com/robotskit/robots/cache", "version" = one byte
//	entries  number of a generation (8) -> a bucket: origin -> expiry in Unix milliseconds (8),
//	         fence (8), CRC-32C of the fence and what follows (4), the deflated fetch.Record.
//	         Its sequence number is the size of its keys and values
//	kept     name -> value of Keep
//
// A release that changes any of this raises the version. A file with another version is
// refused.
//
// # Size
//
// Options.Size limits the file. Entries are written into the newest of four generations. A new
// one begins, and the oldest is dropped with its entries, when the newest takes an eighth of
// the file, when used pages take more than three quarters, and when the free pages are too
// scattered for a write: pages are not full, and a write needs new pages before it frees old
// ones. Each write also removes a few expired entries. A file never shrinks; free
// pages are reused.
package bolt
