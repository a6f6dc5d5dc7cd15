#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: other allocators in the same process. SCRUBJAY_DISABLE=1 passes every call on to the next one in search order; one
# that comes before us is noticed; `scrubjay verify` says so in both cases.
# Why this way: who serves a call is asked of the allocators themselves: libc's mallinfo2 and jemalloc's mallctl count,
# and a block of ours lies where no other's does.
# shellcheck source=../support/cases.sh
. "$(dirname "$0")/../support/cases.sh"
exercise=$support/programs/exercise.c
command=$build/scrubjay
jemalloc=$(ldconfig -p 2>/dev/null | awk '/libjemalloc\.so\.2/ { print $NF; exit }')

preload() { timeout 120 env LD_PRELOAD="$1" "${@:2}"; }
disabled() { SCRUBJAY_DISABLE=1 preload "$library" "$@"; }
needs_jemalloc() { [ -n "$jemalloc" ] || lacks "no libjemalloc.so.2 (Debian package libjemalloc2)"; }
needs() { [ -x "$1" ] || lacks "no $1"; }
needs_command() { [ -x "$command" ] || lacks "no scrubjay command in the build folder"; }

# ---- SCRUBJAY_DISABLE ----------------------------------------------------------------------------------------------

python() { needs /usr/bin/python3 && [ "$(disabled /usr/bin/python3 -c 'print(len([str(i) for i in range(99999)]))')" = 99999 ]; }
check disabled_python_runs python

sqlite()
{
    needs /usr/bin/sqlite3
    [ "$(disabled /usr/bin/sqlite3 :memory: "create table t(a); insert into t values('x'),('y'); select count(*) from t")" = 2 ]
}
check disabled_sqlite3_runs sqlite

# libc finds the double free, in its own words, and nothing of ours speaks.
exercised()
{
    local said
    $cc -O1 -fno-builtin -pthread "$exercise" -o exercised || return
    disabled ./exercised || echo "status $?"
    said=$(disabled ./exercised misuse 2>&1)
    says "$said" 'double free'
    says_not "$said" scrubjay
}
check disabled_program_with_threads_and_forks exercised

# Everything the family has, by whoever serves it; then whether libc has counted what was asked for.
cat >family.c <<'C'
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { BYTES = 100000 };
static int fault(const char *what)
{
    printf("%s\n", what);
    return 1;
}
int main(void)
{
    void *(*second)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "__libc_malloc");
    void (*sized)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "free_sized");
    void (*wide)(void *, size_t, size_t) = (void (*)(void *, size_t, size_t))dlsym(RTLD_DEFAULT, "free_aligned_sized");
    void *(*own)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "sj_malloc");
    int (*stats)(void *) = (int (*)(void *))dlsym(RTLD_DEFAULT, "sj_stats_read");
    size_t (*policy)(char *, size_t) = (size_t (*)(char *, size_t))dlsym(RTLD_DEFAULT, "sj_policy_text");
    char text[8] = "left", *large = NULL;
    void *aligned = NULL;
    if (second == NULL || sized == NULL || wide == NULL || own == NULL || stats == NULL || policy == NULL)
        return fault("a name is missing");
    if (stats(text) != -1 || errno != ENOTSUP)
        return fault("statistics of what is not on");
    if (policy(text, sizeof text) != 0 || text[0] != '\0')
        return fault("options of what is not on");
    for (int i = 0; i < 100; i++) {
        struct mallinfo2 before = mallinfo2();
        void *blocks[] = { malloc(BYTES), calloc(10, BYTES / 10), realloc(NULL, BYTES), second(BYTES), own(BYTES),
                           aligned_alloc(4096, BYTES), memalign(64, BYTES), valloc(BYTES), reallocarray(NULL, 10, BYTES / 10) };
        size_t count = sizeof blocks / sizeof *blocks;
        struct mallinfo2 during = mallinfo2();
        if (during.uordblks + during.hblkhd < before.uordblks + before.hblkhd + count * BYTES)
            return fault("libc has not served all");
        if ((uintptr_t)blocks[5] % 4096 != 0 || (uintptr_t)blocks[6] % 64 != 0 || (uintptr_t)blocks[7] % 4096 != 0)
            return fault("alignment");
        for (size_t k = 0; k < count; k++) {
            if (malloc_usable_size(memset(blocks[k], 1, BYTES)) < BYTES)
                return fault("usable size");
            blocks[k] = realloc(blocks[k], 2 * BYTES);
        }
        sized(blocks[0], 2 * BYTES);
        wide(blocks[1], 16, 2 * BYTES);
        for (size_t k = 2; k < count; k++)
            free(blocks[k]);
    }
    if (posix_memalign(&aligned, 256, 1000) != 0 || (uintptr_t)aligned % 256 != 0 || posix_memalign(&aligned, 3, 1) != EINVAL)
        return fault("posix_memalign");
    free(aligned);
    if (aligned_alloc(SIZE_MAX / 2 + 1, 1) != NULL || calloc(SIZE_MAX, 2) != NULL || malloc(PTRDIFF_MAX) != NULL)
        return fault("memory that nobody has");
    errno = 0;
    free(malloc(BYTES));
    large = malloc(BYTES * 100);
    memset(large, 1, BYTES * 100);
    free(large);
    malloc_trim(0);
    if (mallopt(M_MMAP_THRESHOLD, 1 << 20) != 1 || errno != 0)
        return fault("mallopt");
    malloc_info(0, stdout);
    malloc_stats();
    return 0;
}
C
build_family() { $cc -O1 -fno-builtin -w -D_GNU_SOURCE family.c -o family -ldl; }

family()
{
    local said
    build_family || return
    said=$(disabled ./family 2>&1) || { echo "status $?: $said"; return; }
    says "$said" '<malloc version='
    says "$said" 'Arena 0:' # as libc's malloc_stats has it
    says_not "$said" scrubjay
}
check disabled_family_is_libcs family

stats()
{
    build_family || return
    says_not "$(SCRUBJAY_OPTIONS=stats=1 disabled ./family 2>&1)" scrubjay
}
check disabled_prints_no_summary stats

banner()
{
    local said
    said=$(SCRUBJAY_OPTIONS=verbose=1 disabled /bin/true 2>&1)
    says "$said" 'scrubjay: disabled version='
    says_not "$said" options=
}
check disabled_banner_claims_nothing banner

# A look-up that allocates: a library between us and libc that brings a dlsym which does. What it got before there was
# an allocator is whole afterwards, can be resized and freed.
cat >lookup.c <<'C'
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *early[6], *grown;
static int looked_up;
static void die(const char *what)
{
    write(2, what, strlen(what));
    _exit(9);
}
void *dlsym(void *restrict handle, const char *restrict name)
{
    static void *(*real)(void *, const char *);
    if (real == NULL)
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (real == NULL)
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (real == NULL)
        _exit(8);
    if (looked_up++ == 0) {
        early[0] = malloc(100);
        early[1] = calloc(10, 10);
        early[2] = memalign(256, 100);
        early[3] = realloc(malloc(10), 100);
        early[4] = strcpy(malloc(100), "kept");
        early[5] = malloc(0);
        free(malloc(50));
        if (malloc(1 << 20) != NULL || calloc(SIZE_MAX, 2) != NULL)
            die("the arena has grown");
        for (int i = 0; i < 100; i++)
            if (early[1][i] != 0)
                die("calloc");
        if ((uintptr_t)early[2] % 256 != 0 || malloc_usable_size(early[0]) < 100)
            die("alignment or size");
    }
    return real(handle, name);
}
__attribute__((destructor)) static void look(void)
{
    if (looked_up == 0)
        die("nothing was looked up");
    if (malloc_usable_size(early[4]) < 100 || strcmp(early[4], "kept") != 0)
        die("not kept");
    grown = realloc(early[4], 100000);
    if (strcmp(grown, "kept") != 0 || malloc_usable_size(grown) < 100000)
        die("not grown");
    free(grown);
    for (int i = 0; i < 6; i++)
        free(early[i]);
    write(1, "looked\n", 7);
}
C
bootstrap()
{
    $cc -shared -fPIC -fno-builtin -w -D_GNU_SOURCE lookup.c -o lookup.so -ldl || return
    [ "$(SCRUBJAY_DISABLE=1 preload "$library:$work/lookup.so" /bin/true 2>&1)" = looked ]
}
check blocks_from_before_there_was_an_allocator bootstrap

# Loaded late by dlopen, with nothing before it: its own functions pass calls on as well.
late()
{
    cat >late.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void *(*own_malloc)(size_t) = library != NULL ? (void *(*)(size_t))dlsym(library, "sj_malloc") : NULL;
    if (own_malloc == NULL)
        return argc;
    free(memset(own_malloc(1000), 1, 1000)); /* libc's, if that is who served */
    dlclose(library);
    return 0;
}
C
    $cc -w -fno-builtin late.c -o late -ldl && SCRUBJAY_DISABLE=1 timeout 20 ./late "$library"
}
check disabled_late_dlopen late

cxx()
{
    command -v "${CXX:-c++}" >/dev/null || lacks "no C++ compiler (Debian package g++)"
    cat >cxx.cc <<'C'
#include <map>
#include <memory>
#include <new>
#include <string>
struct alignas(128) Wide { char bytes[200]; };
int main()
{
    std::map<std::string, std::unique_ptr<Wide>> map;
    for (int i = 0; i < 1000; i++)
        map[std::to_string(i)] = std::make_unique<Wide>();
    volatile std::size_t huge = static_cast<std::size_t>(-1) / 4;
    try {
        ::operator delete(::operator new(huge));
        return 1;
    } catch (const std::bad_alloc &) {
    }
    return new (std::nothrow) char[huge] == nullptr ? 0 : 2;
}
C
    "${CXX:-c++}" -std=c++17 -O1 -w cxx.cc -o cxx && disabled ./cxx
}
check disabled_cxx_program cxx

verify_disabled()
{
    needs_command
    local said
    said=$(SCRUBJAY_DISABLE=1 "$command" verify --run -- /bin/true)
    [ $? = 1 ] || echo "wrong status"
    says "$said" 'not on: SCRUBJAY_DISABLE switched it off'
    says_not "$said" options
}
check verify_says_disabled verify_disabled

# An allocator that lacks memalign: what is aligned comes from its aligned_alloc then, and not from libc.
partial()
{
    cat >partial.c <<'C'
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char pool[1 << 22];
static size_t used;
void *aligned_alloc(size_t alignment, size_t size)
{
    size_t start = ((uintptr_t)pool + used + 16 + alignment - 1) / alignment * alignment - (uintptr_t)pool;
    used = (start + size + 15) / 16 * 16;
    return used > sizeof pool ? NULL : memcpy(pool + start - sizeof size, &size, sizeof size) + sizeof size;
}
void *malloc(size_t size) { return aligned_alloc(16, size); }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *block, size_t size)
{
    size_t old = 0;
    void *moved = malloc(size);
    if (block != NULL)
        memcpy(&old, (char *)block - sizeof old, sizeof old);
    return block != NULL && moved != NULL ? memcpy(moved, block, old < size ? old : size) : moved;
}
void free(void *block)
{
    if (block != NULL && (uintptr_t)block - (uintptr_t)pool >= sizeof pool)
        _exit(9);
}
C
    cat >aligned.c <<'C'
#include <malloc.h>
#include <stdlib.h>
int main(void)
{
    free(aligned_alloc(64, 100));
    free(memalign(64, 100));
    free(realloc(malloc(10), 1000));
    return 0;
}
C
    $cc -shared -fPIC -O1 -fno-builtin -w partial.c -o partial.so && $cc -O1 -fno-builtin -w aligned.c -o aligned &&
        SCRUBJAY_DISABLE=1 preload "$library:$work/partial.so" ./aligned
}
check disabled_next_one_that_lacks_names partial

# ---- jemalloc behind and before us ----------------------------------------------------------------------------------

# Prints "jemalloc" if it serves malloc, else "another".
cat >who.c <<'C'
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
    int (*control)(const char *, void *, size_t *, void *, size_t) = dlsym(RTLD_DEFAULT, "mallctl");
    uint64_t before = 0, after = 0;
    size_t bytes = sizeof before;
    if (control == NULL || control("thread.allocated", &before, &bytes, NULL, 0) != 0)
        return 1;
    void *block = realloc(malloc(70000), 900000);
    control("thread.allocated", &after, &bytes, NULL, 0);
    free(memset(block, 1, 900000));
    puts(after - before >= 970000 ? "jemalloc" : "another");
    return 0;
}
C
who() { $cc -w -fno-builtin who.c -o who -ldl && preload "$1" ./who; }

behind()
{
    needs_jemalloc
    [ "$(SCRUBJAY_DISABLE=1 who "$library:$jemalloc")" = jemalloc ] || echo "jemalloc does not serve when we are switched off"
    [ "$(who "$library:$jemalloc")" = another ] || echo "jemalloc serves though it comes second"
    $cc -O1 -fno-builtin -pthread "$exercise" -o behind && SCRUBJAY_DISABLE=1 preload "$library:$jemalloc" ./behind
    [ ! -x /usr/bin/python3 ] || [ "$(SCRUBJAY_DISABLE=1 preload "$library:$jemalloc" /usr/bin/python3 -c 'print(7)')" = 7 ]
}
check disabled_next_one_serves behind

before()
{
    needs_jemalloc
    [ "$(who "$jemalloc:$library")" = jemalloc ] || echo "jemalloc comes first and does not serve"
    $cc -O1 -fno-builtin -pthread "$exercise" -o before && preload "$jemalloc:$library" ./before || return
    says "$(SCRUBJAY_OPTIONS=verbose=1 preload "$jemalloc:$library" /bin/true 2>&1)" 'scrubjay: shadowed version='
}
check another_one_before_us_serves before

verify_shadowed()
{
    needs_jemalloc
    needs_command
    local said
    said=$(LD_PRELOAD="$jemalloc:$library" "$command" verify /bin/true)
    [ $? = 1 ] || echo "wrong status"
    says "$said" "not on: another malloc comes before the library's"
    says "$said" "libjemalloc"
    says_not "$said" options
    says "$(LD_PRELOAD="$library:$jemalloc" "$command" verify /bin/true)" 'on: Scrubjay '
}
check verify_says_shadowed verify_shadowed

# A program at a fixed address that takes malloc's has a stub for it, and that is its address for all: ours serves.
stub()
{
    needs_command
    cat >stub.c <<'C'
#include <stdlib.h>
void *(*volatile taken)(size_t);
int main(void)
{
    taken = malloc;
    free(taken(100));
    return 0;
}
C
    $cc -O1 -fno-builtin -no-pie -fno-pic stub.c -o stub 2>stub.err || lacks "no programs at fixed addresses"
    preload "$library" ./stub || echo "status $?"
    says "$("$command" verify --run -- ./stub)" 'on: Scrubjay '
}
check program_with_a_stub_for_malloc stub

# A program with a malloc of its own.
own()
{
    needs_command
    cat >own.c <<'C'
#include <stddef.h>
#include <string.h>
static char pool[1 << 22];
static size_t used;
void *malloc(size_t size)
{
    size_t start = used;
    used += (size + 31) / 16 * 16;
    if (used > sizeof pool)
        return NULL;
    memcpy(pool + start, &size, sizeof size);
    return pool + start + 16;
}
void free(void *block) { (void)block; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *block, size_t size)
{
    size_t old = 0;
    void *moved = malloc(size);
    if (block != NULL)
        memcpy(&old, (char *)block - 16, sizeof old);
    return block != NULL && moved != NULL ? memcpy(moved, block, old < size ? old : size) : moved;
}
int main(void) { return malloc(100) == NULL; }
C
    $cc -O1 -fno-builtin -w own.c -o own -rdynamic || return
    preload "$library" ./own || echo "status $?"
    says "$(SCRUBJAY_OPTIONS=verbose=1 preload "$library" ./own 2>&1)" 'scrubjay: shadowed version='
    says "$("$command" verify --run -- ./own)" 'not on: '
}
check program_with_a_malloc_of_its_own own

finish
