# shellcheck shell=bash disable=SC2317
# SPDX-License-Identifier: MIT
#
# What: gcc -O2 compiles and links our own sources, and the objects are the same to the byte.
# Why this way: a compiler is a large user of an allocator, and its output depends on nothing else.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need gcc:gcc ld:binutils

compile()
{
    local level=$1 source object
    for source in "$sj_top"/src/base/*.c "$sj_top"/src/policy/*.c "$sj_top"/src/platform/*.c "$sj_top"/src/meta/*.c \
        "$sj_top"/src/span/*.c "$sj_top"/src/heap/*.c "$sj_top"/src/front/*.c; do
        [ -e "$source" ] || continue
        object=$(basename "$(dirname "$source")")_$(basename "$source" .c).o
        under "$level" gcc -std=gnu17 -O2 -fPIC -I"$sj_top/src" -I"$sj_top/include" -c "$source" -o "$object" || return
    done
    under "$level" gcc -shared -Wl,--unresolved-symbols=ignore-all -Wl,--build-id=none ./*.o -o all.so || return
    cat ./*.o all.so | digest
}

same gcc compile
finish
