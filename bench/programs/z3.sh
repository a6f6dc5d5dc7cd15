#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What: the solver Z3 on bit vectors and integers (generate-z3.py).
# Why this way: a C++ program with millions of small terms, hash tables and large vectors.

# shellcheck source=bench/programs/common.sh
. "$(dirname "$0")/common.sh"

prepare()
{
    program_needs z3 python3
    python3 "$programs/generate-z3.py" >input.smt2
}

program_main "$@"
