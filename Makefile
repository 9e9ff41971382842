# make help lists the targets. Go is enough; the race detector needs a C compiler too.
# Tests begin in this order: those of cmd take longest.
MODULES  := cmd bench .
PACKAGES := $(subst ././,./,$(MODULES:%=./%/...))
FUZZTIME ?= 1000x
# What make bench runs, how often, and where it leaves bench.txt, table.md and match.svg.
BENCH    ?= .
ROUNDS   ?= 7
RESULTS  ?= bin/bench
# Most tests wait for servers and clocks, so more of them than cores run at a time.
ABREAST  := -p 8 -parallel 8
# The race detector takes ten times as long, and finds nothing where goroutines share nothing. These
# packages have locks or goroutines; of the root it is an index that is built late (TestShared). make campaign adds the programs.
SHARED    = $(shell grep -rlE --include='*.go' --exclude='*_test.go' '"sync(/atomic)?"|^\s*go ' cache cmd/internal/batch cmd/internal/server compare crawlers fetch fleet lint pace polite robotstest | xargs -n1 dirname | sort -u | sed 's|^|./|')
# No folder gets into what Go builds, so that it is found in Go's cache for another clone too.
export GOFLAGS := $(shell go env GOFLAGS) -trimpath
# Without cgo as releases are, which start in two thirds of the time; the race detector alone needs it.
export CGO_ENABLED := 0
LINT     := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
.PHONY: help build site quick test campaign fmt-check vet unit race fuzz wasm tidy-check tidy cross dist image release release-check firstrun bench lint docs crawlers
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | awk -F'\t' '{printf "%-13s %s\n", $$1, $$2}'
build: ## the programs, bin/robots with the engine for browsers and bin/robots-bulk
	go run ./cmd/internal/server/pack -o cmd/internal/server/web/assets
	go build -buildvcs=auto -o bin/ ./cmd/robots ./cmd/robots-bulk
quick: ## build, vet and the short tests, in less than a minute once Go's cache is warm
	go build $(PACKAGES)
	go vet $(PACKAGES)
	go test -short $(ABREAST) $(PACKAGES)
test: fmt-check vet unit race wasm tidy-check ## what CI runs, some five minutes on two cores
	@echo "make test: all is well"
campaign: ## the long runs of docs/long-runs.md, some hours, and the short tests of the library in 32 bits; real files if ROBOTS_CORPUS names a folder of them
	ROBOTS_CAMPAIGN=1 go test -count=1 -v -p 1 -timeout 6h $(PACKAGES)
	GOARCH=386 go test -short -p 2 ./...
	$(MAKE) race SHARED=./cmd/...
	$(MAKE) fuzz FUZZTIME=5m
fmt-check: ## are all files as gofmt writes them?
	@test -z "$$(gofmt -l .)" || { echo "gofmt -w these:"; gofmt -l .; exit 1; }
vet: ## go vet, of the library for 32 bits too
	go vet $(PACKAGES)
	GOARCH=386 go vet ./...
unit: ## all tests with imports, examples and generated pages; prints what was counted
	@.ci/gotest $(ABREAST) $(PACKAGES)
race: ## the short tests of what goroutines share under the race detector; says so if there is no C compiler
	@unset CGO_ENABLED; export ROBOTS_CORPUS=; if [ "$$(go env CGO_ENABLED)" = 1 ]; then .ci/gotest -race -short -run TestShared . && \
	.ci/gotest -race -short $(ABREAST) $(SHARED); else echo "race: skipped, no C compiler"; fi
fuzz: ## every fuzz target for FUZZTIME: so many inputs, seeds included, or a time such as 60s that adds to what Go has kept
	@t=$$(mktemp -d) && trap "rm -r $$t" EXIT && for d in $$(grep -rlE --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	case $(FUZZTIME) in *x) kept=$$t/kept/$$d;; *) kept=$$(go env GOCACHE)/fuzz/$$(go list $$d);; esac; \
	(cd $$d && go test -c -fuzz=. -o $$t/test . && for f in $$($$t/test -test.list '^Fuzz'); do echo "fuzz $$d $$f $(FUZZTIME)"; \
	out=$$($$t/test -test.run '^$$' -test.fuzz "^$$f\$$" -test.fuzztime $(FUZZTIME) -test.fuzzcachedir $$kept 2>&1) || { echo "$$out"; exit 1; }; \
	done) || exit 1; done
site: ## bin/site/: the page, examples and documents as static files, for any web host
	go run ./cmd/internal/server/pack -site bin/site
wasm: ## is the engine small enough for a browser?
	go run ./cmd/internal/server/pack
tidy-check: ## does each module stand without go.work too, and is go.work.sum complete?
	@.ci/tidy -check
tidy: ## go.mod and go.sum of each module, as its code needs them, and go.work.sum
	@.ci/tidy
cross: ## the programs for other systems
	for t in linux/arm64 darwin/arm64 windows/amd64 freebsd/amd64; do GOOS=$${t%/*} GOARCH=$${t#*/} go build -o /dev/null ./cmd/robots && GOOS=$${t%/*} GOARCH=$${t#*/} go build -o /dev/null ./cmd/robots-bulk || exit 1; done
dist: ## dist/: archives and packages of the commit that is checked out, bills of materials, sums
	.ci/dist dist
image: ## bin/image/: what dist makes for this machine alone, with an OCI image, of the commit that is checked out
	rm -rf bin/image
	.ci/dist bin/image linux/$(shell go env GOARCH)
release: ## VERSION=v1.2.3: the commit and the tags of a version (CONTRIBUTING.md)
	.ci/release $(VERSION)
release-check: ## a release of this tree in a temporary repository, then go install, make build, make dist for this processor and Windows, twice, and dpkg
	ROBOTS_CAMPAIGN=1 go test -count=1 -v -timeout 30m -run TestRelease ./cmd/internal/dist
firstrun: ## what it costs to run the program from a fresh clone, in seconds of CPU by package
	.ci/firstrun
bench: ## ROUNDS of the benchmarks BENCH, and the table of them in RESULTS; ROBOTS_CORPUS names a folder of real files
	@t=$$(mktemp -d) && trap "rm -r $$t" EXIT && cd bench && go test -c -o $$t/bench.test . && go build -o $$t/table . && { \
	echo "date: $$(date -u +%F)"; echo "commit: $$(git describe --always --dirty)"; \
	for i in $$(seq $(ROUNDS)); do $$t/bench.test -test.run '^$$' -test.bench '$(BENCH)' -test.benchtime 100ms || echo FAIL; done; \
	} | $$t/table -o '$(abspath $(RESULTS))'
lint: ## golangci-lint, downloaded by Go, and the phrases that the project does not use
	@.ci/phrases
	@s=0; for m in $(MODULES); do echo "lint $$m"; (cd $$m && $(LINT) run --config $(CURDIR)/.golangci.yml ./...) || s=1; done; exit $$s
docs: ## the generated pages; ids of statements become links
	go test -count=1 -run TestPage ./lint -update
	go test -count=1 -run 'TestDialectPage|TestDocuments' . -update
	go test -count=1 -run TestFaultPage ./fetch -update
	go test -count=1 -run TestBulkPage ./cmd/internal/bulk -update
	go test -count=1 -run TestOperating ./cmd/robots -update
	go test -count=1 -run TestAPIPage ./cmd/internal/server -update
crawlers: ## names in files of ROBOTS_CORPUS that the directory of crawlers lacks, and entries not looked at for a year
	go test -count=1 -v -run 'TestRealFiles|TestReview' ./crawlers -args -review
