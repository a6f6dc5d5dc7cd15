/* SPDX-License-Identifier: MIT
 *
 * What: sends this library's own calls of memcpy, memmove and memset to functions of its own.
 *
 * Why this way: the library exports functions of these names, which check what programs copy. Our own code must not go
 * through them, nor may the calls that a compiler makes out of an assignment. So the symbols are renamed in the
 * assembler, where both kinds of call end; the build includes this file first in every source, but for those that define
 * the exported ones and the sanitizer builds, which watch the calls by their names. scripts/check-symbols looks for what
 * escapes.
 *
 * Invariants: no source that includes this defines one of the three.
 *
 * Concurrency: none.
 */
#ifndef SJ_BASE_OWN_MEMORY_H
#define SJ_BASE_OWN_MEMORY_H

__asm__("memcpy = sj__own_move");
__asm__("memmove = sj__own_move");
__asm__("memset = sj__own_set");

#endif
