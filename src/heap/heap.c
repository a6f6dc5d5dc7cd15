/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see heap.h.
 */
#include "heap/heap.h"

#include "heap/account.h"
#include "heap/adopt.h"
#include "heap/countdown.h"
#include "heap/detain.h"
#include "heap/hand_out.h"
#include "heap/profile.h"
#include "heap/remote.h"
#include "span/large.h"
#include "span/release.h"
#include "span/scrub.h"
#include "span/tail.h"

#include <string.h>

enum {
    COME_BACK_FRACTION = 8,     /* a full slab comes back when this part of its slots is free */
    REST_BYTES = 16384,         /* delay=run: slots rest while at least this span of others is handed out */
    OPEN_BYTES = 4096,          /* delay=lifo: so much is open before slots are reused: it is one page anyway */
    PICK_WINDOW = 16,           /* random picks are among this many neighbours: see doc/adr/0030 */
    RICH_SLOTS = 8,             /* a refill costs what a few dozen allocations cost: look for one that lasts, */
    RICH_FRACTION = 4,          /* or has this part of the slots it could have, if that is less */
    RICH_FRACTION_DETAINED = 2, /* with quarantines, which let neighbours out one by one: see doc/adr/0121. Up to */
    RICH_BYTES_DETAINED = 256   /* this size: larger ones would hold more memory and gain nothing */
};

_Thread_local struct sj_heap *sj__heap_current = &sj__heap_none;
_Thread_local struct sj_heap *sj__heap_aside;
_Thread_local enum sj_inside sj__heap_inside;
struct sj_word sj__heap_no_word;

/* Both compilers know ranges, and say under -Wpedantic that C does not. No code fills these in: some run before any of ours. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
struct sj_heap sj__heap_none = { .bins = { [0 ... SJ_CLASS_COUNT - 1] = { .word = &sj__heap_no_word } } };
struct sj_heap sj__heap_labelled = { .bins = { [0 ... SJ_CLASS_COUNT - 1] = { .word = &sj__heap_no_word } } };
struct sj_heap sj__heap_dead = { .bins = { [0 ... SJ_CLASS_COUNT - 1] = { .word = &sj__heap_no_word } } };
#pragma GCC diagnostic pop

/* ---- Random numbers --------------------------------------------------------------------------------------------- */

/* Renews the pool's bytes that have been used, a block at a time. Each slow path brings at most 64 picks and renews
 * what was used since the last, so that on the whole every pick has a byte of its own. */
static void renew_pool(struct sj_heap *heap)
{
    while ((uint8_t)(heap->pool_next - heap->pool_fresh) >= SJ_WORD_BITS) {
        uint32_t block[SJ_CHACHA_BLOCK_WORDS];
        sj__chacha_block(heap->chacha_key, heap->chacha_counter++, block);
        memcpy(heap->pool + heap->pool_fresh, block, sizeof block); /* a multiple of the block's size, so it fits */
        heap->pool_fresh = (uint8_t)(heap->pool_fresh + sizeof block);
    }
}

void sj__heap_draw_sample(const struct sj_policy *policy, struct sj_heap *heap)
{
    uint32_t block[SJ_CHACHA_BLOCK_WORDS];
    sj__chacha_block(heap->chacha_key, heap->chacha_counter++, block);
    heap->until_sample =
        policy->sample != 0 ? sj__countdown_draw((uint64_t)block[0] << 32 | block[1], policy->sample) : UINT64_MAX;
}

/* Before calls that take locks all threads share. */
static enum sj_inside go_deeper(void)
{
    enum sj_inside outer = sj__heap_inside;
    sj__heap_inside = SJ_INSIDE_SPANS;
    return outer;
}

/* ---- The list of partial slabs ---------------------------------------------------------------------------------- */

void sj__heap_unlink(struct sj_heap *heap, struct sj_slab *slab)
{
    struct sj_bin_list *list = &heap->lists[slab->class_index];
    *(slab->previous != NULL ? &slab->previous->next : &list->first) = slab->next;
    *(slab->next != NULL ? &slab->next->previous : &list->last) = slab->previous;
    list->count--;
    if (list->idle == slab) {
        list->idle = NULL;
        (void)sj_fetch_sub_relaxed_u32(&heap->idle_slabs, 1);
    }
}

/* Keeps an empty slab, the only one of its list. Its age begins here, under the lock: nobody but a holder of the lock touches
 * it from now on. */
static void keep_idle(struct sj_heap *heap, struct sj_slab *slab)
{
    struct sj_bin_list *list = &heap->lists[slab->class_index];
    if (list->idle != NULL)
        return;
    uint64_t now_ms = sj__clock_ms();
    list->idle = slab;
    slab->idle_ms = now_ms;
    (void)sj_fetch_add_relaxed_u32(&heap->idle_slabs, 1);
    sj_release_note_held(now_ms);
}

static void link_at(struct sj_bin_list *list, struct sj_slab *slab, bool front)
{
    slab->previous = front ? NULL : list->last;
    slab->next = front ? list->first : NULL;
    *(slab->previous != NULL ? &slab->previous->next : &list->first) = slab;
    *(slab->next != NULL ? &slab->next->previous : &list->last) = slab;
    list->count++;
}

static void link_partial(const struct sj_policy *policy, struct sj_heap *heap, struct sj_slab *slab)
{
    link_at(&heap->lists[slab->class_index], slab, policy->delay == SJ_DELAY_LIFO);
    slab->place = SJ_SLAB_PARTIAL;
    sj_slab_set_trigger(slab, 0);
}

static struct sj_slab *pop_partial(struct sj_heap *heap, unsigned class_index)
{
    struct sj_slab *slab = heap->lists[class_index].first;
    if (slab != NULL)
        sj__heap_unlink(heap, slab);
    return slab;
}

/* ---- Slabs that become empty, or usable again ------------------------------------------------------------------- */

static void list_counted(struct sj_heap *heap, struct sj_slab *slab)
{
    slab->next_of_heap = heap->slabs;
    slab->previous_of_heap = NULL;
    if (heap->slabs != NULL)
        heap->slabs->previous_of_heap = slab;
    heap->slabs = slab;
}

static void unlist_counted(struct sj_heap *heap, const struct sj_slab *slab)
{
    *(slab->previous_of_heap != NULL ? &slab->previous_of_heap->next_of_heap : &heap->slabs) = slab->next_of_heap;
    if (slab->next_of_heap != NULL)
        slab->next_of_heap->previous_of_heap = slab->previous_of_heap;
}

static void close_slab(const struct sj_policy *policy, struct sj_heap *heap, struct sj_slab *slab)
{
    if (policy->verify && slab->class_index != SJ_CLASS_ZERO && !slab->released)
        sj__hand_out_check_slab(slab);
    /* An arena that owes nothing to itself still owes it to whoever comes after. */
    bool scrubs = policy->scrub != SJ_SCRUB_OFF || sj__adopt_policy()->scrub != SJ_SCRUB_OFF;
    if (scrubs && slab->class_index != SJ_CLASS_ZERO)
        for (unsigned w = 0; w < slab->words; w++) {
            struct sj_group whole = { .bits = ~(uint64_t)0, .word_index = w };
            heap->paid_reuse_bytes += sj__slab_pay(slab, &whole);
        }
    heap->lists[slab->class_index].slabs--;
    if (heap->counted)
        unlist_counted(heap, slab);
    enum sj_inside outer = go_deeper();
    sj__slab_close(slab);
    sj__heap_inside = outer;
}

/* A signal handler that allocates may leave a count off by one (see front/fast.h): count again. */
static void recount(const struct sj_heap *heap, struct sj_slab *slab)
{
    /* nothing of it is taken: it is no bin's slab */
    slab->until_slow = (int32_t)(sj__slab_live(slab) + sj__detain_count(heap, slab) - slab->trigger);
}

/* delay=lifo: what the bin hands out from the slab is not counted from now on. */
static void stop_counting(struct sj_slab *slab)
{
    slab->used_before = sj_slab_used(slab);
    slab->uncounted = true;
    slab->until_slow = SJ_SLAB_UNCOUNTED;
    slab->trigger = 0;
}

/* Makes up for it. */
static void count_again(struct sj_heap *heap, struct sj_slab *slab)
{
    if (!slab->uncounted)
        return;
    heap->lists[slab->class_index].taken_slots += sj__slab_handed(slab);
    slab->uncounted = false;
    recount(heap, slab);
}

void sj__heap_settle_slab(const struct sj_policy *policy, struct sj_heap *heap, struct sj_slab *slab)
{
    if (slab->uncounted) { /* after as many frees as it counts */
        count_again(heap, slab);
        stop_counting(slab);
    }
    if (slab->place == SJ_SLAB_FULL)
        link_partial(policy, heap, slab);
    /* One empty slab a class is kept, or a lone object made and freed again would open and close a slab each time. */
    if (slab->place != SJ_SLAB_PARTIAL || sj_slab_used(slab) != 0)
        return;
    if (!sj__slab_is_idle(slab) || sj__detain_count(heap, slab) != 0) {
        recount(heap, slab);
    } else if (heap->lists[slab->class_index].count <= 1) {
        keep_idle(heap, slab);
    } else {
        sj__heap_unlink(heap, slab);
        close_slab(policy, heap, slab);
    }
}

void sj__heap_note_free(const struct sj_policy *policy, struct sj_heap *heap, struct sj_slab *slab)
{
    sj__lock(&heap->lock);
    if (slab->until_slow <= 0)
        sj__heap_settle_slab(policy, heap, slab);
    sj__unlock(&heap->lock);
}

/* ---- Refill ----------------------------------------------------------------------------------------------------- */

static struct sj_slab *open_slab(const struct sj_policy *policy, struct sj_heap *heap, unsigned class_index)
{
    unsigned level = heap->own_policy != NULL ? SJ_STAMP_OWN : sj__adopt_level();
    uint8_t stamp = (uint8_t)(heap->counted ? level | SJ_STAMP_COUNTED : level);
    struct sj_slab *slab = sj__slab_open(policy, class_index, heap, stamp);
    if (slab == NULL) { /* there may be memory in large blocks that are kept for reuse */
        sj__large_drain();
        slab = sj__slab_open(policy, class_index, heap, stamp);
    }
    if (slab == NULL)
        return NULL;
    heap->lists[class_index].slabs++;
    if (heap->counted)
        list_counted(heap, slab);
    if (policy->random)
        slab->first_group = (uint16_t)(heap->pool[heap->pool_next++] % slab->groups);
    return slab;
}

static void leave_full(struct sj_heap *heap, struct sj_slab *slab)
{
    uint32_t enough = slab->slots / COME_BACK_FRACTION;
    enough = enough > 0 ? enough : 1;
    slab->place = SJ_SLAB_FULL;
    count_again(heap, slab);
    uint32_t used = sj_slab_used(slab);
    sj_slab_set_trigger(slab, used > enough ? used - enough : 0);
}

/* Has the bin hand out nothing: a signal handler sees it so until it has its next word, whole. */
static void close_bin(struct sj_bin *bin)
{
    sj_word_write(&bin->bits, 0);
    bin->word = &sj__heap_no_word;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void sj__heap_start_bins(struct sj_heap *heap)
{
    for (unsigned class_index = 0; class_index < SJ_CLASS_COUNT; class_index++)
        close_bin(&heap->bins[class_index]);
}

/* Installs a taken group as what the closed bin hands out next. */
static void install(const struct sj_policy *policy, struct sj_bin *bin, struct sj_slab *slab,
                    const struct sj_group *group)
{
    struct sj_word *word = &slab->planes[group->word_index];
    bin->slab = slab;
    bin->slot_bytes = slab->slot_bytes;
    bin->word_start = slab->base + (size_t)group->word_index * SJ_WORD_BITS * slab->slot_bytes;
    bin->remote = &slab->remote->bits[group->word_index];
    bin->window_mask = (uint8_t)(group->slots < PICK_WINDOW ? group->slots - 1 : PICK_WINDOW - 1);
    if (policy->delay == SJ_DELAY_LIFO) {
        sj_word_set(&word->available, group->bits);
        slab->until_slow -= (int32_t)sj_count_bits(group->bits);
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    bin->word = word;
    if (policy->delay != SJ_DELAY_LIFO)
        sj_word_write(&bin->bits, group->bits);
}

void sj__heap_pay_slot(struct sj_heap *heap, const char *start)
{
    struct sj_slab *slab = (struct sj_slab *)(void *)sj_window_lookup(sj_window_granule(start));
    struct sj_group slot = sj_slab_slot_at(slab, start);
    heap->paid_reuse_bytes += sj__slab_pay(slab, &slot);
}

/* Counts slots that are taken. */
static void pass(const struct sj_policy *policy, struct sj_heap *heap, unsigned count, size_t slot_bytes)
{
    if (policy->sample != 0)
        heap->until_sample -= count;
    if (sj__profile_rate != 0)
        heap->until_profile -= count * slot_bytes;
}

/* How many of `count` slots are handed out before something else is due, and what. */
static unsigned until_due(const struct sj_policy *policy, struct sj_heap *heap, unsigned count, size_t slot_bytes,
                          enum sj_due *due)
{
    if (policy->sample != 0 && heap->until_sample == UINT64_MAX) /* none was drawn: the level has been raised since */
        sj__heap_draw_sample(policy, heap);
    *due = SJ_DUE_SLOT;
    if (policy->sample != 0 && heap->until_sample < count) {
        count = (unsigned)heap->until_sample;
        *due = SJ_DUE_SAMPLE;
    }
    if (sj__profile_rate != 0 && heap->until_profile < count * slot_bytes) {
        count = (unsigned)(heap->until_profile / slot_bytes);
        *due = SJ_DUE_PROFILE;
    }
    return count;
}

/* Those of taken slots that may be handed out before a sample is due; the others are held until then. */
static uint64_t up_to_sample(const struct sj_policy *policy, struct sj_heap *heap, unsigned class_index, uint64_t bits)
{
    struct sj_bin_list *list = &heap->lists[class_index];
    size_t slot_bytes = sj__size_classes[class_index].slot_bytes;
    enum sj_due due;
    list->held_bits = 0;
    if (policy->sample == 0 && sj__profile_rate == 0)
        return bits;
    unsigned count = until_due(policy, heap, sj_count_bits(bits), slot_bytes, &due);
    pass(policy, heap, count, slot_bytes);
    if (sj_likely(due == SJ_DUE_SLOT))
        return bits;
    uint64_t before = 0;
    for (; count > 0; count--) {
        before |= sj_lowest_only(bits);
        bits &= bits - 1;
    }
    list->held_bits = bits;
    list->due = (uint8_t)due;
    if (due == SJ_DUE_SAMPLE)
        sj__heap_draw_sample(policy, heap);
    else
        heap->until_profile = sj__profile_draw();
    return before;
}

/* After a sample: what is left of the group that it fell into. */
static void install_held(const struct sj_policy *policy, struct sj_heap *heap, unsigned class_index)
{
    struct sj_bin *bin = &heap->bins[class_index];
    uint64_t bits = up_to_sample(policy, heap, class_index, heap->lists[class_index].held_bits);
    sj_word_set(&bin->bits, bits);
    if (policy->random && bits != 0)
        sj__picks_note(&heap->picks, bits, bin->window_mask);
}

static struct sj_take how_to_take(const struct sj_policy *policy, unsigned class_index)
{
    bool rests = policy->delay >= SJ_DELAY_RUN;
    const struct sj_size_class *size_class = &sj__size_classes[class_index];
    unsigned unit_slots = rests ? size_class->unit_slots : SJ_WORD_BITS;
    unsigned most_slots = size_class->slots < unit_slots ? size_class->slots : unit_slots;
    unsigned rich_slots = most_slots / RICH_FRACTION < RICH_SLOTS ? most_slots / RICH_FRACTION : RICH_SLOTS;
    if (policy->delay == SJ_DELAY_QUARANTINE && size_class->slot_bytes <= RICH_BYTES_DETAINED)
        rich_slots = most_slots / RICH_FRACTION_DETAINED;
    return (struct sj_take){ .unit_slots = unit_slots,
                             .rich_slots = rich_slots,
                             .rest_bytes = rests ? REST_BYTES : OPEN_BYTES };
}

/* A slab to take from, in place of the bin's: a partial one, one of a dead thread's, or a new one. */
static struct sj_slab *next_slab(const struct sj_policy *policy, struct sj_heap *heap, unsigned class_index)
{
    struct sj_bin *bin = &heap->bins[class_index];
    if (bin->slab != NULL)
        leave_full(heap, bin->slab);
    struct sj_slab *slab = pop_partial(heap, class_index);
    enum sj_inside outer = go_deeper();
    if (slab == NULL && !heap->counted)
        slab = sj__adopt_slab(policy, heap, class_index);
    if (slab == NULL)
        slab = open_slab(policy, heap, class_index);
    sj__heap_inside = outer;
    bin->slab = slab;
    if (slab != NULL) {
        slab->place = SJ_SLAB_CURRENT;
        sj_slab_set_trigger(slab, 0);
        if (policy->delay == SJ_DELAY_LIFO)
            stop_counting(slab);
    }
    return slab;
}

/* delay=run: how many other slots of the class were handed out since this unit was used up. What was freed up to then has
 * rested so long. To be called before the taken slots are counted. */
static void note_rest(struct sj_heap *heap, const struct sj_slab *slab, const struct sj_take *how,
                      const struct sj_group *group)
{
    uint32_t now = (uint32_t)heap->lists[slab->class_index].taken_slots;
    uint32_t *left_at = &slab->left_at[(group->word_index * SJ_WORD_BITS + group->first_slot) / how->unit_slots];
    if (!group->fresh && *left_at != 0) {
        uint32_t rest = now - *left_at;
        if (heap->turns++ == 0 || rest < heap->shortest_rest)
            heap->shortest_rest = rest;
    }
    *left_at = now + sj_count_bits(group->bits);
}

static bool refill_locked(const struct sj_policy *policy, struct sj_heap *heap, unsigned class_index)
{
    struct sj_bin *bin = &heap->bins[class_index];
    struct sj_bin_list *list = &heap->lists[class_index];
    struct sj_take how = how_to_take(policy, class_index);
    struct sj_group group;
    if (list->due != SJ_DUE_SLOT)
        return true;
    renew_pool(heap);
    sj__remote_fold(policy, heap);
    if (sj_unlikely(list->held_bits != 0)) {
        install_held(policy, heap, class_index);
        return true;
    }
    close_bin(bin);
    struct sj_slab *slab = bin->slab != NULL ? bin->slab : next_slab(policy, heap, class_index);
    for (; slab != NULL; slab = next_slab(policy, heap, class_index)) {
        how.rich_only = list->count > 0;
        if (sj__slab_take(slab, &how, &group))
            break;
    }
    if (slab == NULL)
        return false;
    if (policy->scrub != SJ_SCRUB_OFF && class_index != SJ_CLASS_ZERO)
        heap->paid_reuse_bytes += sj__slab_pay(slab, &group);
    if (policy->delay >= SJ_DELAY_RUN)
        note_rest(heap, slab, &how, &group);
    if (policy->delay != SJ_DELAY_LIFO) {
        list->taken_slots += sj_count_bits(group.bits);
        if (class_index != SJ_CLASS_ZERO && !heap->counted &&
            heap != sj__adopt_shared_heap()) /* its users may have interrupted the pool */
            group.bits = up_to_sample(policy, heap, class_index, group.bits);
    }
    install(policy, bin, slab, &group);
    if (policy->random && sj_likely(group.bits != 0))
        sj__picks_note(&heap->picks, group.bits, bin->window_mask);
    return true;
}

bool sj__heap_refill(struct sj_heap *heap, unsigned class_index)
{
    sj__lock(&heap->lock);
    bool filled = refill_locked(sj__heap_settle_locked(heap), heap, class_index);
    sj__unlock(&heap->lock);
    return filled;
}

/* ---- Heaps that are no thread's --------------------------------------------------------------------------------- */

static void *take_one(const struct sj_policy *policy, struct sj_heap *heap, unsigned class_index, size_t size_bytes,
                      bool zero)
{
    struct sj_bin *bin = &heap->bins[class_index];
    uint64_t bit;
    do {
        if (sj_bin_is_empty(policy, bin) && !refill_locked(policy, heap, class_index))
            return NULL;
        if (!sj_tail_leaves(bin->slab, size_bytes)) /* adopted, and opened after a raise that came just now */
            return NULL;
        uint64_t *source = sj_bin_source(policy, bin, bin->word);
        bit = sj_pick_bit(policy, heap, bin, *source);
        sj_word_clear(source, bit);
    } while (((bin->word->live | sj_load_acquire_u64(bin->remote)) & bit) != 0);
    sj_word_set(&bin->word->live, bit);
    char *start = sj_bin_slot(bin, bit);
    if (class_index != SJ_CLASS_ZERO)
        sj_bin_pay(policy, heap, bin->word, bit, start);
    return class_index != SJ_CLASS_ZERO ? sj__hand_out(policy, heap, start, size_bytes, zero, NULL) : start;
}

/* Before the pointer is anybody's. */
static void note_account(const void *start, uint32_t account)
{
    struct sj_slab *slab = (struct sj_slab *)(void *)sj_window_lookup(sj_window_granule(start));
    slab->accounts[sj_slot_of(slab->reciprocal, (size_t)((const char *)start - slab->base))] = (uint16_t)account;
    sj__account_add(account, sj__size_classes[slab->class_index].usable_bytes);
}

void *sj__heap_locked_malloc(struct sj_heap *heap, size_t size_bytes, size_t alignment, bool zero, uint32_t account)
{
    sj__lock(&heap->lock);
    const struct sj_policy *policy = sj__heap_settle_locked(heap);
    unsigned class_index = sj_heap_class_for(policy, size_bytes, alignment);
    void *start = NULL;
    if (class_index != SJ_CLASS_ZERO || size_bytes == 0)
        start = take_one(policy, heap, class_index, size_bytes, zero);
    if (start != NULL && heap->counted)
        note_account(start, account);
    sj__unlock(&heap->lock);
    return start;
}

/* ---- Giving back ------------------------------------------------------------------------------------------------ */

/* Puts a bin's taken slots back into its slab, which then leaves the bin. */
static void empty_bin(const struct sj_policy *policy, struct sj_heap *heap, unsigned class_index)
{
    struct sj_bin *bin = &heap->bins[class_index];
    struct sj_slab *slab = bin->slab;
    if (slab == NULL)
        return;
    struct sj_bin_list *list = &heap->lists[class_index];
    struct sj_word *word = bin->word;
    uint64_t bits = (bin->bits | list->held_bits) & ~word->live;
    close_bin(bin);
    list->held_bits = 0; /* with the slots goes what was to come after them: other slots are as likely to be sampled */
    list->due = SJ_DUE_SLOT;
    if (bits != 0) {
        sj_word_set(&word->available, bits);
        slab->until_slow -= (int32_t)sj_count_bits(bits);
        list->taken_slots -= sj_count_bits(bits);
    }
    bin->slab = NULL;
    count_again(heap, slab);
    if (sj_slab_used(slab) < slab->slots)
        link_partial(policy, heap, slab);
    else
        leave_full(heap, slab);
}

void sj__heap_put_back(const struct sj_policy *policy, struct sj_heap *heap)
{
    for (unsigned class_index = 0; class_index < SJ_CLASS_COUNT; class_index++)
        empty_bin(policy, heap, class_index);
}

/* Closes an empty slab of a list; `to_system`: its pages go back, which pays for them. Returns the bytes that did. */
static size_t close_listed(const struct sj_policy *policy, struct sj_heap *heap, struct sj_slab *slab, bool to_system)
{
    size_t paid_bytes;
    sj__heap_unlink(heap, slab);
    bool released = to_system && slab->class_index != SJ_CLASS_ZERO && sj__slab_release(slab, &paid_bytes);
    if (released)
        heap->paid_kernel_bytes += paid_bytes;
    size_t bytes = released ? (size_t)sj__size_classes[slab->class_index].granules << SJ_GRANULE_SHIFT : 0;
    close_slab(policy, heap, slab);
    return bytes;
}

static size_t close_idle(const struct sj_policy *policy, struct sj_heap *heap, bool to_system)
{
    size_t given_bytes = 0;
    sj__remote_fold(policy, heap);
    for (unsigned class_index = 0; class_index < SJ_CLASS_COUNT; class_index++) {
        sj__detain_end(policy, heap, class_index);
        empty_bin(policy, heap, class_index);
        struct sj_slab *next;
        for (struct sj_slab *slab = heap->lists[class_index].first; slab != NULL; slab = next) {
            next = slab->next;
            if (sj_slab_used(slab) == 0 && sj__slab_is_idle(slab))
                given_bytes += close_listed(policy, heap, slab, to_system);
        }
    }
    return given_bytes;
}

void sj__heap_release_idle(const struct sj_policy *policy, struct sj_heap *heap)
{
    (void)close_idle(policy, heap, false);
}

size_t sj__heap_purge_idle(const struct sj_policy *policy, struct sj_heap *heap)
{
    return close_idle(policy, heap, true);
}

void sj__heap_release_aged(const struct sj_policy *policy, struct sj_heap *heap, struct sj_aging *aging)
{
    for (unsigned class_index = 0; class_index < SJ_CLASS_COUNT; class_index++) {
        struct sj_slab *slab = heap->lists[class_index].idle;
        if (slab == NULL)
            continue;
        if (slab->idle_ms > aging->before_ms || sj_aging_is_spent(aging)) {
            sj_aging_note_left(aging, slab->idle_ms);
            continue;
        }
        size_t bytes = close_listed(policy, heap, slab, true);
        aging->given_bytes += bytes;
        aging->budget_bytes -= bytes < aging->budget_bytes ? bytes : aging->budget_bytes;
        aging->budget_slabs--;
    }
}
