// Package bolt is a cache.Store in one file, for one process at a time. The program
// uses it, a crawler on one machine can, and in a fleet it is the local copy behind
// the shared store. The file is one of bbolt (go.etcd.io/bbolt).
//
//	store, err := bolt.Open("robots.cache", bolt.Options{})
//	if err != nil { ... } // one sentence for the user
//	defer store.Close()
//	c, err := cache.New(cache.Options{Store: store})
//
// # What it promises
//
// When Put returns nil the entry is on the disk, whatever happens to the process;
// with Options.NoSync the operating system has it. Puts that come together share one
// write to the disk, so many at a time are much cheaper than one after another. If
// Put returns an error, the entry may still be kept, but as a whole. What was
// acknowledged survives later errors of the disk, a full disk, and a loss of power
// after these.
//
// Open checks the structure of all pages before it writes anything. A file of another
// program, one that was cut short or one with a damaged page is refused with a
// sentence that says what to do, and no byte of it changes. Damage inside a record or
// a body is found when it is read, as each has a checksum, and costs that entry only.
//
// # The file
//
// Four buckets. Numbers are big-endian, with their sizes in bytes.
//
//	meta     "format" = "github.com/robotskit/robots/cache", "version" = one byte,
//	         "octets" = the size of all entries (8)
//	records  origin -> version byte, CRC-32C of the rest (4), fence (8), epoch (8),
//	         end of keeping in Unix milliseconds (8), sequence number of the write (8),
//	         number of bodies (1), their hashes (32 each), fetch.Record.Encode
//	bodies   SHA-256, number of a piece (2) -> bytes of that piece; before those
//	         of piece 0 the number of records that refer to the body (4) and its length (4)
//	order    sequence number (8) -> origin, so the one written longest ago is first
//
// With Keep there is a fifth, "kept": name -> CRC-32C of the rest (4), value. An earlier
// release leaves it alone.
//
// A later release that changes any of this raises the version and still reads this
// one. This release refuses a file with a later version.
//
// # Size
//
// With Options.Size the file stays below a bound. Entries written longest ago are
// dropped when live entries take more than half of it, or pages in use more than three
// quarters: the pages of a tree are not full, and a write needs new pages before it
// gives back old ones. A file never shrinks; free pages are used again.
//
// What it costs is in docs/fleet.md, measured by BenchmarkScale: some 3 KB of the file
// per origin, 10,000 writes a second if many come together and 1,200 one by one.
package bolt
