# shellcheck shell=bash disable=SC2317
# SPDX-License-Identifier: MIT
#
# What: redis-server under redis-benchmark on loopback, a background save (a fork), and all keys read back.
# Why this way: Debian's redis-server links libjemalloc and imports its mallctl, so two allocators meet here.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need redis-server:redis-server redis-benchmark:redis-tools redis-cli:redis-tools

write_keys()
{
    local i
    for ((i = 0; i < 3000; i++)); do
        echo "SET key:$i value-$i-$((i * i))"
        echo "RPUSH list:$((i % 50)) element-$i"
        echo "HSET hash:$((i % 20)) field-$i $((i * 7))"
        echo "ZADD scores $((i * 31 % 1000)) member-$i"
        echo "APPEND long:$((i % 5)) some-more-text-$i"
    done
    for ((i = 0; i < 3000; i += 3)); do echo "DEL key:$i"; done
}

read_keys()
{
    local i
    for ((i = 0; i < 3000; i++)); do echo "GET key:$i"; done
    for ((i = 0; i < 50; i++)); do echo "LRANGE list:$i 0 -1"; done
    for ((i = 0; i < 20; i++)); do echo "HGET hash:$i field-$((i * 20 + i))"; done
    for ((i = 0; i < 5; i++)); do echo "STRLEN long:$i"; done
    echo "ZRANGE scores 0 -1 WITHSCORES"
    echo DBSIZE
}

redis()
{
    local level=$1 port threads=()
    # Its threads spin while they wait: only where the time is there.
    [ "$SJ_LONG" = 0 ] || threads=(--io-threads 2 --io-threads-do-reads yes)
    port=$(free_port)
    start "$PWD/server.log" "$level" redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$PWD" "${threads[@]}"
    await 20 redis-cli -p "$port" ping || { cat server.log >&2; return 1; }
    under "$level" redis-benchmark -p "$port" -n 10000 -c 30 -P 4 -d 100 -r 2000 -q \
        -t set,get,incr,lpush,lpop,sadd,hset,spop,zadd,mset >benchmark.log 2>&1 || { cat benchmark.log >&2; return 2; }
    redis-cli -p "$port" flushall
    write_keys | under "$level" redis-cli -p "$port" | digest
    read_keys | under "$level" redis-cli -p "$port" | digest
    redis-cli -p "$port" bgsave >/dev/null
    await 20 test -s dump.rdb || return 3
    redis-cli -p "$port" debug reload
    read_keys | redis-cli -p "$port" | digest
    redis-cli -p "$port" memory purge
    stop "$server"
    echo "ended with $?"
    grep -a 'scrubjay: ' server.log benchmark.log >&2
    return 0
}

same redis redis
finish
