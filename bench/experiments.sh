#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: the three experiments that doc/experiments.md tells of, in MINUTES all in all: the ladder over the bundled workloads,
# the price of overwriting what was freed, and how long freed memory is held. Writes sessions and tables below OUT; with --doc
# takes the tables over into doc/experiments.md and the rows, without the allocator's counters, into doc/data.
# Why this way: all measuring is in `scrubjay cost` and `ab`; this only names arms and commands.
#
# Usage: bench/experiments.sh [--doc] [BUILD-DIR [OUT-DIR [MINUTES]]]   (default build/release, BUILD-DIR/experiments, 11)

set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
doc=no
if [ "${1:-}" = --doc ]; then
    doc=yes
    shift
fi
build=$(realpath -e "${1:-$top/build/release}")
out=$(realpath -m "${2:-$build/experiments}")
seconds=$((${3:-11} * 60))
library=$build/libscrubjay.so
data=$build/bench/data
tables=$out/tables
mkdir -p "$tables" "$data"
list=$out/list
{
    echo "bursts|micro|1|-|{bin}/bursts"
    grep -v '^bursts|' "$top/bench/workloads.list"
} >"$list"

# session NAME PERCENT COMMAND WORKLOAD,... ARGUMENT...: one session with its share of the time; its tables get its name.
session()
{
    local name=$1 percent=$2 command=$3 workload filters=()
    for workload in ${4//,/ }; do filters+=(--filter "$workload"); done
    rm -rf "${out:?}/$name"
    # Exit statuses 1 and 2 are verdicts, not failures.
    "$build/scrubjay" "$command" --time "$((seconds * percent / 100))s" --out "$out/$name" -f "$list" \
        --dir "$data" --ignore-stderr "${filters[@]}" "${@:5}" >"$out/$name.txt" || [ $? -le 2 ]
    for table in "$out/$name"/*.md; do cp "$table" "$tables/$name-$(basename "$table")"; done
}

# 1. Time, rss, user, sys and faults by workload and level.
session ladder 42 cost cfrac,larson-2,mstress-2,sqlite,redis

# 2. Freed memory is overwritten when it is freed, or not at all; the rest of level 2 is the same.
session fill 18 ab cfrac,sqlite,gcc level=2,scrub=off level=2,scrub=free

# 3. Freed memory is held for five seconds, given back at once by the clock, or not held at all.
hold() { echo "$library;SCRUBJAY_OPTIONS=level=0,$1"; }
session delay 40 cost bursts,malloc-large,gs --arm "5s=$(hold release_ms=5000)" --arm "0s=$(hold release_ms=0)" \
    --arm "none=$(hold release_ms=0,hold_max_bytes=0,cache_max_count=0)"

if [ $doc = yes ]; then
    mkdir -p "$top/doc/data"
    for name in ladder fill delay; do
        sed -E 's/,"counters":\{[^}]*\}//; /"type":"row"/s/,"options":"[^"]*"//' "$out/$name/rows.jsonl" | gzip -9n >"$top/doc/data/$name.jsonl.gz"
    done
    awk -v tables="$tables" -f "$top/bench/splice-tables.awk" "$top/doc/experiments.md" >"$out/experiments.md"
    cat "$out/experiments.md" >"$top/doc/experiments.md"
fi
echo "tables: $tables"
