# shellcheck shell=bash disable=SC2317
# SPDX-License-Identifier: MIT
#
# What: python's own tests of json, re and pickle, its objects on malloc.
# Why this way: at the default level in the short run, at all levels in the long one: pickle alone takes many seconds.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need /usr/bin/python3:python3
/usr/bin/python3 -c 'import test.test_pickle, test.test_json' 2>/dev/null ||
    skip "python's tests are missing (Debian package libpython3.11-testsuite)"
[ "$SJ_LONG" = 1 ] || SJ_LEVELS=2

python_tests()
{
    PYTHONMALLOC=malloc under "$1" /usr/bin/python3 -m test test_json test_re test_pickle >tests.log 2>&1
    local status=$?
    [ "$status" = 0 ] || cat tests.log >&2
    grep -E 'tests? OK|SUCCESS' tests.log
    return "$status"
}

same python_tests python_tests
finish
