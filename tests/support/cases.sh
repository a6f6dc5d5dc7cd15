# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# What: what scripts of small cases share: a folder of their own, where the library lies, check and the count.
# Why this way: a case is a function that prints why it failed, so that it reads like what it checks; no case stops
# the others. Sourced; the script that sources it ends with `finish`.

support=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$support/../.." && pwd)
build=$(realpath -e "${SJ_BUILD_DIR:-$top/build/release}") || exit 2
# shellcheck disable=SC2034 # used by those who source this
library=$build/libscrubjay.so archive=$build/libscrubjay.a cc=${CC:-cc}
pattern=${1:-*}
work=$(mktemp -d "${TMPDIR:-/tmp}/scrubjay-cases.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work" || exit 2
ulimit -S -c 0
unset SCRUBJAY_OPTIONS SCRUBJAY_DISABLE LD_PRELOAD
passed=0
failed=0

# check NAME FUNCTION: the function prints why it failed, or nothing. Status 77: its output says why it was left out.
check()
{
    local name=$1 reason status
    # shellcheck disable=SC2254 # a pattern on purpose
    case $name in $pattern) ;; *) return ;; esac
    reason=$("$2" 2>&1 </dev/null)
    status=$?
    if [ "$status" = 77 ]; then
        echo "skip $name: $reason"
    elif [ "$status" = 0 ] && [ -z "$reason" ]; then
        passed=$((passed + 1))
        echo "ok $name"
    else
        failed=$((failed + 1))
        echo "not ok $name: status $status: $(echo "$reason" | tail -n 5 | tr '\n' ' ' | cut -c 1-400)"
    fi
}

lacks() { echo "$*"; exit 77; }

# says TEXT WORDS: complains unless the words are in the text. says_not: if they are.
says() { case $1 in *"$2"*) ;; *) echo "no \"$2\" in: $1" ;; esac }
says_not() { case $1 in *"$2"*) echo "\"$2\" in: $1" ;; esac }

# turns_for MS COMMAND...: how many turns make `COMMAND TURNS` use MS to 2 MS milliseconds of cpu on this machine.
turns_for()
{
    local TIMEFORMAT='%3U %3S' ms=$1 turns=20000
    shift
    until { time "$@" "$turns" >/dev/null; } 2>&1 | awk -v ms="$ms" '{ exit ($1 + $2) * 1000 < ms }'; do
        turns=$((turns * 2))
    done
    echo "$turns"
}

finish()
{
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
