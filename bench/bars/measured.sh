#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: what being measured costs: cpu time of a command in sessions of `scrubjay cost`, with its record, its sampled memory
# and its outputs in memory, against the same command started by hand; in turn, on the same CPU. Prints the ratio with the interval of
# its median. Exit status 1 if its low end is above the bar of 0.5 %.
# Why this way: nothing but wait4 is asked of the run that nobody measures. A round is plain runs, a session, plain runs, so
# that a machine that gets slower or faster meanwhile does not matter.
#
# Usage: bench/bars/measured.sh [BUILD-DIR [ROUNDS [COMMAND...]]]   (default build/release, 10, the bundled cfrac; a round of
# it takes about 6 s)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(realpath -e "${1:-$here/../../build/release}")
rounds=${2:-10}
command=("$build/bench/cfrac")
if [ $# -gt 2 ]; then command=("${@:3}"); fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -O2 -D_GNU_SOURCE "$here/plain.c" -o "$work/plain"
library=$build/libscrubjay.so

plain()
{
    local runs
    for ((runs = 0; runs < 3; runs++)); do
        taskset -c "$1" env LD_PRELOAD="$library" SCRUBJAY_OPTIONS=level=2 "$work/plain" "${command[@]}"
    done
}

# The CPU that a session pins its command to is in its rows; the first session is for that, and to warm up.
session()
{
    "$build/scrubjay" cost --pairs 2 --threads 1 --wait 0 --least 0 --ignore-stdout --ignore-stderr --out "$work/session" \
        --arm "level2=$library;SCRUBJAY_OPTIONS=level=2" -- "${command[@]}" >/dev/null 2>&1 || true
    [ -s "$work/session/rows.csv" ]
}
session
cpu=$(awk -F, 'NR == 2 { print $8 }' "$work/session/rows.csv")
median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
for ((round = 0; round < rounds; round++)); do
    plain "$cpu" >"$work/plain-runs"
    session
    plain "$cpu" >>"$work/plain-runs"
    awk -F, 'NR > 1 { print $12 }' "$work/session/rows.csv" | median >"$work/measured"
    median <"$work/plain-runs" | paste "$work/measured" - >>"$work/pairs"
done
awk '{ print log($1 / $2) }' "$work/pairs" | sort -g | awk '
    { v[NR] = $1 }
    END {
        # The widest rank whose order statistics hold the median in at least 95 % of cases.
        for (k = 0; k < NR; k++) { c = 1; sum = 0
            for (i = 0; i <= k; i++) { sum += c; c = c * (NR - i) / (i + 1) }
            if (2 * sum / 2 ^ NR > 0.05) break }
        low = k > 0 ? v[k] : "-inf"; high = k > 0 ? v[NR + 1 - k] : "inf"
        middle = (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2
        printf "Being measured costs %+.2f %% [%+.2f, %+.2f] of cpu time in %d rounds (bar 0.5 %%).\n",
            100 * (exp(middle) - 1), 100 * (exp(low) - 1), 100 * (exp(high) - 1), NR
        exit k > 0 && exp(low) - 1 > 0.005 }'
