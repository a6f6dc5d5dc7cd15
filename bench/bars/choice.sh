#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What: what the choice of the level at run time costs: instructions of a 48-byte pair (callgrind) in the library as
# shipped and in one built with SCRUBJAY_FIXED_LEVEL, which has that level's fast paths in its entry points. Prints a
# table; exit status 1 if a call costs more than 3 instructions more. With options of the runner (`--time 30m`) a paired
# session of level 0 over every workload follows, whose summary says what it is in time; the bar is 2 % in geometric mean.
#
# Usage: bench/bars/choice.sh [RUNNER OPTION...]   (./dev bench --choice [RUNNER OPTION...])
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
release=${SJ_BUILD_DIR:-$top/build/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -O2 -fno-builtin "$top/bench/bars/pair.c" -o "$work/pair"

# fixed LEVEL: the path of the library of that level, built
fixed()
{
    local build=$release/fixed-$1
    cmake -S "$top" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSCRUBJAY_FIXED_LEVEL="$1" -DSCRUBJAY_TESTS=OFF \
        -DSCRUBJAY_BENCH=OFF -DSCRUBJAY_TOOL=OFF >/dev/null
    cmake --build "$build" --target scrubjay_shared >/dev/null
    echo "$build/libscrubjay.so"
}

# instructions LIBRARY LEVEL PAIRS
instructions()
{
    LD_PRELOAD=$1 SCRUBJAY_OPTIONS=level=$2 valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$work/pair" "$3" 2>&1 | awk '/Collected/ { print $4 }'
}

# pair LIBRARY LEVEL: instructions a pair, in hundredths
pair()
{
    echo $((($(instructions "$1" "$2" 200000) - $(instructions "$1" "$2" 100000)) / 1000))
}

missed=0
printf '| level | chosen at run time | compiled in | difference a call |\n|---|---|---|---|\n'
for level in 0 1 2; do
    chosen=$(pair "$release/libscrubjay.so" "$level")
    compiled=$(pair "$(fixed "$level")" "$level")
    awk -v level="$level" -v chosen="$chosen" -v compiled="$compiled" 'BEGIN {
        printf "| %d | %.2f | %.2f | %.2f |\n", level, chosen / 100, compiled / 100, (chosen - compiled) / 200
        exit chosen - compiled > 600 }' || missed=1
done
if [ "$missed" = 0 ]; then echo 'The bar of 3 instructions a call is met.'; else echo 'The bar is missed.'; fi
if [ $# -gt 0 ]; then
    "$release/scrubjay" bench --arm "fixed0=$release/fixed-0/libscrubjay.so;SCRUBJAY_OPTIONS=level=0" \
        --arm "level0=$release/libscrubjay.so;SCRUBJAY_OPTIONS=level=0" --out "$release/bench/choice" "$@" || [ $? -lt 3 ]
    cat "$release"/bench/choice/summary-*.md
fi
exit "$missed"
