package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// A file is one of an archive; its name ends in / if it is a folder.
type file struct {
	name string
	mode fs.FileMode
	data []byte
}

// tarred returns a .tar.gz of the files in which nothing is of this machine.
func tarred(files []file, modified time.Time) ([]byte, error) {
	plain, err := plainTar(files, modified)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	compressor := gzip.NewWriter(&out)
	if _, err := compressor.Write(plain); err != nil {
		return nil, err
	}
	if err := compressor.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func plainTar(files []file, modified time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode), Size: int64(len(f.data)),
			ModTime: modified, Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// zipped returns a .zip of the files.
func zipped(files []file, modified time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: modified}
		h.SetMode(f.mode)
		part, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// gzipped returns compressed data, as Debian has manual pages.
func gzipped(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression) // as Debian's policy asks
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// debianVersion turns a semantic version into one that dpkg puts in the same order:
// a tilde comes before the end, and a hyphen would begin a revision.
func debianVersion(number string) string {
	return strings.ReplaceAll(strings.Replace(number, "-", "~", 1), "-", ".")
}

// What the packages say of themselves.
const (
	aboutRobots = `may this crawler fetch this URL, and why
 Robots answers from a robots.txt whether a crawler may fetch a URL, when, and
 why. It reads the file as RFC 9309 says, or as Google, Seznam, Bing and Yandex
 do.`
	aboutBulk = `tables of archived robots.txt files
 Robots-bulk makes tables of archives such as WARC files: what each site answered
 to a request for its robots.txt, and what that says to each crawler.`
)

// debianPackage returns a .deb (deb(5)): an ar archive of three members. The
// program needs no other package, and nothing runs when it is installed or removed.
func debianPackage(p *program, number string, manual map[string][]byte, licenses, unit []byte, modified time.Time) ([]byte, error) {
	files := []file{
		{"./usr/bin/" + p.name, 0o755, p.data},
		{"./usr/share/doc/" + p.name + "/copyright", 0o644, licenses},
	}
	says := aboutRobots
	if p.name == "robots" {
		files = append(files, file{"./usr/lib/systemd/system/robots.service", 0o644, unit})
	} else {
		says = aboutBulk
	}
	places := map[string]string{
		p.name + ".bash": "./usr/share/bash-completion/completions/" + p.name,
		"_" + p.name:     "./usr/share/zsh/vendor-completions/_" + p.name,
		p.name + ".fish": "./usr/share/fish/vendor_completions.d/" + p.name + ".fish",
	}
	for _, name := range sortedNames(manual) {
		if isManualPage(name) {
			page, err := gzipped(manual[name])
			if err != nil {
				return nil, err
			}
			files = append(files, file{"./usr/share/man/man1/" + name + ".gz", 0o644, page})
		} else if place, ok := places[name]; ok {
			files = append(files, file{place, 0o644, manual[name]})
		}
	}
	var sums bytes.Buffer
	size := 0
	for _, f := range files {
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.data), strings.TrimPrefix(f.name, "./"))
		size += len(f.data)
	}
	control := fmt.Sprintf(`Package: %s
Version: %s
Architecture: %s
Maintainer: robotskit <robotskit@users.noreply.github.com>
Installed-Size: %d
Section: web
Priority: optional
Homepage: %s
Description: %s
`, p.name, debianVersion(number), p.arch, (size+1023)/1024, homepage, says)
	controls, err := tarred([]file{{"./", 0o755, nil}, {"./control", 0o644, []byte(control)}, {"./md5sums", 0o644, sums.Bytes()}}, modified)
	if err != nil {
		return nil, err
	}
	data, err := tarred(withFolders(files), modified)
	if err != nil {
		return nil, err
	}
	out := bytes.NewBufferString("!<arch>\n")
	for _, f := range []file{{"debian-binary", 0o644, []byte("2.0\n")}, {"control.tar.gz", 0o644, controls}, {"data.tar.gz", 0o644, data}} {
		fmt.Fprintf(out, "%-16s%-12d%-6d%-6d%-8o%-10d`\n%s", f.name, modified.Unix(), 0, 0, 0o100000|f.mode, len(f.data), f.data)
		if len(f.data)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return out.Bytes(), nil
}

// withFolders returns the files, sorted, each behind the folders it is in: dpkg
// removes only folders that it was told of.
func withFolders(files []file) []file {
	folders := map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f.name); !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	all := slices.Clone(files)
	for dir := range folders {
		name := "./" + dir + "/"
		if dir == "." {
			name = "./"
		}
		all = append(all, file{name, 0o755, nil})
	}
	slices.SortFunc(all, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return all
}
