#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: the options of the upper levels by themselves, on top of level 0, and off at level 3; with the cases of tests/death.
# Why this way: the death tests run each level as it is; this has what lies between the levels.
# shellcheck source=../support/cases.sh
. "$(dirname "$0")/../support/cases.sh"
misuse=$build/tests/death/misuse
"$misuse" --list >list || exit 2

# run OPTIONS CASE [twin]: sets status; what it says is in the file out.
run()
{
    # Around it: the shell's own word about a process that a signal ended.
    { LD_PRELOAD=$library SCRUBJAY_OPTIONS=$1 "$misuse" "$2" ${3:+"$3"} >out 2>&1; } 2>/dev/null
    status=$?
}
names() { awk -v pattern="$1" '$1 ~ pattern { print $1 }' list; }
# stops OPTIONS PATTERN ID [FACTS]: each case ends by SIGABRT with the id and the facts on its line; its twin quietly.
stops()
{
    local name
    for name in $(names "$2"); do
        run "$1" "$name"
        [ "$status" = 134 ] || echo "$name with $1: status $status instead of SIGABRT"
        grep -Eq "^scrubjay: $3 .*${4:-}" out || echo "$name with $1: expected $3 ${4:-}, got $(head -n 1 out)"
        run "$1" "$name" twin
        [ "$status" = 0 ] && [ ! -s out ] || echo "twin of $name with $1: status $status, $(head -n 1 out)"
    done
}
# passes OPTIONS PATTERN: each case ends quietly.
passes()
{
    local name
    for name in $(names "$2"); do
        run "$1" "$name"
        [ "$status" = 0 ] || echo "$name with $1: status $status, $(head -n 1 out)"
    done
}

verify_alone() { stops level=0,verify=on '^written_' SJ-013; }
# The clock must not give the block's pages back in between, and the written byte with them.
verify_kept()
{
    stops level=0,verify=on,release_ms=-1 '^kept_' SJ-013 ' function=malloc'
    stops level=3,trap=off,release_ms=-1 '^kept_' SJ-013
    stops level=0,verify=on,release_ms=-1 '^kept_middle/300000$' SJ-013 ' offset=150000 was=0x0 is=0x41'
    passes level=0,scrub=free,release_ms=-1 '^kept_'
}
verify_names_the_byte() { stops level=3 '^written_middle/1000$' SJ-013 ' offset=500 was=0x0 is=0x41'; }
verify_off() { passes level=3,verify=off '^written_'; }
verify_scrubs()
{
    LD_PRELOAD=$library SCRUBJAY_OPTIONS=level=0,verify=on,scrub=off,verbose=1 /bin/true 2>&1 | grep -q 'scrub=free' ||
        echo 'scrub is not free'
}
quarantine_alone() { stops level=0,delay=quarantine,verify=on '^written_middle/48$' SJ-013; }
slot_alone() { stops level=0,canary=slot '^overrun_(terminator|last_byte|found|freed)' SJ-016; }
exact_alone() { stops level=0,canary=exact '^overrun_(terminator|request|calloc|aligned|after)' SJ-016; }
exact_names_the_byte()
{
    stops level=4 '^overrun_request/1000$' SJ-016 ' size=1000 block=0x[0-9a-f]+ offset=1000 was=0x[1-9a-f][0-9a-f]* is=0x0 '
}
canary_off() { passes level=3,canary=off '^overrun_(terminator|freed).*/[0-9][0-9]?[0-9]?$'; }
exact_sizes() { stops level=0,canary=exact,sized=on '^sized_less_by_one/(64|1000|32768)$' SJ-006 ' given=[0-9]+ expected=[0-9]+'; }
sizes_of_slots() { passes level=3 '^sized_less_by_one/(64|1000)$'; }
types_alone() { stops level=0,types=on '^family_(malloc|new|array|in).*/(48|1000|33792)$' SJ-017; }
types_sampled() { stops level=1,types=on,sample=1,sample_rate=0 '^family_(malloc|new|array).*/(16|1000)$' SJ-017; }
types_names_both() { stops level=3 '^family_array_delete/48$' SJ-017 ' made_by=new\[\] freed_by=delete function=delete '; }
types_off() { passes level=3,types=off '^family_.*/48$'; }
check types_on_top_of_level_0 types_alone
check types_of_sampled_blocks types_sampled
check types_names_both_families types_names_both
check types_off_at_level_3 types_off
check canary_slot_on_top_of_level_0 slot_alone
check canary_exact_on_top_of_level_0 exact_alone
check canary_names_the_first_changed_byte exact_names_the_byte
check canary_off_at_level_3 canary_off
check sizes_are_exact_with_canary_exact exact_sizes
check sizes_are_those_of_slots_at_level_3 sizes_of_slots
check quarantine_on_top_of_level_0 quarantine_alone
check verify_on_top_of_level_0 verify_alone
check verify_of_kept_large_blocks verify_kept
check verify_names_the_byte verify_names_the_byte
check verify_off_at_level_3 verify_off
check verify_has_scrub_free_with_it verify_scrubs
finish
