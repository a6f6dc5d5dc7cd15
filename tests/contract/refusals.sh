#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: onerror=report: a misuse that can be refused is reported once a call site and refused, the program goes on unharmed, and a
# summary counts; what can't be refused ends it all the same; and nothing of this without the option.
# Why this way: the program checks itself what became of its heap; the texts are looked at from outside.
# shellcheck source=../support/cases.sh
. "$(dirname "$0")/../support/cases.sh"
misuse=$build/tests/death/misuse
"$cc" -O1 -g -w -fno-builtin -pthread "$support/programs/refusals.c" -o program || exit 2

# run LEVEL OPTIONS ARGUMENT...: what the program says is in `said`.
run()
{
    LD_PRELOAD=$library SCRUBJAY_OPTIONS="level=$1,$2" timeout 60 ./program "${@:3}" 2>said
    local status=$?
    [ "$status" = 0 ] || echo "level $1: status $status: $(head -n 1 said)"
}

count() { grep -c "^scrubjay: $1" said; }

# Two sites for SJ-005, three for SJ-004 (one of them with many blocks), one for each other.
refused()
{
    local level id
    for level in 0 1 2 3 4; do
        run "$level" onerror=report,scrub=free # remote frees are scrubbed by who takes them back
        [ "$(count 'SJ-')" = "$((level == 0 ? 7 : 8))" ] || echo "level $level: $(count 'SJ-') reports"
        for id in 1 2; do [ "$(count "SJ-00$id ")" = 1 ] || echo "level $level: $(count "SJ-00$id ") of SJ-00$id"; done
        [ "$(count 'SJ-004 ')" = 3 ] || echo "level $level: $(count 'SJ-004 ') of SJ-004"
        [ "$(count 'SJ-005 ')" = 2 ] || echo "level $level: $(count 'SJ-005 ') of SJ-005"
    done
}
check misuses_are_reported_once_a_call_site_and_refused refused

summary()
{
    run 2 onerror=report
    says "$(cat said)" "scrubjay: refused misuses=$((5 + 5 + 5 + 2 + 1 + 512 + 1)) sites=8 unreported=0"
    says "$(grep 'SJ-004 double free times=512' said)" "program+0x"
    [ "$(grep -c '^scrubjay:   refused: ' said)" = 8 ] || echo "not said to be refused"
}
check summary_counts_them_at_exit summary

document()
{
    run 2 "onerror=report,report=json:$work/json"
    [ "$(grep -c '"action":"refused"' json)" = 8 ] || echo "$(wc -l <json) lines"
}
check documents_are_lines_of_one_file document

off()
{
    LD_PRELOAD=$library timeout 60 ./program 2>said
    [ $? = 134 ] || echo "not aborted"
    [ "$(count 'SJ-')" = 1 ] || echo "$(count 'SJ-') reports"
    [ "$(count refused)" = 0 ] || echo "a summary"
}
check misuse_ends_the_process_without_the_option off

twin()
{
    local level
    for level in 0 2 4; do
        run "$level" onerror=report,scrub=free twin
        head -n 1 said
    done
}
check twin_says_nothing twin

# A copy out of bounds can't be refused: the program counts on what it copied.
fatal()
{
    SCRUBJAY_OPTIONS=level=2,onerror=report timeout 60 "$misuse" "$1" 2>said
    [ $? = 134 ] || echo "$1: not aborted"
    says "$(grep '^scrubjay: SJ' said)" SJ-011
}
copies() { fatal "$("$misuse" --list | awk '$2 == "SJ-011" { print $1; exit }')"; }
check copies_out_of_bounds_end_the_process copies

floor() { says "$("$build/scrubjay" explain onerror)" "abort"; }
check option_is_explained floor

finish
