# shellcheck shell=bash disable=SC2317
# SPDX-License-Identifier: MIT
#
# What: what the files of real programs share: running a command plainly and under the library, comparing, servers.
# Why this way: a program's own output under glibc is the expectation, so nothing here goes stale with its version.
# Sourced by tests/programs/NAME.sh, which run.sh starts with:
#
#   SJ_LIBRARY   the library to preload          SJ_LEVELS   the levels to run at, such as "0 1 2"
#   SJ_WORK      an empty folder of its own      SJ_LONG     1 in the long run, else 0
#
# Each check prints "ok NAME" or "not ok NAME: reason". Only processes started here are ended, by their pid.

set -u
sj_programs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034 # for those who source this
sj_top=$(cd "$sj_programs/../.." && pwd)
sj_seconds=${SJ_SECONDS:-120}          # time bound of one command
sj_servers=()
sj_bad=0
export LC_ALL=C
unset SCRUBJAY_OPTIONS SCRUBJAY_DISABLE
cd "$SJ_WORK" || exit 2

stop_all()
{
    local pid
    for pid in "${sj_servers[@]}"; do
        kill -TERM "$pid" 2>/dev/null
    done
    for pid in "${sj_servers[@]}"; do
        await_end "$pid" 10 || kill -KILL "$pid" 2>/dev/null
    done
}
trap stop_all EXIT

ok() { echo "ok $1"; }

not_ok()
{
    sj_bad=1
    echo "not ok $1: $2"
}

skip()
{
    echo "skip: $1"
    exit 77
}

finish() { exit "$sj_bad"; }

# need COMMAND:PACKAGE...: skips the whole program if a command (or a file, if it has a slash) is missing.
need()
{
    local pair thing
    for pair in "$@"; do
        thing=${pair%%:*}
        case $thing in
        */*) [ -e "$thing" ] || skip "$thing is missing (Debian package ${pair#*:})" ;;
        *) command -v "$thing" >/dev/null 2>&1 || skip "$thing is missing (Debian package ${pair#*:})" ;;
        esac
    done
}

# under LEVEL COMMAND...: runs it under the library at that level; "plain" runs it without. The time is bounded.
under()
{
    local level=$1
    shift
    if [ "$level" = plain ]; then
        timeout -k 5 "$sj_seconds" "$@"
    else
        timeout -k 5 "$sj_seconds" env LD_PRELOAD="$SJ_LIBRARY" SCRUBJAY_OPTIONS="level=$level" "$@"
    fi
}

# Under a level, as a function that `same` may call: it runs the plain or the preloaded command.
sj_runs()
{
    echo plain
    # shellcheck disable=SC2086 # a list
    printf '%s\n' $SJ_LEVELS
}

# same NAME FUNCTION: calls FUNCTION LEVEL (with "plain" first) in a folder of its own, where it prints to stdout what
# must not depend on the allocator. Output and status must be those of the plain run, and stderr must have no line of
# ours.
same()
{
    local name=$1 function=$2 level status line
    while read -r level; do
        mkdir -p "$SJ_WORK/$name.$level"
        # The trap again: what a job starts in its subshell only that shell knows of.
        (trap stop_all EXIT && cd "$SJ_WORK/$name.$level" && "$function" "$level") >"$SJ_WORK/$name.$level.out" 2>"$SJ_WORK/$name.$level.err" </dev/null
        status=$?
        line=$(grep -m 1 -a 'scrubjay: ' "$SJ_WORK/$name.$level.err" "$SJ_WORK/$name.$level.out" | head -n 1)
        if [ "$level" = plain ]; then
            echo "$status" >"$SJ_WORK/$name.status"
            if [ "$status" != 0 ]; then
                tail -n 5 "$SJ_WORK/$name.plain.err" | sed 's/^/# /'
                not_ok "$name" "status $status without the library; nothing to compare with"
                return
            fi
        elif [ -n "$line" ]; then
            not_ok "$name@$level" "${line#*:}"
        elif [ "$status" != "$(cat "$SJ_WORK/$name.status")" ]; then
            tail -n 5 "$SJ_WORK/$name.$level.err" | sed 's/^/# /'
            not_ok "$name@$level" "status $status"
        elif ! cmp -s "$SJ_WORK/$name.plain.out" "$SJ_WORK/$name.$level.out"; then
            diff "$SJ_WORK/$name.plain.out" "$SJ_WORK/$name.$level.out" | head -n 6 | sed 's/^/# /'
            not_ok "$name@$level" "the output differs"
        else
            ok "$name@$level"
        fi
    done < <(sj_runs)
}

# start LOG LEVEL COMMAND...: starts a server in the background; its pid is in $server.
start()
{
    local log=$1 level=$2
    shift 2
    if [ "$level" = plain ]; then
        "$@" >"$log" 2>&1 </dev/null &
    else
        LD_PRELOAD=$SJ_LIBRARY SCRUBJAY_OPTIONS="level=$level" "$@" >"$log" 2>&1 </dev/null &
    fi
    server=$!
    sj_servers+=("$server")
}

# await SECONDS COMMAND...: until the command succeeds.
await()
{
    local tries=$(($1 * 10))
    shift
    while ! "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.1
    done
}

gone() { ! kill -0 "$1" 2>/dev/null; }

await_end() { await "$2" gone "$1"; }

# stop PID: asks the server to end, and returns its status; 99 if it had to be killed.
stop()
{
    local pid=$1
    kill -TERM "$pid" 2>/dev/null
    if ! await_end "$pid" 20; then
        kill -KILL "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
        return 99
    fi
    wait "$pid"
}

# A port on loopback that nobody listens on now, below those that the kernel gives to clients.
free_port()
{
    local port
    while :; do
        port=$((10000 + RANDOM % 20000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
    done
}

digest() { sha256sum | cut -c 1-32; }
