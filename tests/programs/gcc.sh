# shellcheck shell=bash disable=SC2317
# SPDX-License-Identifier: MIT
#
# What: gcc -O2 compiles and links our own sources, and the objects are the same to the byte.
# Why this way: a compiler is a large user of an allocator, and its output depends on nothing else.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need gcc:gcc ld:binutils

# The sources that need nothing the build defines.
sources=()
for source in "$sj_top"/src/*/*.c; do
    gcc -std=gnu17 -fsyntax-only -w -I"$sj_top/src" -I"$sj_top/include" "$source" 2>/dev/null && sources+=("$source")
done
[ ${#sources[@]} -ge 10 ] || skip "fewer than ten of our sources compile by themselves"

cat >"$SJ_WORK/program.c" <<'C'
#include <math.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    (void)argv;
    return printf("%.6f\n", sqrt(argc * 2.0)) > 0 ? 0 : 1;
}
C

compile()
{
    local level=$1 source object
    for source in "${sources[@]}"; do
        object=$(basename "$(dirname "$source")")_$(basename "$source" .c).o
        under "$level" gcc -std=gnu17 -O2 -fPIC -w -I"$sj_top/src" -I"$sj_top/include" -c "$source" -o "$object" || return
    done
    # A partial link of all: sources are missing for a full one, and some stand for each other. And a program, linked fully.
    under "$level" gcc -r -nostdlib -Wl,-z,muldefs ./*.o -o all.rel || return
    under "$level" gcc -std=gnu17 -O2 -flto -w -Wl,--build-id=none "$SJ_WORK/program.c" -o program -lm || return
    ./program || return
    cat ./*.o all.rel program | digest
}

same gcc compile
finish
