#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: installs into a staging folder, and uses what lies there: by pkg-config, by the CMake package, statically, by
# LD_PRELOAD, and after the tree has been moved.
# Why this way: an install that nobody tries is left to packagers to mend.

set -uo pipefail
build=${SJ_BUILD_DIR:?the build folder}
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LD_PRELOAD LD_LIBRARY_PATH SCRUBJAY_OPTIONS
passed=0
failed=0

# try TEXT COMMAND...
try()
{
    local text=$1
    shift
    if "$@" >"$work/output" 2>&1; then
        passed=$((passed + 1)) && printf 'ok   %s\n' "$text"
    else
        failed=$((failed + 1)) && printf 'FAIL %s\n' "$text"
        sed 's/^/     /' "$work/output"
    fi
}

# Prints the version and fails unless malloc itself is ours: a block of ours has a usable size that ours gives.
cat >"$work/consumer.c" <<'C'
#include <scrubjay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    struct sj_stats stats = { 0 };
    char *text = strdup("a block from libc's strdup");
    void *block = malloc(1000);
    if (text == NULL || block == NULL || sj_malloc_usable_size(block) < 1000 || sj_stats_read(&stats) != 0)
        return 1;
    free(block);
    sj_free(text);
    return printf("%s\n", sj_version()) > 0 ? 0 : 1;
}
C

# Whatever the verdict is, it is not "invalid": the launcher and what times calls were found, and the library came into force.
measures()
{
    "$root/bin/scrubjay" cost --pairs 12 --latency --least 0 --pressure 1000000 --arm a= --arm "l=$libdir/libscrubjay.so" -- ls /
    [ $? -le 2 ]
}

install_staged()
{
    DESTDIR=$work/stage cmake --install "$build" --prefix /opt/scrubjay
}
try "cmake --install respects DESTDIR and --prefix" install_staged
root=$work/stage/opt/scrubjay
libdir=$(dirname "$(find "$root" -name 'libscrubjay.so' | head -n 1)")
try "nothing lands outside the prefix" test "$(find "$work/stage" -type f -not -path "$root/*" | wc -l)" = 0
for file in "$libdir/libscrubjay.so.0" "$libdir/libscrubjay.a" "$root/include/scrubjay.h" "$libdir/pkgconfig/scrubjay.pc" \
    "$libdir/cmake/Scrubjay/ScrubjayConfig.cmake"; do
    try "installed: ${file#"$root/"}" test -e "$file"
done
# gdb looks for a file of the library's real name under a path that is the library's.
real=$(basename "$(realpath "$libdir/libscrubjay.so")")
try "installed: gdb's script" test -e "$root/share/gdb/auto-load/opt/scrubjay/${libdir#"$root/"}/$real-gdb.py"
if [ -x "$build/scrubjay" ]; then
    try "installed: bin/scrubjay" test -x "$root/bin/scrubjay"
    try "the installed command finds the installed library" "$root/bin/scrubjay" run -- true
    try "the installed command measures" measures
fi
no_build_paths() { ! grep -rlF -e "$build" -e "$source_dir" "$libdir/pkgconfig" "$libdir/cmake"; }
try "no installed text names the build or the source folder" no_build_paths

# The tree is moved before it is used: nothing in it may remember where it was.
mv "$root" "$work/moved"
libdir=$work/moved/${libdir#"$root/"}
root=$work/moved
export PKG_CONFIG_PATH=$libdir/pkgconfig

by_pkg_config()
{
    # shellcheck disable=SC2046  # words on purpose
    cc -o "$work/by-pkg-config" "$work/consumer.c" $(pkg-config --cflags --libs scrubjay) -Wl,-rpath,"$libdir" &&
        "$work/by-pkg-config" && [ "$("$work/by-pkg-config")" = "$(pkg-config --modversion scrubjay)" ]
}
by_cmake()
{
    mkdir -p "$work/project" && cp "$work/consumer.c" "$work/project" && cat >"$work/project/CMakeLists.txt" <<'CMAKE' &&
cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(Scrubjay 0.1 REQUIRED)
add_executable(shared consumer.c)
target_link_libraries(shared PRIVATE Scrubjay::scrubjay)
add_executable(archive consumer.c)
target_link_libraries(archive PRIVATE Scrubjay::scrubjay_static)
CMAKE
        cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$root" &&
        cmake --build "$work/project/build" && "$work/project/build/shared" && "$work/project/build/archive"
}
statically()
{
    cc -static -I"$root/include" -o "$work/static" "$work/consumer.c" -L"$libdir" -lscrubjay && "$work/static"
}
if command -v pkg-config >/dev/null; then try "a program builds and runs by pkg-config" by_pkg_config; fi
try "a program builds and runs by find_package(Scrubjay), shared and archive" by_cmake
try "a program links statically with libc" statically
try "ls runs with the library preloaded" env LD_PRELOAD="$libdir/libscrubjay.so" ls /

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
