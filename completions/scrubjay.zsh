#compdef scrubjay
# SPDX-License-Identifier: MIT
#
# What: completion of the scrubjay command in zsh; installed as _scrubjay.
# Why this way: as in scrubjay.bash.

_scrubjay() {
    local command=${words[2]}
    local -a found
    if (( CURRENT == 2 )); then
        found=(${(f)"$(scrubjay --help 2>/dev/null | sed -nE 's/^  ([a-z]+)  +([a-z].*)/\1:\2/p')"})
        _describe command found
        return
    fi
    if (( ${words[(I)--]} > 0 && ${words[(I)--]} < CURRENT )); then
        _command_names
        _files
        return
    fi
    if [[ ${words[CURRENT]} == -* ]]; then
        found=(${(f)"$(scrubjay $command --help 2>/dev/null | grep -oE -e '--[a-z][a-z-]*' | sort -u)"})
        compadd -- $found
        return
    fi
    case $command in
        stat|top) _pids ;;
        ctl) _pids; compadd -S '' -- level= release_ms=; compadd -- purge trim check profile ;;
        verify) _pids; _command_names ;;
        explain)
            found=(${(f)"$(scrubjay explain 2>/dev/null | sed -nE 's/^  ([a-z_]+)  +.*/\1/p')"})
            compadd -- $found options levels reports release bill ;;
        run) _command_names ;;
        *) _files ;;
    esac
}

_scrubjay "$@"
