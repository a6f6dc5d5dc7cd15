#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: the page of `scrubjay cost` in a real Chromium, light and dark, from 320 to 1600 pixels wide, and printed: no label on
# another, nothing wider than the window, contrast, keyboard. Screenshots are left in $SJ_BUILD_DIR/pages to be looked at.
# Why this way: look.html does the looking, in frames, and writes into its own document, which Chromium prints.

# shellcheck source=tests/support/cases.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/cases.sh"

shots=$build/pages
rm -rf "$shots"
mkdir -p "$shots"

# browser SCHEME ARGUMENT...: 0 is dark, 1 light, as Chromium counts them.
browser()
{
    local scheme=0
    [ "$1" = dark ] || scheme=1
    HOME=$work timeout 120 chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files \
        --user-data-dir="$work/profile" --blink-settings=preferredColorScheme=$scheme "${@:2}" 2>>log
}

# looked SCHEME PAGE: what is wrong with it.
looked()
{
    local found
    found=$(browser "$1" --virtual-time-budget=20000 --dump-dom "file://$top/tests/pages/look.html?page=file://$2" |
        sed -n '/<pre id="found">/,/<\/pre>/p' | sed 's/<[^>]*>//g' | grep .)
    [ "$found" = "looked at a $1 page" ] || printf '%s\n' "${found:-nothing was looked at}"
}

# shot SCHEME PAGE WIDTH HEIGHT NAME: complains if the picture is of one colour only.
shot()
{
    browser "$1" --window-size="$3,$4" --screenshot="$shots/$5.png" "file://$2" >/dev/null
    [ "$(wc -c <"$shots/$5.png")" -gt 20000 ] || echo "no picture in $shots/$5.png"
}

sheet()
{
    shot light "$1" 1100 3000 "$2-wide-light"
    shot dark "$1" 1100 3000 "$2-wide-dark"
    shot light "$1" 390 4000 "$2-narrow-light"
    shot dark "$1" 390 4000 "$2-narrow-dark"
}

printed()
{
    browser light --no-pdf-header-footer --print-to-pdf="$shots/$2.pdf" "file://$1" >/dev/null
    [ "$(head -c 5 "$shots/$2.pdf")" = %PDF- ] || echo "no $shots/$2.pdf"
}

made_up_light() { looked light "$work/made-up.html"; }
made_up_dark() { looked dark "$work/made-up.html"; }
made_up_sheet() { sheet "$work/made-up.html" made-up; }
measured_light() { looked light "$work/out/report.html"; }
measured_dark() { looked dark "$work/out/report.html"; }
measured_sheet() { sheet "$work/out/report.html" measured; }
measured_printed() { printed "$work/out/report.html" measured; }
several_light() { looked light "$work/several/report.html"; }
several_sheet() { sheet "$work/several/report.html" several; }

# A session of every arm there is, and one of three commands, the last of which is refused. Verdicts do not matter.
measure()
{
    # shellcheck disable=SC2016  # for the shell that is measured
    local job='i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; echo $i'
    "$build/tests/unit/lab_page_test" --write made-up.html || echo "no made-up page"
    "$build/scrubjay" cost --options --pairs 12 --wait 0 --out out -- sh -c "$job" >/dev/null 2>>log
    [ -s out/report.html ] || tail -n 3 log
    printf '#!/bin/sh\n%s\n' "$job" >counting
    chmod 755 counting
    printf 'counting|real|1|-|%s/counting\nagain|real|1|-|%s/counting\nabsent|real|1|-|/no/such\n' "$work" "$work" >list
    "$build/scrubjay" cost --pairs 12 --wait 0 --out several -f list >/dev/null 2>>log
    [ -s several/report.html ] || tail -n 3 log
}

command -v chromium >/dev/null || { echo "there is no chromium"; exit 77; }
check sessions_write_pages measure
check the_made_up_page_is_sound_in_light made_up_light
check the_made_up_page_is_sound_in_dark made_up_dark
check the_made_up_page_can_be_seen made_up_sheet
check a_measured_page_is_sound_in_light measured_light
check a_measured_page_is_sound_in_dark measured_dark
check a_measured_page_can_be_seen measured_sheet
check a_measured_page_prints measured_printed
check a_page_of_several_commands_is_sound several_light
check a_page_of_several_commands_can_be_seen several_sheet
finish
