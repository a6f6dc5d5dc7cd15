#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: runs the models of the free protocol and of the release clock: the configurations that must hold, the faults that must be found, the limits
# that must show, and the memory orders.
#
#   models/run.sh [check|long] [part of a name]
#
# JOBS sets how many run at a time (default: the number of processors), SECONDS_EACH how long one may take (default 120,
# in long mode 3600). README.md says what either mode needs.
# Exit status 1 if anything failed; what cannot run for want of spin or gcc is skipped with a line that says so.
set -u

mode=${1:-check}
only=${2:-}
case $mode in
check) seconds=${SECONDS_EACH:-120} ;;
long) seconds=${SECONDS_EACH:-3600} ;;
*) printf 'usage: %s [check|long] [part of a name]\n' "$0" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd) || exit 2
jobs_at_a_time=${JOBS:-$(nproc)}

# A case: mode|kind|name|defines|what must be seen (holds) or the assertion that must fail (fails, as an extended regexp).
slots='-DSLOTS=2 -DMALLOCS=3 -DFREES=3'
queue='-DSLABS=2 -DSLOTS=1 -DMALLOCS=3 -DFREES=3'
retire='-DHEAPS=2 -DSLOTS=1 -DRETIRES=1 -DMALLOCS=2 -DFREES=2'
retire_twice='-DHEAPS=2 -DSLOTS=1 -DRETIRES=2 -DMALLOCS=3 -DFREES=3'
retire_slots='-DHEAPS=2 -DSLOTS=2 -DRETIRES=1 -DMALLOCS=3 -DFREES=3'
adopt='-DHEAPS=1 -DFRESH=1 -DEXITS=1 -DSLOTS=2 -DMALLOCS=3 -DFREES=2'
take='-DHEAPS=2 -DFRESH=1 -DEXITS=1 -DTAKES=1 -DSLOTS=1 -DMALLOCS=2 -DFREES=2'
take_slabs='-DHEAPS=2 -DFRESH=1 -DEXITS=1 -DTAKES=1 -DSLABS=2 -DSLOTS=1 -DMALLOCS=2 -DFREES=2'
askers='-DPUTS=0 -DLAST_MS=1 -DASKERS=2 -DTHREADS=1'
generation='-DGENERATIONS=256'
all='-DHEAPS=2 -DFRESH=1 -DEXITS=1 -DTAKES=1 -DRETIRES=1 -DSLOTS=1 -DMALLOCS=2 -DFREES=2'

double_seen='pair fold-alarm second-claim local-alarm exit-alarm quiet'
retire_seen='take-back late-push pop-retired forward quiet'
take_seen='late-push forward push-to-dead dead-fold adoption take quiet'

read -r -d '' cases <<CASES
check|holds|slots, each object freed once|$slots|two-claims no-push quiet
check|holds|slots, one free too many|$slots -DEXTRA=1|$double_seen two-claims no-push
check|holds|two slabs in a queue|$queue|long-queue no-push quiet
check|holds|new life of a descriptor, twice|$retire_twice|$retire_seen
check|holds|new life, one free too many|$retire -DEXTRA=1|$retire_seen $double_seen
check|holds|new life, weak stores, one free too many|$retire -DEXTRA=1 -DWEAK_STORES|$retire_seen $double_seen
check|holds|heap adopted whole|$adopt|adoption push-to-dead quiet
check|holds|slab taken from a dead heap|$take|$take_seen
check|holds|slab taken, one free too many|$take -DEXTRA=1|$take_seen $double_seen
check|holds|new life, R looked at before L, one free too many|$retire -DEXTRA=1 -DALLOW_LOOK_AT_R|$retire_seen $double_seen
check|holds|variant: generation in R, one free too many|$retire -DEXTRA=1 $generation|$retire_seen $double_seen open-alarm generation-alarm
check|holds|variant: push to the owner of before the claim|$retire -DEXTRA=1 -DALLOW_EARLY_OWNER|late-push pop-retired forward $double_seen
check|holds|clock: memory put down|-DPUTS=2 -DASKERS=0|aged
check|holds|clock: memory put down, seen when its lock is given back|-DPUTS=2 -DASKERS=0 -DNOTE_INSIDE|aged
check|holds|clock: a request and memory|-DASKERS=1 -DLAST_MS=2|aged rung-again answered
check|holds|clock: two askers|$askers -DTRIES=1|bad-message written-over answered
check|fails|clock: a pass looks before it takes the due time away|-DPUTS=2 -DASKERS=0 -DBREAK_LOOK_BEFORE_EXCHANGE|due<=
check|fails|clock: the due time is lowered by a plain store|-DPUTS=2 -DASKERS=0 -DBREAK_PLAIN_LOWER|due<=
check|fails|clock: the due time is lowered before memory is put down|-DPUTS=1 -DASKERS=0 -DBREAK_NOTE_BEFORE_PUT|due<=
check|fails|clock: a pass does not ring again|-DASKERS=1 -DLAST_MS=2 -DBREAK_NO_BELL_AGAIN|finished
check|fails|clock: the bell before the request|-DASKERS=1 -DLAST_MS=2 -DBREAK_BELL_FIRST|finished
check|fails|clock: a request without a checksum|$askers -DBREAK_NO_CHECKSUM|command
check|fails|clock: an answer is taken at one look|$askers -DBREAK_ONE_LOOK|read_is_for
check|fails|without the hand-out check|$slots -DEXTRA=1 -DBREAK_NO_HANDOUT_CHECK|claims\[[0-9]\]==1
check|fails|check at refill only|$slots -DEXTRA=1 -DBREAK_CHECK_AT_REFILL|claims\[[0-9]\]==1
check|fails|L judged after the claim|$slots -DBREAK_L_AFTER_CLAIM|\(0>0\)
check|fails|fold reads R before it exchanges queued|$slots -DBREAK_R_BEFORE_QUEUED|R\[word\]==0
check|fails|R cleared before L|$slots -DBREAK_R_CLEARED_FIRST|remote_first
check|fails|fold stores zero to R|$slots -DBREAK_FOLD_STORES_ZERO|remote_first
check|fails|local free does not look at R|$slots -DEXTRA=1 -DBREAK_NO_LOCAL_CHECK|claims\[[0-9]\]==0
check|fails|queued exchanged before the claim|$slots -DBREAK_QUEUE_BEFORE_CLAIM|R\[word\]==0
check|fails|link read after queued is exchanged|$queue -DBREAK_LINK_AFTER_QUEUED|in_queue
check|fails|pop without forward, new life|$retire_twice -DBREAK_NO_FORWARD|R\[word\]==0
check|fails|pop without forward, slab taken|$take -DBREAK_NO_FORWARD|R\[word\]==0
check|fails|pop looks at the owner before it exchanges queued|$retire_twice -DBREAK_OWNER_BEFORE_QUEUED|R\[word\]==0
check|fails|queued and link reset in a new life|$retire_twice -DBREAK_OPENING_RESETS_QUEUED|in_queue
check|fails|queued left set when the slab has no owner|$retire_twice -DBREAK_DROPPED_WITHOUT_OWNER|in_queue|R\[word\]==0
check|fails|queued taken back without a second look at the owner|$retire_twice -DBREAK_TAKEN_BACK_UNSEEN|R\[word\]==0
check|fails|dead heap folded without taking it off the list|$take -DBREAK_DEAD_FOLD_UNLOCKED|runner
check|fails|local free after the thread gave its heap away|$take -DBREAK_LATE_LOCAL_FREE|runner
check|fails|generation: opening wipes R unseen|$retire -DEXTRA=1 $generation -DBREAK_OPENING_WIPES|claims\[(word|[0-9])\](==|<=)1
check|fails|generation loaded after L|$retire -DEXTRA=1 $generation -DBREAK_GENERATION_LAST|my_geometry
check|fails|generation at retirement, before the owner is cleared|$retire_twice -DEXTRA=1 $generation -DBREAK_GENERATION_AT_RETIREMENT|my_geometry
check|fails|generation at retirement and geometry loaded before the owner|$retire -DEXTRA=1 $generation -DALLOW_GENERATION_AT_RETIREMENT -DALLOW_GEOMETRY_BEFORE_OWNER|my_geometry
check|fails|limit: a free delayed between L and claim hits the next object|$slots -DEXTRA=1 -DLIMIT_STALE_CLAIM|judged
check|fails|limit: without a generation a late claim hits another life|$retire -DEXTRA=1 -DLIMIT_NO_GENERATION|my_geometry
check|fails|limit: a generation that came round hides a late claim|$retire_twice -DEXTRA=1 -DGENERATIONS=2|my_geometry
check|fails|limit: queues alone leave bits with a thread that sleeps|$retire_slots -DLIMIT_QUEUE_ONLY -DSTOPS=1|stopped
check|fails|limit: a thread end that folds its queue misses a claim not queued yet|$take -DEXTRA=1 -DLIMIT_EXIT_FOLDS_QUEUE|doubled
check|fails|limit: a process exit that folds queues misses a claim on a retired slab|$retire -DEXTRA=1 -DLIMIT_EXIT_FOLDS_QUEUES|claims\[word\]<=1
long|holds|clock: a request and memory, more time|-DASKERS=1|aged rung-again answered
long|holds|clock: two askers, two threads|-DPUTS=0 -DLAST_MS=1 -DASKERS=2 -DTRIES=1|rung-again bad-message written-over answered
long|holds|slots, two frees too many|$slots -DEXTRA=2|$double_seen
long|holds|slots, weak stores, one free too many|$slots -DEXTRA=1 -DWEAK_STORES|$double_seen
long|holds|slots, deep buffer, one free too many|$slots -DEXTRA=1 -DBUFFER=8|$double_seen
long|holds|three slots, one free too many|-DSLOTS=3 -DMALLOCS=3 -DFREES=3 -DEXTRA=1|$double_seen
long|holds|four objects, four remote frees|-DSLOTS=2 -DMALLOCS=4 -DFREES=4|two-claims no-push quiet
long|holds|one slot, four objects, two frees too many|-DSLOTS=1 -DMALLOCS=4 -DFREES=3 -DEXTRA=2|$double_seen
long|holds|two slabs in a queue, one free too many|$queue -DEXTRA=1|$double_seen long-queue
long|holds|two slabs in a queue, new life|$queue -DRETIRES=1|take-back pop-retired long-queue quiet
long|holds|new life twice, one free too many|$retire_twice -DEXTRA=1|$retire_seen $double_seen
long|holds|new life, two slots|$retire_slots|$retire_seen two-claims
long|holds|new life, two slots, one thread never sleeps|$retire_slots -DSTOPS=1|$retire_seen
long|holds|new life, two slabs|-DHEAPS=2 -DSLABS=2 -DSLOTS=1 -DRETIRES=1 -DMALLOCS=3 -DFREES=3|$retire_seen long-queue
long|holds|new life, two frees too many|$retire -DEXTRA=2|$retire_seen $double_seen
long|holds|variant: generation, new life twice, one free too many|$retire_twice -DEXTRA=1 $generation|$retire_seen $double_seen open-alarm generation-alarm
long|holds|variant: push to the owner of before, new life twice, one free too many|$retire_twice -DEXTRA=1 -DALLOW_EARLY_OWNER|late-push pop-retired forward $double_seen
long|holds|heap adopted whole, one free too many|$adopt -DEXTRA=1|adoption push-to-dead $double_seen
long|holds|slab taken, both threads end, one free too many|$take -DEXITS=3 -DEXTRA=1|$take_seen $double_seen
long|holds|slab taken, weak stores, one free too many|$take -DEXTRA=1 -DWEAK_STORES|$take_seen $double_seen
long|holds|slab taken, two slabs|$take_slabs|$take_seen long-queue
long|holds|slab taken, two slabs, one free too many|$take_slabs -DEXTRA=1|$take_seen $double_seen long-queue
long|holds|new life, adoption and taking together|$all|$take_seen $retire_seen
long|holds|new life, adoption and taking together, one free too many|$all -DEXTRA=1|$take_seen $retire_seen $double_seen
long|holds|thread end looks at all its slabs, one free too many|$take -DEXTRA=1 -DFOLD_ALL_AT_EXIT|$take_seen $double_seen
long|holds|variant: generation at retirement, after the owner is cleared|$retire -DEXTRA=1 $generation -DALLOW_GENERATION_AT_RETIREMENT|$retire_seen $double_seen generation-alarm
long|holds|variant: generation, geometry loaded before the owner|$retire -DEXTRA=1 $generation -DALLOW_GEOMETRY_BEFORE_OWNER|$retire_seen $double_seen generation-alarm
long|holds|variant: no look at R when retiring|$retire -DEXTRA=1 -DALLOW_NO_LOOK_AT_RETIREMENT|$retire_seen $double_seen
long|holds|variant: queued tested before it is exchanged|$retire -DEXTRA=1 -DALLOW_TEST_OF_QUEUED|$retire_seen $double_seen
CASES

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT

# say ok|'not ok' TEXT
say()
{
    printf '%s %s\n' "$1" "$2"
    printf '%s\n' "$1" >>"$scratch/results"
}

# run_case NUMBER KIND NAME DEFINES EXPECTED
run_case()
{
    local folder=$scratch/$1 kind=$2 name=$3 defines=$4 expected=$5
    local model=model.pml optimise=-O1 search='' what status seen point states depth violated
    mkdir "$folder" && cd "$folder" || return
    [ "$kind" = fails ] && optimise=-O0
    case $name in clock:*) model=clock.pml ;; esac
    # A long run keeps all interleavings, in compressed states: one assumption of spin's less.
    [ "$mode" = long ] && search='-DNOREDUCE -DCOLLAPSE' && optimise=-O2
    # shellcheck disable=SC2086
    if ! spin $defines -a "$here/$model" >spin.out 2>&1 ||
        ! gcc $optimise -w -DSAFETY -DVECTORSZ=512 $search -o pan pan.c >gcc.out 2>&1; then
        say 'not ok' "model: $name: does not build: $(cat spin.out gcc.out 2>/dev/null | head -n 3 | tr '\n' ' ')"
        return
    fi
    # -E: that nothing can move after an alarm is no error; `init` judges the end of all other runs.
    timeout "$seconds" ./pan -E -m100000 -w22 >pan.out 2>&1
    status=$?
    rm -f pan pan.c
    states=$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' pan.out)
    depth=$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' pan.out)
    violated=$(sed -n 's/^pan:[0-9]*: //p' pan.out | head -n 1)
    what="model: $name ($states states, depth $depth)"
    if [ "$status" -eq 124 ]; then
        say 'not ok' "model: $name: not done in $seconds seconds"
    elif [ "$kind" = fails ]; then
        if grep -E '^pan:[0-9]*: assertion violated' pan.out | grep -qE -- "$expected"; then
            say ok "model fails as it must: $name ($states states)"
        else
            say 'not ok' "model must fail and does not, or otherwise: $name: ${violated:-no error in $states states}"
        fi
    elif ! grep -q 'errors: 0' pan.out || grep -qE 'Search not completed|max search depth too small' pan.out; then
        say 'not ok' "$what: ${violated:-$(tail -n 1 pan.out)}"
    else
        seen=" $(sed -n 's/^seen: *//p' pan.out) "
        for point in $expected; do
            case $seen in
            *" $point "*) ;;
            *) say 'not ok' "$what: never came by $point"; return ;;
            esac
        done
        say ok "$what"
    fi
}

missing=''
for tool in gcc spin; do
    command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
done

: >"$scratch/results"
case $missing in
*gcc*) printf 'skip models: no gcc here\n' ;;
*)
    if gcc -std=c17 -O1 -o "$scratch/orders" "$here/orders.c"; then
        "$scratch/orders" >"$scratch/orders.out"
        grep -F -- "$only" "$scratch/orders.out"
        grep -F -- "$only" "$scratch/orders.out" | sed 's/ order: .*//' >>"$scratch/results"
    else
        say 'not ok' 'order: orders.c does not build'
    fi
    ;;
esac
if [ -n "$missing" ]; then
    printf 'skip model: missing:%s (Debian: apt-get install%s)\n' "$missing" "$missing"
else
    number=0
    while IFS='|' read -r which kind name defines expected; do
        [ "$mode" = long ] || [ "$which" = check ] || continue
        [[ $name == *"$only"* ]] || continue
        while [ "$(jobs -rp | wc -l)" -ge "$jobs_at_a_time" ]; do wait -n; done
        number=$((number + 1))
        run_case "$number" "$kind" "$name" "$defines" "$expected" </dev/null &
    done <<<"$cases"
    wait
fi

passed=$(grep -c '^ok' "$scratch/results")
failed=$(grep -c '^not ok' "$scratch/results")
printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
