#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: runs real programs under the library at levels 0, 1 and 2, and compares their output with that under glibc.
# Why this way: a file a program, each in a process and a folder of its own; two at a time.
#
# Usage: tests/programs/run.sh [-l LIBRARY] [-L "0 1 2"] [-j JOBS] [check|long|NAME...]
#   check   what every change must pass, under three minutes (the default)
#   long    the programs that take more time, too
# The Debian packages the programs come from are in packages-check.txt and packages-long.txt. A program that is not
# there is skipped with its reason. The last line is "N passed, N failed".
set -u
here=$(cd "$(dirname "$0")" && pwd)
library=$here/../../build/release/libscrubjay.so
levels='0 1 2'
jobs=2
check_programs=(python_tests gcc redis python sqlite3 git perl)
long_programs=(rebuild postgres node gs nginx openssl lua)

while getopts 'l:L:j:' option; do
    case $option in
    l) library=$OPTARG ;;
    L) levels=$OPTARG ;;
    j) jobs=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- check

programs=()
long=0
for argument in "$@"; do
    case $argument in
    check) programs+=("${check_programs[@]}") ;;
    long)
        long=1
        programs+=("${check_programs[@]}" "${long_programs[@]}")
        ;;
    *) programs+=("$argument") ;;
    esac
done

work=$(mktemp -d "${TMPDIR:-/tmp}/scrubjay-programs.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
# A copy: somebody may be building.
cp "$(realpath -e "$library")" "$work/libscrubjay.so" || exit 2
library=$work/libscrubjay.so
ulimit -c 0

run_program()
{
    local name=$1 status started=$SECONDS
    mkdir -p "$work/$name"
    SJ_LIBRARY=$library SJ_LEVELS=$levels SJ_LONG=$long SJ_WORK=$work/$name \
        bash "$here/$name.sh" >"$work/$name.result" 2>&1
    status=$?
    if [ "$status" != 0 ] && [ "$status" != 77 ] && ! grep -q '^not ok' "$work/$name.result"; then
        echo "not ok $name: the script ended with status $status" >>"$work/$name.result"
    fi
    if [ "$status" = 0 ] && ! grep -q '^ok' "$work/$name.result"; then
        echo "not ok $name: the script checked nothing" >>"$work/$name.result"
    fi
    echo "# $name: $((SECONDS - started)) s" >>"$work/$name.result"
    cat "$work/$name.result"
}

running=0
for name in "${programs[@]}"; do
    if [ "$running" -ge "$jobs" ]; then
        wait -n
        running=$((running - 1))
    fi
    run_program "$name" &
    running=$((running + 1))
done
wait

passed=$(cat "$work"/*.result | grep -c '^ok ')
failed=$(cat "$work"/*.result | grep -c '^not ok ')
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
