#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: the heap profile as a user has it: of a program that allocates at two sites, nine parts and one, read by the tools that
# the formats are for; from a process and from a file.
# Why this way: the seed is fixed, so that what is sampled is too; what the program allocates is counted, not timed.
#
# Usage: tests/contract/profile.sh [PATTERN]; SJ_BUILD_DIR is the build folder (default build/release).
set -u
# shellcheck source=../support/cases.sh
. "$(dirname "$0")/../support/cases.sh"
command=$build/scrubjay
[ -x "$command" ] || lacks "no scrubjay command in the build folder"
TOTAL=48000000

# sites COUNT [free|wait|die]: COUNT blocks of 400 bytes; then frees them, waits for the end of its input, or kills itself.
cat >sites.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define SITE __attribute__((noinline, noclone))
static void *keep;
SITE static void *nine_parts(void) { void *block = malloc(400); __asm__ volatile("" : "+r"(block)); return block; }
SITE static void *one_part(void) { void *block = malloc(400); __asm__ volatile("nop" : "+r"(block)); return block; }
int main(int argc, char **argv)
{
    long count = atol(argv[1]);
    void **blocks = malloc((size_t)count * sizeof *blocks);
    keep = blocks;
    for (long i = 0; i < count; i++)
        blocks[i] = i % 10 == 0 ? one_part() : nine_parts();
    if (argc > 2 && strcmp(argv[2], "free") == 0)
        for (long i = 0; i < count; i++)
            free(blocks[i]);
    if (argc > 2 && strcmp(argv[2], "wait") == 0) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    if (argc > 2 && strcmp(argv[2], "die") == 0)
        raise(SIGKILL);
    return 0;
}
C
"$cc" -O1 -g -o sites sites.c || exit 2
options=seed=3,sample=0,profile=on,profile_rate=8k
run_sites() { SCRUBJAY_OPTIONS="$options,$1" LD_PRELOAD=$library ./sites 120000 "${2:-}" 2>errors || cat errors; }
run_sites profile_dump=file:end.dump
run_sites profile_dump=file:freed.dump free

# near NAME GOT TRUTH: within a twentieth.
near() { awk -v got="$2" -v truth="$3" 'BEGIN { exit !(got > 0.95 * truth && got < 1.05 * truth) }' || echo "$1: $2 of $3"; }

# split LINES: lines `BYTES NAME...` have nine parts, one, and both in all.
split()
{
    local nine one
    nine=$(awk '/nine_parts/ { sum += $1 } END { print sum + 0 }' <<<"$1")
    one=$(awk '/one_part/ { sum += $1 } END { print sum + 0 }' <<<"$1")
    near nine_parts "$nine" $((TOTAL * 9 / 10))
    near "nine parts of both" "$((nine * 1000 / (nine + one + 1)))" 900
    near all "$((nine + one))" $TOTAL
}

folded() { "$command" profile --format folded "$@" | awk '{ print $NF, $0 }'; }
in_folded() { split "$(folded end.dump)"; }
check folded_stacks_split_as_the_program_does in_folded

in_gperftools()
{
    command -v google-pprof >/dev/null || lacks "no google-pprof (Debian: google-perftools)"
    "$command" profile --format gperftools -o end.heap end.dump || echo "status $?"
    split "$(google-pprof --text --show_bytes ./sites end.heap 2>/dev/null | awk '{ print $1, $NF }')"
}
check google_pprof_reads_what_the_program_does in_gperftools

in_pprof()
{
    "$command" profile -o end.pb.gz end.dump || echo "status $?"
    [ "$(od -An -tx1 -N2 end.pb.gz)" = " 1f 8b" ] || echo "not in gzip"
    split "$(python3 "$top/tests/support/pprof.py" end.pb.gz inuse_space | cut -d';' -f1)"
    split "$(python3 "$top/tests/support/pprof.py" end.pb.gz alloc_space | cut -d';' -f1)"
}
check pprof_has_what_the_program_does in_pprof

in_go()
{
    command -v go >/dev/null || lacks "no go (Debian: golang-go)"
    "$command" profile -o end.pb.gz end.dump || echo "status $?"
    split "$(HOME=$work go tool pprof -top -unit=B -sample_index=inuse_space end.pb.gz 2>/dev/null |
        sed -n 's/^ *\([0-9]*\)B .* \([a-z_]*\)$/\1 \2/p')"
}
check go_tool_pprof_reads_what_the_program_does in_go

at_the_peak()
{
    split "$(folded --of peak freed.dump)"
    split "$(folded --of allocated freed.dump)"
    says_not "$(folded freed.dump)" _part
}
check what_was_freed_is_in_the_peak at_the_peak

# start OPTIONS: the program has allocated, and waits for `stop`; its number is in $process.
start()
{
    rm -f go ready
    mkfifo go ready
    SCRUBJAY_OPTIONS=$1 LD_PRELOAD=$library ./sites 120000 wait <go >ready 2>/dev/null &
    process=$!
    exec 7>go
    read -r _ <ready
}
stop()
{
    exec 7>&-
    wait "$process" || echo "the process ended with $?"
}

# The file is of a peak at most a twentieth below the end, and of this process alone.
when_killed()
{
    { SCRUBJAY_OPTIONS=$options,profile_dump=file:killed.dump LD_PRELOAD=$library ./sites 120000 die; } >/dev/null 2>&1
    local folded nine all
    folded=$(folded killed.dump)
    nine=$(awk '/nine_parts/ { sum += $1 } END { print sum + 0 }' <<<"$folded")
    all=$(awk '{ sum += $1 } END { print sum + 0 }' <<<"$folded")
    near "nine parts of all" "$((nine * 1000 / (all + 1)))" 900
    [ "$all" -gt $((TOTAL * 9 / 10)) ] || echo "$all bytes of $TOTAL"
    [ "$(find . -name 'killed.dump*' | wc -l)" = 1 ] || echo "left: $(echo killed.dump*)"
}
check what_is_killed_leaves_its_peak when_killed

# Whoever takes the file's place keeps it.
replaced()
{
    start "$options,profile_dump=file:moved.dump"
    mv moved.dump kept.dump && echo mine >moved.dump
    stop
    [ "$(cat moved.dump)" = mine ] || echo "somebody else's file was replaced"
    split_nine=$(folded kept.dump | awk '/nine_parts/ { sum += $1 } END { print sum + 0 }')
    [ "$split_nine" -gt 0 ] || echo "nothing in the first file"
}
check another_file_is_not_replaced replaced

# Nothing is asked of the process: it is in a read and takes no slow path.
of_a_process()
{
    start "$options,level=$1"
    "$command" ctl "$process" profile --format folded "live.$1" || echo "status $?"
    split "$(awk '{ print $NF, $0 }' "live.$1")"
    "$command" ctl "$process" profile "live.$1.pb.gz" || echo "status $?"
    split "$(python3 "$top/tests/support/pprof.py" "live.$1.pb.gz" inuse_space | cut -d';' -f1)"
    stop
}
each_level() { for level in 0 2 4; do of_a_process $level; done; }
check a_process_is_read_where_it_stands each_level

refusals()
{
    local errors status
    SCRUBJAY_OPTIONS=profile_dump=file:end.dump LD_PRELOAD=$library ./sites 1 2>errors || echo "status $?"
    says "$(cat errors)" "profile_dump not written: a file or link of this name exists"
    start profile=off
    errors=$("$command" ctl "$process" profile nothing 2>&1)
    status=$?
    stop
    says "$errors" "start it with profile=on"
    [ $status = 2 ] || echo "status $status without a profile"
    for file in sites.c /dev/null nowhere; do
        "$command" profile "$file" >/dev/null 2>&1
        [ $? = 2 ] || echo "$file: status is not 2"
    done
    head -c 1500 end.dump >cut.dump
    says "$("$command" profile cut.dump 2>&1)" "ends in the middle"
    "$command" profile --format png end.dump >/dev/null 2>&1
    [ $? = 2 ] || echo "an unknown format is taken"
}
check what_is_no_profile_is_refused refusals

probes()
{
    command -v readelf >/dev/null || lacks "no readelf (Debian: binutils)"
    local notes
    notes=$(readelf -n "$library" 2>/dev/null)
    [ -n "$(echo '#include <sys/sdt.h>' | "$cc" -E - 2>&1 >/dev/null)" ] && lacks "no <sys/sdt.h> (Debian: systemtap-sdt-dev)"
    says "$("$command" doctor)" "otel_memory    alloc and free"
    says "$notes" "Provider: otel_memory"
    says "$notes" "Name: alloc"
    says "$notes" "Name: free"
    command -v gdb >/dev/null || return
    says "$(gdb -nx -batch -ex 'info probes stap otel_memory' "$library" 2>&1)" alloc
}
check probes_are_found_by_tools probes

# bpftrace attaches to a program that makes and frees blocks of 5,000 bytes, each a sample.
traced()
{
    command -v bpftrace >/dev/null || lacks "no bpftrace"
    [ -n "$(echo '#include <sys/sdt.h>' | "$cc" -E - 2>&1 >/dev/null)" ] && lacks "no <sys/sdt.h> (Debian: systemtap-sdt-dev)"
    cat >traced.c <<'C'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    for (int i = 0; i < 6000; i++) {
        free(malloc(5000));
        usleep(10000);
    }
    return 0;
}
C
    "$cc" -O1 -fno-builtin traced.c -o traced || return
    local process lib
    lib=$(realpath "$library")
    LD_PRELOAD=$library SCRUBJAY_OPTIONS=level=0,profile=on,profile_rate=1 ./traced &
    process=$!
    until "$command" verify "$process" >/dev/null 2>&1; do kill -0 "$process" || return 1; done
    timeout 60 bpftrace -p "$process" -e "
        usdt:$lib:otel_memory:alloc { @made = count(); @bytes = sum(arg1); }
        usdt:$lib:otel_memory:free { @freed = count(); }
        interval:s:3 { exit(); }" >seen 2>&1
    kill "$process"
    wait "$process" 2>/dev/null
    grep -q '^@made' seen || lacks "bpftrace can't attach here: $(grep -m 1 -i error seen)"
    # The two are not attached at one moment.
    awk '/^@made/ { made = $2 } /^@bytes/ { bytes = $2 } /^@freed/ { freed = $2 }
        END { if (made < 5 || bytes != 5000 * made || freed == 0)
            print made " made, " freed " freed, " bytes " bytes" }' seen
}
check probes_are_traced_by_bpftrace traced

finish
