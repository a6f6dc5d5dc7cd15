#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What: what other intervals of release_ms cost and save: {0, 100, 1000, 5000, -1, nothing held at all} at levels 0, 2 and 3, over
# workloads and programs that free much memory. Writes tables in Markdown: cpu, peak and mean memory and faults with
# intervals from `scrubjay bench`, one a level; and the library's own books of one run each (MiB x s held, faults and calls
# avoided and caused).
# Why this way: all measuring is in `scrubjay bench`; this only names the arms. doc/release.md has the tables.
#
# Usage: bench/release-sweep.sh [BUILD-DIR [OUT-DIR [TIME [WORKLOAD...]]]]
#        (default build/release, BUILD-DIR/release-sweep, 16p, and those below: seventeen minutes in all). TIME is the budget
#        of a level, which never makes fewer than ten blocks; or, as 16p, the number of pairs, two a block.

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath -e "${1:-$here/../build/release}")
out=${2:-$build/release-sweep}
case ${3:-16p} in
*p) budget=(--pairs "${3%p}") ;;
*) budget=(--time "$3") ;;
esac
library=$build/libscrubjay.so
bin=$build/bench
data=$bin/data
workloads=(bursts malloc-large mstress-2 gs)
if [ $# -gt 3 ]; then workloads=("${@:4}"); fi
mkdir -p "$out" "$data"

# The options of an arm: its name is the interval, or none.
options_of()
{
    case $1 in
    none) echo "release_ms=0,hold_max_bytes=0,cache_max_count=0" ;;
    never) echo "release_ms=-1" ;;
    *) echo "release_ms=$1" ;;
    esac
}

list=$out/list
{
    echo "bursts|micro|1|-|{bin}/bursts 8"
    cat "$here/workloads.list"
} | grep -E "^($(IFS='|' && echo "${workloads[*]}"))\\|" >"$list"

intervals=(1000 0 100 5000 never none)
levels=(0 2 3)
for level in "${levels[@]}"; do
    arms=()
    for interval in "${intervals[@]}"; do
        arms+=(--arm "$interval=$library;SCRUBJAY_OPTIONS=level=$level,$(options_of "$interval"),seed={seed}")
    done
    # Exit statuses 1 and 2 are verdicts, not failures.
    "$build/scrubjay" bench --file "$list" --bin "$bin" --dir "$data" "${budget[@]}" --out "$out/level$level" \
        --ignore-stderr "${arms[@]}" || [ $? -le 2 ]
done

# book NAME: a number of the JSON summary in $said
book() { sed -nE "s/.*\"$1\":([0-9]+).*/\\1/p" <<<"$said" | tail -n 1; }

books=$out/books.md
{
    echo "| workload | level | release_ms | blocks held, MiB s | runs held, MiB s | given back by age, MiB | faults avoided | faults caused | calls avoided | calls caused |"
    echo "|---|---|---|---|---|---|---|---|---|---|"
} >"$books"
while IFS='|' read -r workload _ _ _ command; do
    case $workload in
    gcc | g++ | git* | redis) continue ;; # the process started is not the one that works, or does not end by itself
    esac
    command=${command//\{bin\}/$bin}
    read -ra words <<<"${command//\{dir\}/$data}"
    for level in "${levels[@]}"; do
        for interval in "${intervals[@]}"; do
            said=$(env SCRUBJAY_OPTIONS="level=$level,$(options_of "$interval"),stats=json" LD_PRELOAD="$library" \
                "${words[@]}" 2>&1 >/dev/null </dev/null)
            aged=$(book released_by_age)
            printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$workload" "$level" "$interval" \
                "$(book blocks_mib_s)" "$(book runs_mib_s)" $((aged >> 20)) \
                "$(book faults_avoided)" "$(book faults_caused)" "$(book calls_avoided)" "$(book calls_caused)" >>"$books"
        done
    done
done <"$list"
echo "tables: $(printf '%s ' "${levels[@]/#/$out/level}")$books"
