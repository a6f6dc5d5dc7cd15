#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What: curves.sh BIN REPEATS NAME=LIBRARY[;VARIABLE=VALUE]...: the cost curves of several allocators, as CSV on standard
# output: how the time of an operation and the memory held for each byte asked change with the live heap, the threads and
# the size of a block. NAME= (nothing after it) is the C library. Needs 10 GiB of memory and about half a minute an allocator
# and repeat; QUICK=1 leaves out what is over 1 GiB.
# Why this way: each point is a process of its own, and the allocators take turns at each point, so that a change of the
# machine's speed falls on all of them.

set -eu

[ "$#" -ge 3 ] || { sed -n '4,7s/^# //p' "$0" >&2; exit 64; }
bin=$1
repeats=$2
shift 2
result=$(mktemp)
trap 'rm -f "$result"' EXIT

# sweep live_mib threads size_bytes
points()
{
    for live in 1 8 64 512 2048 8192; do echo "live $live 1 256"; done
    for threads in 1 2 4 16 64 250 1000; do echo "threads 64 $threads 64"; done
    for size in 8 16 48 128 512 2048 8192 32768 131072 1048576 8388608 67108864; do echo "size 64 1 $size"; done
    echo "size 1024 1 1073741824"
}

# Values only, of lines of key=value.
values()
{
    tr ' ' '\n' <"$1" | sed 's/.*=//' | paste -s -d , -
}

echo "sweep,live_mib,threads,size_bytes,repeat,allocator,fill_cpu_ns,fill_wall_ns,churn_cpu_ns,churn_wall_ns,asked_bytes,held_filled,held_churned,held_freed"
points | while read -r sweep live threads size; do
    if [ -n "${QUICK:-}" ] && [ "$live" -gt 1024 ]; then
        continue
    fi
    for repeat in $(seq "$repeats"); do
        for arm in "$@"; do
            : >"$result"
            library=${arm#*=}
            variable=${library#*;}
            if [ "$variable" = "$library" ]; then variable=SCRUBJAY_OPTIONS=; fi
            env LD_PRELOAD="${library%%;*}" "$variable" "$bin/curve" "$live" "$threads" "$size" "$result" \
                >/dev/null </dev/null || true
            echo "$sweep,$live,$threads,$size,$repeat,${arm%%=*},$(values "$result")"
        done
    done
done
