#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: /etc/scrubjay.conf: which file is read, whole or not at all, and what is said if it is not.
# Why this way: a static program in a folder that is its root has an /etc of its own. Needs root, or user namespaces.
# shellcheck source=../support/cases.sh
. "$(dirname "$0")/../support/cases.sh"

mkdir -p root/etc root/elsewhere
conf=root/etc/scrubjay.conf
cat >program.c <<'C'
#include <stdlib.h>
int main(void)
{
    free(malloc(1));
    return 0;
}
C

# Runs the program with its options in force on the output.
run()
{
    $can_run
    SCRUBJAY_OPTIONS=verbose=1,level=0 "${chroot[@]}" "$work/root" /program 2>&1
}

# The same as set-user-id program of root's, started by nobody.
run_privileged()
{
    [ "$(id -u)" = 0 ] || lacks "not root"
    case $(findmnt -no OPTIONS -T "$work" 2>/dev/null) in *nosuid*) lacks "the temporary folder is mounted nosuid" ;; esac
    SCRUBJAY_OPTIONS=level=0 chroot --userspec=65534:65534 "$work/root" /privileged 2>&1
}

can_run=
chroot=(chroot)
if [ "$(id -u)" != 0 ]; then
    chroot=(unshare -r chroot)
    unshare -r true 2>/dev/null || can_run='lacks neither root nor user namespaces'
fi
if $cc -O1 -fno-builtin -static program.c -o root/program "$archive" -pthread; then
    cp root/program root/privileged
    chmod 4755 root/privileged
else
    can_run='lacks no static libc'
fi

# lines COUNT: comments that fill a file.
lines() { yes '# 4567890123456789012345678901234567890123456789012345678901234' | head -n "$1"; }

read_file()
{
    { lines 1020 && echo floor=1; } >$conf
    says "$(run)" 'options=level=1,'
}
check file_of_64_kib_is_read_to_its_last_line read_file

too_large()
{
    { lines 1100 && echo floor=1; } >$conf
    local said
    said=$(run)
    says "$said" 'scrubjay: warning: /etc/scrubjay.conf not used: it is larger than 64 KiB'
    says "$said" 'options=level=0,'
}
check larger_file_is_refused_with_a_warning too_large

exact()
{
    local said
    { lines 1023 && printf '%063d\n' 0 | tr 0 '#'; } >$conf
    [ "$(wc -c <$conf)" = 65536 ] || echo "the file has $(wc -c <$conf) bytes"
    says_not "$(run)" warning
    echo >>$conf
    says "$(run)" 'larger than 64 KiB'
}
check limit_is_64_kib_to_the_byte exact

missing()
{
    rm -f $conf
    says_not "$(run)" warning
    rmdir root/etc
    says_not "$(run)" warning
    mkdir root/etc
}
check missing_file_is_nothing_to_speak_of missing

link()
{
    rm -f $conf
    echo floor=1 >root/elsewhere/real
    ln -s ../elsewhere/real $conf
    says "$(run)" 'options=level=1,'
    ln -sf nowhere $conf
    says_not "$(run)" warning
}
check link_is_followed link

unreadable()
{
    rm -f $conf
    mkdir $conf
    says "$(run)" "scrubjay: warning: /etc/scrubjay.conf not used: it can't be read"
    rmdir $conf
}
check unreadable_file_is_named unreadable

privileged()
{
    rm -f $conf
    echo verbose=1,level=1 >$conf
    says "$(run_privileged)" 'options=level=1,'
    chmod 666 $conf
    says "$(run_privileged)" 'not used: in a set-user-id program it must be root'
    rm -f $conf
    echo verbose=1,level=1 >root/elsewhere/real
    ln -s ../elsewhere/real $conf
    says "$(run_privileged)" 'not used: in a set-user-id program it must not be a link'
    says_not "$(run_privileged)" 'scrubjay: on'
}
check set_user_id_program_wants_a_plain_file_of_roots privileged

finish
