#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: gdb's sj-pointer on a live process and on its core file, with a library that has its symbols and with one that has none.
# Why this way: the program's own variables say which pointer is which.
#
# Usage: tests/contract/debugger.sh [PATTERN]; SJ_BUILD_DIR is the build folder (default build/release).
set -u
# shellcheck source=../support/cases.sh
. "$(dirname "$0")/../support/cases.sh"
script=$top/gdb/scrubjay-gdb.py

cat >pointers.c <<'C'
#include <scrubjay.h>
#include <stdlib.h>
#define SITE __attribute__((noinline, noclone))
char *live, *inner, *freed, *large, *in_large, *in_arena, *local, *nothing;
SITE static char *maker(size_t size) { char *block = malloc(size); __asm__ volatile("" : "+r"(block)); return block; }
SITE static void ender(char *block) { free(block); __asm__ volatile(""); }
SITE void stop_here(void) { __asm__ volatile(""); }
int main(void)
{
    char here = 0;
    struct sj_arena *arena = sj_arena_create("buffers", NULL);
    local = &here;
    live = maker(100);
    inner = live + 20;
    freed = maker(1000);
    ender(freed);
    large = maker(1000000);
    in_large = large + 500000;
    in_arena = sj_arena_malloc(arena, "input", 333);
    stop_here();
    return 0;
}
C
"$cc" -O1 -g -I"$top/include" -o pointers pointers.c "$library" || exit 2
mkdir full stripped
cp "$library" full/libscrubjay.so.0
cp "$library" stripped/libscrubjay.so.0
strip stripped/libscrubjay.so.0 2>/dev/null || strip=missing

# stopped FOLDER OPTIONS COMMAND...: gdb's answers where the program has everything.
stopped()
{
    local folder=$1 options=$2 words=()
    shift 2
    for word in "$@"; do words+=(-ex "$word"); done
    SCRUBJAY_OPTIONS=$options LD_LIBRARY_PATH=$work/$folder gdb -nx -batch -ex 'set startup-with-shell off' \
        -ex 'set debuginfod enabled off' -x "$script" -ex 'break stop_here' -ex run "${words[@]}" ./pointers 2>&1
}

can_run() # gdb, and a process under it
{
    command -v gdb >/dev/null || lacks "no gdb"
    [ "${strip:-}" != missing ] || lacks "no strip (Debian: binutils)"
    gdb -nx -batch -ex 'python print("python is in it")' 2>&1 | grep -q '^python is in it' || lacks "a gdb without Python"
    gdb -nx -batch -ex 'set startup-with-shell off' -ex run /bin/true 2>&1 | grep -q 'exited normally' ||
        lacks "gdb may not trace here"
}

all=("sj-pointer live" "sj-pointer inner" "sj-pointer freed" "sj-pointer large" "sj-pointer in_large" "sj-pointer in_arena"
    "sj-pointer local" "sj-pointer nothing")

# right TEXT: what gdb says of all.
right()
{
    says "$1" ": live
  block 0x"
    says "$1" " of 112 bytes, slot "
    says "$1" ": live, 20 bytes into it"
    says "$1" ": freed"
    says "$1" " of 1024 bytes, slot "
    says "$1" ", 1000000 bytes asked for, usable "
    says "$1" ": live, 500000 bytes into it"
    says "$1" "  arena buffers, label input"
    says "$1" "  a sample of the profile, allocated from:"
    says "$1" " maker + "
    says "$1" " at pointers.c:"
    [ "$(grep -c ": not Scrubjay's" <<<"$1")" = 2 ] || echo "local and nothing: $1"
    says_not "$1" "Error"
    says_not "$1" "sj-pointer:"
}

options=level=2,sample=0,profile=on,profile_rate=1
live()
{
    can_run
    for folder in full stripped; do right "$(stopped $folder $options "${all[@]}")"; done
}
check a_live_process_is_looked_at live

core()
{
    can_run
    stopped stripped $options "generate-core-file $work/core" >said
    [ -s core ] || { cat said; return; }
    local words=()
    for word in "${all[@]}"; do words+=(-ex "$word"); done
    right "$(LD_LIBRARY_PATH=$work/stripped gdb -nx -batch -ex 'set debuginfod enabled off' -x "$script" "${words[@]}" ./pointers core 2>&1)"
}
check a_core_file_is_looked_at core

# Between guards: both ends of a block's life.
sampled()
{
    can_run
    local said
    said=$(stopped stripped level=2,sample=1 "sj-pointer live" "sj-pointer freed" "sj-pointer live + 150")
    says "$said" "  sampled block 0x"
    says "$said" ": live
"
    says "$said" ": freed
"
    says "$said" "  allocated by thread "
    says "$said" "  freed by thread "
    says "$said" " maker + "
    says "$said" " ender + "
    # It touches one end of its page or the other, at random.
    grep -qE ', beside the block on its page$|: in a guard between sampled blocks$' <<<"$said" || echo "beside: $said"
}
check sampled_blocks_have_their_stacks sampled

# As it is installed: under the name of the library's file and its path.
loaded()
{
    can_run
    mkdir -p "$work/auto$work/full"
    cp "$script" "$work/auto$work/full/libscrubjay.so.0-gdb.py"
    says "$(LD_LIBRARY_PATH=$work/full gdb -nx -batch -ex 'set startup-with-shell off' -ex 'set debuginfod enabled off' \
        -ex "add-auto-load-scripts-directory $work/auto" -ex "add-auto-load-safe-path $work" -ex 'break stop_here' -ex run \
        -ex 'sj-pointer large' ./pointers 2>&1)" ", 1000000 bytes asked for, usable "
}
check gdb_loads_it_with_the_library loaded

elsewhere()
{
    can_run
    says "$(gdb -nx -batch -ex 'set startup-with-shell off' -x "$script" -ex start -ex 'sj-pointer 1' /bin/true 2>&1)" "sj-pointer: "
    says "$(gdb -nx -batch -x "$script" -ex sj-pointer 2>&1)" "no pointer given"
}
check a_process_without_it_is_said elsewhere

finish
