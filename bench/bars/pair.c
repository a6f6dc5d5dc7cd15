/* SPDX-License-Identifier: MIT
 *
 * What: allocates and frees 48 bytes as often as its argument says. Instruction counts of two run lengths, one less the
 * other, give what a pair costs, with the loop and the jumps through the PLT.
 */
#include <stdlib.h>

int main(int argc, char **argv)
{
    long pairs = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    for (long i = 0; i < pairs; i++) {
        void *volatile block = malloc(48);
        free(block);
    }
    return 0;
}
