#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: the option copy by itself: write on level 0, both, and off; with the cases of death/copy.c.
# Why this way: the death tests run each level as it is; this has what lies between the levels.
# shellcheck source=../support/cases.sh
. "$(dirname "$0")/../support/cases.sh"
misuse=$build/tests/death/misuse
"$misuse" --list | grep '^copy_' >list || exit 2

# ends_with OPTIONS CASE [ID]: complains unless the case ends so: by SIGABRT with the id, or without one quietly.
ends_with()
{
    local status
    # Around it: the shell's own word about a process that a signal ended.
    { LD_PRELOAD=$library SCRUBJAY_OPTIONS=$1 "$misuse" "$2" ${4:+"$4"} >out 2>&1; } 2>/dev/null
    status=$?
    if [ -z "$3" ]; then
        [ "$status" = 0 ] || echo "$2 with $1: status $status, $(head -n 1 out)"
    else
        [ "$status" = 134 ] || echo "$2 with $1: status $status instead of SIGABRT"
        grep -q "^scrubjay: $3 " out || echo "$2 with $1: expected $3, got $(head -n 1 out)"
    fi
}

# cases PATTERN LEVEL: names and ids of the cases.
cases() { awk -v pattern="$1" -v level="$2" '$1 ~ pattern && $3 == level { print $1, $2 }' list; }

reads() { cases . both | while read -r name id; do ends_with level=2,copy=both "$name" "$id"; done; }
# A large block has a guard behind it.
reads_unjudged() { cases "/(48|1000)$" both | while read -r name _; do ends_with level=2,copy=write "$name" ''; done; }
twins_at_both() { cases /48 2 | while read -r name _; do ends_with level=2,copy=both "$name" '' twin; done; }
writes_at_both() { cases /48 2 | while read -r name id; do ends_with level=2,copy=both "$name" "$id"; done; }
writes_on_level_0() { cases /1000 2 | while read -r name id; do ends_with level=0,copy=write "$name" "$id"; done; }
off() { cases /48 2 | while read -r name _; do ends_with level=2,copy=off "$name" ''; done; }
off_on_level_1() { cases /48 2 | while read -r name _; do ends_with level=1 "$name" ''; done; }
check reads_are_judged_by_both reads
check reads_are_not_judged_by_write reads_unjudged
check twins_pass_at_both twins_at_both
check writes_are_judged_by_both writes_at_both
check write_on_top_of_level_0 writes_on_level_0
check off_judges_nothing off
check level_1_judges_nothing off_on_level_1
finish
