#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: libscrubjay.a in programs of glibc: dynamic, -static and -static-pie, with threads and forks; and that nothing
# in libc.a can bring libc's own malloc in beside ours.
# Why this way: libc's malloc is one member of libc.a that defines many names. If a single one of them is wanted and not
# ours, the whole member is linked in and clashes with us. So its names are compared with ours, and a program is linked
# that asks for each alone.
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

has_static_libc() { [ -e "$(libc_archive)" ] || lacks "no static libc"; }
libc_archive() { $cc -print-file-name=libc.a; }

program() { $cc -O1 -fno-builtin -pthread "${@:2}" "$exercise" -o "$1" "$archive" && runs "./$1"; }
dynamic() { program dynamic; }
static() { has_static_libc; program static -static; }
static_pie() { has_static_libc; program static_pie -static-pie -fPIE; }
check dynamic_program dynamic
check static_program static
check static_pie_program static_pie

names_of() { nm --defined-only --extern-only --format=posix "$@" 2>/dev/null | awk 'NF > 1 { print $1 }' | LC_ALL=C sort -u; }

# What other members of libc.a need of malloc.o: strong references to names that only malloc.o defines and that we lack.
clash()
{
    has_static_libc
    (mkdir -p member && cd member && ar x "$(libc_archive)" malloc.o) || return
    names_of member/malloc.o >theirs
    names_of "$archive" >ours
    LC_ALL=C comm -23 theirs ours >lacking
    nm --undefined-only --format=posix "$(libc_archive)" 2>/dev/null | awk '$2 == "U" { print $1 }' | LC_ALL=C sort -u |
        LC_ALL=C comm -12 - lacking
}
check libc_needs_nothing_of_its_own_malloc clash

# A program that wants one name of the family and nothing else: it must link, and have no part of libc's malloc.
one_name()
{
    has_static_libc
    local name
    names_of "$archive" | grep -vE '^(sj_|_Z)' | LC_ALL=C comm -12 - <(names_of "$(libc_archive)") >wanted
    [ -s wanted ] || echo "no name to ask for"
    while read -r name; do
        printf 'extern char %s[];\nchar *volatile wanted;\nint main(void)\n{\n    wanted = %s;\n    return 0;\n}\n' "$name" "$name" >one.c
        $cc -static -w -fno-builtin one.c -o one "$archive" -pthread 2>one.err || { echo "$name alone: $(tail -n 3 one.err)"; continue; }
        ./one || echo "$name alone: status $?"
        if nm one | grep -q ' _int_malloc$'; then echo "$name alone: libc's malloc is in the program too"; fi
    done <wanted
}
check each_name_alone_brings_all_of_ours one_name

# Copies are checked there too, from before main on.
copies()
{
    has_static_libc
    cat >copies.c <<'TEXT'
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    char *block = malloc(40);
    size_t fits = strlen(argv[0]) < 30 ? 1 : 0;
    strcpy(block, fits ? argv[0] : "name");
    memset(block, 0, argc > 1 ? 400 : 40);
    return 0;
}
TEXT
    local said
    $cc -w -fno-builtin -static copies.c -o copies "$archive" -pthread || return
    ./copies || echo "status $?"
    said=$(./copies misuse 2>&1)
    says "$said" 'scrubjay: SJ-011 '
    says "$said" 'function=memset'
}
check copies_are_checked_in_a_static_program copies

disabled()
{
    has_static_libc
    [ -x static ] || $cc -O1 -fno-builtin -pthread -static "$exercise" -o static "$archive" || return
    local said
    said=$(SCRUBJAY_DISABLE=1 SCRUBJAY_OPTIONS=verbose=1 timeout 120 ./static 2>&1) || echo "status $?"
    says "$said" 'options=level=0,'
}
check disable_means_level_0_in_the_archive disabled

finish
