// Package bolt is a cache.Store in one file, for one process at a time. The program
// uses it, and a crawler on one machine can. The file is one of bbolt (go.etcd.io/bbolt).
//
//	store, err := bolt.Open("robots.cache", bolt.Options{})
//	if err != nil { ... } // one sentence for the user
//	defer store.Close()
//	c, err := cache.New(cache.Options{Store: store})
//
// # What it promises
//
// When Put returns nil the entry is on the disk, whatever happens to the process. Puts that come together share one
// write to the disk, so many at a time are much cheaper than one after another. If
// Put returns an error, the entry may still be kept, but as a whole.
//
// Open reads every entry before it writes anything. A file of another program, one that was
// cut short or one with a page that cannot be read is refused with a sentence that says what
// to do, and no byte of it changes. Damage inside a record is found when it is read, as each
// has a checksum, and costs that entry only. What else is damaged makes calls fail.
//
// # The file
//
// Four buckets. Numbers are big-endian, with their sizes in bytes.
//
//	meta     "format" = "github.com/robotskit/robots/cache", "version" = one byte
//	records  origin -> sequence number of the write (8), end of keeping in Unix
//	         milliseconds (8), fence (8), CRC-32C of the fence and what follows (4), and
//	         the deflated fetch.Record
//	order    sequence number (8) -> origin, so the one written longest ago is first
//	kept     name -> CRC-32C of the rest (4), value: what Keep keeps
//
// A later release that changes any of this raises the version. This release refuses a file
// with another version.
//
// # Size
//
// With Options.Size the file stays below a bound. Entries written longest ago are
// dropped when live entries take more than half of it, or pages in use more than three
// quarters: the pages of a tree are not full, and a write needs new pages before it
// gives back old ones. A file never shrinks; free pages are used again.
//
// BenchmarkScale measures what it costs.
package bolt
