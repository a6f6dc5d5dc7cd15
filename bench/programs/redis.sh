#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What: redis-server under a fixed load from redis-cli and redis-benchmark (redis-serve.sh).
# Why this way: a daemon that lives on small blocks. The commands are made beforehand, so that every run is the same.

# shellcheck source=bench/programs/common.sh
. "$(dirname "$0")/common.sh"

prepare()
{
    program_needs redis-server redis-cli redis-benchmark python3
    python3 "$programs/generate-redis.py" >commands
    cp "$programs/redis-serve.sh" serve.sh
}

program_main "$@"
