# shellcheck shell=bash disable=SC2317
# SPDX-License-Identifier: MIT
#
# What: python's own tests of json, re and pickle, its objects on malloc.
# Why this way: they are large, and expect things of the allocator that our own tests may not think of.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need /usr/bin/python3:python3
/usr/bin/python3 -c 'import test.test_pickle, test.test_json' 2>/dev/null ||
    skip "python's tests are missing (Debian package libpython3.11-testsuite)"

# The expectation is that they pass, so no plain run is needed.
for level in $SJ_LEVELS; do
    mkdir "$SJ_WORK/$level"
    cd "$SJ_WORK/$level" || exit 2
    PYTHONMALLOC=malloc under "$level" /usr/bin/python3 -m test test_json test_re test_pickle >tests.log 2>&1
    status=$?
    if grep -q 'scrubjay: ' tests.log; then
        not_ok "python_tests@$level" "$(grep -m 1 'scrubjay: ' tests.log)"
    elif [ "$status" != 0 ]; then
        tail -n 10 tests.log | sed 's/^/# /'
        not_ok "python_tests@$level" "status $status"
    else
        ok "python_tests@$level"
    fi
done
finish
