package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// The members of an OCI image that one of ours has
// (https://github.com/opencontainers/image-spec).
type (
	descriptor struct {
		MediaType   string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int               `json:"size"`
		Platform    *platform         `json:"platform,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	platform struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	}
	imageIndex struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Manifests     []descriptor `json:"manifests"`
	}
	imageManifest struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Config        descriptor   `json:"config"`
		Layers        []descriptor `json:"layers"`
	}
	imageConfig struct {
		Created time.Time `json:"created"`
		platform
		Config struct {
			User         string              `json:"User"`
			ExposedPorts map[string]struct{} `json:"ExposedPorts"`
			Env          []string            `json:"Env"`
			Entrypoint   []string            `json:"Entrypoint"`
			Cmd          []string            `json:"Cmd"`
			Volumes      map[string]struct{} `json:"Volumes"`
			WorkingDir   string              `json:"WorkingDir"`
			Labels       map[string]string   `json:"Labels"`
		} `json:"config"`
		RootFS struct {
			Type    string   `json:"type"`
			DiffIDs []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
)

const ociType = "application/vnd.oci.image."

// nobody is the user and the group of the program in an image: ones that own
// nothing.
const nobody = "65532:65532"

// image returns an OCI image of the programs for Linux, a tar of an OCI layout, or
// nil if there are none. It is from scratch: the programs, the certificates of public
// authorities, a folder for the store.
//
// It is written here, since it is four files of JSON: the library for it,
// go-containerregistry, brings the clients of registries and of Docker. The
// certificates are those of golang.org/x/crypto/x509roots, as those of this machine
// would make other bytes on another; the program does not carry them, as on every
// other system it has those of the system.
func image(programs map[string]map[target]*program, licenses []byte, version string, modified time.Time) ([]byte, error) {
	var blobs []file
	add := func(kind string, data []byte) descriptor {
		sum := fmt.Sprintf("%x", sha256.Sum256(data))
		if name := "blobs/sha256/" + sum; !slices.ContainsFunc(blobs, func(f file) bool { return f.name == name }) {
			blobs = append(blobs, file{name, 0o644, data})
		}
		return descriptor{MediaType: ociType + kind, Digest: "sha256:" + sum, Size: len(data)}
	}
	addJSON := func(kind string, v any) (descriptor, error) {
		text, err := json.Marshal(v)
		return add(kind, text), err
	}
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if err := pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	index := imageIndex{SchemaVersion: 2, MediaType: ociType + "index.v1+json"}
	for _, t := range targets() {
		p := programs["robots"][t]
		if p == nil || t.os != "linux" {
			continue
		}
		files := []file{
			{"data/", 0o1777, nil}, // whoever the program runs as may write the store there
			{"etc/", 0o755, nil}, {"etc/ssl/", 0o755, nil}, {"etc/ssl/certs/", 0o755, nil},
			{"etc/ssl/certs/ca-certificates.crt", 0o644, roots.Bytes()},
			{"LICENSE", 0o644, licenses},
			{"robots", 0o755, p.data},
			{"robots-bulk", 0o755, programs["robots-bulk"][t].data},
		}
		plain, err := plainTar(files, modified)
		if err != nil {
			return nil, err
		}
		layer, err := tarred(files, modified)
		if err != nil {
			return nil, err
		}
		c := imageConfig{Created: modified, platform: platform{t.arch, t.os}}
		c.Config.User = nobody
		c.Config.Entrypoint, c.Config.Cmd, c.Config.WorkingDir = []string{"/robots"}, []string{"serve"}, "/data"
		// Loopback of a container is reached by nobody. So it needs a token, or to be
		// told that strangers may ask.
		c.Config.Env = []string{"ROBOTS_LISTEN=0.0.0.0:8780", "ROBOTS_ADMIN=0.0.0.0:8781", "ROBOTS_PUBLIC=true", "ROBOTS_STORE=/data/serve.cache"}
		c.Config.ExposedPorts = map[string]struct{}{"8780/tcp": {}, "8781/tcp": {}}
		c.Config.Volumes = map[string]struct{}{"/data": {}}
		c.Config.Labels = map[string]string{
			"org.opencontainers.image.source": homepage, "org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.title": path.Base(module),
		}
		c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{fmt.Sprintf("sha256:%x", sha256.Sum256(plain))}
		m := imageManifest{SchemaVersion: 2, MediaType: ociType + "manifest.v1+json", Layers: []descriptor{add("layer.v1.tar+gzip", layer)}}
		if m.Config, err = addJSON("config.v1+json", c); err != nil {
			return nil, err
		}
		d, err := addJSON("manifest.v1+json", m)
		if err != nil {
			return nil, err
		}
		d.Platform = &c.platform
		index.Manifests = append(index.Manifests, d)
	}
	if len(index.Manifests) == 0 {
		return nil, nil
	}
	// One name for the systems together: who reads it takes what is for his.
	all, err := addJSON("index.v1+json", index)
	if err != nil {
		return nil, err
	}
	all.Annotations = map[string]string{"org.opencontainers.image.ref.name": strings.TrimPrefix(version, "v")}
	index.Manifests = []descriptor{all}
	top, err := json.Marshal(index)
	if err != nil {
		return nil, err
	}
	files := append([]file{
		{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", 0o644, top},
		{"blobs/", 0o755, nil}, {"blobs/sha256/", 0o755, nil},
	}, blobs...)
	return plainTar(files, modified)
}
