#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What: Python 3 with PYTHONMALLOC=malloc on dictionaries, text, objects and JSON (python.py).
# Why this way: without that variable Python's own pools hide the allocator; with it, every object is a malloc.

# shellcheck source=bench/programs/common.sh
. "$(dirname "$0")/common.sh"

prepare()
{
    program_needs python3
    cp "$programs/python.py" input.py
}

program_main "$@"
