#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What: the bars that are no timings of workloads: instructions of a 48-byte pair (callgrind), what an idle thread adds,
# what the start adds; for Scrubjay's levels and the peers that are installed. Prints a table; exit status 1 if a bar
# is missed.
#
# Usage: bench/bars/run.sh [LIBRARY]   (default build/release/libscrubjay.so; ./dev bench --bars)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
library=$(realpath -e "${1:-$here/../../build/release/libscrubjay.so}")
peers=/usr/lib/$(uname -m)-linux-gnu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for program in pair threads start copy; do
    "${CC:-cc}" -O2 -fno-builtin -pthread -D_GNU_SOURCE "$here/$program.c" -o "$work/$program"
done
missed=0

# instructions PRELOAD OPTIONS PAIRS [LEVEL]: LEVEL is what the process raises itself to
instructions()
{
    LD_PRELOAD=$1 SCRUBJAY_OPTIONS=$2 valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$work/pair" "${@:3}" 2>&1 | awk '/Collected/ { print $4 }'
}

# of_a_pair PRELOAD OPTIONS [LEVEL]: in hundredths
of_a_pair()
{
    local short long
    short=$(instructions "$1" "$2" 100000 "${@:3}")
    long=$(instructions "$1" "$2" 200000 "${@:3}")
    echo $(((long - short) / 1000))
}

# row NAME PRELOAD LEVEL [BAR]: one line of the table
row()
{
    local pair
    pair=$(($(of_a_pair "$2" "level=$3") / 100))
    read -r rss maps < <(LD_PRELOAD=$2 SCRUBJAY_OPTIONS=level=$3 "$work/threads")
    printf '| %s | %s | %s | %s | %s |\n' "$1" "$pair" "${4:--}" "$rss" "$maps"
    if [ -n "${4:-}" ] && [ "$pair" -gt "$4" ]; then missed=1; fi
    if [ -n "${4:-}" ] && awk -v rss="$rss" -v base="$base_rss" 'BEGIN { exit !(rss - base > 32) }'; then missed=1; fi
}

read -r base_rss _ < <("$work/threads")
printf '| allocator | instructions a pair | bar | KiB of RSS an idle thread | mappings an idle thread |\n|---|---|---|---|---|\n'
row glibc '' 0
for peer in libmimalloc.so.2 libjemalloc.so.2; do
    if [ -e "$peers/$peer" ]; then row "${peer%%.*}" "$peers/$peer" 0; fi
done
row 'level 0' "$library" 0 90
row 'level 1' "$library" 1 140
row 'level 2' "$library" 2 140
printf '\nInstructions of the pair in a process raised from level 0, and in one started at the level (bar: 3 %% more):\n\n'
printf '| level | raised | started |\n|---|---|---|\n'
for level in 1 2 3 4; do # sample_rate: its unit is time, of which callgrind shows too much
    raised=$(of_a_pair "$library" level=0,sample_rate=1 "$level")
    started=$(of_a_pair "$library" "level=$level,sample_rate=1")
    printf '| %s | %s.%02d | %s.%02d |\n' "$level" $((raised / 100)) $((raised % 100)) $((started / 100)) $((started % 100))
    [ $((raised * 100)) -le $((started * 103)) ] || missed=1
done
start=$("$work/start" "$library")
printf '\nStart of /bin/true: %s ms more than without (bar 0.5).\n' "$start"
if awk -v start="$start" 'BEGIN { exit !(start > 0.5) }'; then missed=1; fi
printf '\nNanoseconds of a memcpy at level 2, and of libc'"'"'s own:\n\n'
LD_PRELOAD=$library SCRUBJAY_OPTIONS=level=2 "$work/copy" | tee "$work/copies"
# Bars by median: 4 ns more into a small block, 1 ns more elsewhere.
if awk -F'|' '$2 + 0 >= 8 && $2 + 0 <= 128 && ($5 > 4 || $8 > 1) { bad = 1 } END { exit !bad }' "$work/copies"; then missed=1; fi
if [ "$missed" = 0 ]; then echo 'Every bar is met.'; else echo 'A bar is missed.'; fi
exit "$missed"
