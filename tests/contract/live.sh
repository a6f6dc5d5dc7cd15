#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: `scrubjay stat` and `ctl` on running processes: threads under load, one that is idle, one that refuses, none at all;
# and a redis-server raised through all levels while clients use it.
# Why this way: each process says by itself that it has come to no harm: it looks at the contents of its blocks.
#
# Usage: tests/contract/live.sh [PATTERN]; SJ_BUILD_DIR is the build folder (default build/release).
set -u
# shellcheck source=../support/cases.sh
. "$(dirname "$0")/../support/cases.sh"
command=$build/scrubjay
[ -x "$command" ] || lacks "no scrubjay command in the build folder"

cat >busy.c <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t ended;
static void end(int number) { ended = number; }
static void *work(void *seed)
{
    unsigned char *held[64] = { 0 };
    unsigned random = (unsigned)(size_t)seed;
    while (!ended) {
        random = random * 1103515245 + 12345;
        unsigned slot = random >> 16 & 63;
        size_t size = (random >> 8 & 4095) + 2;
        if ((random >> 20 & 511) == 5)
            size *= 100;
        if (held[slot] != NULL && held[slot][0] != held[slot][1])
            _exit(3);
        free(held[slot]);
        held[slot] = malloc(size);
        memset(held[slot], (int)slot, size);
    }
    for (int i = 0; i < 64; i++)
        free(held[i]);
    return NULL;
}
int main(void)
{
    pthread_t threads[2];
    signal(SIGTERM, end);
    for (size_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    work((void *)9);
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
C
cat >idle.c <<'C'
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    char byte;
    free(malloc(100));
    close(open("ready", O_CREAT | O_WRONLY, 0600));
    while (read(7, &byte, 1) == 1) {
        for (int i = 0; i < 10000; i++)
            free(malloc(i % 2000 + 1));
        close(open("done", O_CREAT | O_WRONLY, 0600));
    }
    return 0;
}
C
for program in busy idle; do
    "$cc" -O1 -pthread -fno-builtin "$program.c" -o "$program" || exit 2
done

# start OPTIONS PROGRAM...: runs it under the library in the background; $process is its id once it is on.
start()
{
    LD_PRELOAD=$library SCRUBJAY_OPTIONS=$1 "${@:2}" >/dev/null 2>"$work/errors" &
    process=$!
    trap 'kill "$process" 2>/dev/null' EXIT # of this case's own shell
    until "$command" verify "$process" >/dev/null 2>&1; do kill -0 "$process" || return 1; done
}

# end: ends it; complains if it does not end well.
end()
{
    kill "$process"
    wait "$process" || echo "the process ended with $?: $(head -n 3 "$work/errors")"
}

ask() { "$command" "$1" --wait 60 "${@:2}"; }

raise_under_load()
{
    start level=0 ./busy
    for level in 1 2 3 4; do
        says "$(ask ctl "$process" "level=$level")" "level $level"
        says "$("$command" verify "$process")" "options   level=$level,"
    done
    ask ctl "$process" level=3 2>said && echo "it was lowered"
    says "$(cat said)" "never lowered"
    ask ctl "$process" level=5 2>said && echo "there is a level 5"
    ask stat --json "$process" >json
    says "$(cat json)" '"level":4,"first_level":0'
    says "$(ask stat "$process")" "level     4, started at 0"
    end
}
check ctl_raises_threads_under_load raise_under_load

ledger_by_stat()
{
    start level=2 ./busy
    until ask stat --json "$process" | grep -q '"frees":[1-9]'; do # its first slow path comes before its first free
        kill -0 "$process" 2>/dev/null || break
    done
    ask stat --json "$process" | python3 -c '
import json, sys
s = json.load(sys.stdin)
assert s["allocations"] >= s["frees"] > 0, s
assert s["sampled"] >= 0 and s["samples_skipped"] >= 0 and s["slab_guards"] >= 0 and s["traps_refused"] >= 0, s
assert s["live_bytes"] > 0 and s["slab_bytes"] > 0, s
assert sum(s["bill"].values()) + s["in_flight_bytes"] == s["committed_bytes"] <= s["peak_bytes"], s
assert s["bill"]["live"] > 0 and s["reserve"]["records"] > 0, s'
    end
}
check stat_is_json ledger_by_stat

cat >accounts.c <<'END'
#include <scrubjay.h>
#include <signal.h>
static volatile sig_atomic_t ended;
static void end(int number) { ended = number; }
int main(void)
{
    signal(SIGTERM, end);
    struct sj_arena *client = sj_arena_create("client", NULL);
    for (int i = 0; i < 100; i++)
        (void)sj_arena_malloc(client, "parser", 10000);
    (void)sj_label_push("outside");
    (void)sj_malloc(1000);
    sj_label_pop();
    while (ended == 0)
        sj_free(sj_malloc(100000));
    return 0;
}
END

accounts_by_stat()
{
    "$cc" -I "$top/include" accounts.c -o accounts "$library" -Wl,-rpath,"$build" || return
    start level=1 ./accounts
    until ask stat --json "$process" | grep -q '"label":"outside","live_bytes":1[0-9]'; do
        kill -0 "$process" 2>/dev/null || break
    done
    ask stat --json "$process" | python3 -c '
import json, sys
accounts = json.load(sys.stdin)["accounts"]
assert [(a["arena"], a["label"]) for a in accounts][:2] == [("client", "parser"), ("", "outside")], accounts
assert accounts[0]["live_blocks"] == 100 and accounts[0]["live_bytes"] == accounts[0]["peak_bytes"] >= 1000000, accounts'
    says "$(ask stat "$process")" 'account   client/parser: live '
    end
}
check stat_has_accounts_of_arenas_and_labels accounts_by_stat

other_requests()
{
    start level=2 ./busy
    ask ctl "$process" release_ms=77 purge trim check >said
    says "$(cat said)" set
    says "$(cat said)" "no damage found"
    "$command" ctl "$process" frobnicate 2>said
    [ $? = 2 ] || echo "an unknown request has another status"
    "$command" ctl "$process" level=4 pruge 2>said >&2
    [ $? = 2 ] || echo "an unknown request behind another has another status"
    says_not "$("$command" verify "$process")" "level=4,"
    "$command" ctl --wait x "$process" purge 2>said
    says "$(cat said)" "--wait takes"
    "$command" ctl "$process" level=x 2>/dev/null
    [ $? = 2 ] || echo "a level that is no number has another status"
    "$command" ctl "$process" 2>/dev/null
    [ $? = 2 ] || echo "no request has another status"
    end
}
check ctl_knows_its_requests other_requests

many_reads()
{
    start level=1 ./busy
    for _ in $(seq 40); do
        ask stat "$process" >/dev/null || echo "stat failed"
        ask ctl "$process" purge >/dev/null || echo "purge failed"
    done
    end
}
check stat_does_not_disturb many_reads

two_askers()
{
    start level=0 ./busy
    for _ in $(seq 15); do ask stat "$process" >/dev/null || echo "stat failed"; done &
    local other=$!
    for _ in $(seq 15); do ask ctl "$process" release_ms=5 >/dev/null || echo "ctl failed"; done
    wait "$other"
    end
}
check two_may_ask_at_once two_askers

# start_idle: one that makes no calls but, for a while, at each byte written to fd 7; then there is a file `done`.
start_idle()
{
    rm -f pipe ready "done"
    mkfifo pipe
    exec 7<>pipe
    start level=0 ./idle
    until [ -e ready ]; do kill -0 "$process" || break; done
}

pending()
{
    start_idle
    "$command" ctl --wait 0 "$process" level=2 2>said
    [ $? = 3 ] || echo "another status than pending"
    says "$(cat said)" pending
    "$command" stat --wait 0 "$process" 2>said
    [ $? = 3 ] || echo "stat has another status than pending"
    printf x >&7
    until "$command" verify "$process" | grep -q 'level=2,'; do kill -0 "$process" || break; done
    kill "$process"
    wait "$process" 2>/dev/null
    :
}
check an_idle_one_is_pending pending

behind_another()
{
    start_idle
    "$command" stat --wait 0 "$process" 2>/dev/null
    "$command" ctl --wait 0 "$process" level=2 2>said
    [ $? = 3 ] || echo "a request for counters stands in the way: $(cat said)"
    "$command" ctl --wait 0 "$process" purge 2>said
    [ $? = 2 ] || echo "another status although it was not asked"
    says "$(cat said)" "not asked"
    "$command" stat --wait 0 "$process" 2>said
    [ $? = 3 ] || echo "stat has another status than pending"
    printf x >&7
    until [ -e "done" ]; do kill -0 "$process" || break; done
    says "$("$command" verify "$process")" "level=2,"
    kill "$process"
    wait "$process" 2>/dev/null
    :
}
check what_is_said_to_be_pending_is_asked behind_another

all_processes()
{
    start level=1 ./busy
    "$command" verify --all >said
    status=$?
    [ "$status" = 0 ] || echo "status $status"
    says "$(head -n 1 said)" "on: in "
    says "$(grep -E "^ *$process  on " said)" "level=1"
    end
}
check verify_lists_all all_processes

# A process's user chooses the name of its program; who asks about it may be root, at a terminal.
wild_name()
{
    local name=$'bu\e[31m\x9bsy'
    cp busy "$name"
    start level=1 "./$name"
    { "$command" verify "$process" && "$command" verify --all && ask stat "$process"; } >said || echo "status $?"
    says "$(cat said)" 'bu?[31m?sy'
    [ "$(LC_ALL=C tr -d '\n\040-\176' <said | wc -c)" = 0 ] || echo "control characters of the name are printed"
    end
}
check names_of_programs_are_made_printable wild_name

# screen: what stands on the terminal.
screen() { tmux -S "$work/tmux" capture-pane -p 2>/dev/null; }

on_a_screen()
{
    command -v tmux >/dev/null || lacks "no tmux"
    "$command" top --help >/dev/null 2>&1 || lacks "built without curses"
    start level=1 ./busy
    trap 'kill "$process" 2>/dev/null; tmux -S "$work/tmux" kill-server 2>/dev/null' EXIT
    tmux -S "$work/tmux" -f /dev/null new-session -d -x 100 -y 60 "$command top --every 0.1 $process; echo \$? >ended"
    until screen | grep -q 'allocated  *[0-9,]*  *[0-9,]'; do
        tmux -S "$work/tmux" has-session 2>/dev/null || break
    done
    screen >shown
    says "$(cat shown)" "process $process"
    says "$(cat shown)" "level 1"
    says "$(cat shown)" "gained a second"
    grep -Eq "bill +[0-9.]+ [KMGT]iB$" shown || echo "no bill: $(cat shown)"
    grep -Eq "  live +[0-9.]+ [KMGT]iB +[0-9]+%" shown || echo "no line live: $(cat shown)"
    ask ctl "$process" level=2 >/dev/null
    until screen | grep -q 'level 2 (started at 1)'; do tmux -S "$work/tmux" has-session 2>/dev/null || break; done
    says "$(screen)" "level 2 (started at 1)"
    tmux -S "$work/tmux" send-keys q
    until [ -s ended ]; do tmux -S "$work/tmux" has-session 2>/dev/null || break; done
    says "$(cat ended)" 0
    tmux -S "$work/tmux" kill-server 2>/dev/null
    end
}
check top_draws_on_a_screen on_a_screen

without_a_screen()
{
    "$command" top --help >/dev/null 2>&1 || lacks "built without curses"
    start level=1 ./busy
    timeout 20 "$command" top "$process" 2>said
    [ $? = 2 ] || echo "status without a terminal"
    says "$(cat said)" terminal
    "$command" top --every x "$process" 2>said
    says "$(cat said)" "--every takes"
    end
}
check top_wants_a_terminal without_a_screen

# A block of another version: the magic, a version, its length and its own address are what all have.
older_version()
{
    cat >older.c <<'C'
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>
static volatile struct
{
    char magic[16];
    uint32_t version, bytes;
    uint64_t self;
    char rest[400];
} block = { "scrubjay status", 2, sizeof block, 0, "" };
int main(void)
{
    block.self = (uintptr_t)&block;
    close(open("older.ready", O_CREAT | O_WRONLY, 0600));
    return pause();
}
C
    "$cc" -O1 older.c -o older || return 1
    ./older &
    process=$!
    trap 'kill "$process" 2>/dev/null' EXIT
    until [ -e older.ready ]; do kill -0 "$process" || return 1; done
    "$command" verify "$process" >said
    [ $? = 2 ] || echo "status of verify"
    says "$(cat said)" "another version"
    "$command" stat "$process" 2>said
    says "$(cat said)" "another version"
    says "$("$command" verify --all | grep -E "^ *$process ")" "another version"
}
check another_version_is_named older_version

refusing()
{
    start level=0,live=off ./busy
    ask ctl "$process" level=2 2>said && echo "it was raised all the same"
    says "$(cat said)" live=off
    ask stat "$process" >/dev/null 2>&1 && echo "it answers all the same"
    says "$("$command" verify "$process")" "level=0,"
    end
}
check live_off_refuses refusing

no_such()
{
    sleep 60 &
    local sleeper=$!
    "$command" stat "$sleeper" 2>said
    [ $? = 1 ] || echo "a process without the library has another status"
    kill "$sleeper"
    wait "$sleeper" 2>/dev/null
    "$command" stat "$sleeper" 2>said
    [ $? = 2 ] || echo "no process has another status"
    "$command" stat 2>/dev/null
    [ $? = 2 ] || echo "no PID has another status"
}
check nobody_there no_such

redis()
{
    command -v redis-server >/dev/null || lacks "no redis-server"
    command -v redis-benchmark >/dev/null || lacks "no redis-benchmark"
    local socket=$work/redis.sock client
    start level=0 redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no --daemonize no >/dev/null
    until redis-cli -s "$socket" ping >/dev/null 2>&1; do kill -0 "$process" || return 1; done
    redis-benchmark -s "$socket" -c 20 -n 60000 -r 5000 -d 300 -t set,get,lpush,lpop,sadd,hset -q >clients 2>&1 &
    client=$!
    for level in 1 2 3; do
        says "$(ask ctl "$process" "level=$level")" "level $level"
    done
    ask stat "$process" >/dev/null || echo "stat failed"
    wait "$client" || echo "redis-benchmark ended with $?: $(tail -n 2 clients)"
    grep -iE 'error|refused|closed' clients
    says "$(redis-cli -s "$socket" ping)" PONG
    says "$("$command" verify "$process")" "level=3,"
    end
}
check redis_is_raised_under_its_clients redis

# SJ_READS: how many (check-long: 10,000, or what ten minutes allow, if that is a thousand). Each is whole, the clients see no error, and what the server counts only grows.
read_under_load()
{
    command -v redis-server >/dev/null || lacks "no redis-server"
    command -v redis-benchmark >/dev/null || lacks "no redis-benchmark"
    local socket=$work/read.sock client count last=0 now done=0 SECONDS=0
    start level=2 redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no --daemonize no >/dev/null
    until redis-cli -s "$socket" ping >/dev/null 2>&1; do kill -0 "$process" || return 1; done
    redis-benchmark -s "$socket" -c 20 -n 1000 -r 5000 -d 300 -t set,get,lpush,lpop,sadd,hset -q -l >clients 2>&1 &
    client=$!
    for ((count = ${SJ_READS:-200}; done < count && SECONDS < 600; done++)); do
        "$command" stat "$process" --json >said 2>&1 || { echo "read $done: $(tail -n 1 said)"; break; }
        now=$(sed -n 's/.*"allocations": *\([0-9]*\).*/\1/p' said)
        [ "${now:-0}" -ge "$last" ] || { echo "read $done: $now allocations after $last"; break; }
        last=$now
    done
    kill -0 "$client" || echo "redis-benchmark ended: $(tail -n 2 clients)"
    kill "$client" && wait "$client" 2>/dev/null
    [ "$last" -gt 0 ] || echo "no count of allocations in: $(head -c 300 said)"
    tr '\r' '\n' <clients | grep -iE 'error|refused|closed' | head -n 1
    says "$(redis-cli -s "$socket" ping)" PONG
    end
    [ "$done" -ge "$count" ] || [ "$done" -ge 1000 ] || echo "only $done of $count reads were made"
}
check redis_is_read_under_its_clients read_under_load

# Instructions of a pair of calls in a process raised from level 0, and in one that started at the level.
cost_after_raise()
{
    command -v valgrind >/dev/null || lacks "no valgrind"
    local level raised started
    "$cc" -O2 -fno-builtin "$top/bench/bars/pair.c" -o pair || return
    of_a_pair()
    {
        local total=0 length
        for length in -20000 60000; do
            SCRUBJAY_OPTIONS=$1,sample_rate=1,seed=7 LD_PRELOAD=$library valgrind --tool=callgrind \
                --callgrind-out-file=/dev/null ./pair "${length#-}" "${@:2}" >counted 2>&1 || tail -n 1 counted >&2
            total=$((total + ${length%%[0-9]*}1 * $(awk '/Collected/ { print $4 }' counted)))
        done
        echo $((total / 400))
    }
    for level in 2 3 4; do
        raised=$(of_a_pair level=0 "$level")
        started=$(of_a_pair "level=$level")
        [ $((raised * 20)) -le $((started * 21)) ] && [ "$started" -gt 5000 ] ||
            echo "level $level: $raised hundredths of an instruction after the raise, $started from the start"
    done
}
check a_raised_process_costs_what_one_started_there_does cost_after_raise

finish
