# make test is what CI runs. It needs Go; the race detector needs a C compiler too.
MODULES  := $(patsubst %/go.mod,%,$(wildcard ./go.mod */go.mod))
PACKAGES := $(subst ././,./,$(MODULES:%=./%/...))
FUZZTIME ?= 500x
WASMMAX  := 1048576
LINT     := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
.PHONY: build test fmt-check vet unit race fuzz corpus wasm tidy-check cross bench lint docs
build: # bin/robots
	go build -o bin/ ./cmd/...
test: fmt-check vet unit race wasm fuzz tidy-check
	@echo "make test: all is well"
fmt-check:
	@test -z "$$(gofmt -l .)" || { echo "gofmt -w these:"; gofmt -l .; exit 1; }
vet: # and for 32 bits
	go vet $(PACKAGES)
	GOARCH=386 go vet $(PACKAGES)
unit: # imports, examples, generated pages; real files if ROBOTS_CORPUS names a folder of them; prints what was counted
	@t=$$(mktemp); echo "go test $(PACKAGES)"; go test -v $(PACKAGES) >$$t 2>&1; s=$$?; \
	if [ $$s = 0 ]; then grep -E '^(ok|---)|^    [a-z_]*_test[.]go:[0-9]+: ' $$t; else grep -vE '^ *(=== |--- PASS)' $$t; fi; rm $$t; exit $$s
race: # short; says so if there is no C compiler
	@if [ "$$(go env CGO_ENABLED)" = 1 ]; then set -x; ROBOTS_CORPUS= go test -race -short $(PACKAGES); else echo "race: skipped, no C compiler"; fi
fuzz: # every target for FUZZTIME: so many inputs, or a time such as 60s
	@for d in $$(grep -rlE --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	for f in $$(go test -list '^Fuzz' $$d | grep ^Fuzz); do echo "fuzz $$d $$f $(FUZZTIME)"; \
	out=$$(go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$d) || { echo "$$out"; exit 1; }; done; done
corpus: # ROBOTS_CORPUS=folder make corpus
	@test -d "$(ROBOTS_CORPUS)" || { echo "ROBOTS_CORPUS names no folder of robots.txt files"; exit 1; }
	go test -count=1 -v -run 'TestCorpus|TestAgree' . ./bench/...
wasm: # the engine in a browser, built for size
	@t=$$(mktemp -d) && GOOS=js GOARCH=wasm go build -trimpath -gcflags=all=-l -ldflags='-s -w' -o $$t/w ./testdata/wasm && n=$$(gzip -9c $$t/w | wc -c) && rm -r $$t && echo "wasm: $$n octets gzipped, at most $(WASMMAX)" && test $$n -le $(WASMMAX)
tidy-check: # each module stands without go.work too
	@for m in $(MODULES); do echo "tidy-check $$m"; (cd $$m && GOWORK=off go mod tidy -diff && GOWORK=off go build -o /dev/null ./...) || exit 1; done
cross:
	for t in linux/arm64 darwin/arm64 windows/amd64 freebsd/amd64; do GOOS=$${t%/*} GOARCH=$${t#*/} go build -o /dev/null ./cmd/robots || exit 1; done
bench: # BENCH='-corpus DIR -o results' for real files and a kept table
	cd bench && go run . $(BENCH)
lint:
	for m in $(MODULES); do (cd $$m && $(LINT) run --config $(CURDIR)/.golangci.yml ./...) || exit 1; done
docs: # the generated pages
	go test -count=1 -run TestDialectPage -update .
