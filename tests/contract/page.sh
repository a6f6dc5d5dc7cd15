#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: the page of `scrubjay cost`, as a strict parser sees it: well-formed, standing alone, without a script, whatever the
# names in it. unit/lab_page_test.c has what is on it; tests/pages/run.sh looks at it in a browser.
# Why this way: a browser repairs what is broken; an XML parser does not.

# shellcheck source=tests/support/cases.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/cases.sh"

# alone FILE: why the page is not well-formed or not alone; nothing if it is both.
alone()
{
    python3 - "$1" <<'PY'
import sys
from xml.parsers import expat
at = {"svg": 0, "text": 0}
def start(tag, attributes):
    at[tag] = at.get(tag, 0) + 1
    if tag in ("script", "link", "img", "iframe", "object", "embed", "image", "use", "foreignObject"):
        print("element", tag)
    for name, value in attributes.items():
        if name.startswith("on"):
            print("handler", name)
        if name in ("href", "src", "xlink:href", "action") and not value.startswith("#"):
            print("refers to", value)
        if name == "style" or (name != "xmlns" and "://" in value):
            print("attribute", name, value)
parser = expat.ParserCreate()
parser.StartElementHandler = start
text = open(sys.argv[1], "rb").read()
try:
    parser.Parse(text, True)
except expat.ExpatError as error:
    print(error)
style = text[text.find(b"<style>"):text.find(b"</style>")]
if b"url(" in style or b"@import" in style:
    print("the style refers to something")
if b"default-src 'none'" not in text:
    print("no policy")
if at["svg"] == 0 or at["text"] == 0:
    print("no picture")
PY
}

the_made_up_session() { "$build/tests/unit/lab_page_test" --write made-up.html && alone made-up.html; }

measure()
{
    evil="$work/<script>x&\"y'"
    printf '#!/bin/sh\nexec sleep 0.03\n' >"$evil"
    chmod 755 "$evil"
    "$build/scrubjay" cost --pairs 2 --wait 0 --least 0 --out out --arm glibc= \
        --arm "level2=$build/libscrubjay.so;SCRUBJAY_OPTIONS=level=2" -- "$evil" '</title><script>1</script>' >/dev/null 2>log ||
        [ -s out/report.html ] || cat log
}

a_session_with_hostile_names()
{
    alone out/report.html
    says "$(cat out/report.html)" '&lt;script&gt;x&amp;&quot;y&#39;'
    says_not "$(cat out/report.html)" '<script'
}

# What the machine does at the moment of writing is not in the rows.
lasting() { grep -v '<dt>machine</dt>' "$1"; }

shown_again()
{
    "$build/scrubjay" cost show out --html again.html >/dev/null 2>log
    [ -s again.html ] || cat log
    cmp <(lasting out/report.html) <(lasting again.html)
    alone again.html
}

# The page has a curve if a run was long enough for one; that both kinds of run are drawn right is in unit/lab_page_test.c.
memory_over_time()
{
    local in_rows on_page
    in_rows=$(grep -c '"arm":"level2","warm_up":false.*"rss_over_time_kib"' out/rows.jsonl)
    on_page=$(grep -c '<polyline class="curve' out/report.html)
    [ $((in_rows > 0)) = $((on_page > 0)) ] || echo "$in_rows runs have a curve, the page $on_page"
    sed 's/,"rss_over_time_s":[^]]*]//' out/rows.jsonl >earlier.jsonl
    "$build/scrubjay" cost show earlier.jsonl --html earlier.html >/dev/null 2>log
    alone earlier.html
    says_not "$(cat earlier.html)" '<polyline'
}

command -v python3 >/dev/null || { echo "there is no python3"; exit 77; }
check the_page_of_a_made_up_session_stands_alone the_made_up_session
check a_session_writes_its_page measure
check the_page_with_hostile_names_stands_alone a_session_with_hostile_names
check show_writes_the_same_page_again shown_again
check memory_is_drawn_over_time_if_it_is_there memory_over_time
finish
