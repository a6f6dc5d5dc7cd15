# shellcheck shell=bash disable=SC2317
# SPDX-License-Identifier: MIT
#
# What: git clones our own repository over its own protocol, repacks it, checks it, and walks its history.
# Why this way: many processes and threads, and objects whose hashes tell at once if a byte is wrong.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need git:git
git -C "$sj_top" rev-parse HEAD >/dev/null 2>&1 || skip "$sj_top is not a git repository"
revision=$(git -C "$sj_top" rev-parse HEAD)
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null

git_job()
{
    local level=$1
    under "$level" git clone -q --no-local "file://$sj_top" copy || return
    under "$level" git -C copy checkout -q "$revision" || return
    under "$level" git -C copy -c pack.threads=2 gc -q --aggressive --prune=now || return
    under "$level" git -C copy fsck --full --strict 2>/dev/null || return
    under "$level" git -C copy log --stat --format='%H %s' "$revision" | digest
    under "$level" git -C copy log -p -M -C --format='%H %an' "$revision" | digest
    under "$level" git -C copy blame -s "$revision" -- tests/programs/../unit/unit.h 2>/dev/null | digest
    under "$level" git -C copy grep -c -e 'static' "$revision" -- '*.c' | digest
    under "$level" git -C copy archive "$revision" | digest
}

same git git_job
finish
