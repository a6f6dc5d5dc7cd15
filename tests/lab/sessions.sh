#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: whole sessions of `scrubjay cost` with real processes whose truth is known: equal work must rarely come out slower or
# faster, planted work of one and a half times the smallest visible effect must mostly come out slower, the interval must
# mostly hold the truth, and being measured must cost next to nothing. Run by `./dev check-long`.
# Why this way: tests/unit/lab_session_test.c has the same by simulation, in thousands; this is what a machine adds. The
# bounds are those that a correct lab misses once in a thousand runs, by the binomial distribution.
#
# Usage: tests/lab/sessions.sh [EQUAL [PLANTED]]   (sessions of each, default 40 and 20); SJ_BUILD_DIR is the build folder.
set -u
equal_sessions=${1:-40} planted_sessions=${2:-20}
set --
# shellcheck source=../support/cases.sh
. "$(dirname "$0")/../support/cases.sh"
scrubjay=$build/scrubjay

cat >spin.c <<'C'
#include <stdlib.h>
int main(int count, char **words)
{
    const char *work = count > 1 ? words[1] : getenv("WORK");
    volatile unsigned long sum = 0;
    for (long turn = work != NULL ? atol(work) : 0; turn > 0; turn--)
        sum += (unsigned long)turn;
    return 0;
}
C
$cc -O1 spin.c -o spin || exit 2
work_turns=$(turns_for 30 ./spin)

# session OUT WORK SEED: arms a and b, 20 pairs; leaves the cpu claim of b in ./claim
session()
{
    timeout 120 "$scrubjay" cost --least 0 --pressure 1000000 --pairs 20 --threads 1 --seed "$3" --out "$1" \
        --arm "a=;WORK=$work_turns" --arm "b=;WORK=$2" -- ./spin >/dev/null 2>&1
    grep '"metric":"cpu"' "$1/claims.jsonl" >claim
}

member() { sed -nE "s/.*\"$1\":\"?([^,\"}]*).*/\1/p" claim; }

# bound TRIALS CHANCE: the most successes that come by chance once in a thousand times, or less often
bound()
{
    awk -v n="$1" -v p="$2" 'BEGIN { term = (1 - p) ^ n; sum = term
        for (k = 0; sum < 0.999 && k < n; ) { term *= (n - k) / (k + 1) * p / (1 - p); k++; sum += term }
        print k }'
}

equal_work()
{
    local alarms=0 misses=0 i
    : >visible
    for ((i = 0; i < equal_sessions; i++)); do
        session equal "$work_turns" "$i"
        case $(member verdict) in SLOWER | FASTER) alarms=$((alarms + 1)) ;; esac
        awk -v low="$(member log_low)" -v high="$(member log_high)" 'BEGIN { exit !(low > 0 || high < 0) }' && misses=$((misses + 1))
        member log_visible >>visible
    done
    echo "# of $equal_sessions sessions of equal work $alarms raised an alarm, $misses intervals missed 0" >&3
    [ "$alarms" -le "$(bound "$equal_sessions" 0.05)" ] || echo "$alarms false alarms in $equal_sessions sessions"
    [ "$misses" -le "$(bound "$equal_sessions" 0.05)" ] || echo "$misses intervals of $equal_sessions missed the truth"
}
exec 3>&1
check equal_work_raises_few_alarms equal_work

# The planted share follows from what the sessions of equal work could see; less than delta, 1 %, is never called slower.
planted_work()
{
    [ -s visible ] || lacks "needs the sessions of equal work"
    local visible planted missed=0 i
    visible=$(sort -g visible | awk '{ v[NR] = $1 } END { m = v[int((NR + 1) / 2)]; print (m > 0.01 ? m : 0.01) }')
    planted=$(awk -v turns="$work_turns" -v log_visible="$visible" 'BEGIN { printf "%d", turns * exp(1.5 * log_visible) }')
    for ((i = 0; i < planted_sessions; i++)); do
        session planted "$planted" "$((1000 + i))"
        [ "$(member verdict)" = SLOWER ] || missed=$((missed + 1))
    done
    echo "# visible $visible (log), planted $((planted - work_turns)) of $work_turns turns; $missed of $planted_sessions missed" >&3
    [ "$missed" -le "$(bound "$planted_sessions" 0.2)" ] || echo "$missed of $planted_sessions sessions missed it"
}
check planted_work_is_found planted_work

finish
