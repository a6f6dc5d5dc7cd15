#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What: Lua 5.4 on trees, strings, tables and closures (lua.lua).
# Why this way: an interpreter whose objects are all malloc's, with a collector that frees in bursts.

# shellcheck source=bench/programs/common.sh
. "$(dirname "$0")/common.sh"

prepare()
{
    program_needs lua5.4
    cp "$programs/lua.lua" input.lua
}

program_main "$@"
