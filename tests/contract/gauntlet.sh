#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: `scrubjay gauntlet`: that it tells what is stopped from what is not, and that Scrubjay keeps what each level promises.
# Why this way: a matrix that praises everybody is worth nothing, so an allocator that lets an attack through, and one that alarms
# for nothing, must be found.
# shellcheck source=../support/cases.sh
. "$(dirname "$0")/../support/cases.sh"
command=$build/scrubjay
level() { echo "level$1=$library;SCRUBJAY_OPTIONS=level=$1"; }
# from LEVEL: arms of it and all above, in the array `arms`.
from()
{
    local number
    arms=()
    for ((number = $1; number <= 4; number++)); do arms+=(--arm "$(level "$number")"); done
}

# only VERDICTS OPTION...: complains about each attack whose verdicts are not among those words.
only()
{
    local verdicts=$1
    shift
    "$command" gauntlet "$@" >matrix 2>gauntlet.err || echo "status $?: $(tail -n 1 gauntlet.err)"
    grep -q ': ' matrix || echo "no attack was run"
    awk -F'|' -v wanted="$verdicts" 'BEGIN { split(wanted, words, ","); for (i in words) good[words[i]] = 1 }
        $2 ~ /: / { for (i = 3; i < NF; i++) { gsub(/^ +| +$/, "", $i); if (!($i in good)) print $2 ":" $i } }' matrix
}

# Those that race, and those after the place is another's, have tests of their own.
double_frees() { from 0; only 'at the act' --runs 2 --filter 'double free: [!ra]*' "${arms[@]}"; }
wrong_frees() { from 0; only 'at the act' --runs 2 --filter 'wrong *' "${arms[@]}"; }
forgeries() { from 0; only 'at the act,later,harmless' --runs 2 --filter 'forgery: *' "${arms[@]}"; }
sizes() { from 0; only 'at the act,harmless' --runs 1 --filter 'size: *' "${arms[@]}"; }
old_bytes() { from 2; only 'harmless' --runs 2 --filter 'uninitialised read: *' "${arms[@]}"; }
stale_bytes() { from 3; only 'harmless,at the act' --runs 2 --filter 'stale read: [sml]*' "${arms[@]}"; }
overreads() { from 3; only 'at the act' --runs 2 --filter 'copy: reading*' "${arms[@]}"; }
large() { from 1; only 'at the act' --runs 2 --filter '*flow: large*' "${arms[@]}"; }
ended() { from 3; only 'at the act' --runs 2 --filter 'overflow: 17 bytes*' "${arms[@]}"; }
overruns()
{
    from 3
    only 'later,at the act' --runs 2 --filter 'overflow: one byte, *' "${arms[@]}"
    only 'later,at the act' --runs 2 --filter 'overflow: 64 bytes, *' "${arms[@]}"
}
slack() { from 4; only 'later' --runs 2 --filter 'overflow: one byte of slack*' "${arms[@]}"; }
trapped() { from 3; only 'at the act' --runs 2 --filter '[sw][tr]* *: large*' "${arms[@]}"; }
copies() { from 2; only 'at the act' --runs 2 --filter 'copy: [!r]*' "${arms[@]}"; }
deletes() { from 1; only 'at the act' --runs 1 --filter 'mismatch: delete,*' "${arms[@]}"; }
families() { from 3; only 'at the act' --runs 1 --filter 'mismatch: [mn]*' "${arms[@]}"; }
many() { from 0; only 'at the act' --runs 2 --filter 'double free: a[!f]*' "${arms[@]}"; }
raced() { from 0; only 'at the act,later' --runs 1 --filter 'double free: raced*' "${arms[@]}"; }
rested() { from 1; only 'at the act' --runs 3 --filter 'double free: after reuse*' "${arms[@]}"; }
check double_frees_are_stopped_at_the_act double_frees
check double_frees_among_others_are_stopped_at_the_act many
check raced_double_frees_are_stopped raced
check freed_places_rest_from_level_1_on rested
check wrong_frees_are_stopped_at_the_act wrong_frees
check forgeries_do_nothing forgeries
check sizes_do_not_wrap sizes
check old_bytes_are_gone_from_level_2_on old_bytes
check freed_bytes_are_gone_at_once_from_level_3_on stale_bytes
check copies_that_read_too_much_are_stopped_from_level_3_on overreads
check large_blocks_are_guarded_from_level_1_on large
check large_blocks_end_at_their_guard_from_level_3_on ended
check overflows_of_small_blocks_are_found_from_level_3_on overruns
check one_byte_beyond_the_request_is_found_on_level_4 slack
check freed_large_blocks_are_inaccessible_from_level_3_on trapped
check copies_are_stopped_from_level_2_on copies
check blocks_go_back_to_their_family_from_level_3_on families
check deletes_of_other_sizes_are_stopped_from_level_1_on deletes

let_through() { only 'NOT CAUGHT' --runs 1 --filter 'copy: memset' --arm "$(level 0)"; }
check what_is_let_through_is_said let_through

# An allocator that calls every free a misuse.
alarming()
{
    echo 'void abort(void); void free(void *block) { if (block != 0) abort(); }' >alarm.c
    $cc -w -fno-builtin -shared -fPIC alarm.c -o alarm.so || return
    "$command" gauntlet --runs 1 --filter 'double free: small, at once' --arm alarming="$work/alarm.so" >matrix 2>/dev/null
    [ $? = 1 ] || echo "status $? instead of 1"
    says "$(cat matrix)" 'FALSE ALARM'
}
check false_alarms_are_found alarming

documents()
{
    "$command" gauntlet --runs 1 --filter 'copy: memcpy' --arm "$(level 2)" --json m.json --html m.html >/dev/null 2>&1
    says "$(cat m.json)" '"verdicts":{"level2":"stopped at the act, or the program was told"}'
    says "$(cat m.html)" '>at the act</td>'
    if command -v python3 >/dev/null; then python3 -c 'import sys, xml.dom.minidom as x; x.parse("m.html")'; fi
    says "$("$command" gauntlet --list)" 'double free: raced'
}
check documents_have_the_verdicts documents

finish
