# SPDX-License-Identifier: MIT
#
# What: reads the output of `ctest -V`; prints, of each test that failed, the lines that say so and the last ones; the
# names of those skipped; and `N passed, N failed` as the last line.
# Why this way: a test program that counts for itself ends its output with such a line and counts as what it says; any
# other counts as one. ctest's own log would do too, but a second ctest in the same folder overwrites it.

BEGIN { keep = 12 }

/^[0-9]+: / {
    number = $1 + 0
    line = substr($0, length($1) + 2)
    output[number, lines[number]++ % keep] = line
    if (line ~ /^(FAIL|not ok|# .*fail)/ && complaints[number] < 20)
        complaint[number, complaints[number]++] = lines[number] - 1 SUBSEP line
    if (line ~ /^[0-9]+ passed, [0-9]+ failed$/) {
        said[number] = 1
        said_passed[number] = $2
        said_failed[number] = $4
    }
}

/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
    number = $0
    sub(/^[^#]*#/, "", number)
    name = number
    sub(/^[0-9]+: /, "", name)
    sub(/ .*/, "", name)
    number += 0
    verdict = $0 ~ /\.\.\. *Passed/ ? "passed" : $0 ~ /\*\*\*Skipped/ ? "skipped" : "failed"
    if (verdict == "skipped") {
        skipped++
        printf "skipped: %s: %s\n", name, output[number, (lines[number] - 1) % keep]
        next
    }
    bad = verdict == "failed"
    if (number in said) {
        passed += said_passed[number]
        failed += said_failed[number]
        if (said_failed[number] == 0)
            failed += bad
        else
            bad = 1
    } else {
        passed += !bad
        failed += bad
    }
    if (bad) {
        print $0
        from = lines[number] > keep ? lines[number] - keep : 0
        for (i = 0; i < complaints[number]; i++) {
            split(complaint[number, i], parts, SUBSEP)
            if (parts[1] < from)
                print "    " parts[2]
        }
        if (from)
            print "    ..."
        for (i = from; i < lines[number]; i++)
            print "    " output[number, i % keep]
    }
}

END {
    if (skipped)
        printf "%d skipped\n", skipped
    printf "%d passed, %d failed\n", passed, failed
}
