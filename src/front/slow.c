/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see slow.h.
 */
#include "front/slow.h"

#include "front/calls.h"
#include "front/check.h"
#include "front/counted.h"
#include "front/live.h"
#include "front/peaks.h"
#include "front/profile_dump.h"
#include "front/tagged.h"
#include "heap/adopt.h"
#include "heap/detain.h"
#include "heap/hand_out.h"
#include "heap/heap.h"
#include "heap/named.h"
#include "heap/profile.h"
#include "heap/remote.h"
#include "report/report.h"
#include "span/run.h"
#include "span/scrub.h"
#include "span/site.h"
#include "span/tail.h"

#include <errno.h>
#include <string.h>

/* The return address in the program: fast paths jump here. */
#define ASKER(name) ((struct sj_asker){ .function = (name), .caller = sj_tagged_caller(__builtin_return_address(0)) })

static const struct sj_policy *policy_in_force(void)
{
    return &((const struct sj_settings *)__atomic_load_n(&sj__sealed.in_force, __ATOMIC_ACQUIRE))
                ->policy; /* a raise's store */
}

/* Where the build has fixed the level the first slow path starts the library: there is no table that leads to it. */
static bool is_started(void)
{
    return !SJ_LEVEL_IS_FIXED || sj__start();
}

enum sj_inside sj__slow_enter(struct sj_asker asker)
{
    enum sj_inside outer = sj__heap_inside;
    if (sj_unlikely(outer == SJ_INSIDE_SPANS))
        sj__report_misuse(SJ_RECURSION,
                          &(struct sj_report_facts){ .function = asker.function, .caller = asker.caller });
    sj__heap_inside = SJ_INSIDE_SPANS;
    return outer;
}

void sj__slow_leave(enum sj_inside outer)
{
    sj__heap_inside = outer;
    sj_live_if_due();
    sj_check_if_due(policy_in_force());
}

/* For what returns memory in one step: a raise that is due comes before, so that it holds for the block too. What the block has
 * made due is left to give back: near the system's limit that must not wait for the next slow path. */
static enum sj_inside enter_after_due(struct sj_asker asker)
{
    sj_live_if_due();
    return sj__slow_enter(asker);
}

static void leave_after_due(enum sj_inside outer)
{
    sj__heap_inside = outer;
    sj_pass_if_due();
}

bool sj__slow_is_inside(void)
{
    return sj__heap_inside != SJ_OUTSIDE;
}

/* ---- Allocation ------------------------------------------------------------------------------------------------- */

enum { GUARDS_BYTES = 2 * SJ_GRANULE_BYTES /* more than a large block takes besides itself and its alignment */ };

/* In this order: SJ_WAYS_TO_ROOM of them. */
enum { PURGE, GIVE_PLACES_UP };

/* Memory is short: all that is free goes back, or whoever wants it may have the addresses too, if addresses can be what is
 * short for a request of `bytes`: kept places hold no pages by then. True if that was anything. */
bool sj__slow_make_room(unsigned way, size_t bytes)
{
    enum sj_inside inside = sj__heap_inside;
    sj__heap_inside = SJ_INSIDE_SPANS;
    bool given = way == PURGE ? sj__pass_purge(SJ_PURGE_ALL) > 0 : sj__run_could_take(bytes) && sj__site_give_up() > 0;
    sj__heap_inside = inside;
    return given;
}

void *sj__slow_large(const struct sj_policy *policy, const struct sj_call *request)
{
    int saved_errno = errno;
    size_t size_bytes = request->size_bytes, alignment = request->alignment;
    if (size_bytes > SJ_MAX_REQUEST_BYTES || alignment > SJ_MAX_REQUEST_BYTES) { /* no memory is enough */
        errno = ENOMEM;
        return NULL;
    }
    enum sj_inside outer = enter_after_due(request->asker);
    size_t at_most_bytes = size_bytes + alignment + GUARDS_BYTES;
    void *block = sj__large_malloc(policy, size_bytes, alignment, request->zero);
    for (unsigned way = PURGE; block == NULL && outer == SJ_OUTSIDE && way < SJ_WAYS_TO_ROOM; way++)
        if (sj__slow_make_room(way, at_most_bytes))
            block = sj__large_malloc(policy, size_bytes, alignment, request->zero);
    leave_after_due(outer);
    if (block != NULL && sj__profile_is_due(size_bytes))
        sj__profile_sample(block, size_bytes, size_bytes, request->asker.caller);
    errno = block != NULL ? saved_errno : ENOMEM;
    return block;
}

static void *slow_shared(const struct sj_call *request)
{
    int saved_errno = errno;
    enum sj_inside outer = enter_after_due(request->asker);
    void *block = sj__heap_locked_malloc(sj__adopt_shared_heap(), request->size_bytes, request->alignment,
                                         request->zero, SJ_NO_ACCOUNT);
    leave_after_due(outer);
    errno = block != NULL ? saved_errno : ENOMEM;
    return block;
}

static bool refill(struct sj_heap *heap, unsigned class_index)
{
    return !sj_bin_is_empty(policy_in_force(), &heap->bins[class_index]) || sj__heap_refill(heap, class_index);
}

/* The calling thread's heap with a slot ready in the class's bin; NULL if there is no memory. */
static struct sj_heap *ready_heap(unsigned class_index, struct sj_asker asker)
{
    enum sj_inside outer = sj__slow_enter(asker);
    struct sj_heap *heap = sj__heap_current; /* only now: until then a handler may have attached one */
    bool attached = heap == &sj__heap_none;
    if (attached)
        heap = sj__heap_attach();
    sj__heap_inside = SJ_INSIDE_HEAP;
    bool ready = heap != NULL && refill(heap, class_index);
    for (unsigned way = PURGE; heap != NULL && !ready && way < SJ_WAYS_TO_ROOM; way++)
        ready = sj__slow_make_room(way, (size_t)sj__size_classes[class_index].granules << SJ_GRANULE_SHIFT) &&
                refill(heap, class_index);
    sj__slow_leave(outer);
    if (attached && heap != NULL)
        sj__heap_arm_exit(heap); /* may allocate, so only now */
    return ready ? heap : NULL;
}

_Noreturn static void report_raced(const struct sj_bin *bin, uint64_t bit, struct sj_asker asker)
{
    const void *block = sj_bin_slot(bin, bit);
    sj__report_misuse(SJ_DOUBLE_FREE, &(struct sj_report_facts){
                                          .pointer = block,
                                          .block = block,
                                          .function = asker.function,
                                          .caller = asker.caller,
                                          .size_bytes = bin->slot_bytes,
                                          .note = "found at hand-out: two threads freed it at the same time",
                                      });
}

/* The sample is what is served from the shared heap: the free of one leaves the fast path, and is seen. */
static void *sample_profile(unsigned class_index, const struct sj_call *request)
{
    void *block = slow_shared(request);
    if (block != NULL)
        sj__profile_sample(block, request->size_bytes, sj__size_classes[class_index].slot_bytes, request->asker.caller);
    return block;
}

/* The thread's next allocation is the sampled one. NULL if the pool has no place for it. */
static void *sample(struct sj_heap *heap, unsigned class_index, const struct sj_call *request)
{
    struct sj_sample_request sampled = {
        .size_bytes = request->size_bytes,
        .alignment = request->alignment,
        .class_index = (uint8_t)class_index,
        .family = sj_family_at_first(policy_in_force()),
        .to_the_right = heap->pool[heap->pool_next++] % 2 != 0,
        .caller = request->asker.caller,
    };
    enum sj_inside outer = sj__slow_enter(request->asker);
    void *block = sj__sampled_malloc(&sampled, sj__sealed.settings.sample_rate);
    sj__slow_leave(outer);
    if (block == NULL)
        heap->until_sample++; /* the slot that it gets instead is not another chance */
    return block;
}

/* Hands out a slot of a bin that has one, with the checks of the fast path. A slot that is live already is dropped: a
 * signal handler got it between our reading the bin and writing it back. NULL if nothing is left, or they have canaries and the
 * class was chosen before that. */
static char *hand_out(struct sj_heap *heap, struct sj_bin *bin, const struct sj_call *request)
{
    const struct sj_policy *policy = policy_in_force();
    for (;;) {
        struct sj_word *word = bin->word;
        uint64_t *source = sj_bin_source(policy, bin, word);
        uint64_t bits = sj_word_read(source);
        if (bits == 0 || !sj_tail_leaves(bin->slab, request->size_bytes))
            return NULL;
        uint64_t bit = sj_pick_bit(policy, heap, bin, bits);
        if ((sj_word_read(&word->live) & bit) != 0) {
            sj_word_clear(source, bit);
            continue;
        }
        if ((sj_load_acquire_u64(bin->remote) & bit) != 0) /* pairs with the claim of a remote free */
            report_raced(bin, bit, request->asker);
        sj_word_set(&word->live, bit);
        char *start = sj_bin_slot(bin, bit);
        sj_compiler_barrier();
        if (sj_word_read(source) != bits || bin->word != word) /* as in the fast path */
            continue;
        sj_word_clear(source, bit);
        if (policy->scrub != SJ_SCRUB_OFF && (word->dirty & bit) != 0) /* taken before a raise; or delay=lifo */
            sj__heap_pay_slot(heap, start);
        return sj__hand_out(policy_in_force(), heap, start, request->size_bytes, request->zero, request->asker.caller);
    }
}

void *sj__slow_hand_out(char *start, size_t size_bytes, bool zero)
{
    return sj__hand_out(policy_in_force(), sj__heap_current, start, size_bytes, zero,
                        sj_tagged_caller(__builtin_return_address(0)));
}

static void *serve(struct sj_heap *heap, unsigned class_index, const struct sj_call *request)
{
    struct sj_bin *bin = &heap->bins[class_index];
    enum sj_due due = heap->lists[class_index].due;
    if (sj_likely(due == SJ_DUE_SLOT) || sj_word_read(&bin->bits) != 0)
        return hand_out(heap, bin, request);
    heap->lists[class_index].due = SJ_DUE_SLOT;
    return due == SJ_DUE_SAMPLE ? sample(heap, class_index, request) : sample_profile(class_index, request);
}

static unsigned class_for(const struct sj_call *request)
{
    return sj_heap_class_for(policy_in_force(), request->size_bytes, request->alignment);
}

/* From the thread's own heap. Its class may be another the next time: a raise may have come between, after which slots are to
 * hold a canary too. */
static void *slow_own(unsigned class_index, const struct sj_call *request)
{
    int saved_errno = errno;
    while (class_index != SJ_CLASS_ZERO) {
        struct sj_heap *heap = ready_heap(class_index, request->asker);
        void *block = heap != NULL ? serve(heap, class_index, request) : NULL;
        if (block != NULL || heap == NULL) {
            errno = heap != NULL ? saved_errno : ENOMEM;
            return block;
        }
        class_index = class_for(request);
    }
    return sj__slow_large(policy_in_force(), request);
}

static void *allocate_any(const struct sj_call *request)
{
    if (!is_started()) {
        errno = ENOMEM;
        return NULL;
    }
    if (sj_unlikely(sj__heap_current == &sj__heap_labelled) && !sj__slow_is_inside())
        return sj__counted_allocate(sj__counted_label, request);
    bool is_nothing = request->size_bytes == 0 && request->alignment <= SJ_SMALL_STEP_BYTES;
    unsigned class_index = class_for(request);
    if (!is_nothing && class_index == SJ_CLASS_ZERO)
        return sj__slow_large(policy_in_force(), request);
    /* Inside already: this is a signal handler, and the thread's own heap is being worked on. */
    if (is_nothing || sj__heap_current == &sj__heap_dead || sj__slow_is_inside())
        return slow_shared(request);
    return slow_own(class_index, request);
}

static void *mark(void *block, enum sj_family family)
{
    if (block != NULL && family != SJ_FAMILY_MALLOC) {
        struct sj_judgement judgement = sj__judge(block);
        if (judgement.verdict == SJ_IS_LIVE)
            sj__judge_mark(&judgement, family);
    }
    return block;
}

static void *allocate(const struct sj_call *request)
{
    return mark(allocate_any(request), request->family);
}

void *sj__slow_malloc(size_t size_bytes)
{
    return allocate(&(struct sj_call){ size_bytes, 1, false, SJ_FAMILY_MALLOC, ASKER("malloc") });
}

void *sj__slow_calloc(size_t size_bytes)
{
    return allocate(&(struct sj_call){ size_bytes, 1, true, SJ_FAMILY_MALLOC, ASKER("calloc") });
}

void *sj__slow_aligned(size_t alignment, size_t size_bytes)
{
    return allocate(&(struct sj_call){ size_bytes, alignment, false, SJ_FAMILY_MALLOC, ASKER("aligned_alloc") });
}

void *sj__slow_new(size_t size_bytes)
{
    return allocate(&(struct sj_call){ size_bytes, 1, false, SJ_FAMILY_NEW, ASKER("new") });
}

void *sj__slow_new_array(size_t size_bytes)
{
    return allocate(&(struct sj_call){ size_bytes, 1, false, SJ_FAMILY_NEW_ARRAY, ASKER("new[]") });
}

void *sj__slow_mark(void *block, enum sj_family family)
{
    return policy_in_force()->types ? mark(block, family) : block;
}

/* ---- Free ------------------------------------------------------------------------------------------------------- */

/* A claim that came second: the slot is the first's, whatever the planes say by now. */
static void report_queued(const void *block, const struct sj_slab *slab, struct sj_asker asker)
{
    struct sj_judgement judgement = { .block = block, .usable_bytes = slab->slot_bytes };
    sj__judge_report_double_free(&judgement, block, asker, "the first free is still queued for the owner");
}

void sj__slow_check_slot(const struct sj_slab *slab, unsigned slot_index, struct sj_asker asker)
{
    const char *changed = sj__tail_changed(slab, slot_index);
    if (sj_unlikely(changed != NULL))
        sj__judge_report_overrun(slab->base + (size_t)slot_index * slab->slot_bytes, sj_tail_usable(slab, slot_index),
                                 changed, asker);
}

static void free_slot(const struct sj_judgement *judgement, void *block, struct sj_asker asker)
{
    switch (sj__remote_free(policy_in_force(), judgement->slab, judgement->slot_index)) {
    case SJ_REMOTE_FREED: return;
    case SJ_REMOTE_NOT_LIVE: sj__judge_report_double_free(judgement, block, asker, NULL); return;
    case SJ_REMOTE_ALREADY_FREED: report_queued(block, judgement->slab, asker); return;
    case SJ_REMOTE_OVERRUN: sj__slow_check_slot(judgement->slab, judgement->slot_index, asker); return;
    }
}

/* Bytes round a sampled block that its page does not end at were written to. */
_Noreturn static void report_changed(const struct sj_judgement *judgement, const char *changed, struct sj_asker asker)
{
    struct sj_report_facts facts = sj__judge_facts(judgement, changed, asker);
    bool is_behind = changed >= judgement->block;
    facts.given_bytes = (unsigned char)*changed;
    facts.expected_bytes = SJ_SAMPLED_PATTERN;
    facts.note =
        "found when the block was freed: ptr is the changed byte nearest to it; expected: what had been left there";
    sj__report_misuse(is_behind ? SJ_BLOCK_OVERFLOW : SJ_BLOCK_UNDERFLOW, &facts);
}

static bool free_sampled(const struct sj_judgement *judgement, struct sj_asker asker)
{
    const char *changed;
    enum sj_inside outer = sj__slow_enter(asker);
    bool was_live = sj__sampled_free(judgement->sampled, asker.caller, &changed);
    sj__slow_leave(outer);
    if (changed != NULL)
        report_changed(judgement, changed, asker);
    return was_live;
}

void sj__slow_check_large(const struct sj_large *large, struct sj_asker asker)
{
    const char *changed = sj__large_changed(large);
    if (sj_unlikely(changed != NULL))
        sj__judge_report_overrun(large->start, sj__large_usable(large), changed, asker);
}

static bool free_large(const struct sj_judgement *judgement, void *block, struct sj_asker asker)
{
    sj__slow_check_large(judgement->large, asker);
    enum sj_inside outer = sj__slow_enter(asker);
    uint32_t account = sj__named_detach_large(judgement->large);
    bool was_live = sj_likely(account == SJ_NO_ACCOUNT)
                        ? sj__large_free(policy_in_force(), judgement->large, block)
                        : sj__named_free_large(policy_in_force(), account, judgement->large, block);
    sj__slow_leave(outer);
    return was_live;
}

void sj__slow_free_judged(const struct sj_judgement *judgement, void *block, struct sj_asker asker)
{
    sj_profile_note_free(block);
    if (judgement->slab != NULL) {
        free_slot(judgement, block, asker);
        return;
    }
    bool was_live = judgement->sampled != NULL ? free_sampled(judgement, asker) : free_large(judgement, block, asker);
    if (!was_live)
        sj__judge_report_double_free(judgement, block, asker, "two threads freed it at the same time");
}

/* The common case: a live slot of another thread's slab. False for all else, which is judged. */
static bool free_of_another_thread(void *block, enum sj_family family, struct sj_asker asker)
{
    if (!sj_window_contains(block))
        return false;
    struct sj_slab *slab = (struct sj_slab *)(void *)sj_window_lookup(sj_window_granule(block));
    size_t slot;
    if (sj_load_relaxed_u32(&slab->span.kind) != SJ_SPAN_SLAB ||
        !sj_slot_exact(slab->reciprocal, (size_t)((char *)block - slab->base), &slot) || slot >= slab->slots ||
        !sj_family_take(slab, slot, family))
        return false;
    enum sj_remote_outcome outcome = sj__remote_free(policy_in_force(), slab, (unsigned)slot);
    if (sj_unlikely(outcome == SJ_REMOTE_ALREADY_FREED))
        report_queued(block, slab, asker);
    if (sj_unlikely(outcome == SJ_REMOTE_OVERRUN))
        sj__slow_check_slot(slab, (unsigned)slot, asker);
    return outcome != SJ_REMOTE_NOT_LIVE;
}

static void free_judged_block(void *block, enum sj_family family, struct sj_asker asker)
{
    struct sj_judgement judgement = sj__judge(block);
    if (sj_unlikely(judgement.verdict != SJ_IS_LIVE)) {
        sj__judge_report(&judgement, block, asker, true);
        return;
    }
    sj__judge_family(&judgement, family, asker);
    sj__slow_free_judged(&judgement, block, asker);
}

/* A live slot of the thread's own heap, which is set aside while a label is in force. */
static bool free_aside(void *block, enum sj_family family, struct sj_asker asker)
{
    struct sj_heap *aside = sj__heap_aside;
    if (sj__heap_current != &sj__heap_labelled || sj_load_relaxed_ptr(&sj__window_find(block)->owner) != aside)
        return false;
    struct sj_judgement judgement = sj__judge(block);
    if (judgement.verdict != SJ_IS_LIVE)
        return false;
    sj__judge_family(&judgement, family, asker);
    sj__slow_check_slot(judgement.slab, judgement.slot_index, asker);
    sj__heap_current = aside;
    sj__slow_free_own(block, judgement.slab, judgement.slot_index);
    sj__heap_current = &sj__heap_labelled;
    return true;
}

static void free_any(void *block, enum sj_family family, struct sj_asker asker)
{
    if (block == NULL || !is_started())
        return;
    int saved_errno = errno;
    sj_profile_note_free(block);
    if (sj_likely(sj__heap_aside == NULL) || !free_aside(block, family, asker))
        if (!free_of_another_thread(block, family, asker))
            free_judged_block(block, family, asker);
    errno = saved_errno;
}

void sj__slow_free(void *block)
{
    free_any(block, SJ_FAMILY_MALLOC, ASKER("free"));
}

void sj__slow_delete(void *block)
{
    free_any(block, SJ_FAMILY_NEW, ASKER("delete"));
}

void sj__slow_delete_array(void *block)
{
    free_any(block, SJ_FAMILY_NEW_ARRAY, ASKER("delete[]"));
}

void sj__slow_unmark(void *block, enum sj_family family, const void *caller)
{
    if (!policy_in_force()->types)
        return;
    struct sj_judgement judgement = sj__judge(block);
    if (judgement.verdict == SJ_IS_LIVE)
        sj__judge_family(&judgement, family, (struct sj_asker){ .function = "delete", .caller = caller });
}

void sj__slow_free_own(void *block, struct sj_slab *slab, unsigned slot_index)
{
    struct sj_word *word = &slab->planes[slot_index / SJ_WORD_BITS];
    uint64_t bit = (uint64_t)1 << (slot_index % SJ_WORD_BITS);
    sj__slow_check_slot(slab, slot_index, ASKER("free"));
    if (!sj__slow_is_inside()) /* else this is a signal handler: the slot does without */
        sj__detain_prepare(policy_in_force(), sj__heap_current, slab->class_index);
    if (sj_scrubs_at_free(policy_in_force(), slab->slot_bytes)) {
        sj__scrub_bytes(block, slab->slot_bytes);
        sj_word_set(&word->freed, bit);
    } else {
        sj_word_set(&word->dirty, bit);
    }
    sj_word_clear(&word->live, bit);
    slab = sj__detain(policy_in_force(), sj__heap_current, slab, slot_index);
    if (slab != NULL && slab->until_slow <= 0)
        sj__slow_after_free(slab);
}

void sj__slow_after_free(struct sj_slab *slab)
{
    if (sj__slow_is_inside()) { /* a signal handler: leave it to the next free */
        uint32_t used = sj_slab_used(slab);
        sj_slab_set_trigger(slab, used > 0 ? used - 1 : 0);
        return;
    }
    int saved_errno = errno;
    sj__heap_inside = SJ_INSIDE_HEAP;
    sj__heap_note_free(policy_in_force(), sj__heap_current, slab);
    sj__slow_leave(SJ_OUTSIDE);
    errno = saved_errno;
}

static void judge_stated(void *block, size_t size_bytes, size_t alignment, struct sj_asker asker)
{
    if (block == NULL || !policy_in_force()->sized)
        return;
    struct sj_judgement judgement = sj__judge(block);
    if (judgement.verdict == SJ_IS_LIVE)
        sj__judge_size(&judgement, size_bytes, alignment, asker);
}

void sj__slow_free_sized(void *block, size_t size_bytes)
{
    judge_stated(block, size_bytes, 1, ASKER("free_sized"));
    sj__entry_free(block);
}

void sj__slow_free_aligned_sized(void *block, size_t alignment, size_t size_bytes)
{
    judge_stated(block, size_bytes, alignment, ASKER("free_aligned_sized"));
    sj__entry_free(block);
}

void sj__slow_delete_sized(void *block, size_t size_bytes)
{
    judge_stated(block, size_bytes, 1, ASKER("delete"));
    sj__entry_delete(block, SJ_FAMILY_NEW);
}

void sj__slow_delete_array_sized(void *block, size_t size_bytes)
{
    judge_stated(block, size_bytes, 1, ASKER("delete[]"));
    sj__entry_delete(block, SJ_FAMILY_NEW_ARRAY);
}

/* ---- Realloc and usable size ------------------------------------------------------------------------------------ */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void *resize_large(const struct sj_judgement *judgement, size_t size_bytes, struct sj_asker asker)
{
    int saved_errno = errno;
    struct sj_large *large = judgement->large;
    size_t before_bytes = sj__named_large_bytes(large);
    size_t wanted_bytes =
        sj_round_up(size_bytes + large->shift_bytes, sj__page_bytes()); /* it may begin within a page */
    size_t more_bytes = wanted_bytes > before_bytes ? wanted_bytes - before_bytes : 0;
    const struct sj_policy *policy = sj__named_policy_of(judgement->account, policy_in_force());
    if (sj_unlikely(!sj__named_expect(judgement->account, more_bytes)))
        return NULL;
    sj_profile_note_free(large->start); /* to the profile it is a free and an allocation */
    enum sj_inside outer = enter_after_due(asker);
    void *block = sj__large_resize(policy, large, size_bytes);
    sj__heap_inside = outer;
    if (sj_unlikely(judgement->account != SJ_NO_ACCOUNT)) {
        sj__named_resized_large(judgement->account, large, before_bytes, more_bytes);
        sj_peaks_note(judgement->account);
    }
    if (block != NULL && sj__profile_is_due(size_bytes))
        sj__profile_sample(block, size_bytes, size_bytes, asker.caller);
    errno = saved_errno;
    return block;
}

static void *move(const struct sj_judgement *judgement, void *block, size_t old_bytes, size_t size_bytes,
                  struct sj_asker asker)
{
    const struct sj_call request = { size_bytes, 1, false, SJ_FAMILY_MALLOC, asker };
    void *moved = judgement->account != SJ_NO_ACCOUNT ? sj__counted_allocate(judgement->account, &request)
                                                      : sj__entry_malloc(size_bytes);
    if (moved == NULL)
        return NULL;
    memcpy(moved, block, smaller(old_bytes, size_bytes));
    sj__entry_free(block);
    return moved;
}

void *sj__slow_move(void *block, size_t old_bytes, size_t size_bytes)
{
    struct sj_asker asker = ASKER("realloc");
    struct sj_judgement judgement = sj__judge(block);
    return move(&judgement, block, old_bytes, size_bytes, asker);
}

void *sj__slow_resize(const struct sj_judgement *judgement, void *block, size_t size_bytes, struct sj_asker asker)
{
    const struct sj_policy *policy = sj__named_policy_of(judgement->account, policy_in_force());
    unsigned class_index = sj_heap_class_for(policy, size_bytes, 1);
    if (judgement->large != NULL) {
        sj__slow_check_large(judgement->large, asker);
        void *resized = class_index == SJ_CLASS_ZERO ? resize_large(judgement, size_bytes, asker) : NULL;
        if (resized == NULL) {
            resized = move(judgement, block, judgement->usable_bytes, size_bytes, asker);
            sj__large_count_copy(resized != NULL ? smaller(judgement->usable_bytes, size_bytes) : 0);
        }
        return resized;
    }
    if (judgement->sampled != NULL && size_bytes == judgement->usable_bytes &&
        class_index == judgement->sampled->class_index) /* else free_sized would miss its alignment */
        return block;
    if (judgement->slab != NULL) {
        sj__slow_check_slot(judgement->slab, judgement->slot_index, asker);
        if (class_index != SJ_CLASS_ZERO && class_index == judgement->slab->class_index) {
            sj__tail_renew(judgement->slab, judgement->slot_index, size_bytes);
            return block;
        }
    }
    return move(judgement, block, judgement->usable_bytes, size_bytes, asker);
}

void *sj__slow_realloc(void *block, size_t size_bytes)
{
    struct sj_asker asker = ASKER("realloc");
    if (block == NULL)
        return sj__entry_malloc(size_bytes);
    struct sj_judgement judgement = sj__judge(block);
    if (sj_unlikely(judgement.verdict != SJ_IS_LIVE)) {
        sj__judge_report(&judgement, block, asker, false);
        errno = ENOMEM; /* refused, or foreign and ignored by option: it can't be resized */
        return NULL;
    }
    sj__judge_family(&judgement, SJ_FAMILY_MALLOC, asker);
    if (size_bytes == 0) { /* as glibc: the block is freed and NULL is the answer */
        sj__entry_free(block);
        return NULL;
    }
    return sj__slow_resize(&judgement, block, size_bytes, asker);
}

size_t sj__slow_usable_size(void *block)
{
    struct sj_asker asker = ASKER("malloc_usable_size");
    if (block == NULL)
        return 0;
    struct sj_judgement judgement = sj__judge(block);
    if (judgement.verdict != SJ_IS_LIVE) {
        sj__judge_report(&judgement, block, asker, false);
        return 0;
    }
    return judgement.usable_bytes;
}
