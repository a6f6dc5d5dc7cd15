# shellcheck shell=bash disable=SC2016,SC2154,SC2317
# SPDX-License-Identifier: MIT
#
# What: the programs of the matrix: a line `#@ name|package|what is run|command for verify` and, unless NAME.sh exists, a
# function job_NAME LEVEL that prints what must not depend on the allocator.
# Why this way: one look shows what a program is made to do; matrix.sh sets SJ_JOB and reads the lines.
#
# Servers listen on loopback only. Input is made here, from the shell's own text.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
PATH=$PATH:/usr/sbin:/sbin

# A text of N lines with some structure, the same everywhere.
lines() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%d line %d of %s %x\n", i, (i * 7919) % 1009, substr("abcdefghijklmnopqrstuvwxyz", i % 20 + 1, i % 7), i * 65537 }'; }

# ended LOG...: the server's status, and lines of ours on stderr, where `same` looks for them.
ended()
{
    stop "$server"
    echo "ended with $?"
    grep -a 'scrubjay: ' "$@" >&2
    return 0
}

#@ redis|redis-server|redis-benchmark, 15,000 commands, a background save, all keys read back|redis-server
#@ sqlite3|sqlite3|a database made, queried, vacuumed, checked|sqlite3
#@ postgres|postgresql-15|initdb, pgbench with 4 clients, sums, aggregates|/usr/lib/postgresql/15/bin/postgres
#@ mariadb|mariadb-server|install, tables, joins, 4 clients of mysqlslap|mariadbd
job_mariadb()
{
    local level=$1 port sql
    port=$(free_port)
    local common=(--no-defaults --datadir="$PWD/data" --user="$(id -un)")
    # Plain: the script starts a dozen programs of its own.
    mariadb-install-db "${common[@]}" --auth-root-authentication-method=normal --skip-test-db >install.log 2>&1 || { tail install.log >&2; return 1; }
    start "$PWD/server.log" "$level" mariadbd "${common[@]}" --socket="$PWD/s" --port="$port" --bind-address=127.0.0.1 --pid-file="$PWD/pid"
    sql=(mariadb --no-defaults --socket="$PWD/s" -u root -N)
    await 40 "${sql[@]}" -e 'select 1' || { tail server.log >&2; return 2; }
    "${sql[@]}" -e 'create database t; use t; create table a (i int primary key auto_increment, s text, n int, key(n)) engine=innodb;
        insert into a (s, n) select repeat(char(65 + seq % 26), seq % 300), seq % 97 from seq_1_to_20000;
        select count(*), sum(length(s)), md5(group_concat(n order by i limit 500)) from a;
        select n, count(*), max(length(s)) from a group by n order by n limit 5;
        select count(*) from a x join a y on x.n = y.n and x.i < 300; delete from a where n < 50; optimize table a; check table a; select count(*) from a'
    under "$level" mysqlslap --no-defaults --socket="$PWD/s" -u root --concurrency=4 --iterations=2 --auto-generate-sql \
        --number-of-queries=800 >slap.log 2>&1 || { tail slap.log >&2; return 3; }
    ended server.log slap.log
}
#@ nginx|nginx|files to 16 clients at once, compressed, reloaded meanwhile|nginx
#@ apache2|apache2-bin|2,000 requests by ab with 8 at once, threads (event), a graceful restart|apache2
job_apache2()
{
    local level=$1 port i
    port=$(free_port)
    mkdir -p site
    for i in 1 2 3 4; do lines $((i * 700)) >"site/$i.txt"; done
    cat >httpd.conf <<CONF
ServerRoot $PWD
ServerName localhost
PidFile $PWD/pid
DefaultRuntimeDir $PWD
Listen 127.0.0.1:$port
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule deflate_module /usr/lib/apache2/modules/mod_deflate.so
LoadModule filter_module /usr/lib/apache2/modules/mod_filter.so
StartServers 2
User $(if [ "$(id -u)" = 0 ]; then echo www-data; else id -un; fi)
ErrorLog $PWD/error.log
DocumentRoot $PWD/site
AddOutputFilterByType DEFLATE text/plain
CONF
    chmod -R a+rX .
    start "$PWD/server.log" "$level" apache2 -d "$PWD" -f "$PWD/httpd.conf" -DFOREGROUND
    await 20 curl -sf "http://127.0.0.1:$port/1.txt" -o /dev/null || { cat error.log server.log >&2; return 1; }
    for i in 1 2 3 4; do curl -s --compressed "http://127.0.0.1:$port/$i.txt" | digest; done
    under "$level" ab -q -n 2000 -c 8 "http://127.0.0.1:$port/2.txt" | grep -E '^(Complete|Failed) requests|^Document Length'
    kill -USR1 "$server"
    sleep 0.5
    await 20 curl -sf "http://127.0.0.1:$port/1.txt" -o /dev/null || return 2
    for i in 1 2 3 4; do curl -s "http://127.0.0.1:$port/$i.txt" | digest; done
    ended server.log error.log
}
#@ memcached|memcached|6,000 sets and gets of mixed sizes, evictions at 8 MiB|memcached
job_memcached()
{
    local level=$1 port
    port=$(free_port)
    start "$PWD/server.log" "$level" memcached -l 127.0.0.1 -p "$port" -m 8 -t 2 -u nobody -U 0
    await 20 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port" || return 1
    PORT=$port /usr/bin/python3 - <<'PY' || return 2
import os, socket
s = socket.create_connection(('127.0.0.1', int(os.environ['PORT']))); f = s.makefile('rb'); stored = hits = 0
for i in range(6000):
    v = bytes([65 + i % 26]) * (i * 37 % 9000)
    s.sendall(b'set k%d 0 0 %d\r\n%s\r\n' % (i, len(v), v)); stored += f.readline() == b'STORED\r\n'
for i in range(5900, 6000):
    s.sendall(b'get k%d\r\n' % i); head = f.readline().split()
    if head[0] == b'VALUE':
        hits += f.read(int(head[3]) + 2)[:-2] == bytes([65 + i % 26]) * (i * 37 % 9000); f.readline()
print(stored, hits)
PY
    ended server.log
}
#@ varnish|varnish|800 requests through the cache in front of a small server|varnishd
job_varnish()
{
    local level=$1 port back i origin
    port=$(free_port)
    back=$(free_port)
    mkdir -p site
    for i in 1 2 3 4; do lines $((i * 500)) >"site/$i"; done
    start "$PWD/back.log" plain /usr/bin/python3 -m http.server -b 127.0.0.1 -d site "$back"
    origin=$server
    await 20 curl -sf "http://127.0.0.1:$back/1" -o /dev/null || return 1
    start "$PWD/server.log" "$level" varnishd -F -n "$PWD/v" -j none -a "127.0.0.1:$port" -b "127.0.0.1:$back" -s malloc,16m
    await 30 curl -sf "http://127.0.0.1:$port/1" -o /dev/null || { cat server.log >&2; return 2; }
    for i in 1 2 3 4; do curl -s "http://127.0.0.1:$port/$i" | digest; done
    under "$level" curl -s --parallel --parallel-max 8 "http://127.0.0.1:$port/[1-4]?[1-200]" -o "got.#1.#2" || return 3
    cat got.* | digest
    ended server.log
    stop "$origin" || true
}
#@ bind9|bind9|a zone of 2,000 names checked, served, 1,000 queries of dig|named
job_bind9()
{
    local level=$1 port
    port=$(free_port)
    {
        echo '$TTL 60'
        echo '@ IN SOA ns hostmaster 1 60 60 60 60'
        echo '@ IN NS ns'
        echo 'ns IN A 127.0.0.1'
        awk 'BEGIN { for (i = 0; i < 2000; i++) printf "h%d IN A 10.0.%d.%d\nh%d IN TXT \"text %d\"\n", i, i / 256, i % 256, i, i * i }'
    } >zone
    under "$level" named-checkzone example.test zone || return 1
    cat >named.conf <<CONF
options { directory "$PWD"; listen-on port $port { 127.0.0.1; }; listen-on-v6 { none; }; pid-file "$PWD/pid"; recursion no;
  session-keyfile "$PWD/key"; dnssec-validation no; };
controls { };
zone "example.test" { type primary; file "$PWD/zone"; };
CONF
    start "$PWD/server.log" "$level" named -g -c "$PWD/named.conf" -n 2
    await 20 dig +time=1 +tries=1 @127.0.0.1 -p "$port" h1.example.test || { tail server.log >&2; return 2; }
    awk 'BEGIN { for (i = 0; i < 500; i++) printf "h%d.example.test A\nh%d.example.test TXT\n", i * 4, i * 3 }' >queries
    under "$level" dig +short @127.0.0.1 -p "$port" -f queries | digest
    under "$level" dig @127.0.0.1 -p "$port" example.test axfr | grep -v '^;' | digest
    ended server.log
}
#@ unbound|unbound|local data served to 1,000 queries, its configuration checked|unbound
job_unbound()
{
    local level=$1 port
    port=$(free_port)
    {
        printf 'server:\n interface: 127.0.0.1\n port: %s\n username: ""\n chroot: ""\n directory: "%s"\n pidfile: "%s/pid"\n' "$port" "$PWD" "$PWD"
        printf ' use-syslog: no\n do-daemonize: no\n num-threads: 2\n local-zone: "example.test." static\n'
        awk 'BEGIN { for (i = 0; i < 1000; i++) printf " local-data: \"h%d.example.test. IN A 10.1.%d.%d\"\n", i, i / 256, i % 256 }'
    } >u.conf
    under "$level" unbound-checkconf u.conf | sed "s|$PWD||" || return 1
    start "$PWD/server.log" "$level" unbound -d -c "$PWD/u.conf"
    await 20 dig +time=1 +tries=1 @127.0.0.1 -p "$port" h1.example.test || { tail server.log >&2; return 2; }
    awk 'BEGIN { for (i = 0; i < 1000; i++) printf "h%d.example.test A\n", i }' >queries
    under "$level" dig +short @127.0.0.1 -p "$port" -f queries | digest
    ended server.log
}
#@ python|python3|allocating jobs, threads, subprocesses, ctypes|python3
#@ perl|perl|hashes, sorting, expressions, fork|perl
#@ ruby|ruby|strings, hashes, threads, fork, compaction by GC|ruby
job_ruby()
{
    under "$1" ruby -e 'h = Hash.new(0); 60000.times { |i| h["k#{i % 997}" * (i % 9 + 1)] += i }
        puts h.size, h.values.sum, h.keys.sort.first(3).inspect, h.keys.map(&:size).max
        a = (0...4).map { |t| Thread.new { (0...3000).map { |i| "x" * (i * t % 700) }.map(&:size).sum } }.map(&:value); puts a.inspect
        GC.start; GC.compact if GC.respond_to?(:compact); r, w = IO.pipe
        3.times { |n| fork { w.write((0..2000).map { |i| [i, n.to_s * i] }.size.to_s + "\n") } ; Process.wait }; w.close; puts r.read
        puts (1..200).inject(:*).to_s.size, Marshal.load(Marshal.dump(h)).size'
}
#@ php|php8.2-cli|arrays, JSON, expressions, without its own pools (USE_ZEND_ALLOC=0)|php
job_php()
{
    USE_ZEND_ALLOC=0 under "$1" php -n -r '$a = []; for ($i = 0; $i < 100000; $i++) { $a["k" . ($i % 5000)][] = str_repeat(chr(65 + $i % 26), $i % 90); }
        echo count($a), " ", strlen(json_encode($a)), " ", md5(serialize($a)), "\n"; ksort($a); echo implode(",", array_slice(array_keys($a), 0, 5)), "\n";
        echo count(preg_split("/[aeiou]+/", str_repeat("some words here ", 5000))), "\n"; $a = null; gc_collect_cycles(); echo md5(str_repeat("x", 5000000)), "\n";'
}
#@ lua|lua5.4|tables, strings, closures, coroutines|lua5.4
#@ node|nodejs|worker threads, zlib, crypto; tests of npm packages|node
#@ java|openjdk-17-jre-headless|a heap of objects, 8 threads, native buffers, zip|java
job_java()
{
    cat >J.java <<'JAVA'
import java.util.*; import java.util.concurrent.*; import java.util.zip.*; import java.nio.*;
public class J { public static void main(String[] a) throws Exception {
  ExecutorService e = Executors.newFixedThreadPool(8); List<Future<Long>> fs = new ArrayList<>();
  for (int t = 0; t < 8; t++) { final int n = t; fs.add(e.submit(() -> { long s = 0;
    for (int i = 0; i < 300; i++) { ByteBuffer b = ByteBuffer.allocateDirect(1000 + i * n); b.putInt(0, i * n); s += b.getInt(0);
      Deflater d = new Deflater(); byte[] in = ("text " + i).repeat(200).getBytes(), out = new byte[5000]; d.setInput(in); d.finish();
      int c = d.deflate(out); d.end(); Inflater f = new Inflater(); f.setInput(out, 0, c); s += f.inflate(new byte[9000]); f.end(); } return s; })); }
  long sum = 0; for (Future<Long> f : fs) sum += f.get(); e.shutdown();
  Map<String, Integer> m = new TreeMap<>(); for (int i = 0; i < 200000; i++) m.merge("k" + i % 3001, i, Integer::sum);
  System.out.println(sum + " " + m.size() + " " + m.hashCode()); } }
JAVA
    # The source launcher compiles first, in the same process.
    under "$1" java -Xmx256m J.java
}
#@ gcc|gcc|C compiled, optimised, linked; objects compared|gcc
#@ gxx|g++|templates of the standard library compiled at -O2, run|g++
cxx_text()
{
    cat <<'CC'
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>
int main() { std::map<std::string, std::vector<std::shared_ptr<int>>> m; std::regex r("([a-z]+)([0-9]+)");
  for (int i = 0; i < 3000; i++) { std::smatch k; std::string s = "k" + std::to_string(i % 91); std::regex_match(s, k, r); m[k[2]].push_back(std::make_shared<int>(i)); }
  long t = 0; for (auto &p : m) for (auto &q : p.second) t += *q * (long)p.first.size(); std::cout << m.size() << ' ' << t << '\n'; }
CC
}
job_gxx()
{
    cxx_text >x.cc
    under "$1" g++ -O2 -c x.cc -o x.o && digest <x.o && under "$1" g++ x.o -o x && under "$1" ./x
}
#@ clang|clang|the same by clang at -O2, run|clang
job_clang()
{
    cxx_text >x.cc
    under "$1" clang++ -O2 -c x.cc -o x.o && digest <x.o && under "$1" clang++ x.o -o x && under "$1" ./x
}
#@ rustc|rustc|a program with collections and threads compiled, run|rustc
job_rustc()
{
    cat >x.rs <<'RS'
use std::collections::*; use std::thread;
fn main() { let v: Vec<_> = (0..4u64).map(|t| thread::spawn(move || { let mut m = BTreeMap::new();
    for i in 0..20000u64 { m.entry(format!("k{}", i * t % 997)).or_insert_with(Vec::new).push(i); } m.values().map(|x| x.len() as u64).sum::<u64>() + m.len() as u64 })).collect();
  for h in v { println!("{}", h.join().unwrap()); } let s: String = (0..10000).map(|i| i.to_string()).collect(); println!("{}", s.len()); }
RS
    under "$1" rustc -O x.rs -o x && under "$1" ./x
}
#@ go|golang-go|a program that calls C's malloc and free from goroutines (cgo) built, run|go
job_go()
{
    cat >x.go <<'GO'
package main
// #include <stdlib.h>
// #include <string.h>
import "C"
import ("fmt"; "sync"; "unsafe")
func main() { var w sync.WaitGroup; sums := make([]int, 8)
  for t := 0; t < 8; t++ { w.Add(1); go func(t int) { defer w.Done(); for i := 1; i < 3000; i++ { p := C.malloc(C.size_t(i)); C.memset(p, C.int(t), C.size_t(i))
    b := unsafe.Slice((*byte)(p), i); sums[t] += int(b[i-1]) + len(C.GoString(C.CString("abc"))); C.free(p) } }(t) }
  w.Wait(); fmt.Println(sums) }
GO
    GOCACHE=$PWD/cache GOFLAGS=-mod=mod HOME=$PWD GO111MODULE=off under "$1" go build -o x x.go && under "$1" ./x
}
#@ gs|ghostscript|PostScript to pictures and PDF|gs
#@ imagemagick|imagemagick-6.q16|pictures made, blurred, rotated, resized, to PNG and JPEG and back|convert
job_imagemagick()
{
    under "$1" convert -size 300x200 plasma:fractal -seed 7 gradient:red-blue -append -blur 0x2 -rotate 7 -resize 50% -strip a.ppm 2>/dev/null
    under "$1" convert -size 640x480 gradient:red-blue -blur 0x3 -rotate 11 -resize 70% b.ppm && digest <b.ppm
    under "$1" convert b.ppm -quality 80 b.jpg && under "$1" convert b.ppm -define png:exclude-chunks=date,time b.png &&
        under "$1" convert b.jpg -colors 16 c.ppm && digest <c.ppm && under "$1" identify -format '%w %h %k\n' b.png c.ppm
}
#@ ffmpeg|ffmpeg|a made film encoded (MPEG-4, AAC) by threads, decoded, frames hashed|ffmpeg
job_ffmpeg()
{
    local quiet=(-hide_banner -loglevel error -nostdin)
    under "$1" ffmpeg "${quiet[@]}" -f lavfi -i testsrc=d=2:s=320x240 -f lavfi -i sine=d=2 -c:v mpeg4 -threads 2 -c:a aac -bitexact -fflags +bitexact a.mkv &&
        under "$1" ffmpeg "${quiet[@]}" -i a.mkv -vf scale=160:120,hflip -f framemd5 - | digest && under "$1" ffprobe -v error -show_entries stream=codec_name,nb_read_frames -count_frames a.mkv
}
#@ git|git|a repository made, packed, checked, cloned|git
#@ rsync|rsync|a tree copied twice with deltas and deletions|rsync
job_rsync()
{
    local i
    mkdir -p from/a from/b
    for i in $(seq 40); do lines $((i * 20)) >"from/a/$i"; done
    under "$1" rsync -a from/ to/ && lines 500 >>from/a/7 && rm from/a/9 && under "$1" rsync -ac --delete --no-whole-file from/ to/ && (cd to && find . -type f -print0 | sort -z | xargs -0 sha256sum | digest)
}
#@ tar|tar|a tree packed by gzip, xz and zstd, unpacked, compared|tar
job_tar()
{
    local i kind
    mkdir -p from
    for i in $(seq 30); do lines $((i * 50)) >"from/$i"; done
    for kind in gzip xz zstd; do
        under "$1" tar "--$kind" --sort=name --mtime=@0 -cf "x.$kind" from && mkdir -p "to.$kind" && under "$1" tar "--$kind" -xf "x.$kind" -C "to.$kind" && diff -r from "to.$kind/from" && echo "$kind same"
    done
}
#@ openssl|openssl|keys, certificates, ciphers, digests|openssl
#@ curl|curl|1,000 files of a server on loopback, 8 at once|curl
job_curl()
{
    local port i
    port=$(free_port)
    mkdir -p site
    for i in 1 2 3 4; do lines $((i * 300)) >"site/$i"; done
    start "$PWD/server.log" plain /usr/bin/python3 -m http.server -b 127.0.0.1 -d site "$port"
    await 20 curl -sf "http://127.0.0.1:$port/1" -o /dev/null || return 1
    under "$1" curl -s --parallel --parallel-max 8 "http://127.0.0.1:$port/[1-4]?[1-250]" -o "got.#1.#2" || return 2
    cat got.* | digest
    stop "$server" || true
}
#@ bash|bash|arrays, substitutions, subshells, here-documents|bash
job_bash()
{
    under "$1" bash -c 'declare -A a; for ((i = 0; i < 20000; i++)); do a[k$((i % 613))]+="$i,"; done; echo ${#a[@]} ${#a[k5]}
        for ((i = 0; i < 100; i++)); do x=$(echo $((i * i)); :); y+=${x//1/one}; done; echo "$y" | md5sum; (trap "echo end" EXIT; s=$(printf "%0200000d" 7); echo ${#s}); cat <<< "${y:3:50}"'
}
#@ busybox|busybox-static|sh, awk, sort, gzip of a static program: not protected, and not disturbed|busybox
job_busybox()
{
    lines 3000 >text
    under "$1" busybox sh -c 'busybox sort -k 2 text | busybox awk "{ s += \$1; print s }" | busybox gzip | busybox gunzip | busybox md5sum'
}
#@ z3|z3|a puzzle with unique answer, arithmetic, bit vectors|z3
job_z3()
{
    cat >x.smt2 <<'SMT'
(declare-const x (_ BitVec 32))(declare-const a Int)(declare-const b Int)
(assert (= (bvmul x #x0000002b) #x00001c0d))(assert (bvult x #x00001000))(assert (and (> a 1) (> b a) (= (* a b) 6499)))
(check-sat)(get-value (x a b))
(push)(assert (forall ((q Int)) (=> (> q 0) (> (+ q a) b))))(check-sat)(pop)
SMT
    under "$1" z3 -T:60 x.smt2
}
#@ r|r-base-core|vectors, regression, matrices, strings|/usr/lib/R/bin/exec/R
job_r()
{
    HOME=$PWD under "$1" R --vanilla --slave -e 'set.seed(7); x <- rnorm(50000); y <- 3 * x + rnorm(50000); print(coef(lm(y ~ x))); m <- matrix(rnorm(40000), 200); print(sum(solve(m) %*% m))
        l <- lapply(1:3000, function(i) paste(rep(letters, length.out = i %% 200), collapse = "")); print(sum(nchar(unlist(l)))); gc(); print(head(sort(table(substr(unlist(l), 3, 5)))))' 2>&1 | grep -v cells
}
#@ gawk|gawk|arrays, sorting, expressions over 50,000 lines|gawk
job_gawk()
{
    lines 50000 >text
    under "$1" gawk '{ c[$3] += $1; gsub(/[aeiou]/, "<&>"); t += length($0); split($0, p, ""); n += p[3] == " " } END { k = asorti(c, s); print k, s[1], c[s[k]], t, n }' text
}
#@ erlang|erlang-base|2,000 processes that send each other messages, binaries, ets|/usr/lib/erlang/erts-13.1.5/bin/beam.smp
job_erlang()
{
    HOME=$PWD under "$1" erl -noinput -noshell -eval 'S = self(), [spawn(fun() -> S ! erlang:phash2(lists:duplicate(N rem 300, <<N:64>>)) end) || N <- lists:seq(1, 2000)],
        L = [receive X -> X end || _ <- lists:seq(1, 2000)], T = ets:new(t, []), [ets:insert(T, {I, integer_to_binary(I * I)}) || I <- lists:seq(1, 30000)],
        io:format("~p ~p ~p~n", [lists:sum(L), ets:info(T, size), erlang:crc32(zlib:compress(term_to_binary(lists:sort(ets:tab2list(T)))))]), halt().'
}
#@ swipl|swi-prolog-core|queens, assertions, atoms, garbage collection|swipl
job_swipl()
{
    cat >q.pl <<'PL'
q(N, Q) :- numlist(1, N, L), q(L, [], Q).
q([], Q, Q).
q(L, P, Q) :- select(X, L, R), safe(X, P, 1), q(R, [X|P], Q).
safe(_, [], _).
safe(X, [Y|T], D) :- X =\= Y + D, X =\= Y - D, D1 is D + 1, safe(X, T, D1).
:- dynamic f/2.
main :- findall(Q, q(7, Q), L), length(L, N), writeln(N), forall(between(1, 30000, I), (atom_concat(a, I, A), assertz(f(I, A)))),
  aggregate_all(count, f(_, _), C), writeln(C), retractall(f(_, _)), garbage_collect_atoms, writeln(end).
PL
    HOME=$PWD under "$1" swipl -q -g main -t halt q.pl
}
#@ ocaml|ocaml-interp|lists, maps, buffers in the byte-code interpreter|ocaml
job_ocaml()
{
    cat >x.ml <<'ML'
module M = Map.Make(String)
let () = let m = ref M.empty in for i = 0 to 60000 do let k = "k" ^ string_of_int (i mod 911) in m := M.add k (i :: try M.find k !m with Not_found -> []) !m done;
  let b = Buffer.create 1 in M.iter (fun k l -> Buffer.add_string b (k ^ string_of_int (List.fold_left (+) 0 l))) !m; Gc.compact ();
  print_endline (Digest.to_hex (Digest.string (Buffer.contents b))); let a = Bigarray.Array1.create Bigarray.int Bigarray.c_layout 100000 in Bigarray.Array1.fill a 3; print_int a.{99999}
ML
    under "$1" ocaml x.ml
}
#@ guile|guile-3.0|lists, big numbers, hash tables, strings|guile
job_guile()
{
    HOME=$PWD GUILE_AUTO_COMPILE=0 under "$1" guile -c '(let ((h (make-hash-table))) (do ((i 0 (+ i 1))) ((= i 50000)) (hash-set! h (modulo (* i 7919) 10007) (make-string (modulo i 100) #\x)))
        (display (hash-fold (lambda (k v s) (+ s k (string-length v))) 0 h)) (newline) (display (string-length (number->string (let f ((n 800)) (if (= n 0) 1 (* n (f (- n 1)))))))) (newline))'
}
#@ gnuplot|gnuplot-nox|curves and a surface to SVG|gnuplot
job_gnuplot() { under "$1" gnuplot -e 'set term svg; set samples 500; plot sin(x)/x, cos(x); splot x*x-y*y; set term dumb; plot x**3' | digest; }
#@ graphviz|graphviz|a graph of 300 nodes laid out, to SVG and text|dot
job_graphviz()
{
    awk 'BEGIN { print "digraph g {"; for (i = 0; i < 300; i++) printf "n%d -> n%d; n%d -> n%d;\n", i, i * 7 % 300, i, i * 3 % 100; print "}" }' >g.dot
    under "$1" dot -Tplain g.dot | digest && under "$1" neato -Tsvg g.dot | digest
}
#@ vim|vim-nox|a script: 5,000 lines changed, sorted, folded, written|vim
job_vim()
{
    lines 5000 >text
    HOME=$PWD under "$1" vim -u NONE -N -es -c 'set nomore' -c '%s/line/LINE/g' -c 'g/7$/normal Ax' -c 'sort' -c 'undo' -c 'redo' -c 'let d = {} | for i in range(3000) | let d[i] = repeat("x", i % 90) | endfor' -c 'w! out' -c 'qa!' text
    digest <out
}
#@ gdb|gdb|a program stopped, its frames and variables printed|gdb
job_gdb()
{
    printf 'int f(int n) { return n == 0 ? 0 : n + f(n - 1); }\nint main(void) { return f(5) == 15 ? 0 : 1; }\n' >x.c
    gcc -g -O0 x.c -o x || return 1
    HOME=$PWD under "$1" gdb -q -nx -batch -ex 'info line main' -ex 'ptype f' -ex 'info functions ^f$' -ex 'disassemble f' -ex 'list main' x 2>&1
}
#@ cmake|cmake|a project configured and listed|cmake
job_cmake()
{
    mkdir -p p
    printf 'cmake_minimum_required(VERSION 3.20)\nproject(p NONE)\nforeach(i RANGE 800)\n  string(REPEAT x ${i} s)\n  list(APPEND l "${i}${s}")\nendforeach()\nlist(SORT l)\nstring(SHA256 h "${l}")\nmessage(STATUS "${h}")\n' >p/CMakeLists.txt
    under "$1" cmake -S p -B b | grep -v 'written to'
}
#@ systemd|systemd|systemd-analyze: calendar, timespan, unit files verified|systemd-analyze
job_systemd()
{
    printf '[Unit]\nDescription=x\n[Service]\nExecStart=/bin/true\n' >x.service
    under "$1" systemd-analyze --base-time='2024-01-01 00:00:00 UTC' calendar --iterations=5 'Mon..Fri *-*-01/7 08:30 UTC' | grep -v 'From now'
    under "$1" systemd-analyze timespan '3h 7min' | head -n 4
    under "$1" systemd-analyze syscall-filter @default | digest
}
#@ stress-ng|stress-ng|its stressors malloc, heapsort, brk, mmapfork by counts, verified|stress-ng
job_stress-ng()
{
    under "$1" stress-ng --temp-path "$PWD" --no-rand-seed --verify --metrics-brief --malloc 2 --malloc-ops 20000 --malloc-bytes 32m --heapsort 1 --heapsort-ops 3 --brk 1 --brk-ops 2000 \
        --list 1 --list-ops 200 --tree 1 --tree-ops 20 -t 40 >log 2>&1
    local status=$?
    grep -a 'scrubjay: ' log >&2
    grep -aE 'fail' log | sed 's/.*fail/fail/' | head -n 3
    echo "status $status"
}

declare -F "job_${SJ_JOB:-}" >/dev/null || { echo "not ok ${SJ_JOB:-?}: no such job in matrix-jobs.sh"; exit 1; }
program=$(sed -n "s/^#@ $SJ_JOB|[^|]*|[^|]*|//p" "${BASH_SOURCE[0]}")
package=$(sed -n "s/^#@ $SJ_JOB|\([^|]*\)|.*/\1/p" "${BASH_SOURCE[0]}")
need "$program:$package"
same "$SJ_JOB" "job_$SJ_JOB"
finish
