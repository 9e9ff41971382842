// Package proctest starts the servers and workers of tests. A test process can end without its
// cleanups: by a panic of go test -timeout, or by kill -9. On Linux, the kernel then kills what
// was started here; on other systems it goes on.
package proctest
