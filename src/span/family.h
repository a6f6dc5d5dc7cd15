/* SPDX-License-Identifier: MIT
 *
 * What: which family of functions a block was made by, so that it is given back to the same: malloc's, new's or new[]'s.
 *
 * Why this way: a byte a slot, out of line, that is 0 (malloc) but while the slot holds what new or new[] made. So malloc writes
 * nothing and free reads one byte; operator new sets it, operator delete takes it back. A slab that was opened without
 * option types has no bytes, and nothing is said about what lies in it; a large or sampled block has the family in its
 * record, UNKNOWN if it was made without. See doc/adr/0117.
 *
 * Invariants: of a slot that is not live the byte is 0.
 *
 * Concurrency: a live slot's byte belongs to whoever holds the object.
 */
#ifndef SJ_SPAN_FAMILY_H
#define SJ_SPAN_FAMILY_H

#include "span/slab.h"

enum sj_family { SJ_FAMILY_MALLOC, SJ_FAMILY_NEW, SJ_FAMILY_NEW_ARRAY, SJ_FAMILY_UNKNOWN };

/* The family of a block that is made under this policy, before it is known whether it is for new. */
SJ_ALWAYS_INLINE uint8_t sj_family_at_first(const struct sj_policy *policy)
{
    return policy->types ? SJ_FAMILY_MALLOC : SJ_FAMILY_UNKNOWN;
}

SJ_ALWAYS_INLINE enum sj_family sj_family_of(const struct sj_slab *slab, size_t slot)
{
    return slab->families != NULL ? (enum sj_family)__atomic_load_n(&slab->families[slot], __ATOMIC_RELAXED)
                                  : SJ_FAMILY_UNKNOWN;
}

SJ_ALWAYS_INLINE void sj_family_set(struct sj_slab *slab, size_t slot, enum sj_family family)
{
    if (slab->families != NULL)
        __atomic_store_n(&slab->families[slot], (uint8_t)family, __ATOMIC_RELAXED);
}

/* May `family` give the slot's object back? Then it is malloc's again. */
SJ_ALWAYS_INLINE bool sj_family_take(struct sj_slab *slab, size_t slot, enum sj_family family)
{
    if (slab->families == NULL)
        return true;
    if (sj_unlikely(sj_family_of(slab, slot) != family))
        return false;
    if (family != SJ_FAMILY_MALLOC)
        sj_family_set(slab, slot, SJ_FAMILY_MALLOC);
    return true;
}

#endif
