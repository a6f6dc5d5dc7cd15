# SPDX-License-Identifier: MIT
#
# What: turns the CSV of workloads/curves.sh into a table in Markdown (TABLE) and a picture (SVG).
# Why this way: one reader for both, so that they cannot disagree. A point is the median over the repeats; the axes are
# logarithmic, on which a cost that grows with its cause is a straight line and a bend is one.
#
# Usage: awk -v table=FILE -v svg=FILE -f curves.awk CSV

BEGIN {
    FS = ","
    split("live threads size", sweeps, " ")
    title["live"] = "live heap, MiB"; title["threads"] = "threads"; title["size"] = "bytes a block"
    split("#888888 #d08000 #2060c0 #c02040 #208040", colors, " ")
}
NR == 1 || NF < 14 { next } # a run that did not end has no values
{
    x = $1 == "live" ? $2 : $1 == "threads" ? $3 : $4
    if (!(($1, x) in known)) { known[$1, x] = 1; points[$1, ++point_count[$1]] = x }
    if (!($6 in arm_known)) { arm_known[$6] = 1; arms[++arm_count] = $6 }
    n = ++count[$1, x, $6]
    ns[$1, x, $6, n] = $9
    held[$1, x, $6, n] = $13
    fill[$1, x, $6, n] = $7
}

function median(values, key, n,    i, j, sorted, swap)
{
    for (i = 1; i <= n; i++) sorted[i] = values[key, i] + 0
    for (i = 1; i <= n; i++)
        for (j = i + 1; j <= n; j++)
            if (sorted[j] < sorted[i]) { swap = sorted[i]; sorted[i] = sorted[j]; sorted[j] = swap }
    return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
}

function write_table(    s, p, a, line, key)
{
    for (s = 1; s <= 3; s++) {
        line = "| " title[sweeps[s]] " |"
        for (a = 1; a <= arm_count; a++) line = line " " arms[a] " |"
        print line >table
        gsub(/[^|]+/, "---", line)
        print line >table
        for (p = 1; p <= point_count[sweeps[s]]; p++) {
            line = "| " points[sweeps[s], p] " |"
            for (a = 1; a <= arm_count; a++) {
                key = sweeps[s] SUBSEP points[sweeps[s], p] SUBSEP arms[a]
                line = line (count[key] ? sprintf(" %.0f / %.0f / %.2f |", median(fill, key, count[key]),
                    median(ns, key, count[key]), median(held, key, count[key])) : " - |")
            }
            print line >table
        }
        print "" >table
    }
    key = "threads" SUBSEP 1 SUBSEP arms[1]
    print "Repeats a point: " count[key] "." >table
}

# The place of a value on a logarithmic axis of `length_px`.
function place(value, low, high, length_px)
{
    value = value < low ? low : value > high ? high : value
    return length_px * log(value / low) / log(high / low)
}

# One panel: the sweep `s` with the metric of `values` from `low` to `high`, at column s and row `row`.
function panel(s, row, values, low, high, label,    p, a, key, x, y, from, to, line, left, top, tick)
{
    left = 60 + (s - 1) * 260; top = 30 + row * 210
    from = points[sweeps[s], 1]; to = points[sweeps[s], point_count[sweeps[s]]]
    printf "<rect x=\"%d\" y=\"%d\" width=\"220\" height=\"160\" fill=\"none\" stroke=\"#ccc\"/>\n", left, top >svg
    printf "<text x=\"%d\" y=\"%d\">%s</text>\n", left, top - 6, label >svg
    printf "<text x=\"%d\" y=\"%d\">%s: %s to %s</text>\n", left, top + 174, title[sweeps[s]], from, to >svg
    for (tick = low; tick <= high * 1.001; tick *= high / low > 100 ? 10 : 2)
        printf "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", left - 4,
            top + 164 - place(tick, low, high, 160), tick >svg
    for (a = 1; a <= arm_count; a++) {
        line = ""
        for (p = 1; p <= point_count[sweeps[s]]; p++) {
            key = sweeps[s] SUBSEP points[sweeps[s], p] SUBSEP arms[a]
            if (!count[key]) continue
            x = left + place(points[sweeps[s], p], from, to, 220)
            y = top + 160 - place(median(values, key, count[key]), low, high, 160)
            line = line sprintf("%.1f,%.1f ", x, y)
        }
        printf "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n", line, colors[a] >svg
    }
}

function write_picture(    s, a)
{
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"840\" height=\"470\" font-family=\"sans-serif\" font-size=\"11\">" >svg
    print "<rect width=\"840\" height=\"470\" fill=\"white\"/>" >svg
    for (s = 1; s <= 3; s++) {
        panel(s, 0, ns, 1, 1000000, "ns of cpu a replacement")
        panel(s, 1, held, 0.5, 4, "bytes held a byte asked")
    }
    for (a = 1; a <= arm_count; a++)
        printf "<text x=\"%d\" y=\"455\" fill=\"%s\">%s</text>\n", 60 + (a - 1) * 110, colors[a], arms[a] >svg
    print "</svg>" >svg
}

END {
    if (arm_count == 0) { print "curves: no run has ended" >"/dev/stderr"; exit 1 }
    write_table()
    write_picture()
}
