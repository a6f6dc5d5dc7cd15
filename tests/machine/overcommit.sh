#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: programs under vm.overcommit_memory=2, where the system charges for what is mapped: they run, meet the limit with ENOMEM,
# and what they free is no longer charged, so that they can fork.
# Why this way: the charge is the machine's, so the machine's own setting is changed for the seconds this takes, by root
# only, and put back however this ends. Meanwhile other programs may be refused memory: so for `./dev check-long` alone.
# shellcheck source=tests/support/cases.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/cases.sh"
mode=/proc/sys/vm/overcommit_memory
before=$(cat "$mode") || exit 2
put_back() { echo "$before" >"$mode"; }
if ! put_back 2>/dev/null; then
    echo "skipped: $mode can't be set here (that takes root outside of a container)"
    exit 77
fi
"$cc" -O1 -o fill "$top/tests/machine/fill.c" || exit 2
trap 'put_back; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# charged COMMAND...: runs it where memory that is mapped is charged.
charged()
{
    echo 2 >"$mode" || lacks "$mode was set before, and can't be now"
    timeout 60 "$@"
    local status=$?
    put_back
    return $status
}
levels() { for level in 0 2 3 4; do "$@" || echo "level $level: status $?"; done; }
fills() { charged env LD_PRELOAD="$library" SCRUBJAY_OPTIONS="level=$level" ./fill; }
computes()
{
    local said
    said=$(charged env LD_PRELOAD="$library" SCRUBJAY_OPTIONS="level=$level" \
        python3 -c 'print(sum(len(bytes(n)) for n in range(0, 200000, 10)))') || return
    [ "$said" = 1999900000 ] || echo "python3 said: $said"
}
fills_at_each_level() { levels fills; }
computes_at_each_level() { levels computes; }

command -v python3 >/dev/null || { echo "there is no python3"; exit 77; }
check overcommit__programs_run computes_at_each_level
check overcommit__what_is_freed_is_not_charged fills_at_each_level
finish
