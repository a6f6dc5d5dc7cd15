#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What: Ghostscript on a document of text, curves and images (generate-pdf.py).
# Why this way: an interpreter with an allocator of its own over malloc: a case in which ours should hardly matter.

# shellcheck source=bench/programs/common.sh
. "$(dirname "$0")/common.sh"

prepare()
{
    program_needs gs python3
    python3 "$programs/generate-pdf.py" >input.pdf
}

program_main "$@"
