// Package bolt is a cache.Store in one file, for one process at a time: the
// embedded store of the program and of a crawler on one machine, and the last
// copy behind a shared store. The file is one of bbolt (go.etcd.io/bbolt).
//
//	store, err := bolt.Open("robots.cache", bolt.Options{})
//	if err != nil { ... } // one sentence for the user
//	defer store.Close()
//	c, err := cache.New(cache.Options{Store: store})
//
// # What it promises
//
// A Put that returned nil is on the disk, whatever happens to the process; with
// Options.NoSync it is with the system. Puts that come together share one write
// to the disk, so many at a time are much cheaper than one after another. One
// that returned an error may be kept all the same, but as a whole. What was
// acknowledged before outlasts errors of the disk, a full one, and a loss of
// power after them.
//
// Open touches no file that it does not know to be whole and its own. It checks
// the structure of all pages before anything is written: a file of another
// program, one cut short or one with a damaged page is refused with a sentence
// that says what to do, and stays as it is to the last byte. Damage inside a
// record or a body shows when it is read (each has a checksum) and costs that
// entry only.
//
// # The file
//
// Four buckets. Numbers are big-endian.
//
//	meta     "format" = "github.com/robotskit/robots/cache", "version" = one byte,
//	         "bytes" = what the entries count (8)
//	records  origin -> version byte, CRC-32C of the rest (4), fence (8), epoch (8),
//	         end of keeping in Unix milliseconds (8), place in order (8),
//	         number of bodies (1), their hashes (32 each), fetch.Record.Encode
//	bodies   SHA-256, number of a piece (2) -> bytes of that piece; before those
//	         of piece 0 the number of records that refer to the body (4) and its length (4)
//	order    place (8) -> origin, the one written longest ago first
//
// A later release that changes any of this raises the version and goes on
// reading this one; this one refuses what is later.
//
// # Size
//
// With Options.Size the file stays below a bound: entries written longest ago are
// dropped when the live ones exceed half of it or pages in use three quarters,
// as the pages of a tree are not full and a write needs new pages before it
// gives back old ones. A file never shrinks; free pages are used again.
//
// Measured by BenchmarkScale on 2026-11-21, two cores of an AMD EPYC shared with
// other work, Go 1.26.8, bbolt 1.5.0; entries with one hop and three headers, of
// twenty three without a file, five with one of a hundred shared bodies and
// twelve with one of their own, 1,168 bytes a body on average, shared ones
// counted each time:
//
//	origins                     10^5      10^6
//	bytes of the file each     3,270     3,080
//	bytes of entries each      1,750     1,760
//	writes/s, new               25,200    12,600    1,024 at a time
//	writes/s, over old ones     14,800    9,800     1,024 at a time
//	writes/s, one by one        1,220     1,160
//	reads/s                     122,000   61,000    2 at a time, at random
//	to open, with the check     0.37 s    2.8 s
package bolt
