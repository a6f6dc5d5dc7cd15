# shellcheck shell=bash disable=SC2317
# SPDX-License-Identifier: MIT
#
# What: a full build of our own tree (cmake, ninja, compiler, linker) under our own library; the products are the same.
# Why this way: build-ids are made from the content, so equal files mean equal code.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need cmake:cmake ninja:ninja-build gcc:gcc g++:g++ git:git
sj_seconds=600

# A copy of the files under version control, taken once: somebody may be editing them.
mkdir "$SJ_WORK/source"
git -C "$sj_top" ls-files -z | (cd "$sj_top" && xargs -0 tar -cf - --ignore-failed-read 2>/dev/null) |
    tar -xf - -C "$SJ_WORK/source"

# The build folder has one name for all runs, as its path may end up in the products.
rebuild()
{
    local level=$1
    rm -rf "$SJ_WORK/tree"
    cp -r "$SJ_WORK/source" "$SJ_WORK/tree"
    under "$level" cmake -S "$SJ_WORK/tree" -B "$SJ_WORK/tree/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DSCRUBJAY_TESTS=OFF -DSCRUBJAY_BENCH=OFF >cmake.log 2>&1 || { tail -n 20 cmake.log >&2; return 1; }
    under "$level" cmake --build "$SJ_WORK/tree/build" -j 2 >build.log 2>&1 || { tail -n 20 build.log >&2; return 2; }
    (cd "$SJ_WORK/tree/build" && sha256sum libscrubjay.so libscrubjay.a)
}

same rebuild rebuild
finish
