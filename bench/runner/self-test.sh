#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What: runs the runner on commands whose truth is known: planted work, equal work, other output, a crash, a run that is
# too short; and looks at what it gives each arm. Prints TAP.
# Why this way: the statistics are tested on simulated sessions; this is the one place where real processes are run.
# usage: self-test.sh FOLDER-OF-RUNNER

set -u
bin=$(cd "$1" && pwd) || exit 1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
tests=0
failures=0

# The machine may be busy: that must not decide here.
runner()
{
    list=$1
    shift
    "$bin/runner" --bin "$bin" --dir "$folder/data" --manifest "$list" --pressure 1000000 --seed 1 "$@" \
        >"$folder/report" 2>"$folder/progress"
}

check()
{
    name=$1
    shift
    tests=$((tests + 1))
    if "$@"; then
        echo "ok $tests - $name"
    else
        failures=$((failures + 1))
        echo "not ok $tests - $name"
        sed 's/^/# /' "$folder/report" "$folder/progress"
    fi
}

said() { grep -Eq "$1" "$folder/report"; }
unsaid() { ! said "$1"; }

cat >"$folder/busy" <<'LIST'
busy|micro|1|-|awk -v n=$WORK 'BEGIN { for (i = 0; i < n; i++) s += i; print "done" }'
LIST
runner "$folder/busy" --arm 'one=;WORK=1600000' --arm 'more=;WORK=2400000' --pairs 12 --out "$folder/out"
status=$?
check "planted work is SLOWER, exit 1" test "$status" = 1
check "the line says so" said '^busy \| cpu \| one .*\| SLOWER'
# 3 arms (the null control is one) twice in each of 6 blocks
rows=$(awk -F, '$1 == "busy" && $3 == 0' "$folder/out/rows.csv" | wc -l)
check "a row is a process" test "$rows" = 36
check "the tables are written" test -s "$folder/out/cpu-one.md"

runner "$folder/busy" --arm 'one=;WORK=1600000' --arm 'same=;WORK=1600000' --pairs 12 --delta 20
status=$?
check "equal work is not SLOWER, exit 0 or 2" test "$status" = 0 -o "$status" = 2

cat >"$folder/bad" <<'LIST'
other|micro|1|-|awk -v n=$WORK 'BEGIN { for (i = 0; i < 1600000; i++) s += i; print n }'
crash|micro|1|-|awk -v n=$WORK 'BEGIN { for (i = 0; i < 1600000; i++) s += i; if (n == 2) system("kill -9 $PPID") }'
short|micro|1|-|/bin/true
absent|micro|1|-|/no/such/program
ignored|micro,stdout=ignore|1|-|awk -v n=$WORK 'BEGIN { for (i = 0; i < 1600000; i++) s += i; print n }'
LIST
runner "$folder/bad" --arm 'one=;WORK=1' --arm 'two=;WORK=2' --pairs 12
status=$?
check "sessions with invalid workloads exit 3" test "$status" = 3
check "other output is INVALID" said '^other \| cpu \|.*INVALID, stdout differs'
check "and shows no time" unsaid '^other  *two  *[0-9]'
check "a crash is INVALID" said '^crash \| cpu \|.*INVALID'
check "short runs are refused with advice" said '^short \| cpu \|.*INVALID.*batch'
check "a missing program is INVALID" said '^absent \| cpu \|.*INVALID, no such program'
check "stdout=ignore ignores it" unsaid '^ignored \| cpu \|.*INVALID, stdout'

# Each process writes the size of its environment; the arms of a half block must agree, the halves need not.
cat >"$folder/sizes" <<'LIST'
sizes|micro|1|-|cat /proc/self/environ | wc -c >>{dir}/sizes; sleep 0.03
LIST
runner "$folder/sizes" --arm 'none=' --arm "long=;A=1;LONGER_NAME=a-longer-value-{seed}" --arm 'mid=;B=22' --pairs 12
even=$(awk '{ half[int((NR - 1) / 4)] = half[int((NR - 1) / 4)] " " $1 } END { for (h in half) { split(half[h], s, " ");
    for (i in s) if (s[i] != s[1]) bad = 1; all[s[1]] = 1 } n = 0; for (a in all) n++; print (bad ? "uneven" : (n > 1 ? "even" : "one size")) }' \
    "$folder/data/sizes")
check "environments of a pair have one size, of pairs several" test "$even" = even

echo "1..$tests"
echo "# $((tests - failures)) passed, $failures failed, 0 skipped"
[ "$failures" = 0 ]
