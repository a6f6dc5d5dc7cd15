# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# What: what the scripts behind ./dev share: packages, builds, counting.
# Why this way: sourced, never run. Each function says on stderr what it does when it takes time.

sj_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
sj_release=$sj_top/build/release
sj_jobs=${SJ_JOBS:-$(nproc)}

sj_say() { printf '== %s\n' "$*" >&2; }

sj_die()
{
    printf 'dev: %s\n' "$*" >&2
    exit 1
}

# sj_value OPTION [VALUE]: dies if the value is missing.
sj_value() { [ -n "${2:-}" ] || sj_die "$1 needs a value; ./dev help shows which"; }

exec_script()
{
    local name=$1
    shift
    exec "$sj_top/scripts/dev-$name" "$@"
}

# sj_need COMMAND:PACKAGE...: installs the Debian package of each command that is missing. A first part with a slash is
# a file that must exist.
sj_need()
{
    local pair thing missing=()
    for pair in "$@"; do
        thing=${pair%%:*}
        case $thing in
        */*) compgen -G "$thing" >/dev/null || missing+=("${pair#*:}") ;;
        *) command -v "$thing" >/dev/null 2>&1 || missing+=("${pair#*:}") ;;
        esac
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    sj_install_packages "${missing[@]}"
}

# sj_need_packages PACKAGE...: installs those that dpkg does not know as installed.
sj_need_packages()
{
    local package missing=()
    command -v dpkg-query >/dev/null 2>&1 || return 0
    for package in "$@"; do
        dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    sj_install_packages "${missing[@]}"
}

# sj_need_listed FILE...: the packages listed in files, one a line, comments with #.
sj_need_listed()
{
    local packages
    mapfile -t packages < <(grep -hv '^#' "$@" | grep .)
    sj_need_packages "${packages[@]}"
}

sj_install_packages()
{
    local root=()
    command -v apt-get >/dev/null 2>&1 ||
        sj_die "these are missing, and there is no apt-get here to install them (Debian names): $*"
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null 2>&1 || sj_die "missing packages, and neither root nor sudo: apt-get install $*"
        root=(sudo)
    fi
    sj_say "installing $*"
    if ! "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >&2; then
        "${root[@]}" apt-get update >&2 || sj_die "apt-get update failed; wanted: $*"
        "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >&2 ||
            sj_die "apt-get could not install: $*"
    fi
}

sj_need_build()
{
    sj_need cmake:cmake ninja:ninja-build gcc:gcc g++:g++ ld:binutils /usr/include/stdio.h:libc6-dev \
        /usr/include/jansson.h:libjansson-dev /usr/include/elfutils/libdwfl.h:libdw-dev \
        /usr/include/curses.h:libncurses-dev /usr/include/zlib.h:zlib1g-dev \
        '/usr/include/*/sys/sdt.h:systemtap-sdt-dev'
}

sj_need_preset()
{
    sj_need_build
    case $1 in
    clang | fuzz) sj_need clang:clang '/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer*.a:libclang-rt-dev' ;;
    afl) sj_need afl-clang-fast:afl++ clang:clang ;;
    tsan) sj_need setarch:util-linux ;;
    musl) sj_need musl-gcc:musl-tools ;;
    aarch64)
        sj_need aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu aarch64-linux-gnu-g++:g++-aarch64-linux-gnu \
            qemu-aarch64:qemu-user /usr/aarch64-linux-gnu/include/stdio.h:libc6-dev-arm64-cross
        ;;
    esac
}

# sj_build PRESET [TARGET...]: configures if need be and builds. Quiet unless something is wrong.
sj_build()
{
    local preset=$1 dir=$sj_top/build/$1 log
    shift
    case $preset in
    release | debug | clang | asan-ubsan | tsan | coverage | fuzz | afl | musl | aarch64) ;;
    *) sj_die "no such preset: $preset; ./dev help lists them" ;;
    esac
    sj_need_preset "$preset"
    mkdir -p "$dir"
    log=$dir/dev-build.log
    # One build of a folder at a time, whoever starts it.
    exec 9>"$dir/.dev-lock"
    flock 9
    if [ ! -f "$dir/build.ninja" ] && ! (cd "$sj_top" && cmake --preset "$preset") >"$log" 2>&1; then
        cat "$log" >&2
        flock -u 9
        return 1
    fi
    if ! cmake --build "$dir" -j "$sj_jobs" ${1:+--target "$@"} -- -k 0 >"$log" 2>&1; then
        cat "$log" >&2
        flock -u 9
        return 1
    fi
    if grep -q 'Linking' "$log"; then sj_say "built build/$preset"; fi
    flock -u 9
}

# What every command leaves behind: the library and the command in build/release.
sj_fresh_release() { sj_build release products; }

# sj_library: the path of the fresh library.
sj_library() { printf '%s\n' "$sj_release/libscrubjay.so"; }

# ---- Counting ------------------------------------------------------------------------------------------------------
sj_passed=0
sj_failed=0
sj_skipped=0

sj_count()
{
    sj_passed=$((sj_passed + $1))
    sj_failed=$((sj_failed + $2))
}

# sj_step NAME COMMAND...: runs it, its output in build/check/NAME.log. A last line `N passed, N failed` is counted as it
# says, else the step counts as one by its exit status (77: skipped). A failed step shows the end of its log.
sj_step()
{
    local name=$1 log status=0 line started=$SECONDS passed=0 failed=0
    shift
    mkdir -p "$sj_top/build/check"
    # Written under a name of its own: another check may be running in this tree.
    log=$(mktemp "$sj_top/build/check/.$name.XXXXXX")
    "$@" >"$log" 2>&1 || status=$?
    mv "$log" "$sj_top/build/check/$name.log"
    log=$sj_top/build/check/$name.log
    line=$(tail -n 1 "$log" | grep -E '^[0-9]+ passed, [0-9]+ failed$' || true)
    if [ "$status" = 77 ]; then
        sj_skipped=$((sj_skipped + 1))
        printf 'skip  %-28s %s\n' "$name" "$(tail -n 1 "$log")"
        return 0
    elif [ -n "$line" ]; then
        passed=${line%% *}
        failed=$(printf '%s\n' "$line" | sed -E 's/.*, ([0-9]+) failed/\1/')
        if [ "$status" != 0 ] && [ "$failed" = 0 ]; then failed=1; fi
        if [ "$passed" = 0 ] && [ "$failed" = 0 ]; then failed=1; fi
    elif [ "$status" = 0 ]; then
        passed=1
    else
        failed=1
    fi
    sj_count "$passed" "$failed"
    if [ "$failed" = 0 ]; then
        printf 'ok    %-28s %5d passed            %4d s\n' "$name" "$passed" $((SECONDS - started))
    else
        printf 'FAIL  %-28s %5d passed %4d failed %4d s\n' "$name" "$passed" "$failed" $((SECONDS - started))
        tail -n "${SJ_FAIL_LINES:-60}" "$log" | sed 's/^/      | /'
    fi
}

# The suites of the quick check: all but `levels`.
# shellcheck disable=SC2034  # for those who source this
sj_quick='^(unit|model|stress|fuzz|build|contract|death)$'

# sj_ctest PRESET [LABEL-REGEX [NAME-REGEX]]: ctest in build/PRESET; the last line of its output is `N passed, N failed`, where a
# program that counts for itself counts as what it says.
sj_ctest()
{
    local dir=$sj_top/build/$1 labels=${2:-.} names=${3:-.} status=0 log
    log=$(mktemp)
    ctest --test-dir "$dir" -L "$labels" -R "$names" -j "$sj_jobs" --timeout "${SJ_TEST_TIMEOUT:-900}" -V --no-tests=error >"$log" 2>&1 ||
        status=$?
    if [ "$status" != 0 ]; then tail -n 3 "$log"; fi
    LC_ALL=C awk -f "$sj_top/scripts/count-ctest.awk" "$log"
    rm -f "$log"
    return "$status"
}

# sj_total: the last line of a check; false if anything failed or nothing ran.
sj_total()
{
    if [ "$sj_skipped" != 0 ]; then printf '%d skipped\n' "$sj_skipped"; fi
    printf '%d passed, %d failed\n' "$sj_passed" "$sj_failed"
    [ "$sj_failed" = 0 ] && [ "$sj_passed" != 0 ]
}
