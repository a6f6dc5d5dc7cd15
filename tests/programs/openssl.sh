# shellcheck shell=bash disable=SC2317
# SPDX-License-Identifier: MIT
#
# What: openssl: keys, certificates, a TLS connection to its own server on loopback, digests, encryption and back.
# Why this way: what is random is checked by what must hold of it, the rest by its output.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need openssl:openssl

openssl_job()
{
    local level=$1 port
    head -c 3000000 "$(command -v openssl)" /bin/bash >data 2>/dev/null
    under "$level" openssl dgst -sha256 -sha512 <data
    under "$level" openssl enc -aes-256-cbc -pbkdf2 -pass pass:x -S 0011223344556677 -in data -out data.enc || return
    digest <data.enc
    under "$level" openssl enc -d -aes-256-cbc -pbkdf2 -pass pass:x -S 0011223344556677 -in data.enc | cmp - data || return
    under "$level" openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
        2>/dev/null || return
    under "$level" openssl verify -CAfile cert.pem cert.pem || return
    under "$level" openssl x509 -in cert.pem -noout -subject || return
    port=$(free_port)
    start "$PWD/server.log" "$level" openssl s_server -accept "127.0.0.1:$port" -key key.pem -cert cert.pem -www -quiet
    await 20 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port" || return
    for _ in 1 2 3 4 5; do
        printf 'GET / HTTP/1.0\r\n\r\n' | under "$level" openssl s_client -connect "127.0.0.1:$port" -CAfile cert.pem \
            -verify_return_error -quiet 2>/dev/null | grep -c 'HTTP/1.0 200'
    done
    stop "$server" >/dev/null
    grep -a 'scrubjay: ' server.log >&2
    return 0
}

same openssl openssl_job
finish
