#!/bin/sh
# Instructions per operation and per byte of one shot or of another work, a figure that does not
# depend on what else the machine does: one pass over the work and two, the difference is one pass.
# Of match-… it is 30 passes, as an index is built in the first, and 230; of hostile/p… 8 and 10, of
# memory/build-… 2 and 12.
#
#   ./callgrind.sh [-corpus DIR] [-quick] [-engine robots|reference|temoto]
#                  [-work oneshot|oneshot-url|askable|url|match-kept|crawlers-1|crawlers-100|crawlers-dialects
#                  |memory/build-literal|memory/build-mixed|ROW of go run . -list] [-most BYTES]
set -eu
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
go build -o "$tmp/bench" .
instructions() {
	n=$1
	shift
	GOMAXPROCS=1 GOGC=off GODEBUG=asyncpreemptoff=1 valgrind --tool=callgrind --callgrind-out-file="$tmp/out.$n" \
		"$tmp/bench" "$@" -passes "$n" >"$tmp/bytes" 2>"$tmp/log" || { cat "$tmp/log" >&2; exit 1; }
	sed -n 's/.*Collected : *\([0-9]*\).*/\1/p' "$tmp/log"
}
case "$*" in *match-[lm]*) first=30 more=200 ;; *memory/build*) first=2 more=10 ;; *hostile/p*) first=8 more=2 ;; *) first=1 more=1 ;; esac
one=$(instructions $first "$@")
two=$(instructions $((first + more)) "$@")
awk -v one="$one" -v two="$two" -v more="$more" '{ n = (two - one) / more; printf "%.1f instructions per operation", n / $2
	if ($1 > 0) printf ", %.2f per byte (%d bytes)", n / $1, $1
	printf ", %.0f in all\n", n }' "$tmp/bytes"
