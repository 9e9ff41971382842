# make help lists the targets. All need Go; the race detector also needs a C compiler.
MODULES  := cmd bench examples .
PACKAGES := $(subst ././,./,$(MODULES:%=./%/...))
FUZZTIME ?= 1000x
# make bench: the benchmarks, the number of rounds, and the folder for bench.txt, table.md and match.svg.
BENCH    ?= .
ROUNDS   ?= 7
RESULTS  ?= bin/bench
# Most tests wait for servers and clocks, so more of them run in parallel than there are cores. The target
# vet vets them.
PARALLEL := -vet=off -p 4 -parallel 8
# The only timeout of the tests of a package, which ends only a test that hangs: a machine can be busy or
# slow. The long tests have 6 hours.
export TIMEOUT ?= 45m
campaign release-check: export TIMEOUT := 6h
# The race detector takes ten times as long, and minutes to compile the clients of Redis and metrics, so it
# runs only on the packages whose locks and goroutines are the point; in the root package that is an index
# which is built on demand (TestShared). make campaign adds all others.
SHARED   := ./cache ./cache/bolt ./fetch ./pace ./polite
# The packages that make vet builds in 32 bits, where a constant can be too large for an int. make campaign
# runs the tests of all packages there; those that import net/http or the client of Redis are slow to compile.
WORDSIZE := . ./compare ./lint
# The packages whose tests take longest begin first.
LONGEST  := ./cmd/internal/server/web ./cmd/robots ./cmd/internal/dist ./fetch ./pace/redis ./cache/redis ./cache .
# Without folders in compiled packages, clones share Go's build cache. Data for debuggers, which tests do not
# contain, would be a fifth of the time to compile.
export GOFLAGS := $(shell go env GOFLAGS) -trimpath -gcflags=all=-dwarf=false
# Without cgo, as in releases: the program starts faster. Only the race detector needs cgo.
export CGO_ENABLED := 0
LINT     := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
.PHONY: help build site quick test checks campaign modules fmt-check vet unit race fuzz wasm tidy-check tidy cross dist image release release-check firstrun bench lint docs crawlers
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | awk -F'\t' '{printf "%-13s %s\n", $$1, $$2}'
build: ## build bin/robots, with the engine for browsers, and bin/robots-bulk
	go run ./cmd/internal/server/pack -o cmd/internal/server/web/assets
	go build -buildvcs=auto -o bin/ ./cmd/robots ./cmd/robots-bulk
quick: ## build, vet and run the short tests, in less than a minute with a warm cache
	go build $(PACKAGES)
	go vet $(PACKAGES)
	go test -short -timeout $(TIMEOUT) $(PARALLEL) $(LONGEST) $(PACKAGES)
test: modules fmt-check unit ## run all tests, at last print what was skipped and why; the output of the tests is in bin/test
	@.ci/skipped bin/test/unit.log
	@echo "make checks runs what CI runs beside: vet, the race detector, and the longer tests of the page and the release"
	@if grep -ahs '^unstable: ' bin/test/*.log; then echo "make test: passed, the unstable tests above only when run again, alone"; else echo "make test: passed"; fi
checks: modules vet race tidy-check ## run what CI runs beside make test: vet, the race detector, tidy-check, and the longer tests of the page, the service, the release, the action and the examples
	ROBOTS_CAMPAIGN=1 .ci/gotest checks -count=1 $(PARALLEL) ./cmd/internal/server/web ./cmd/internal/dist ./examples/...
	ROBOTS_CAMPAIGN=1 .ci/gotest clients -count=1 $(PARALLEL) -run 'TestExamples|TestAction|TestServeWork' ./cmd/robots
campaign: ## run the long tests (docs/long-runs.md), some hours, and the library's short tests in 32 bits; ROBOTS_CORPUS names a folder of real files
	ROBOTS_CAMPAIGN=1 go test -count=1 -v -p 1 -timeout $(TIMEOUT) $(PACKAGES)
	GOARCH=386 go test -short -p 2 -timeout $(TIMEOUT) ./...
	$(MAKE) race SHARED="./... ./cmd/..."
	$(MAKE) fuzz FUZZTIME=5m
fmt-check: ## check the format of all Go files
	@test -z "$$(gofmt -l .)" || { echo "run gofmt -w on:"; gofmt -l .; exit 1; }
modules: ## download all modules
	@go mod download
vet: ## run go vet, and build the library in 32 bits
	@go vet $(PACKAGES)
	@GOARCH=386 go build $(WORDSIZE)
unit: ## run all tests, including imports and generated pages, but for the examples with clients of others
	@.ci/gotest unit $(PARALLEL) $(LONGEST) $(filter-out ./examples/...,$(PACKAGES))
race: ## run the short tests of concurrent packages under the race detector, if there is a C compiler
	@unset CGO_ENABLED; export ROBOTS_CORPUS=; mkdir -p bin/test; if [ "$$(go env CGO_ENABLED)" = 1 ]; then .ci/gotest race-index -vet=off -race -short -run TestShared . && \
	.ci/gotest race -race -short $(PARALLEL) $(SHARED); else echo "race: skipped, no C compiler"; fi
fuzz: ## run every fuzz target for FUZZTIME: a number of inputs (1000x, seeds included), or a time (60s) that continues from Go's fuzz cache
	@t=$$(mktemp -d) && trap "rm -r $$t" EXIT && for d in $$(grep -rlE --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	case $(FUZZTIME) in *x) kept=$$t/kept/$$d;; *) kept=$$(go env GOCACHE)/fuzz/$$(go list $$d);; esac; \
	(cd $$d && go test -c -fuzz=. -o $$t/test . && for f in $$($$t/test -test.list '^Fuzz'); do echo "fuzz $$d $$f $(FUZZTIME)"; \
	out=$$($$t/test -test.run '^$$' -test.fuzz "^$$f\$$" -test.fuzztime $(FUZZTIME) -test.fuzzcachedir $$kept 2>&1) || { echo "$$out"; exit 1; }; \
	done) || exit 1; done
site: ## write the page, examples and documents as static files into bin/site/
	go run ./cmd/internal/server/pack -site bin/site
wasm: ## print the sizes of the engine for browsers
	go run ./cmd/internal/server/pack
tidy-check: ## check that each module builds without go.work, and that go.work.sum is complete
	@.ci/tidy -check
tidy: ## update go.mod and go.sum of each module, and go.work.sum
	@.ci/tidy
cross: ## build the programs for other systems
	for t in linux/arm64 darwin/arm64 windows/amd64 freebsd/amd64; do GOOS=$${t%/*} GOARCH=$${t#*/} go build -o /dev/null ./cmd/robots && GOOS=$${t%/*} GOARCH=$${t#*/} go build -o /dev/null ./cmd/robots-bulk || exit 1; done
dist: ## write the release of the current commit into dist/: archives, packages, bills of materials, checksums
	.ci/dist dist
image: ## write the release for this machine, with an OCI image, into bin/image/
	rm -rf bin/image
	.ci/dist bin/image linux/$(shell go env GOARCH)
release: ## make the commit and the tags of VERSION=v1.2.3 (CONTRIBUTING.md)
	.ci/release $(VERSION)
release-check: ## release this tree in a temporary repository, then go install, make build, dpkg, and make dist for this processor and Windows, twice
	ROBOTS_CAMPAIGN=1 go test -count=1 -v -timeout $(TIMEOUT) -run TestRelease ./cmd/internal/dist
firstrun: ## measure the CPU time of the first go run in a fresh clone, by package
	.ci/firstrun
bench: ## run ROUNDS of the benchmarks BENCH, and write a table into RESULTS; ROBOTS_CORPUS names a folder of real files
	@t=$$(mktemp -d) && trap "rm -r $$t" EXIT && cd bench && go test -c -o $$t/bench.test . && go build -o $$t/table . && { \
	echo "date: $$(date -u +%F)"; echo "commit: $$(git describe --always --dirty)"; \
	for i in $$(seq $(ROUNDS)); do $$t/bench.test -test.run '^$$' -test.bench '$(BENCH)' -test.benchtime 100ms || echo FAIL; done; \
	} | $$t/table '$(abspath $(RESULTS))'
lint: ## run golangci-lint (downloaded by Go), and check the wording of all text
	@.ci/phrases
	@s=0; for m in $(MODULES); do echo "lint $$m"; (cd $$m && $(LINT) run --config $(CURDIR)/.golangci.yml ./...) || s=1; done; exit $$s
docs: ## rewrite the generated pages, and link clause ids
	go test -count=1 -run TestPage ./lint -update
	go test -count=1 -run TestFaultPage ./fetch -update
	go test -count=1 -run 'TestBulkPage|TestSchema' ./cmd/robots-bulk/internal/bulk -update
	go test -count=1 -run 'TestOperating|TestFlags' ./cmd/robots -update
	go test -count=1 -run TestFlags ./cmd/robots-bulk -update
	go test -count=1 -run TestDocuments ./cmd/internal/answer -update
	go test -count=1 -run TestAPIPage ./cmd/internal/server -update
	go test -count=1 -run TestDocuments . -update
crawlers: ## list crawler names in ROBOTS_CORPUS that the directory lacks, and entries not reviewed for a year
	go test -count=1 -v -run 'TestRealFiles|TestReview' ./crawlers -args -review
