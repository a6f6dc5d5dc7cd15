#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: runs many real programs of Debian at levels 0, 2 and 4, compares their output with that under glibc, and writes the
# table of doc/compatibility.md.
# Why this way: a program here is a function of a few lines (matrix-jobs.sh); the programs that have a file of their own
# (run.sh) are rows too. What a row says comes from this run, nothing is written by hand.
#
# Usage: tests/programs/matrix.sh [-l LIBRARY] [-o TABLE] [NAME...]
#   -o TABLE   write the table as Markdown into this file, behind its line `<!-- table -->`; rows of programs that are not run
#              now stay as they are. Without it only the results are printed.
# SJ_TEST_LAUNCHER, if set, is a command put before each program's run.
# The packages are in packages-matrix.txt. A program that is not there is a row that says so. The last line is
# "N passed, N failed".
set -u
here=$(cd "$(dirname "$0")" && pwd)
library=$here/../../build/release/libscrubjay.so
table=
levels='0 2 4'
while getopts 'l:o:' option; do
    case $option in
    l) library=$OPTARG ;;
    o) table=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))

work=$(mktemp -d "${TMPDIR:-/tmp}/scrubjay-matrix.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
library=$(realpath -e "$library") || exit 2
tool=$(dirname "$library")/scrubjay
# A copy: somebody may be building.
cp "$library" "$work/libscrubjay.so" || exit 2
library=$work/libscrubjay.so
PATH=$PATH:/usr/sbin:/sbin
ulimit -c 0

# name, Debian package, what is run ("name.sh" for those with a file of their own), the command that verify is asked about.
rows()
{
    sed -n '/^#@ /s/^#@ //p' "$here/matrix-jobs.sh"
}

wanted()
{
    local name
    [ $# -gt 1 ] || return 0
    for name in "${@:2}"; do [ "$name" != "$1" ] || return 0; done
    return 1
}

run_job()
{
    local name=$1
    mkdir -p "$work/$name"
    if [ -f "$here/$name.sh" ]; then
        ${SJ_TEST_LAUNCHER:-} "$here/run.sh" -l "$library" -L "$levels" -j 1 "$name"
    else
        SJ_LIBRARY=$library SJ_LEVELS=$levels SJ_LONG=0 SJ_WORK=$work/$name SJ_JOB=$name \
            ${SJ_TEST_LAUNCHER:-} bash "$here/matrix-jobs.sh"
    fi >"$work/$name.result" 2>&1
}

# The cell of a level: all checks of the program at that level together.
cell()
{
    local file=$1 level=$2
    if grep -q "^not ok .*@$level:" "$file"; then
        echo '**differs**'
    elif grep -q "^ok .*@$level\$" "$file"; then
        echo same
    else
        echo '–'
    fi
}

version_of() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null || echo 'not installed'; }

# verify's own words, without the path of this run's library.
word_of()
{
    local command=$1 words
    [ -x "$tool" ] || { echo '–'; return; }
    words=$(LD_PRELOAD=$library "$tool" verify -- "$command" 2>&1 | head -n 1)
    case $words in
    on*) echo on ;;
    *) echo "$words" | sed -e "s|$library|libscrubjay.so|g" -e 's/;.*//' ;;
    esac
}

passed=0
failed=0
: >"$work/table"
while IFS='|' read -r name package what command; do
    wanted "$name" "$@" || continue
    started=$SECONDS
    run_job "$name" </dev/null
    result=$work/$name.result
    good=$(grep -c '^ok ' "$result")
    bad=$(grep -c '^not ok ' "$result")
    passed=$((passed + good))
    failed=$((failed + bad))
    printf '%-12s %2d same, %2d not, %3d s  %s\n' "$name" "$good" "$bad" $((SECONDS - started)) \
        "$(grep -m 1 -E '^(skip|not ok)' "$result")"
    [ "$bad" = 0 ] || sed 's/^/    | /' "$result"
    line="| $name | $(version_of "$package") | $what | $(word_of "$command") |"
    for level in $levels; do line="$line $(cell "$result" "$level") |"; done
    printf '%s\n' "$line" >>"$work/table"
done < <(rows)

# The rows of the table as it was, of programs that were not run now.
kept_rows()
{
    local name
    [ -f "$table" ] || return 0
    while IFS='|' read -r name _; do
        grep -q "^| $name |" "$work/table" || grep "^| $name |" "$table"
    done < <(rows)
}

write_table()
{
    kept_rows >>"$work/table"
    {
        sed -n '1,/^<!-- table -->/p' "$table"
        echo
        # shellcheck disable=SC1091
        echo "$(grep -c . "$work/table") programs on $(. /etc/os-release && echo "$PRETTY_NAME"), kernel $(uname -r)."
        echo
        # shellcheck disable=SC2016
        echo '| program | version | what was run | `scrubjay verify` | level 0 | level 2 | level 4 |'
        echo '|---|---|---|---|---|---|---|'
        while IFS='|' read -r name _; do grep "^| $name |" "$work/table"; done < <(rows)
    } >"$work/document"
    cp "$work/document" "$table"
}

[ -z "$table" ] || write_table
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
