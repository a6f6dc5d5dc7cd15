#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: the ways a process can come to the library: preload in any order, audit, static links, late loading, little
# address space, locked memory, closed descriptors, set-user-id; and what must hold in each.
# Why this way: each is a tiny program compiled here and run by the shell. Where the machine lacks something, the
# check is left out with a line "skip NAME: reason".
#
# Usage: tests/contract/environment.sh [PATTERN]; SJ_BUILD_DIR is the build folder (default build/release).
set -u
# shellcheck source=../support/cases.sh
. "$(dirname "$0")/../support/cases.sh"
[ -e "$library" ] || { echo "$library is missing"; exit 2; }

preloaded() { timeout 60 env LD_PRELOAD="$library" "$@"; }

cat >exercise.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *work(void *seed)
{
    unsigned char *held[64] = { 0 };
    size_t sizes[64] = { 0 };
    unsigned random = (unsigned)(size_t)seed;
    for (int i = 0; i < 20000; i++) {
        random = random * 1103515245 + 12345;
        unsigned slot = random >> 16 & 63;
        size_t size = random >> 8 & 4095;
        if (i % 500 == 0)
            size *= 100;
        for (size_t k = 0; k < sizes[slot]; k += 16)
            if (held[slot][k] != (unsigned char)slot)
                exit(3);
        free(held[slot]);
        sizes[slot] = size;
        held[slot] = i % 3 ? malloc(size) : calloc(1, size);
        if (held[slot] == NULL)
            exit(4);
        if (i % 3 == 0)
            for (size_t k = 0; k < size; k++)
                if (held[slot][k] != 0)
                    exit(5);
        memset(held[slot], (int)slot, size);
    }
    for (int i = 0; i < 64; i++)
        free(held[i]);
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t threads[3];
    (void)argv;
    for (size_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    work((void *)9);
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    if (argc > 1) {
        void *volatile block = malloc(100);
        free(block);
        free(block);
    }
    return 0;
}
C
build_exercise() { $cc -O1 -fno-builtin -w exercise.c -o "$1" -pthread "${@:2}"; }

# The program is served by us: its double free, done on purpose, ends with our report.
is_served()
{
    local said
    said=$("$@" misuse 2>&1)
    case $said in *'scrubjay: SJ-004 '*) ;; *) echo "not served by us: $said" ;; esac
}

preload() { build_exercise plain && preloaded ./plain && is_served preloaded ./plain; }
check preload preload

linked() { build_exercise linked "$library" -Wl,-rpath,"$build" && ./linked && is_served ./linked; }
check linked linked

static_archive() { build_exercise static1 "$archive" && ./static1 && is_served ./static1; }
check static_archive_in_dynamic_program static_archive

static_link() { build_exercise static2 -static "$archive" && ./static2 && is_served ./static2; }
check static_link static_link

static_pie() { build_exercise static3 -static-pie -fPIE "$archive" && ./static3 && is_served ./static3; }
check static_pie static_pie

levels()
{
    local level
    build_exercise levels1 || return
    for level in 0 1 2; do
        SCRUBJAY_OPTIONS=level=$level preloaded ./levels1 || { echo "level $level"; return 1; }
    done
}
check every_level levels

shells()
{
    # shellcheck disable=SC2016 # expanded by the inner shell
    [ "$(preloaded bash -c 'x=$(ls / | wc -l); y=$(echo a b c | tr a-c x-z); [ "$x" -gt 3 ] && echo "$y"')" = 'x y z' ]
}
check shell_with_pipes shells

programs()
{
    preloaded ls / >/dev/null && preloaded env >/dev/null && preloaded sort /etc/passwd >/dev/null &&
        preloaded sh -c 'exit 0' && preloaded grep -q root /etc/passwd
}
check common_programs programs

audit()
{
    echo 'unsigned la_version(unsigned v) { return v; }' >audit.c
    $cc -shared -fPIC audit.c -o audit.so || return
    timeout 20 env LD_AUDIT="$work/audit.so" LD_PRELOAD="$library" ls / >/dev/null || return
    timeout 20 env LD_AUDIT="$work/audit.so" LD_PRELOAD="$library" bash -c 'echo x' >/dev/null || return
    build_exercise audited && timeout 20 env LD_AUDIT="$work/audit.so" LD_PRELOAD="$library" ./audited
}
check audit_and_preload audit

order()
{
    local other=libm.so.6
    build_exercise ordered || return
    timeout 20 env LD_PRELOAD="$library $other" ./ordered || return
    timeout 20 env LD_PRELOAD="$other:$library" ./ordered || return
    timeout 20 env LD_PRELOAD="$library:$library" ./ordered || return
    timeout 20 env LD_BIND_NOW=1 LD_PRELOAD="$library" ./ordered
}
check any_order_of_preloads order

late()
{
    cat >late.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    (void)argc;
    void *before = malloc(100);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        puts(dlerror());
        return 1;
    }
    void *(*own_malloc)(size_t) = (void *(*)(size_t))dlsym(library, "sj_malloc");
    void (*own_free)(void *) = (void (*)(void *))dlsym(library, "sj_free");
    for (size_t i = 0; i < 10000; i++)
        own_free(memset(own_malloc(i), 1, i));
    dlclose(library);
    free(before);
    return 0;
}
C
    $cc -w late.c -o late -ldl && ./late "$library"
}
check late_dlopen late

deepbind()
{
    cat >deep.c <<'C'
#include <stdlib.h>
#include <string.h>
int deep_work(void)
{
    for (size_t i = 1; i < 1000; i++) {
        char *block = malloc(i);
        memset(block, 1, i);
        block = realloc(block, i * 3);
        free(block);
    }
    return 7;
}
C
    cat >deepmain.c <<'C'
#include <dlfcn.h>
#include <stdlib.h>
int main(void)
{
    void *library = dlopen("./deep.so", RTLD_NOW | RTLD_DEEPBIND);
    int (*work)(void) = (int (*)(void))dlsym(library, "deep_work");
    void *block = malloc(10);
    int result = work();
    free(block);
    dlclose(library);
    return result == 7 ? 0 : 1;
}
C
    $cc -shared -fPIC -fno-builtin deep.c -o deep.so && $cc -w deepmain.c -o deepmain -ldl && preloaded ./deepmain
}
check deepbound_library_that_keeps_to_itself deepbind

cat >threads.py <<'PY'
import sys, threading
event, started = threading.Event(), 0
try:
    while started < 200:
        threading.Thread(target=event.wait, daemon=True).start()
        started += 1
except (RuntimeError, MemoryError):
    pass
sys.stdout.write("%d\n" % started)
sys.stdout.flush()
event.set()
import os
os._exit(0)
PY

little_address_space()
{
    local plain ours
    [ -x /usr/bin/python3 ] || lacks "no /usr/bin/python3 (Debian package python3)"
    plain=$(ulimit -v 204800; timeout 60 /usr/bin/python3 threads.py 2>/dev/null)
    ours=$(ulimit -v 204800; LD_PRELOAD=$library timeout 60 /usr/bin/python3 threads.py 2>/dev/null)
    [ "${ours:-0}" -ge $((plain * 2 / 3)) ] || echo "$ours threads, glibc starts $plain"
}
check python_threads_in_200_mb little_address_space

tiny_address_space()
{
    local limit
    build_exercise tiny || return
    for limit in 60000 65536 100000 150000; do
        (ulimit -v "$limit"; LD_PRELOAD=$library timeout 60 ./tiny) || { echo "ulimit -v $limit"; return 1; }
        (ulimit -d "$limit"; LD_PRELOAD=$library timeout 60 ./tiny) || { echo "ulimit -d $limit"; return 1; }
    done
}
check program_in_little_address_space tiny_address_space

# Three quarters of the limit can be had in blocks of any size (guards and granules take the rest), and after a refusal and a free had again in another size.
sparse_under_limit()
{
    local gib
    cat >sparse.c <<'C'
#include <errno.h>
#include <stdlib.h>
static char *held[1 << 14];
static size_t fill(size_t limit, size_t each)
{
    size_t got = 0;
    for (char *block; got < limit / each + 1 && (block = calloc(1, each)) != NULL; got++) {
        held[got] = block;
        block[each / 2] = 1;
    }
    return got;
}
int main(int argc, char **argv)
{
    size_t limit = strtoull(argv[1], NULL, 10) << 30;
    (void)argc;
    for (size_t parts = 16; parts <= 4096; parts *= 4) {
        size_t got = fill(limit, limit / parts);
        if (got > parts || errno != ENOMEM)
            return 2;
        if (got < parts * 3 / 4)
            return 3;
        while (got > 0)
            free(held[--got]);
    }
    return 0;
}
C
    $cc -O1 -fno-builtin -w sparse.c -o sparse || return
    for gib in 1 4 20 64; do
        (ulimit -v $((gib << 20)); LD_PRELOAD=$library timeout 60 ./sparse $gib) || echo "ulimit -v of $gib GiB: status $?"
        (ulimit -d $((gib << 20)); LD_PRELOAD=$library timeout 60 ./sparse $gib) || echo "ulimit -d of $gib GiB: status $?"
    done
}
check sparse_memory_up_to_a_limit sparse_under_limit

out_of_memory()
{
    cat >oom.c <<'C'
#include <errno.h>
#include <stdlib.h>
#include <string.h>
static void *held[1 << 20];
int main(void)
{
    size_t count = 0, sizes[] = { 64, 3000, 100000 };
    for (int k = 2; k >= 0; k--)
        for (;;) {
            errno = 0;
            void *block = malloc(sizes[k]);
            if (block == NULL)
                break;
            memset(block, 1, 16);
            if (count == 1 << 20)
                return 2;
            held[count++] = block;
        }
    if (errno != ENOMEM)
        return 3;
    while (count > 0)
        free(held[--count]);
    void *block = malloc(1 << 20);
    return block != NULL ? 0 : 4;
}
C
    $cc -O1 -fno-builtin -w oom.c -o oom && (ulimit -v 100000; LD_PRELOAD=$library timeout 60 ./oom)
}
check out_of_memory_and_back out_of_memory

cat >locked.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(void)
{
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        return 42;
    for (size_t size = 1; size < 3000000; size = size * 3 / 2 + 1)
        for (int i = 0; i < 20; i++) {
            unsigned char *block = malloc(size);
            if (block == NULL)
                return 3;
            memset(block, 0xee, size);
            free(block);
            block = calloc(1, size);
            if (block == NULL)
                return 4;
            for (size_t k = 0; k < size; k++)
                if (block[k] != 0)
                    return 5;
            free(block);
        }
    unsigned char *block = malloc(100000);
    if (mlock(block, 100000) != 0)
        return 6;
    munlock(block, 100000);
    free(block);
    return 0;
}
C

locked_as_root()
{
    [ "$(id -u)" = 0 ] || lacks "not root"
    $cc -O1 -fno-builtin -w locked.c -o locked && preloaded ./locked
}
check mlockall_as_root locked_as_root

locked_unprivileged()
{
    local plain ours
    [ "$(id -u)" = 0 ] || lacks "not root, who sets the limit"
    command -v setpriv >/dev/null || lacks "no setpriv (Debian package util-linux)"
    $cc -O1 -fno-builtin -w locked.c -o locked2 || return
    setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$library" || lacks "nobody can't read $library"
    setpriv --reuid 65534 --regid 65534 --clear-groups timeout 60 ./locked2
    plain=$?
    setpriv --reuid 65534 --regid 65534 --clear-groups timeout 60 env LD_PRELOAD="$library" ./locked2
    ours=$?
    [ "$plain" = "$ours" ] || echo "status $ours, under glibc $plain, limit $(ulimit -l) KiB (42: mlockall refused, 3: no memory)"
}
check mlockall_unprivileged locked_unprivileged

closed_descriptors()
{
    build_exercise closed || return
    LD_PRELOAD=$library timeout 20 ./closed >&- 2>&- <&-
}
check closed_standard_streams closed_descriptors

empty_environment() { build_exercise bare && env -i LD_PRELOAD="$library" ./bare; }
check empty_environment empty_environment

bad_options()
{
    local said
    build_exercise options || return
    said=$(SCRUBJAY_OPTIONS='level=77,nonsense=1,,level=1:seed=x' preloaded ./options 2>&1) || return
    case $said in *'scrubjay: warning: '*) ;; *) echo "no warning: $said" ;; esac
    said=$(SCRUBJAY_OPTIONS=',,::,level=1,' preloaded ./options 2>&1)
    [ -z "$said" ] || echo "a warning about empty items: $said"
}
check bad_options_warn bad_options

banner()
{
    local lines
    build_exercise banner || return
    lines=$(SCRUBJAY_OPTIONS=verbose=1 preloaded ./banner 2>&1 | grep -c '^scrubjay')
    [ "$lines" = 1 ] || echo "$lines lines"
}
check verbose_prints_one_line banner

disabled()
{
    build_exercise disabled || return
    SCRUBJAY_DISABLE=1 preloaded ./disabled || return
    SCRUBJAY_DISABLE=1 preloaded ls / >/dev/null || return
    SCRUBJAY_DISABLE=1 preloaded ./disabled misuse 2>&1 | grep "^scrubjay"
    return 0
}
check disable_steps_aside disabled

statistics()
{
    [ -x /usr/bin/python3 ] || lacks "no python3"
    SCRUBJAY_OPTIONS=stats=json preloaded /usr/bin/python3 -S -c pass 2>said || return
    /usr/bin/python3 -c 'import json; s = json.load(open("said")); assert s["calls"]["allocated"] > 0 < s["process"]["pid"], s
for topic in "kept_blocks", "held", "gaps_of_blocks", "gap_bytes_of_runs", "other_release_ms": s[topic]'
}
check statistics_are_json statistics

setuid()
{
    local said
    [ "$(id -u)" = 0 ] || lacks "not root"
    command -v setpriv >/dev/null || lacks "no setpriv (Debian package util-linux)"
    case $(findmnt -no OPTIONS -T "$work" 2>/dev/null) in *nosuid*) lacks "the temporary folder is mounted nosuid" ;; esac
    build_exercise setuid "$archive" && chmod 4755 setuid || return
    # The environment must not be read: no banner, no summary, and the misuse is still found.
    said=$(SCRUBJAY_OPTIONS=verbose=1,level=0,stats=1 SCRUBJAY_DISABLE=1 \
        setpriv --reuid 65534 --regid 65534 --clear-groups ./setuid 2>&1) || { echo "status $?: $said"; return 1; }
    [ -z "$said" ] || { echo "it said: $said"; return 1; }
    SCRUBJAY_DISABLE=1 is_served setpriv --reuid 65534 --regid 65534 --clear-groups ./setuid
}
check set_user_id_reads_no_environment setuid

late_setenv()
{
    # An environment without a terminating library: unset at the first call.
    cat >noenv.c <<'C'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    (void)argv;
    if (argc == 1) {
        char *arguments[] = { "noenv", "again", NULL };
        char *nothing[] = { NULL };
        environ = NULL;
        free(malloc(10));
        clearenv();
        setenv("A", "B", 1);
        execve("/proc/self/exe", arguments, nothing);
        return 1;
    }
    free(memset(malloc(100), 1, 100));
    return 0;
}
C
    $cc -D_GNU_SOURCE -w noenv.c -o noenv "$archive" -pthread && ./noenv
}
check no_environment_at_all late_setenv

musl()
{
    command -v musl-gcc >/dev/null || lacks "no musl-gcc (Debian package musl-tools)"
    local musl_archive=$top/build/musl/libscrubjay.a
    [ -e "$musl_archive" ] || lacks "$musl_archive is not built (./dev build musl)"
    musl-gcc -O1 -fno-builtin -w exercise.c -static -o musl_static "$musl_archive" -pthread && ./musl_static && is_served ./musl_static
}
check musl_static musl

cxx()
{
    command -v "${CXX:-c++}" >/dev/null || lacks "no C++ compiler (Debian package g++)"
    cat >cxx.cc <<'C'
#include <cstdint>
#include <iostream>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>
struct alignas(256) Wide { char bytes[300]; };
int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([i] {
            std::map<std::string, std::vector<int>> map;
            for (int k = 0; k < 5000; k++)
                map["key" + std::to_string(k * i % 700)].push_back(k);
        });
    for (auto &thread : threads)
        thread.join();
    Wide *wide = new Wide[3];
    if (reinterpret_cast<std::uintptr_t>(wide) % 256 != 0)
        return 1;
    delete[] wide;
    volatile std::size_t huge = static_cast<std::size_t>(-1) / 4;
    try {
        char *never = new char[huge];
        (void)never;
        return 2;
    } catch (const std::bad_alloc &) {
    }
    if (new (std::nothrow) char[huge] != nullptr)
        return 3;
    static int handled = 0;
    std::set_new_handler([] { if (++handled == 3) throw std::bad_alloc(); });
    try {
        void *never = ::operator new(huge);
        (void)never;
        return 4;
    } catch (const std::bad_alloc &) {
    }
    return handled == 3 ? 0 : 5;
}
C
    "${CXX:-c++}" -std=c++17 -O1 -w cxx.cc -o cxx1 -pthread && preloaded ./cxx1 &&
        "${CXX:-c++}" -std=c++17 -O1 -w cxx.cc -o cxx2 "$archive" -pthread && ./cxx2 &&
        "${CXX:-c++}" -std=c++17 -O1 -w -static-libstdc++ -static-libgcc cxx.cc -o cxx3 -pthread && preloaded ./cxx3 &&
        "${CXX:-c++}" -std=c++17 -O1 -w -static cxx.cc -o cxx4 "$archive" -pthread && ./cxx4
}
check cxx_programs cxx

fortified()
{
    cat >fortified.c <<'C'
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
    for (size_t size = 1; size < 5000; size++) {
        char *block = malloc(size);
        size_t usable = malloc_usable_size(block);
        memset(block, 1, usable);
        memcpy(block, block + usable / 2, usable / 2);
        snprintf(block, size, "%zu", size);
        free(block);
    }
    return 0;
}
C
    $cc -O2 -D_FORTIFY_SOURCE=2 -w fortified.c -o fortified && preloaded ./fortified
}
check fortified_program fortified

cat >watched.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    char *block = malloc(100), *copy = strdup(argv[0]);
    for (size_t i = 0; i < 1000; i++)
        free(realloc(malloc(i), i * 2));
    block[argc > 1 ? 100 : 0] = 1;
    if (argc > 1 && argv[1][0] == 'c')
        memcpy(block, memset(malloc(200), 1, 200), 101);
    puts("worked");
    free(copy);
    free(block);
    return 0;
}
C

# The tool sees the heap as without us: a good program runs, and what it is there for is found.
left_to()
{
    local tool=$1 found=$2 said
    shift 2
    said=$(LD_PRELOAD=$library timeout 60 "$@" 2>&1) || echo "status $?: $said"
    says "$said" "worked"
    says "$said" "scrubjay: warning: not on in this process: malloc is left to $tool"
    [ -n "$found" ] || return 0
    for how in write copy; do
        said=$(LD_PRELOAD=$library timeout 60 "$@" $how 2>&1)
        says "$said" "$found"
        says "$said" "watched.c"
    done
}

sanitizers()
{
    $cc -g -w -fsanitize=address watched.c -o watched-asan 2>/dev/null || lacks "no AddressSanitizer with this compiler"
    if ldd watched-asan | grep -q libasan; then # else the runtime's malloc is the program's own, and comes first anyway
        ASAN_OPTIONS=detect_leaks=0 left_to AddressSanitizer heap-buffer-overflow ./watched-asan
        says "$("$build/scrubjay" verify --run -- ./watched-asan 2>&1)" "it stepped aside"
    fi
    if $cc -g -w -fsanitize=thread watched.c -o watched-tsan 2>/dev/null && ldd watched-tsan | grep -q libtsan; then
        left_to ThreadSanitizer "" setarch -R ./watched-tsan
    fi
}
check leaves_malloc_to_sanitizers sanitizers

memcheck()
{
    command -v valgrind >/dev/null || lacks "no valgrind"
    $cc -g -w watched.c -o watched
    case $(LD_PRELOAD=$library timeout 60 valgrind --tool=none ./watched 2>&1) in
    *"debuginfo reader"*) lacks "this valgrind can't read what the library's compiler wrote for debuggers" ;;
    esac
    left_to valgrind "Invalid write" valgrind ./watched
    # callgrind leaves malloc to the program, so it is ours
    says_not "$(LD_PRELOAD=$library timeout 60 valgrind --tool=none ./watched 2>&1)" "not on"
    says_not "$(LD_PRELOAD=$library:/no/vgpreload_memcheck.so ./watched 2>&1)" "not on"
}
check leaves_malloc_to_valgrind memcheck

finish
