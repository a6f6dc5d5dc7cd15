# SPDX-License-Identifier: MIT
#
# What: reads ctest's output and then its LastTest.log, and prints `N passed, N failed` as the last line.
# Why this way: a test program that counts for itself ends its output with `N passed, N failed` and counts as what it
# says; any other counts as one. The verdict is taken from ctest's output (the log calls skipped tests passed), what the
# program said from the log.

FNR == 1 { file++ }

file == 1 && /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
    name = $0
    sub(/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: /, "", name)
    sub(/ .*/, "", name)
    verdict[name] = $0 ~ /\.\.\. *Passed/ ? "passed" : $0 ~ /\*\*\*Skipped/ ? "skipped" : "failed"
}

file == 2 && /^[0-9]+\/[0-9]+ Testing: / { name = $3 }
file == 2 && /^[0-9]+ passed, [0-9]+ failed$/ { said[name] = 1; said_passed[name] = $1; said_failed[name] = $3 }

END {
    for (name in verdict) {
        if (verdict[name] == "skipped") {
            skipped++
        } else if (name in said) {
            passed += said_passed[name]
            failed += said_failed[name]
            if (verdict[name] == "failed" && said_failed[name] == 0)
                failed++
        } else if (verdict[name] == "passed") {
            passed++
        } else {
            failed++
        }
    }
    if (skipped)
        printf "%d skipped\n", skipped
    printf "%d passed, %d failed\n", passed, failed
}
