# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# What: sourced by each NAME.sh here: `NAME.sh prepare DIR` makes the inputs in DIR/NAME, `NAME.sh run DIR` runs the program
# on them. A script defines prepare, which writes into the current folder, and ends with `program_main "$@"`.
# Why this way: a runner prepares once and then starts the command of workloads.list itself, with no shell in between;
# `run` looks the same command up, so that there is one place where it is written.

set -eu
export PYTHONDONTWRITEBYTECODE=1

program_path=$0
program_name=$(basename "$0" .sh)
programs=$(cd "$(dirname "$0")" && pwd)

program_fail()
{
    printf '%s: %s\n' "$program_name" "$1" >&2
    exit 2
}

program_needs()
{
    for tool in "$@"; do
        command -v "$tool" >/dev/null || program_fail "$tool is not installed; bench/packages.txt lists what is needed"
    done
}

# The inputs are made anew if a file here is newer than they are, and appear whole or not at all.
program_prepare()
{
    made=$1/$program_name
    if [ -e "$made/.made" ] && [ -z "$(find "$programs/" -newer "$made/.made" -type f)" ]; then
        return
    fi
    rm -rf "$made" "$made.new"
    mkdir -p "$made.new"
    (cd "$made.new" && prepare)
    : >"$made.new/.made"
    mv "$made.new" "$made"
}

program_run()
{
    dir=$(cd "$1" && pwd)
    bin=$(dirname "$programs")
    line=$(grep "^$program_name|" "$bin/workloads.list") || program_fail "not in workloads.list"
    command=$(printf '%s\n' "${line##*|}" | sed "s#{dir}#$dir#g; s#{bin}#$bin#g")
    # Words of that file hold no quotes and no blanks.
    # shellcheck disable=SC2086
    exec env $command
}

program_main()
{
    [ "$#" = 2 ] || program_fail "usage: $program_path prepare|run DIR"
    case $1 in
    prepare) program_prepare "$2" ;;
    run) program_run "$2" ;;
    *) program_fail "usage: $program_path prepare|run DIR" ;;
    esac
}
