#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What: runs every death case, and its twin, in a process of its own under the library at each level.
# Why this way: the shell starts nothing but the case itself, so that thousands of processes take seconds.
#
# Usage: tests/death/run.sh [-l LIBRARY] [-p PROGRAM] [-L "0 1 2"] [-j JOBS] [PATTERN]
#   LIBRARY  to preload; default build/release/libscrubjay.so; "none" preloads nothing (a PROGRAM linked to us)
#   PROGRAM  the compiled cases; default: compiled from this folder with $CC
#   PATTERN  bash pattern of the case names to run, such as 'double_free*'
#
# A misuse must end by SIGABRT with the expected id on the first line of ours on stderr; a twin must end with 0 and
# print nothing. Prints "ok NAME" or "not ok NAME: reason", and at the end "N passed, N failed".
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
library=$top/build/release/libscrubjay.so
program=
levels='0 1 2'
jobs=2
while getopts 'l:p:L:j:' option; do
    case $option in
        l) library=$OPTARG ;;
        p) program=$OPTARG ;;
        L) levels=$OPTARG ;;
        j) jobs=$OPTARG ;;
        *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
pattern=${1:-*}

work=$(mktemp -d "${TMPDIR:-/tmp}/scrubjay-death.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
ulimit -c 0

if [ -z "$program" ]; then
    program=$work/misuse
    ${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 -g -fno-builtin -fPIE -pie -w -pthread \
        "$here"/*.c -o "$program" || exit 2
fi
case $library in
    none) library= ;;
    *) # A copy: somebody may be building.
        cp "$(realpath -e "$library")" "$work/libscrubjay.so" || exit 2
        library=$work/libscrubjay.so ;;
esac
unset SCRUBJAY_DISABLE SCRUBJAY_OPTIONS

# run_one NAME LEVEL [twin]: sets $status and $line (the first line of ours on stderr). No process but the case itself.
run_one() {
    : > "$mine/file"
    LD_PRELOAD=$library SCRUBJAY_OPTIONS="level=$2,sample=off" SJ_DEATH_FILE="$mine/file" \
        "$program" "$1" ${3:+"$3"} > "$mine/out" 2> "$mine/err"
    status=$?
    line=
    while IFS= read -r text; do
        case $text in 'scrubjay: '*) line=$text; break ;; esac
    done < "$mine/err"
}

# Sets $reason to why the misuse did not end as it should, or to nothing if it did.
judge_misuse() {
    local expect=$1 id
    reason=
    case $expect in
        SIGSEGV)
            case $status in 139|135) return ;; esac
            case $line in 'scrubjay: SJ-005 '* | 'scrubjay: SJ-014 '* | 'scrubjay: SJ-015 '*) return ;; esac
            reason="status $status instead of a fault${line:+, said: $line}"
            return ;;
        silent)
            if [ "$status" != 134 ]; then
                reason="status $status instead of SIGABRT"
            elif [ -s "$mine/file" ]; then
                reason="the report was written into the file that took fd 2"
            elif [ -n "$line" ]; then
                reason="a report went to the old stderr: $line"
            fi
            return ;;
    esac
    if [ "$status" != 134 ]; then
        reason="status $status instead of SIGABRT${line:+, said: $line}"
        return
    fi
    id=${line#scrubjay: }
    id=${id%% *}
    case "|$expect|" in *"|$id|"*) ;; *) reason="expected $expect, got: ${line:-no report}" ;; esac
}

judge_twin() {
    reason=
    if [ "$status" != 0 ]; then
        reason="twin ended with status $status${line:+, said: $line}"
    elif [ -s "$mine/err" ]; then
        IFS= read -r text < "$mine/err"
        reason="twin wrote: $text"
    fi
}

report() {
    if [ -z "$reason" ]; then echo "ok $1"; else echo "not ok $1: $reason"; fi
}

# worker INDEX: every jobs-th case, at every level.
worker() {
    local index=$1 number=0 name expect at level
    mine=$work/$index
    mkdir "$mine"
    while read -r name expect at; do
        # shellcheck disable=SC2254 # a pattern on purpose
        case $name in $pattern) ;; *) continue ;; esac
        number=$((number + 1))
        [ $((number % jobs)) = "$index" ] || continue
        for level in $levels; do
            case ",$at," in
                *",$level,"*)
                    run_one "$name" "$level"
                    judge_misuse "$expect"
                    report "$name@$level" ;;
            esac
            run_one "$name" "$level" twin
            judge_twin
            report "$name@$level.twin"
        done
    done < "$work/list"
}

"$program" --list > "$work/list" || exit 2
for ((index = 0; index < jobs; index++)); do
    worker "$index" > "$work/result.$index" 2> /dev/null &
done
wait
sort -o "$work/results" "$work"/result.*
cat "$work/results"
passed=$(grep -c '^ok ' "$work/results")
failed=$(grep -c '^not ok ' "$work/results")
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
