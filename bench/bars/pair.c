/* SPDX-License-Identifier: MIT
 *
 * What: allocates and frees 48 bytes as often as its argument says. Instruction counts of two run lengths, one less the
 * other, give what a pair costs, with the loop and the jumps through the PLT. A second argument is a level that the process
 * raises itself to before.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int raise_to(const char *level)
{
    union {
        void *symbol;
        int (*call)(const char *name, const char *value, char *old, size_t old_size);
    } control = { dlsym(RTLD_DEFAULT, "sj_ctl") };
    if (control.symbol != NULL && control.call("level", level, NULL, 0) == 0)
        return 0;
    fprintf(stderr, "pair: the level was not raised to %s\n", level);
    return 1;
}

int main(int argc, char **argv)
{
    long pairs = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    if (argc > 2 && raise_to(argv[2]) != 0)
        return 1;
    for (long i = 0; i < pairs; i++) {
        void *volatile block = malloc(48);
        free(block);
    }
    return 0;
}
