#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What: git log with patches and renames over a made-up history (generate-git.py).
# Why this way: inflate, delta and diff: buffers of every size, allocated and dropped.

# shellcheck source=bench/programs/common.sh
. "$(dirname "$0")/common.sh"

prepare()
{
    program_needs git python3
    git init --quiet --bare repository
    python3 "$programs/generate-git.py" | git -C repository fast-import --quiet --done
    git -C repository -c repack.writeBitmaps=false repack -a -d -q
}

program_main "$@"
