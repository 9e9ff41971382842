#!/bin/sh
# Instructions per byte of one shot or of another work, a figure that does not depend on what else
# the machine does: one pass over the files and two, the difference is one pass.
#
#   ./callgrind.sh [-corpus DIR] [-quick] [-engine robots|reference|temoto]
#                  [-work oneshot|oneshot-url|askable|url|match-kept|crawlers-1|crawlers-100|crawlers-dialects] [-most BYTES]
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
one=$(instructions 1 "$@")
two=$(instructions 2 "$@")
bytes=$(cat "$tmp/bytes")
awk -v one="$one" -v two="$two" -v bytes="$bytes" \
	'BEGIN { printf "%.2f instructions per byte (%d bytes, %.0f instructions)\n", (two - one) / bytes, bytes, two - one }'
