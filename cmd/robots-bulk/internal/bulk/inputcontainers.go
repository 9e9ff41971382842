package bulk

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// readTar reads the files in a tar.
func (r *inputReader) readTar(ctx context.Context, name string, in io.Reader) error {
	input := &errorReader{in: in}
	decompressed, closeDecoder, err := decompress(input)
	if err != nil {
		return r.addDamagedRest(input, name, "tar", err)
	}
	defer closeDecoder()
	archive := &errorReader{in: decompressed}
	member := r.beginMember()
	entries := tar.NewReader(archive)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, archive) // up to its checksum
			if err == nil {
				return nil
			}
		}
		if err != nil {
			r.dropUnreliable(member, archive.err)
			return r.addDamagedRest(input, name, "tar", err)
		}
		if header.Typeflag != tar.TypeReg || isHidden(header.Name) {
			continue
		}
		entry := &errorReader{in: entries}
		err = r.readStream(ctx, entryName(name, strings.TrimPrefix(header.Name, "./")), entry, header.ModTime, true)
		switch {
		case err != nil && entry.err == nil:
			return err
		case err != nil:
			r.dropUnreliable(member, archive.err)
			return r.addDamagedRest(input, name, "tar", entry.err)
		}
	}
}

// entryName returns the name of a file in a tar or zip.
func entryName(container, name string) string { return container + "#" + name }

// isHidden reports whether a file is hidden, as pack ignores those.
func isHidden(name string) bool { return strings.HasPrefix(path.Base(name), ".") }

// readZip reads the files in a zip, of a WACZ only the archives.
func (r *inputReader) readZip(ctx context.Context, name string, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	container, err := zip.NewReader(f, info.Size())
	if err != nil {
		r.addDamage(Damage{Input: name, Kind: "zip", Detail: err.Error()})
		return nil
	}
	isWACZ := !r.looseFiles || slices.ContainsFunc(container.File, func(f *zip.File) bool { return f.Name == "datapackage.json" })
	archives := 0
	for _, file := range container.File {
		if err := ctx.Err(); err != nil {
			return err
		}
		if file.FileInfo().IsDir() || isHidden(file.Name) {
			continue
		}
		isArchive, err := r.readZipEntry(ctx, name, file, isWACZ)
		if err != nil {
			return err
		}
		if isArchive {
			archives++
		}
	}
	if isWACZ && archives == 0 {
		r.addNotArchive(name)
	}
	return nil
}

// readZipEntry reads a file in a zip. It reports whether it read an archive of a WACZ.
func (r *inputReader) readZipEntry(ctx context.Context, name string, file *zip.File, isWACZ bool) (isArchive bool, err error) {
	in, err := file.Open()
	if err != nil {
		r.addDamage(Damage{Input: name, Kind: "zip", Detail: file.Name + ": " + err.Error()})
		return false, nil
	}
	defer in.Close()
	entry := &errorReader{in: in}
	member := r.beginMember()
	if isWACZ {
		isArchive, err = r.readWACZEntry(ctx, entryName(name, file.Name), entry)
	} else {
		err = r.readStream(ctx, entryName(name, file.Name), entry, file.Modified, true)
	}
	if entry.err != nil {
		r.dropUnreliable(member, entry.err)
		r.addDamage(Damage{Input: name, Kind: "zip", Detail: file.Name + ": " + entry.err.Error()})
		return isArchive, nil
	}
	return isArchive, err
}

// readWACZEntry reads a file of a WACZ if it is a WARC, and reports whether it is one. The others
// are indexes and lists of pages.
func (r *inputReader) readWACZEntry(ctx context.Context, name string, in io.Reader) (isArchive bool, err error) {
	buffered := bufio.NewReaderSize(in, 64<<10)
	start, _ := buffered.Peek(sniffBytes) // the caller's errorReader keeps the error
	if detectFormat(start) != formatWARC {
		return false, nil
	}
	return true, r.readWARC(ctx, name, buffered)
}

// An errorReader keeps the last error of a reader, except io.EOF.
type errorReader struct {
	in  io.Reader
	err error
}

func (r *errorReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if err != nil && err != io.EOF { // wrapped ones are errors
		r.err = err
	}
	return n, err
}

// addDamagedRest reports that the rest of an input is damaged, unless reading the input failed.
func (r *inputReader) addDamagedRest(input *errorReader, name, kind string, err error) error {
	if input.err != nil {
		return input.err
	}
	r.addDamage(Damage{Input: name, Kind: kind, Detail: err.Error()})
	return nil
}
