#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What: git packs all objects of the history of git.sh anew.
# Why this way: the memory of a server: windows of deltas, large buffers, one big table.

# shellcheck source=bench/programs/common.sh
. "$(dirname "$0")/common.sh"

prepare()
{
    program_needs git python3
    git init --quiet --bare repository
    python3 "$programs/generate-git.py" | git -C repository fast-import --quiet --done
    git -C repository -c repack.writeBitmaps=false repack -a -d -q
    git -C repository config pack.threads 1
}

program_main "$@"
