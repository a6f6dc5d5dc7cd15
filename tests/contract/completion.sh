#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: shell completion of the scrubjay command: bash by its function, zsh by its grammar, fish by `complete -C`.
# Why this way: the files ask the command, so what is looked for is what the command knows.
#
# Usage: tests/contract/completion.sh [PATTERN]; SJ_BUILD_DIR is the build folder (default build/release).
set -u
# shellcheck source=../support/cases.sh
. "$(dirname "$0")/../support/cases.sh"
[ -x "$build/scrubjay" ] || lacks "no scrubjay command in the build folder"
PATH=$build:$PATH

# completed WORD...: what bash offers for the last word.
completed()
{
    # shellcheck source=../../completions/scrubjay.bash
    . "$top/completions/scrubjay.bash"
    COMP_WORDS=(scrubjay "$@")
    COMP_CWORD=$#
    _scrubjay
    printf '<%s>' "${COMPREPLY[@]}"
}

in_bash()
{
    local offered
    offered=$(completed '')
    for word in run verify stat ctl explain cost; do says "$offered" "<$word>"; done
    [ "$(completed ve)" = '<verify>' ] || echo "ve: $(completed ve)"
    says "$(completed run --le)" '<--level>'
    says "$(completed stat --)" '<--json>'
    says "$(completed ctl 1 le)" '<level=>'
    says "$(completed stat '')" "<$$>"
    says "$(completed ctl 1 prof)" '<profile>'
    says "$(completed profile --f)" '<--format>'
    says "$(completed explain scr)" '<scrub>'
    says "$(completed run -- tru)" '<true>'
}
check bash_completes in_bash

in_zsh()
{
    command -v zsh >/dev/null || lacks "no zsh"
    zsh -n "$top/completions/scrubjay.zsh"
}
check zsh_reads_its_file in_zsh

in_fish()
{
    command -v fish >/dev/null || lacks "no fish"
    offered() { HOME=$work fish --no-config -c "source $top/completions/scrubjay.fish; complete -C '$1'"; }
    for word in run verify stat ctl; do says "$(offered 'scrubjay ')" "$word"; done
    says "$(offered 'scrubjay stat --')" --json
    says "$(offered 'scrubjay ctl 1 le')" level=
    says "$(offered 'scrubjay explain scr')" scrub
}
check fish_completes in_fish

finish
