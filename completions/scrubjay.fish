# SPDX-License-Identifier: MIT
#
# What: completion of the scrubjay command in fish.
# Why this way: as in scrubjay.bash.

function __scrubjay_commands
    scrubjay --help 2>/dev/null | string replace -rf '^  ([a-z]+)  +([a-z].*)' '$1\t$2'
end

function __scrubjay_flags
    set -l words (commandline -opc)
    scrubjay $words[2] --help 2>/dev/null | string match -rag -- '(--[a-z][a-z-]*)' | sort -u
end

function __scrubjay_options
    scrubjay explain 2>/dev/null | string replace -rf '^  ([a-z_]+)  +(.*)' '$1\t$2'
end

function __scrubjay_is_first
    test (count (commandline -opc)) -eq 1
end

complete -c scrubjay -f
complete -c scrubjay -n __scrubjay_is_first -a '(__scrubjay_commands)'
complete -c scrubjay -n 'not __scrubjay_is_first; and string match -q -- "-*" (commandline -ct)' -a '(__scrubjay_flags)'
complete -c scrubjay -n '__fish_seen_subcommand_from stat top ctl verify' -a '(__fish_complete_pids)'
complete -c scrubjay -n '__fish_seen_subcommand_from ctl' -a 'level= release_ms= purge trim check profile'
complete -c scrubjay -n '__fish_seen_subcommand_from explain' -a '(__scrubjay_options) options levels reports release bill'
complete -c scrubjay -n '__fish_seen_subcommand_from run verify' -a '(__fish_complete_command)'
complete -c scrubjay -n '__fish_seen_subcommand_from cost ab bench gauntlet report profile' -F
