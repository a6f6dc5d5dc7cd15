# shellcheck shell=bash disable=SC2317
# SPDX-License-Identifier: MIT
#
# What: nginx serves files on loopback to many clients, and is reloaded while it does.
# Why this way: a reload replaces all workers, so heaps of whole processes come and go.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
PATH=$PATH:/usr/sbin
need nginx:nginx curl:curl

nginx_job()
{
    local level=$1 port i
    port=$(free_port)
    mkdir -p site temp
    for i in 1 2 3 4 5 6 7 8; do head -c $((i * 40000)) "$(command -v bash)" >"site/$i"; done
    cat >nginx.conf <<CONF
daemon off; worker_processes 2; pid $PWD/nginx.pid; error_log $PWD/error.log; $([ "$(id -u)" != 0 ] || echo 'user root;')
env LD_PRELOAD; env SCRUBJAY_OPTIONS;
events { worker_connections 256; }
http {
  access_log off; client_body_temp_path temp; proxy_temp_path temp; fastcgi_temp_path temp; uwsgi_temp_path temp;
  scgi_temp_path temp; gzip on; gzip_types *;
  server { listen 127.0.0.1:$port; root $PWD/site; }
}
CONF
    start "$PWD/server.log" "$level" nginx -p "$PWD" -c "$PWD/nginx.conf"
    await 20 curl -sf "http://127.0.0.1:$port/1" -o /dev/null || { cat error.log server.log >&2; return 1; }
    for round in 1 2 3 4 5; do
        for i in 1 2 3 4 5 6 7 8; do
            curl -s --compressed "http://127.0.0.1:$port/$i" | digest
        done
        curl -s --parallel --parallel-max 16 "http://127.0.0.1:$port/[1-8]?[1-25]" -o "got.#1.#2" || return 2
        cat got.* | digest
        kill -HUP "$server"
        sleep 0.3
        echo "round $round"
    done
    stop "$server"
    echo "ended with $?"
    grep -a 'scrubjay: ' server.log error.log >&2
    return 0
}

same nginx nginx_job
finish
