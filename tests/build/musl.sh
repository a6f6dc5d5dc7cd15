#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: the library built for musl, and what it serves there: a static program, one linked with the shared library, and
# one that has it preloaded; the command too.
# Why this way: built in a folder of its own, so that the test hangs on nobody's having built the preset before.
command -v musl-gcc >/dev/null || { echo "no musl-gcc (Debian package musl-tools)" && exit 77; }
# shellcheck source=../support/cases.sh
. "$(dirname "$0")/../support/cases.sh"
exercise=$support/programs/exercise.c

runs()
{
    local said
    timeout 120 "$@" || { echo "status $?"; return; }
    said=$(timeout 120 "$@" misuse 2>&1)
    says "$said" 'scrubjay: SJ-004 '
}

build_musl()
{
    {
        cmake -S "$top" --preset musl -B "$work/musl" -DSCRUBJAY_TESTS=OFF &&
            cmake --build "$work/musl" --target products -j 2
    } >build.log 2>&1 || tail -n 20 build.log
}
check library_builds build_musl

program() { musl-gcc -O1 -fno-builtin -pthread "$exercise" -o "$@"; }
static() { program static -static musl/libscrubjay.a && runs ./static; }
linked() { program linked musl/libscrubjay.so -Wl,-rpath,"$work/musl" && runs ./linked; }
preloaded() { program plain && runs env LD_PRELOAD="$work/musl/libscrubjay.so" ./plain; }
check static_program static
check linked_program linked
check preloaded_program preloaded

disabled() { program plain && SCRUBJAY_DISABLE=1 timeout 120 env LD_PRELOAD="$work/musl/libscrubjay.so" ./plain; }
check disabled_library_passes_calls_on disabled

run_command() { program plain && musl/scrubjay run -l 1 -- ./plain && says "$(musl/scrubjay explain SJ-004)" 'SJ-004'; }
check command_runs_a_program run_command

# Names that are musl's own business are left to it: they are private, and used by its loader before us.
names()
{
    nm --defined-only --extern-only --format=posix musl/libscrubjay.a 2>/dev/null | awk 'NF > 1 { print $1 }' | grep '^__libc_'
    return 0
}
check no_private_name_of_musl_is_ours names

finish
