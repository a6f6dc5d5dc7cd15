#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What: g++ -O1 on one C++ file full of templates (generate-cxx.py).
# Why this way: the front end keeps everything it has ever read: a heap that only grows.

# shellcheck source=bench/programs/common.sh
. "$(dirname "$0")/common.sh"

prepare()
{
    program_needs g++ python3
    python3 "$programs/generate-cxx.py" >input.cpp
}

program_main "$@"
