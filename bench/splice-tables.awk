# SPDX-License-Identifier: MIT
#
# What: copies a document and puts tables/NAME.md between its lines `<!-- table:NAME -->` and `<!-- /table -->`.
# Why this way: a number in a document is never typed; a name without a table keeps what it had.

/^<!-- table:[A-Za-z0-9-]+ -->$/ {
    print
    name = $2
    sub(/^table:/, "", name)
    path = tables "/" name ".md"
    inside = 0
    while ((getline line < path) > 0) {
        print line
        inside = 1
    }
    close(path)
    next
}
/^<!-- \/table -->$/ { inside = 0 }
!inside { print }
