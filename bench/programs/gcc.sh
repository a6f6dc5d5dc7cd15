#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What: gcc -O2 on one large generated C file (generate-c.py).
# Why this way: the compiler proper, without the assembler, so that one process does the work.

# shellcheck source=bench/programs/common.sh
. "$(dirname "$0")/common.sh"

prepare()
{
    program_needs gcc python3
    python3 "$programs/generate-c.py" >input.c
}

program_main "$@"
