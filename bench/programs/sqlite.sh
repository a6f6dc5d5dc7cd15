#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What: sqlite3 in memory: inserts, indexes, joins, JSON, text (sqlite.sql).
# Why this way: a library that takes its page cache, statements and values from malloc, as most of the world uses it.

# shellcheck source=bench/programs/common.sh
. "$(dirname "$0")/common.sh"

prepare()
{
    program_needs sqlite3
    cp "$programs/sqlite.sql" input.sql
}

program_main "$@"
