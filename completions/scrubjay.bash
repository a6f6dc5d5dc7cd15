# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What: completion of the scrubjay command in bash.
# Why this way: commands, options and option names are asked of the command itself, so that they are always its own.

_scrubjay_commands() { scrubjay --help 2>/dev/null | sed -nE 's/^  ([a-z]+)  +[a-z].*/\1/p'; }
_scrubjay_flags() { scrubjay "$1" --help 2>/dev/null | grep -oE -e '--[a-z][a-z-]*' | sort -u; }
_scrubjay_options() { scrubjay explain 2>/dev/null | sed -nE 's/^  ([a-z_]+)  +.*/\1/p'; }
_scrubjay_processes() { command ps -u "$(id -u)" -o pid= 2>/dev/null | tr -d ' '; }

_scrubjay()
{
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words='' i
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_scrubjay_commands) --help --version" -- "$word")
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do # behind -- stands a command of the user's
        if [ "${COMP_WORDS[i]}" = -- ]; then
            mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word")
            return
        fi
    done
    case $word in -*)
        mapfile -t COMPREPLY < <(compgen -W "$(_scrubjay_flags "$command") --" -- "$word")
        return ;;
    esac
    case $command in
        stat | top) words=$(_scrubjay_processes) ;;
        ctl) words="$(_scrubjay_processes) level= release_ms= purge trim check profile" ;;
        verify) words=$(_scrubjay_processes) ;;
        explain) words="$(_scrubjay_options) options levels reports release bill" ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    case $command in
        run | verify) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -- "$word") ;;
        cost | ab | bench | gauntlet | report | profile) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    esac
}
complete -o filenames -F _scrubjay scrubjay
