#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: `scrubjay bench`, `cost` and `ab` on commands whose truth is known: planted work, equal work, other output, a crash,
# a run that is too short; what each arm is given and leaves; sessions shown, merged, cut short and gone on with.
# Why this way: the statistics are tested on simulated sessions (tests/unit/lab_*); this is where real processes are run.
# Neither a busy machine nor a fast one must decide: work is scaled to the machine, planted work is three times as much, a
# wide delta forgives noise, and no time is asserted.
#
# Usage: tests/contract/measure.sh [PATTERN]; SJ_BUILD_DIR is the build folder (default build/release).
set -u
# shellcheck source=../support/cases.sh
. "$(dirname "$0")/../support/cases.sh"
scrubjay=$build/scrubjay
[ -x "$scrubjay" ] || { echo "$scrubjay is missing"; exit 2; }
calm=(--pressure 1000000 --seed 1 --least 0 --delta 20)

# bench LIST OPTION...: a session in ./bin of a list; prints the report, returns the exit status.
mkdir bin
bench() { timeout 300 "$scrubjay" bench --bin "$work/bin" --file "$work/$1" "${calm[@]}" "${@:2}" 2>progress; }

# status WANTED COMMAND...: complains unless the command ends with one of the statuses of a pattern.
status()
{
    local wanted=$1 got
    shift
    "$@" >report
    got=$?
    # shellcheck disable=SC2254 # a pattern on purpose
    case $got in $wanted) ;; *) echo "status $got, not $wanted: $(tail -n 3 report progress)" ;; esac
}

said() { grep -Eq "$1" report || echo "no \"$1\" in: $(tail -n 8 report)"; }
unsaid() { if grep -E "$1" report; then echo "which should not be said"; fi; }

cat >busy <<'LIST'
busy|micro|1|-|awk -v n=$WORK 'BEGIN { for (i = 0; i < n; i++) s += i; print "done" }'
LIST
add_up() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) s += i; print "done" }'; }
turns=$(turns_for 60 add_up)

planted_work()
{
    status 1 bench busy --arm "one=;WORK=$turns" --arm "more=;WORK=$((turns * 3))" --pairs 12 --out out
    said '^busy \| cpu \| one .*\| SLOWER'
    # 3 arms (the null control is one) twice in each of 6 blocks
    local rows
    rows=$(awk -F, '$1 == "busy" && $3 == 0' out/rows.csv | wc -l)
    [ "$rows" = 36 ] || echo "$rows rows, not 36"
    [ -s out/cpu-one.md ] || echo "no table in Markdown"
}
check planted_work_is_slower planted_work

equal_work() { status '[02]' bench busy --arm "one=;WORK=$turns" --arm "same=;WORK=$turns" --pairs 12; }
check equal_work_is_not equal_work

cat >bad <<'LIST'
other|micro|1|-|echo $WORK
crash|micro|1|-|awk -v n=$WORK 'BEGIN { if (n == 2) system("kill -9 $PPID") }'
absent|micro|1|-|/no/such/program
ignored|micro,stdout=ignore|1|-|echo $WORK
LIST
echo 'short|micro|1|-|/bin/true' >short
bad_work()
{
    status 3 bench bad --arm 'one=;WORK=1' --arm 'two=;WORK=2' --pairs 12
    said '^other \| cpu \|.*INVALID, stdout differs'
    unsaid '^other  *two  *[0-9]'
    said '^crash \| cpu \|.*INVALID'
    said '^absent \| cpu \|.*INVALID, no such program'
    unsaid '^ignored \| cpu \|.*INVALID, stdout'
}
check what_differs_or_fails_is_invalid bad_work

# An hour is longer than /bin/true anywhere.
too_short()
{
    status 3 bench short --arm 'one=' --arm 'two=' --pairs 12 --least 3600
    said '^short \| cpu \|.*INVALID.*batch'
}
check what_is_too_short_is_refused too_short

# Each process writes the size of its environment; the arms of a half block must agree, the halves need not.
cat >sizes <<'LIST'
sizes|micro|1|-|cat /proc/self/environ | wc -c >>{dir}/sizes
LIST
even_environments()
{
    status '[0123]' bench sizes --arm 'none=' --arm "long=;A=1;LONGER_NAME=a-longer-value-{seed}" --arm 'mid=;B=22' --pairs 12
    awk '{ half[int((NR - 1) / 4)] = half[int((NR - 1) / 4)] " " $1 } END { for (h in half) { split(half[h], s, " ");
        for (i in s) if (s[i] != s[1]) bad = 1; all[s[1]] = 1 } n = 0; for (a in all) n++
        if (bad) print "the environments of a pair differ in size"; if (n < 2) print "all pairs have one size" }' bin/data/sizes
}
check environments_of_a_pair_have_one_size even_environments

# ---- cost and ab
# An awk of its own: Debian's may be linked with another libc's idea of malloc, and this one allocates.
cat >task.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words)
{
    long turns = count > 1 ? atol(words[1]) : 400000;
    for (long i = 0; i < turns; i++) {
        volatile char *block = malloc((size_t)(i % 500 + 1));
        block[0] = 1;
        free((void *)block);
    }
    const char *options = getenv("SCRUBJAY_OPTIONS");
    if (count > 2)
        printf("%s\n", options != NULL ? options : "none");
    return count > 3 ? 5 : 0;
}
C
$cc -O1 -fno-builtin task.c -o task || exit 2

cost() { timeout 300 "$scrubjay" cost "${calm[@]}" "$@" 2>progress; }
ab() { timeout 300 "$scrubjay" ab "${calm[@]}" "$@" 2>progress; }

ladder()
{
    status '[0123]' cost --pairs 12 --out ladder -- ./task
    said '^task +glibc +[0-9]'
    for level in $("$scrubjay" explain level | grep -oE '[0-9]( \||\|| |$)' | grep -oE '[0-9]' | sort -u); do
        grep -q "\"arm\":\"level$level\".*\"processes\":1.*\"options\":\"level=$level," ladder/rows.jsonl ||
            echo "no row that shows level $level in force"
    done
    grep -q '"arm":"level2".*"allocations":[0-9]*[1-9]' ladder/rows.jsonl || echo "no counters"
    if grep '"arm":"glibc".*"processes"' ladder/rows.jsonl; then echo "glibc's processes claim to be Scrubjay"; fi
    [ "$(readelf -n "$library" | awk '/Build ID/ { print $3 }')" = \
        "$(sed -n 's/.*"arm":"level0".*"build_id":"\([0-9a-f]*\)".*/\1/p' ladder/rows.jsonl | sort -u)" ] ||
        echo "the rows name another build"
}
check each_level_proves_that_it_ran ladder

# Every value of the table's options is an arm, with its price, though nobody named it here.
price_list()
{
    status '[012]' cost --pairs 2 --options --no-ladder --base-level 0 --out prices -- ./task
    grep -qE '^\| .scrub=free. \| 3 \| [+-][0-9.]* %' prices/prices-level0.md || tail -n 3 prices/prices-level0.md
    if grep '"arm":"\(glibc\|level1\)"' prices/rows.jsonl; then echo "other levels were measured"; fi
    status 64 cost --no-ladder -- ./task
}
check single_options_have_prices price_list

# 64 MiB held to the end or to the middle of the run, by a child of the command: the peak is the same, the mean is not.
# Each half lasts twice as long as the writing did, however dear this machine's page faults are.
cat >hold.c <<'C'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}
static void spin(double seconds)
{
    double end = now() + seconds;
    while (now() < end)
        ;
}
int main(void)
{
    size_t bytes = 64 << 20;
    double start = now();
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 1, bytes);
    double half = 2 * (now() - start);
    half = half < 0.1 ? 0.1 : half;
    spin(half);
    if (getenv("EARLY") != NULL && *getenv("EARLY") == '1')
        munmap(memory, bytes);
    spin(half);
    return 0;
}
C
memory_over_time()
{
    $cc -O1 hold.c -o hold || return
    status '[0123]' cost --pairs 12 --out held --arm 'late=;EARLY=0' --arm 'early=;EARLY=1' -- sh -c "./hold; true"
    said '^sh \| mean-rss \| .* \| SMALLER'
    said '^sh \| rss \| .* \| SAME'
    # In most runs of each: at three quarters the one has given back what the other still holds.
    awk -F'"rss_over_time_kib":\\[' '/"type":"row"/ { early = $1 ~ /"arm":"early"/; sub(/].*/, "", $2); n = split($2, kib, ",")
            if (n > 64) print n " values"
            right += n >= 4 && early == (kib[int(n * 3 / 4)] < 65536); runs++ }
        END { if (2 * right <= runs) print right + 0 " of " runs + 0 " curves are right" }' held/rows.jsonl
}
check memory_is_seen_over_time memory_over_time

# What one thread does is counted exactly: the blocks, and the system calls of a program that makes 50 mappings by hand.
cat >maps.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(void)
{
    for (int i = 0; i < 1000; i++)
        free(malloc(100));
    for (int i = 0; i < 50; i++)
        if (mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
            return 1;
    return madvise(NULL, 0, MADV_DONTNEED) != 0 && getenv("NEVER") != NULL;
}
C
counted()
{
    $cc -O1 -fno-builtin maps.c -o maps || return
    local arms=(--ignore-stderr --arm a= --arm "l1=$library;SCRUBJAY_OPTIONS=level=1,seed=7")
    status '[012]' cost --pairs 12 --calls --out counted "${arms[@]}" --arm "l2=$library;SCRUBJAY_OPTIONS=level=2,seed=7" -- ./maps
    said '^maps \| a \| calls=[0-9]+ mmap=[5-9][0-9] .* madvise=1 .* mappings=[5-9][0-9]$'
    said '^maps \| l1 \| allocations=10[0-9][0-9] frees=10[0-9][0-9] '
    unsaid 'the same work'
    # Twice the work would be another number of blocks.
    cp report measured
    status '[012]' "$scrubjay" cost show counted
    diff <(grep '|.*=' measured) <(grep '|.*=' report)
    # Counters that were left out are not nought.
    sed 's/,"counters":{[^}]*}//' counted/rows.jsonl >without.jsonl
    status '[012]' "$scrubjay" cost show without.jsonl
    unsaid 'allocations='
    command -v valgrind >/dev/null || lacks "no valgrind"
    status '[012]' cost --pairs 2 --instructions "${arms[@]}" -- ./maps
    said '^maps \| l1 \| instructions~[0-9]{5,}$'
}
check what_can_be_counted_is_exact counted

# An allocator that takes its time in every tenth malloc: it shows in the tail, and only there, and only of malloc.
cat >spiky.c <<'C'
#include <stddef.h>
extern void *__libc_malloc(size_t bytes);
void *malloc(size_t bytes)
{
    static unsigned calls;
    if (++calls % 10 == 0)
        for (volatile unsigned turns = 0; turns < 20000; turns++)
            continue;
    return __libc_malloc(bytes);
}
C
# The numbers of an arm's line: of malloc and then of free p50, p99, p99.9, the longest and how many; the clock.
latency_of() { sed -n "s/^task | $1 | malloc//p" report | sed 's/p[0-9.]*=//g; s/[a-z|=]//g'; }
timed()
{
    $cc -O1 -fno-builtin -fPIC -shared spiky.c -o spiky.so || return
    status '[0123]' cost --pairs 2 --latency --out timed --arm 'glibc=' --arm "spiky=$work/spiky.so" \
        --arm "ours=$library;SCRUBJAY_OPTIONS=level=2" -- ./task 21000
    # Four runs, and a seventh of 21000 calls in each; the start of the process makes some more.
    local arm
    for arm in glibc spiky ours; do
        latency_of $arm | awk -v arm=$arm '{ found = 1 }
            $1 > $2 || $2 > $3 || $3 > $4 || $6 > $7 || $7 > $8 || $8 > $9 { print arm " is not in order: " $0 }
            $5 < 11990 || $5 > 12400 || $10 < 11990 || $10 > 12400 { print arm " has other calls: " $0 }
            END { if (!found) print "no times of " arm }'
    done
    latency_of spiky | awk '$2 < 10 * $1 || $2 < 10 * $7 { print "no spikes: " $0 }'
    grep '^task | .*clock' report >measured
    local once
    once=$(latency_of ours | awk '{ print $5 }')
    status '[0123]' "$scrubjay" cost show timed
    grep '^task | .*clock' report | cmp - measured
    status '[0123]' "$scrubjay" cost merge timed timed
    [ "$(latency_of ours | awk '{ print $5 }')" = $((2 * once)) ] || echo "merged times do not add up"
}
check single_calls_are_timed timed

other_work()
{
    status '[0123]' cost --pairs 12 --arm "l1=$library;SCRUBJAY_OPTIONS=level=1" --arm "l2=$library;SCRUBJAY_OPTIONS=level=2;WORK=2" \
        -- sh -c "./task \$((\${WORK:-1} * 1000))"
    said '^sh: l1 made [0-9]+ blocks and l2 [0-9]+, in every run: they did not do the same work'
}
check arms_that_do_other_work_are_told other_work

# Waiting for a quiet machine is part of the budget: on one that never is (nothing is under 0 %), the blocks run and are flagged.
no_patience() { status '[0123]' cost --pressure 0 --time 1s --arm 'a=' --arm 'b=' -- ./task; }
check a_busy_machine_is_not_waited_for_beyond_the_budget no_patience

any_status() { status '[012]' cost --pairs 12 --arm 'a=' --arm 'b=' -- ./task 400000 print 5; }
check a_status_of_its_own_is_no_fault any_status

options_differ()
{
    status 3 ab --pairs 12 level=0 level=1 -- ./task 100000 print
    said '^task: INVALID: stdout differs'
    status '[012]' ab --pairs 12 --normalise 'sed s/level=.//' level=0 level=1 -- ./task 100000 print
}
check a_normaliser_forgives options_differ

one_verdict()
{
    cp task fast
    cat >slow <<'SH'
#!/bin/sh
SH
    status '[012]' ab --pairs 12 "$library" "$library:level=1" -- ./task
    said '^task: (SAME|FASTER|SLOWER|LEANS|INCONCLUSIVE): B takes '
    status 64 ab level=0 -- ./task
    status 64 ab level=0 nonsense=1 -- ./task
}
check ab_ends_with_one_verdict one_verdict

not_in_force()
{
    $cc -O1 -fno-builtin -static task.c -o still || lacks "no static libc"
    status 3 cost --pairs 12 -- ./still
    said 'level0 .*INVALID: the library was not loaded'
}
check an_arm_that_did_not_run_is_invalid not_in_force

measured_rows() { grep -ch '"warm_up":false' "$1/rows.jsonl" /dev/null 2>/dev/null | head -n 1; }

# 40 pairs, cut off after the first block or some more; what is there is reported, and the rest follows.
resumed()
{
    local long session
    long=$(turns_for 60 ./task)
    # A shell gives what it starts in the background a SIGINT that is ignored; env gives it back.
    env --default-signal=INT "$scrubjay" cost "${calm[@]}" --pairs 40 --out cut --arm 'a=' --arm 'b=' -- ./task "$long" >report 2>progress &
    session=$!
    until [ "$(measured_rows cut)" -ge 8 ] || ! kill -0 $session; do sleep 0.05; done
    kill -INT $session
    wait $session
    said '^task  *b  *[0-9]'
    [ "$(measured_rows cut)" -lt 120 ] || echo "it was not cut short"
    cp -r cut part
    mkdir elsewhere
    (cd elsewhere && timeout 300 "$scrubjay" cost --pressure 1000000 --resume ../cut >../report 2>../progress)
    awk -F'"block":' '/"type":"row"/ && /"warm_up":false/ { split($2, b, ","); n[b[1]]++ }
        END { for (i = 0; i < 20; i++) if (n[i] < 6) print "block " i " has " n[i] + 0 " rows" }' cut/rows.jsonl
    status '[012]' "$scrubjay" cost show cut
    said 'a-copy'
}
check a_session_is_cut_short_and_gone_on_with resumed

# Killed in the middle of a write, wherever that is: what is there of the last line is dropped, and the block is run again. Six
# rows are a block; the last one is left with two and a part of the third.
killed()
{
    local third bytes less
    status '[012]' cost --pairs 12 --out whole --arm 'a=' --arm 'b=' -- ./task
    third=$(grep -n '"warm_up":false,"block":5' whole/rows.jsonl | sed -n '3s/:.*//p')
    head -n "$third" whole/rows.jsonl >three.jsonl
    bytes=$(tail -n 1 three.jsonl | wc -c)
    for less in 1 2 $((bytes / 2)) $((bytes - 1)) "$bytes"; do
        rm -rf killed
        cp -r whole killed
        head -c -"$less" three.jsonl >killed/rows.jsonl
        head -c -$((less % 100 + 1)) whole/rows.csv >killed/rows.csv
        [ "$less" != 2 ] || : >killed/rows.csv # killed before its first line
        status '[012]' cost --resume killed
        says "$(cat progress)" 'task: 5 of 6 blocks are there'
        [ "$less" = "$bytes" ] || says "$(cat progress)" 'killed/rows.jsonl: the last line was cut off'
        [ "$less" != "$bytes" ] || says_not "$(cat progress)" 'rows.jsonl: the last line'
        [ "$less" = 2 ] || says "$(cat progress)" 'killed/rows.csv: the last line was cut off'
        grep -v '^{.*}$' killed/rows.jsonl
        awk 'NR == 1 ? !/^workload,arm,.*,options$/ : !/^task,.*"$/' killed/rows.csv
        grep '^task' report >measured
        status '[012]' "$scrubjay" cost show killed
        grep '^task' report | cmp - measured
    done
}
check a_session_that_was_killed_is_gone_on_with killed

merged()
{
    status '[012]' cost --pairs 12 --out m1 --arm 'a=' --arm 'b=' -- ./task
    status '[012]' cost --pairs 16 --out m2 --arm 'a=' --arm 'b=' -- ./task
    status '[012]' "$scrubjay" cost merge --out m3 m1 m2
    said '^task \| cpu \| a .*/14 \|'
    status '[012]' "$scrubjay" cost show m3/rows.jsonl
    said '^task \| cpu \| a .*/14 \|'
    cp -r m2 m4
    sed -i '1s/"kernel":"[^"]*"/"kernel":"Plan 9"/' m4/rows.jsonl
    status 64 "$scrubjay" cost merge m1 m4 2>progress
    status '[012]' "$scrubjay" cost merge --unlike m1 m4
    status 64 "$scrubjay" cost merge m1 ladder 2>progress
}
check sessions_merge_unless_unlike merged

# What is no session is told by file and line, whatever it is; a last line that was cut off is not.
read_back()
{
    status '[012]' cost --pairs 12 --out whole --arm 'a=' --arm 'b=' -- ./task 400000 "$(printf 'p\xe4\xc3\xa4')"
    head -c -20 whole/rows.jsonl >cut.jsonl
    status '[012]' "$scrubjay" cost show cut.jsonl
    local line
    for line in '{"type":' 'nul' '{"a":1} x' '[1 2]' "{\"a\":\"$(printf '\xff')\"}" "$(printf '%5000s' '' | tr ' ' '[')" \
        '{"type":"session","format":2}'; do
        { head -n 3 whole/rows.jsonl; printf '%s\n' "$line"; } >broken.jsonl
        status 64 "$scrubjay" cost show broken.jsonl 2>progress
        says "$(cat progress)" 'broken.jsonl:4'
    done
    : >broken.jsonl
    status 64 "$scrubjay" cost show broken.jsonl 2>progress
    echo '{"type":"blocks"}' >broken.jsonl
    status 64 "$scrubjay" cost show broken.jsonl 2>progress
    says "$(cat progress)" 'broken.jsonl:1'
}
check files_that_are_no_sessions_are_told read_back

# A session's rows hold what it refused, so what is shown says the same as what was measured.
shown_again()
{
    status '[012]' cost --pairs 12 --least 0.000125 --out again --arm 'a=' --arm 'b=' -- ./task
    said '^floor: .* runs under 0\.125 ms are refused'
    grep '^floor:' report >floor
    status '[012]' "$scrubjay" cost show again
    grep '^floor:' report | cmp - floor
    status '[012]' "$scrubjay" cost merge again
    grep '^floor:' report | cmp - floor
}
check what_is_shown_is_what_was_measured shown_again

# Block for block the arms agree; the two sessions do not.
merged_outputs()
{
    status '[012]' cost --pairs 12 --out first --arm 'a=' --arm 'b=' --stdin task.c -- cat
    status '[012]' cost --pairs 12 --out second --arm 'a=' --arm 'b=' --stdin task -- cat
    status 3 "$scrubjay" cost merge --out both first second
    said 'INVALID.*stdout differs between the sessions'
    status 3 "$scrubjay" cost show both
    said 'INVALID.*stdout differs between the sessions'
    status '[012]' cost --pairs 12 --out third --ignore-stdout --arm 'a=' --arm 'b=' --stdin task -- cat
    status '[012]' "$scrubjay" cost merge third second
}
check sessions_of_unlike_output_do_not_merge merged_outputs

cat >serve.py <<'PY'
import os, signal, socket, sys
listener = socket.socket(socket.AF_UNIX)
if os.path.exists("socket"):
    os.unlink("socket")
listener.bind("socket")
listener.listen()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
while True:
    connection, _ = listener.accept()
    connection.sendall(repr(sum(len(str(i)) for i in range(20000))).encode())
    connection.close()
PY
cat >ask.py <<'PY'
import socket
for _ in range(5):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect("socket")
    assert connection.recv(100)
PY
server()
{
    command -v python3 >/dev/null || lacks "no python3"
    status '[0123]' cost --pairs 4 --out served --arm 'a=' --arm "l=$library;SCRUBJAY_OPTIONS=level=2" \
        --server 'python3 "serve.py"' --client 'python3 ask.py'
    said '^python3  *l  *[0-9]'
    # Through a shell too it is the server that is measured: it ends by itself, not of the signal.
    if grep '"type":"row"' served/rows.jsonl | grep -v '"ending":"exit 0"'; then echo "another process was measured"; fi
    [ "$(grep -c '"arm":"l".*"processes":[1-9].*"options":"level=2' served/rows.jsonl)" -ge 4 ] || echo "the server was not under it"
    status 3 cost --pairs 4 --arm 'a=' --server 'python3 "serve.py"' --client 'exit 3'
    said 'INVALID: .*client failed with status 3'
    status 3 cost --pairs 4 --arm 'a=' --server 'sleep 0.1' --client true
    said 'INVALID: .*the server never listened'
}
check a_server_is_measured_while_its_client_runs server

budgets()
{
    status 0 cost --pairs 12 --budget cpu=90000%,rss=90000%,wall=90000% --out fits -- ./task
    said '^options: +level=[0-9]'
    said '^ +Environment=LD_PRELOAD=libscrubjay.so SCRUBJAY_OPTIONS=level='
    said '^ +\[task\]'
    # What is recommended was measured as it is.
    local settings
    settings=$(sed -n 's/^options: *//p' report)
    case $settings in
    *,*) grep -q "SCRUBJAY_OPTIONS=$settings\"" fits/set*/rows.jsonl || echo "$settings was not measured" ;;
    esac
    status 1 cost --pairs 12 --budget rss=0 -- ./task
    said '^none fits'
    status 3 cost --pairs 12 --budget cpu=3% -- ./still
    said '^cannot tell'
    status 64 cost --budget cpu -- ./task
    status 64 cost --budget gpu=3% -- ./task
}
check a_budget_is_met_or_refused budgets

layouts()
{
    command -v ninja >/dev/null || lacks "no ninja"
    [ -e "$build/build.ninja" ] || lacks "not built by ninja"
    status '[012]' ab --pairs 12 --layouts 3 --out layouts level=0 level=0 -- ./task
    said '^task: [A-Z]*: B takes .* over 3 layouts$'
    [ "$(sed -n 's/.*"arm":"A".*"build_id":"\([0-9a-f]*\)".*/\1/p' layouts/*/rows.jsonl | sort -u | wc -l)" = 3 ] ||
        echo "the links do not differ"
    cp "$library" alone.so
    status 64 ab --layouts 3 "$work/alone.so" level=0 -- ./task
    says "$(cat progress)" 'the objects of'
    status 64 ab --layouts 2 level=0 level=0 -- ./task
}
check layouts_are_linked_again layouts

wrong_usage()
{
    status 64 cost
    status 64 cost --nonsense -- true
    status 64 cost --server true -- true
    status 64 cost --pairs x -- true
    status 64 cost --resume "$work/nowhere"
    status 0 cost --help
}
check wrong_usage_is_told wrong_usage

TMPDIR=$work/tmp
export TMPDIR
mkdir tmp
leaves_nothing()
{
    status '[012]' cost --pairs 12 --arm 'a=' -- ./task
    status 64 ab --layouts 3 "$work/alone.so" level=0 -- ./task
    ls tmp
}
check scratch_files_are_removed leaves_nothing

finish
