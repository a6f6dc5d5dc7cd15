#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: the hunt for false alarms: workloads and real programs under levels 3 and 4 and under every single option on top of
# level 0. Each must end as it does under glibc, print the same, and nothing of ours.
# Why this way: a cell is a program and a set of options. The options come out of src/policy/options.def, so a new one is hunted
# without an edit here. There are more cells than minutes: they are taken in an order that a seed makes, so that each run
# looks elsewhere and a find can be repeated.
#
# Usage: tests/programs/hunt.sh [-b BUILD] [-j JOBS] [-m MINUTES] [-s SEED] [-o OPTIONS] [quick|long|WORKLOAD...]
#   quick       a few cheap workloads under some sets of options, always the same (the default)
#   long        all of bench/workloads.list, and the programs of run.sh, for MINUTES (10)
#   WORKLOAD    those of bench/workloads.list, under all sets of options
#   -o OPTIONS  under this set only
# A real program that is not there is left out and named. The last line is "N passed, N failed".
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=$top/build/release jobs=2 minutes=10 seed=$((RANDOM * 32768 + RANDOM)) only=
while getopts 'b:j:m:s:o:' option; do
    case $option in
    b) build=$OPTARG ;;
    j) jobs=$OPTARG ;;
    m) minutes=$OPTARG ;;
    s) seed=$OPTARG ;;
    o) only=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- quick
readonly cell_seconds=300

work=$(mktemp -d "${TMPDIR:-/tmp}/scrubjay-hunt.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cp "$(realpath -e "$build/libscrubjay.so")" "$work/libscrubjay.so" || exit 2
bin=$(realpath -e "$build/bench") || exit 2
mkdir "$work/plain" "$work/dir" "$work/results"
ulimit -c 0
export LC_ALL=C
unset SCRUBJAY_OPTIONS SCRUBJAY_DISABLE

# Levels, and each value of each protection by itself.
option_sets()
{
    if [ -n "$only" ]; then
        echo "$only"
        return
    fi
    echo level=3
    echo level=4
    sed -nE 's/^SJ_OPTION\(([a-z_]+), CHOICE, policy\.[a-z_]+, "([^"]*)", "[0-9]+",.*/\1 \2/p' "$top/src/policy/options.def" |
        while read -r name values; do
            for value in ${values//|/ }; do
                [ "$value" = off ] || echo "level=0,$name=$value"
            done
        done
    echo level=0,delay=quarantine,quarantine=256k
    echo level=0,sample=50,sample_rate=0
    echo level=0,walk=50
    echo level=3,trap=off
    echo level=4,walk=50
}

# fields NAME: kind|threads|prepare|command of the workload, with the folders put in.
fields() { sed -n "s|{bin}|$bin|g; s|{dir}|$work/dir|g; s/^$1|//p" "$bin/workloads.list"; }

# A workload without the library: what it must print and end with. False if it can't be run here.
run_plain()
{
    local name=$1 prepare command
    IFS='|' read -r _ _ prepare command <<<"$(fields "$name")"
    [ -n "$command" ] && command -v "${command%% *}" >/dev/null || [[ $command == "$work"/* ]] || return 1
    if [ "$prepare" != - ]; then
        bash -c "$prepare" >"$work/plain/$name.prepared" 2>&1 || return 1
    fi
    # shellcheck disable=SC2086 # a list of words
    timeout -k 5 $cell_seconds $command >"$work/plain/$name.out" 2>/dev/null </dev/null
    echo $? >"$work/plain/$name.status"
}

hunt_workload()
{
    local name=$1 options=$2 out=$work/results/$3 command status line reason=
    IFS='|' read -r _ _ _ command <<<"$(fields "$name")"
    # shellcheck disable=SC2086
    LD_PRELOAD=$work/libscrubjay.so SCRUBJAY_OPTIONS=$options timeout -k 5 $cell_seconds $command \
        >"$out.out" 2>"$out.err" </dev/null
    status=$?
    line=$(grep -m 1 -a 'scrubjay: ' "$out.err")
    if [ -n "$line" ]; then
        reason=${line#*: }
    elif [ "$status" != "$(cat "$work/plain/$name.status")" ]; then
        reason="status $status"
    elif ! cmp -s "$work/plain/$name.out" "$out.out"; then
        reason="the output differs"
    fi
    if [ -z "$reason" ]; then echo "ok $name@$options"; else echo "not ok $name@$options: $reason"; fi >"$out.verdict"
    rm -f "$out.out"
}

# One of run.sh's programs.
hunt_program()
{
    local name=$1 options=$2 out=$work/results/$3
    "$here/run.sh" -l "$work/libscrubjay.so" -L "${options#level=}" -j 1 "$name" >"$out.all" 2>&1
    grep -E '^(not )?ok ' "$out.all" >"$out.verdict" ||
        echo "# $name@$options: $(grep -m 1 '^skip' "$out.all")" >"$out.verdict"
}

cells=$work/cells
case $1 in
quick)
    workloads=(cfrac mstress-2 larson-sized-2)
    [ -n "$only" ] || option_sets() { printf '%s\n' level=3 level=4 level=0,types=on level=0,canary=exact,verify=on; }
    ;;
long) mapfile -t workloads < <(sed -nE 's/^([^#|]+)\|.*/\1/p' "$bin/workloads.list") ;;
*) workloads=("$@") ;;
esac
for name in "${workloads[@]}"; do
    if run_plain "$name"; then
        option_sets | sed "s/^/workload $name /" >>"$cells"
    else
        echo "# $name is left out: it is not there, or could not be prepared"
    fi
done
if [ "$1" = long ]; then
    for name in gcc redis python sqlite3 git perl node gs nginx openssl lua; do
        option_sets | sed "s/^/program $name /" >>"$cells"
    done
    # The same seed, the same order.
    shuf --random-source=<(yes "$seed") "$cells" -o "$cells"
    echo "# seed $seed, $(wc -l <"$cells") cells, $minutes minutes"
fi

end=$((SECONDS + minutes * 60)) running=0 number=0
while read -r kind name options; do
    [ "$1" != long ] || [ "$SECONDS" -lt "$end" ] || break
    if [ "$running" -ge "$jobs" ]; then
        wait -n
        running=$((running - 1))
    fi
    number=$((number + 1))
    "hunt_$kind" "$name" "$options" "$number" &
    running=$((running + 1))
done <"$cells"
wait

for ((i = 1; i <= number; i++)); do grep -v '^ok ' "$work/results/$i.verdict"; done
passed=$(cat "$work"/results/*.verdict | grep -c '^ok ')
failed=$(cat "$work"/results/*.verdict | grep -c '^not ok ')
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
