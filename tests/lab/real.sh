#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: sessions of `scrubjay cost` as a user starts them, on sqlite3, gcc and a redis server with its client: each says first how
# long it will take and what it will be able to see, ends within its budget, compares every level, and writes its page.
# Run by `./dev check-long`.
# Why this way: what a level costs a program is not asserted here, and a verdict of "cannot tell" is as good as any. The time
# is bounded by the session's own plan, twice over, so that a slow or busy machine does not matter.
#
# Usage: tests/lab/real.sh [PATTERN [SECONDS]]   (budget of a session, default 60); SJ_BUILD_DIR is the build folder.
set -u
budget=${2:-60}
# shellcheck source=../support/cases.sh
. "$(dirname "$0")/../support/cases.sh"
scrubjay=$build/scrubjay
programs=$top/bench/programs

# session NAME ARGUMENT...: complains unless it is what a session must be.
session()
{
    local name=$1 began=$SECONDS status level
    shift
    "$scrubjay" cost --time "${budget}s" --wait 0 --out "$name" "$@" >"$name.report" 2>"$name.progress"
    status=$?
    [ "$status" -le 2 ] || tail -n 3 "$name.report" "$name.progress"
    head -n 3 "$name.progress" | grep -Eq ': takes about [0-9.]+ min: .* smallest visible effect about [0-9.]+ %' ||
        head -n 3 "$name.progress"
    grep -q 'over the budget' "$name.progress" || [ $((SECONDS - began)) -le $((2 * budget)) ] ||
        echo "$((SECONDS - began)) s, of $budget planned"
    for level in 0 1 2 3 4; do
        grep -Eq "\\| cpu \\| glibc .* \\| level$level .*\\| (SAME|FASTER|SLOWER|LEANS|INCONCLUSIVE)" "$name.report" ||
            echo "no claim about level $level"
    done
    [ -s "$name/report.html" ] || echo "no page"
}

sqlite() { "$programs/sqlite.sh" prepare "$work" && session sqlite -- sqlite3 -batch -init sqlite/input.sql :memory: .quit; }
compiler() { "$programs/gcc.sh" prepare "$work" && session gcc -- gcc -O2 -S -o - gcc/input.c; }
redis()
{
    session redis --server "redis-server --port 0 --unixsocket $work/redis.socket --save '' --appendonly no --daemonize no" \
        --client "redis-benchmark -s $work/redis.socket -n 30000 -q -t set,get"
}

needs() { command -v "$1" >/dev/null || lacks "no $1"; }
sqlite_session() { needs sqlite3 && sqlite; }
gcc_session() { needs gcc && compiler; }
redis_session() { needs redis-server && needs redis-benchmark && redis; }
check sqlite3_is_measured_within_its_budget sqlite_session
check gcc_is_measured_within_its_budget gcc_session
check a_redis_server_is_measured_within_its_budget redis_session
finish
