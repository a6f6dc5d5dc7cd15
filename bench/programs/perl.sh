#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What: Perl on hashes, regular expressions and strings (perl.pl).
# Why this way: reference counting: blocks of all sizes die one by one.

# shellcheck source=bench/programs/common.sh
. "$(dirname "$0")/common.sh"

prepare()
{
    program_needs perl
    cp "$programs/perl.pl" input.pl
}

program_main "$@"
