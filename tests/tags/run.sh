#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: tests/tags/run.sh PROGRAM [LAUNCHER...]: each case of cases.c in a process of its own, with tag=sync at three levels and
# tag=async at one: what is misused must be reported under the id it should have, and its twin must end with status 0.
# Why this way: options are fixed at a process's start, and programs can't start themselves anew under qemu-user. There qemu 7.2
# takes DC ZVA through a pointer with a tag for a fault, which a real processor does not; so libc is told to use a memset without.

set -euo pipefail
program=$1
shift
export GLIBC_TUNABLES=glibc.cpu.name=kunpeng920
failed=0 done=0
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# one OPTIONS CASE WANTED LAUNCHER...: bad must say WANTED (ids, separated by |) and end by SIGABRT; good must be silent.
one()
{
    local options=$1 case=$2 wanted=$3 status=0
    shift 3
    SCRUBJAY_OPTIONS=$options timeout 120 "$@" "$program" "$case" good >"$output" 2>&1 || status=$?
    done=$((done + 1))
    if [ "$status" != 0 ] || [ -s "$output" ]; then
        echo "$options: $case good: status $status"
        head -5 "$output"
        failed=$((failed + 1))
    fi
    [ -n "$wanted" ] || return 0
    status=0
    { SCRUBJAY_OPTIONS=$options timeout 120 "$@" "$program" "$case" bad >"$output" 2>&1; } 2>/dev/null || status=$?
    done=$((done + 1))
    if [ "$status" != 134 ] || ! grep -qE "^scrubjay: ($wanted) " "$output"; then
        echo "$options: $case bad: status $status, wanted $wanted"
        head -5 "$output"
        failed=$((failed + 1))
    fi
}

late='SJ-021'
for options in level=0,tag=sync level=2,sample=0,tag=sync level=4,sample=0,walk=off,tag=sync level=2,sample=0,tag=async; do
    over='SJ-014' under='SJ-015' freed='SJ-005'
    case $options in *async*) over=$late under=$late freed=$late ;; esac
    one "$options" overflow "$over" "$@"
    one "$options" overread "$over" "$@"
    one "$options" underflow "$under" "$@"
    one "$options" write_freed "$freed" "$@"
    one "$options" read_freed "$freed" "$@"
    one "$options" read_reused "$freed" "$@"
    one "$options" free_twice SJ-004 "$@"
    one "$options" free_reused SJ-004 "$@"
    one "$options" realloc_freed SJ-005 "$@"
    one "$options" write_moved "$freed" "$@"
    # Pages that are not accessible fault at once, whatever tags say; which comes first is a matter of the place.
    one "$options" large_overflow 'SJ-014|SJ-021' "$@"
    one "$options" large_underflow 'SJ-015|SJ-021' "$@"
    one "$options" large_freed 'SJ-005|SJ-021' "$@"
    one "$options" huge_overflow 'SJ-014|SJ-021' "$@"
    # At level 4 its pages are given back, so there is nothing to be found; kernels with guard markers trap it.
    case $options in level=4*) one "$options" huge_freed '' "$@" ;; *) one "$options" huge_freed 'SJ-005|SJ-021' "$@" ;; esac
    one "$options" arena_freed 'SJ-005|SJ-021' "$@"
    one "$options" thread_freed "$freed" "$@"
    one "$options" thread_writes "$freed" "$@"
    one "$options" child_writes "$freed" "$@"
    one "$options" handler "$freed" "$@"
    one "$options" churn '' "$@"
    one "$options" colours '' "$@"
    one "$options" bounds '' "$@"
done
echo "$((done - failed)) passed, $failed failed"
[ "$failed" = 0 ]
