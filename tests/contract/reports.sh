#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: reports as a stranger meets them: report=json in a real process, and `scrubjay report` on its file and on a core file.
# Why this way: the death tests' program has all misuses in it, and line tables.
# shellcheck source=../support/cases.sh
. "$(dirname "$0")/../support/cases.sh"
command=$build/scrubjay
misuse=$build/tests/death/misuse
[ -x "$misuse" ] || { echo "no $misuse" && exit 77; }

# dies OPTIONS CASE: runs a misuse, which must end it; what it says is in the file `said`.
dies()
{
    SCRUBJAY_OPTIONS=$1 timeout 60 "$misuse" "$2" >said 2>&1
    [ $? = 134 ] || echo "not aborted: $(tail -n 1 said)"
}

knows_names() { "$command" report json 2>&1 | grep -q 'without libdw' && lacks "the command is built without libdw"; }

writes_json()
{
    dies "level=1,report=json:$work/json.%p" double_free_of_calloc/48
    mv json.* json
    [ "$(wc -l <json)" = 1 ] || echo "$(wc -l <json) lines"
    says "$(cat json)" '"id":"SJ-004"'
    says "$(cat json)" '"options":"level=1,'
    if command -v python3 >/dev/null; then python3 -m json.tool json >/dev/null; fi
}
check json_is_written_whole writes_json

# The numbers in the document are those of the line on fd 2, and its frames those of the lines there.
same_as_text()
{
    says "$(cat json)" "\"line\":\"$(head -n 1 said)\""
    sed -nE 's/^scrubjay:   frame [0-9]+ (0x[0-9a-f]+) = .*\+(0x[0-9a-f]+)$/\1 \2/p' said >text_frames
    grep -oE '"address":"0x[0-9a-f]+","module":"[^"]*","offset":"0x[0-9a-f]+"' json |
        sed -E 's/.*:"(0x[0-9a-f]+)","module.*offset":"(0x[0-9a-f]+)"/\1 \2/' >json_frames
    [ -s text_frames ] || echo "no frames"
    cmp text_frames json_frames
}
check json_says_what_the_text_says same_as_text

names_frames()
{
    knows_names
    "$command" report json >printed || echo "status $?"
    says "$(head -n 1 printed)" 'scrubjay: SJ-004 double free ptr='
    says "$(cat printed)" "  what to do  "
    grep -qE ' (free_again|of_calloc) at .*double\.c:[0-9]+ \(' printed || cat printed # the one may be inlined in the other
    grep -qE ' main at .*misuse\.c:[0-9]+ \(' printed || cat printed
}
check command_names_functions_and_lines names_frames

# A report may name any path; one that is no plain file is not opened.
opens_no_pipe()
{
    knows_names
    mkfifo pipe
    printf '{"scrubjay_report":1,"line":"x","frames":[{"address":"0x1","module":"%s","offset":"0x1"}]}\n' "$work/pipe" >piped
    timeout 60 "$command" report piped >printed || echo "status $?"
    says "$(cat printed)" 'pipe+0x1): there is no such file here'
}
check command_opens_no_pipe opens_no_pipe

# Of a sampled block both ends of its life: here it was allocated in main's case, and freed there.
of_a_sample()
{
    dies "level=1,sample=1,report=json:$work/sampled.%p" double_free_of_calloc/48
    mv sampled.* sampled
    if command -v python3 >/dev/null; then python3 -m json.tool sampled >/dev/null; fi
    says "$(cat sampled)" '"allocated":{"thread":'
    says "$(cat sampled)" '"freed":{"thread":'
    knows_names
    "$command" report sampled >printed || echo "status $?"
    grep -q '^  block allocated by thread [1-9][0-9]*, [0-9]* ms before, from:$' printed || cat printed
    [ "$(grep -cE ' main at .*misuse\.c:[0-9]+ \(' printed)" = 3 ] || cat printed
}
check sampled_blocks_have_their_stacks of_a_sample

# A file that is not the one of the report gives no names.
other_build()
{
    knows_names
    cp /bin/true other
    sed "s,$misuse,$work/other,g" json >moved
    "$command" report moved >printed || echo "status $?"
    says "$(cat printed)" "the file is another build now"
    says_not "$(cat printed)" " main at"
    sed "s,$misuse,$work/none,g" json >moved
    says "$("$command" report moved)" "there is no such file here"
}
check command_gives_no_names_of_another_build other_build

reads_core()
{
    [ "$(cat /proc/sys/kernel/core_pattern)" = core ] || lacks "core files go elsewhere"
    mkdir dump
    { (cd dump && ulimit -S -c unlimited && SCRUBJAY_OPTIONS=level=1 "$misuse" double_free_of_calloc/48 2>said); } 2>/dev/null
    local core
    core=$(find dump -type f -name 'core*')
    [ -n "$core" ] || lacks "no core file is made here"
    "$command" report "$core" >printed || echo "status $?"
    [ "$(head -n 1 printed)" = "$(head -n 1 dump/said)" ] || head -n 1 printed
    says "$(cat printed)" "misuse+0x"
}
check command_reads_core_files reads_core

holds_none()
{
    echo '{"a":1}' >none
    "$command" report none >printed 2>err
    [ $? = 1 ] || echo "status"
    says "$(cat err)" "none: holds no report"
    "$command" report "$library" >printed 2>err
    [ $? = 1 ] || echo "status of a file with the mark and no report"
    "$command" report ./missing 2>err
    [ $? = 2 ] || echo "status of a missing file"
}
check command_says_when_there_is_none holds_none

# A line that was cut, by a full disk or the end of its process, does not take the others with it.
skips_cut()
{
    { head -c 100 json; echo; cat json; } >cut.json
    "$command" report cut.json >printed || echo "status $?"
    [ "$(grep -c '^scrubjay: SJ-004' printed)" = 1 ] || cat printed
}
check command_leaves_out_lines_that_were_cut skips_cut

# What comes from a file, or from the program that a report is about, is nothing that a terminal acts on.
tames()
{
    printf '{"scrubjay_report":1,"line":"a\\u001bb\\u009bc\\u00c2\\u009bd","program":"\\u00c3\\u00a9t\\u00c3\\u0080","frames":[%s]}\n' \
        '{"address":"\u001b[31m","module":"/no\u001bne","offset":"0x1\u00c2\u009b"}' >wild
    "$command" report wild >printed || echo "status $?"
    says "$(cat printed)" "a?b?c??d"
    says "$(cat printed)" $'\xc3\xa9t\xc3\x80'
    says "$(cat printed)" "?[31m (/no?ne+0x1??)"
}
check command_prints_no_control_characters tames

explains_all()
{
    local id
    while read -r id; do
        "$command" explain "SJ-$id" >printed || echo "SJ-$id: status $?"
        grep -q '^  cause  ' printed && grep -q '^  what to do  ' printed && grep -q '^  example  ' printed || echo "SJ-$id lacks something"
    done < <(sed -nE 's/^SJ_REPORT\(SJ_[A-Z_]+, ([0-9]+),.*/\1/p' "$top/src/report/catalogue.def")
}
check command_explains_every_id explains_all

finish
