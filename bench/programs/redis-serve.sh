#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What: redis-serve.sh DIR: becomes redis-server, while a client in the background loads it and shuts it down.
# Why this way: what is measured is this process, so it must be the server; the client runs without the allocator under
# test and is nobody's waited-for child, so that its time is not counted. A socket in DIR, not a port: nothing outside can
# reach it and two runs in two folders cannot meet.

set -eu

dir=$1
socket=$dir/socket
limit_seconds=60

load()
{
    timeout "$limit_seconds" redis-cli -s "$socket" --pipe <"$dir/commands" >"$dir/client.log" &&
        timeout "$limit_seconds" redis-benchmark -s "$socket" -q -n 20000 -P 16 -c 20 \
            -t set,get,incr,lpush,rpush,hset,zadd,lrange_100,mset >>"$dir/client.log"
}

# $$ is the process that becomes the server. What it prints is a digest of all keys and values: equal on every run.
client()
{
    for _ in $(seq 200); do
        [ "$(redis-cli -s "$socket" ping 2>/dev/null)" = PONG ] && break
        sleep 0.02
    done
    load && timeout "$limit_seconds" redis-cli -s "$socket" debug digest
    timeout "$limit_seconds" redis-cli -s "$socket" shutdown nosave >>"$dir/client.log" 2>&1 || kill "$$"
}

rm -f "$socket" "$dir/server.log"
(
    unset LD_PRELOAD
    client
) &

# Debian's server is linked with jemalloc. Without another allocator asked for, the C library's is meant.
export LD_PRELOAD="${LD_PRELOAD:-libc.so.6}"
exec redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no --enable-debug-command local \
    --daemonize no --loglevel warning --logfile "$dir/server.log" --dir "$dir"
