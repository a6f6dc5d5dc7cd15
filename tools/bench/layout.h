/* SPDX-License-Identifier: MIT
 *
 * What: another layout of a library: its own link command again, with its objects in another order.
 *
 * Why this way: where functions lie in memory moves the time of a program by percents, for reasons that have nothing to do
 * with what was changed. A library that was linked once is one sample of that; shuffled links are more. The objects and
 * the command are asked of the build folder the library lies in (ninja -t commands); without one it cannot be done.
 *
 * Invariants: the same seed gives the same order; both sides of a comparison are linked with the same seeds.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_BENCH_LAYOUT_H
#define SJ_BENCH_LAYOUT_H

#include <stdint.h>

/* Links the library again into the file `to`; ends the program with the reason if that cannot be done. */
void bench_layout_link(const char *library, uint64_t seed, const char *to);

#endif
