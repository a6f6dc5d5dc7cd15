# shellcheck shell=bash disable=SC2317
# SPDX-License-Identifier: MIT
#
# What: postgres: initdb, a server, pgbench on loopback, and the sums that must come out.
# Why this way: many processes that fork and share memory; the server refuses to run as root, so root lends it a user.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
tools=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
[ -x "$tools/initdb" ] || skip "initdb is missing (Debian package postgresql)"
need pgbench:postgresql-contrib psql:postgresql-client
as=()
if [ "$(id -u)" = 0 ]; then
    need setpriv:util-linux
    id postgres >/dev/null 2>&1 || skip "running as root, and there is no user postgres"
    as=(setpriv --reuid postgres --regid postgres --clear-groups)
    setpriv --reuid postgres --clear-groups test -r "$SJ_LIBRARY" || skip "the user postgres can't read $SJ_LIBRARY"
    chown postgres "$SJ_WORK"
fi

postgres_job()
{
    local level=$1 port here=$PWD query
    port=$(free_port)
    [ "$(id -u)" != 0 ] || chown postgres "$PWD"
    under "$level" "${as[@]}" "$tools/initdb" -D "$here/data" -A trust -U tester -E UTF8 --no-locale -N >initdb.log 2>&1 ||
        { tail -n 20 initdb.log >&2; return 1; }
    start "$here/server.log" "$level" "${as[@]}" "$tools/postgres" -D "$here/data" -k "$here" -h 127.0.0.1 -p "$port" \
        -c fsync=off -c max_connections=20 -c shared_buffers=32MB
    query=(psql -h 127.0.0.1 -p "$port" -U tester -d postgres -At)
    await 30 "${query[@]}" -c 'select 1' || { cat server.log >&2; return 2; }
    under "$level" pgbench -h 127.0.0.1 -p "$port" -U tester -i -q -s 2 postgres >pgbench.log 2>&1 || return 3
    under "$level" pgbench -h 127.0.0.1 -p "$port" -U tester -c 4 -j 2 -t 500 postgres >>pgbench.log 2>&1 ||
        { tail -n 20 pgbench.log >&2; return 4; }
    grep -E 'transactions actually processed' pgbench.log
    "${query[@]}" -c 'select count(*), (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history),
        (select sum(tbalance) from pgbench_tellers) = (select sum(bbalance) from pgbench_branches) from pgbench_history'
    "${query[@]}" -c "select md5(string_agg(x::text || repeat('y', x % 50), ',' order by x desc)) from generate_series(1, 100000) x"
    "${query[@]}" -c "select count(*), md5(json_agg(r)::text) from (select i, array_agg(j) from generate_series(1, 300) i,
        generate_series(1, 100) j group by i order by i) r"
    # Fast shutdown: the children are asked to end, not waited for.
    kill -INT "$server"
    await_end "$server" 30 || return 5
    wait "$server"
    echo "ended with $?"
    grep -a 'scrubjay: ' server.log initdb.log pgbench.log >&2
    return 0
}

same postgres postgres_job
finish
