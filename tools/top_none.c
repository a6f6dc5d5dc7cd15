/* SPDX-License-Identifier: MIT
 *
 * What: `scrubjay top` of a build without curses: says so.
 *
 * Why this way: the rest of the command needs no library; the build chooses the file.
 *
 * Invariants, concurrency: none.
 */
#include "command.h"

int sj__command_top(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    sj__message("this command was built without curses (libncurses-dev); `scrubjay stat` prints the same once");
    return SJ_EXIT_CANNOT_TELL;
}
