package bulk

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ListInputs lists what is to be packed: files, and the files of folders. Of loose robots.txt
// files in a folder, which PackOptions.LooseFiles allows, the folder is the input, and its name
// ends in a slash. Inputs are sorted, and each is listed once. A job of many opens only its share of the
// inputs, so a file has no hash yet.
func (o *PackOptions) ListInputs(names []string) ([]Input, error) {
	inputs := map[string]Input{}
	for _, name := range names {
		if err := checkLocal(name); err != nil {
			return nil, err
		}
		name = filepath.Clean(name)
		folder := Input{Name: filepath.ToSlash(name) + "/"} // of its loose files
		hash := sha256.New()
		err := eachFile(name, func(file string) error {
			if !o.LooseFiles || file == name || isNamedArchive(file) {
				in, err := statInput(file)
				inputs[in.Name] = in
				return err
			}
			in, format, err := identifyInput(file, true)
			if err != nil {
				return err
			}
			if format == formatRobotsTxt {
				fmt.Fprintln(hash, in.Name, in.Hash)
				folder.Size += in.Size
				folder.Hash = hex.EncodeToString(hash.Sum(nil))
				in = folder
			} else {
				in.Hash = "" // as of all other files
			}
			inputs[in.Name] = in
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Values(inputs), func(a, b Input) int { return strings.Compare(a.Name, b.Name) }), nil
}

// isNamedArchive reports whether the name of a file is that of an archive and of no site.
func isNamedArchive(name string) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	return strings.HasSuffix(name, ".warc") || strings.HasSuffix(name, ".wacz")
}

// statInput returns the input of a file without a hash.
func statInput(name string) (in Input, err error) {
	in.Name = filepath.ToSlash(name)
	info, err := os.Stat(name) // opening a named pipe would wait for its writer
	if err != nil {
		return in, err
	}
	if !info.Mode().IsRegular() {
		return in, fmt.Errorf("%s is not a regular file", name)
	}
	in.Size = info.Size()
	return in, nil
}

// identifyInput returns the input of a file with its hash, and its format.
func identifyInput(name string, inFolder bool) (in Input, format inputFormat, err error) {
	in, format, modified, err := describeInput(name, inFolder)
	if format == formatRobotsTxt || format == formatLines { // its records take their times from it
		in.Hash += "@" + modified.UTC().Format(timeLayout)
	}
	return in, format, err
}

// identifyInputs returns inputs with hashes.
func identifyInputs(inputs []Input) ([]Input, error) {
	identified := slices.Clone(inputs)
	for i, in := range inputs {
		if in.Hash != "" {
			continue
		}
		var err error
		if identified[i], _, err = identifyInput(filepath.FromSlash(in.Name), false); err != nil {
			return nil, err
		}
	}
	return identified, nil
}

// eachFile calls fn with every file below a folder, by name, except hidden ones.
func eachFile(root string, fn func(file string) error) error {
	return filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file != root && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		return fn(file)
	})
}

// describeInput returns the input of a file, its form, and its time. The hash is that of its size
// and of its first and last hashedBytes: to read all files before the work begins would double
// it.
func describeInput(name string, inFolder bool) (in Input, format inputFormat, modified time.Time, err error) {
	if in, err = statInput(name); err != nil {
		return in, "", modified, err
	}
	file, err := os.Open(name)
	if err != nil {
		return in, "", modified, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return in, "", modified, err
	}
	in.Size = info.Size()
	start := make([]byte, min(hashedBytes, in.Size))
	if _, err := io.ReadFull(file, start); err != nil {
		return in, "", modified, fmt.Errorf("%s: %w", name, err)
	}
	hash := sha256.New()
	fmt.Fprintln(hash, in.Size)
	hash.Write(start)
	if _, err := io.Copy(hash, io.NewSectionReader(file, max(in.Size-hashedBytes, 0), hashedBytes)); err != nil {
		return in, "", modified, err
	}
	in.Hash = hex.EncodeToString(hash.Sum(nil))
	format = detectFormat(start[:min(sniffBytes, len(start))])
	if inFolder && format == formatLines && !isNamedLines(name) {
		format = formatRobotsTxt
	}
	return in, format, info.ModTime(), nil
}

const hashedBytes = 64 << 10

// ReadPaths reads a list of paths, one a line, also by gzip.
func ReadPaths(in io.Reader) ([]string, error) {
	text, closeDecoder, err := decompress(in)
	if err != nil {
		return nil, err
	}
	defer closeDecoder()
	var names []string
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		if name := strings.TrimSpace(lines.Text()); name != "" {
			names = append(names, name)
		}
	}
	return names, lines.Err()
}
