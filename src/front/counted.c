/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see counted.h.
 */
#include "front/counted.h"

#include "base/checked.h"
#include "front/entry.h"
#include "front/live.h"
#include "front/peaks.h"
#include "front/profile_dump.h"
#include "heap/adopt.h"
#include "heap/profile.h"
#include "report/report.h"

#include <errno.h>

_Thread_local uint32_t sj__counted_label;

void sj__counted_refuse_inside(struct sj_asker asker)
{
    if (sj_unlikely(sj__heap_inside != SJ_OUTSIDE))
        sj__report_misuse(SJ_RECURSION,
                          &(struct sj_report_facts){ .function = asker.function, .caller = asker.caller });
}

/* ---- When an arena is exhausted ---------------------------------------------------------------------------------- */

_Noreturn static void report_exhausted(const struct sj_named *named, const struct sj_call *request)
{
    sj__report_misuse(SJ_ARENA_EXHAUSTED, &(struct sj_report_facts){
                                              .function = request->asker.function,
                                              .caller = request->asker.caller,
                                              .size_bytes = sj_load_relaxed_u64(&named->counts.live_bytes),
                                              .given_bytes = request->size_bytes,
                                              .expected_bytes = named->limit_bytes,
                                              .arena = named->name,
                                              .note = "size: bytes live in the arena; given: those asked for; "
                                                      "expected: its limit, if it has one",
                                              .details = sj__peaks_write_labels,
                                              .of = named,
                                          });
}

/* ---- Allocation -------------------------------------------------------------------------------------------------- */

static void *small(struct sj_heap *heap, uint32_t account, size_t slab_bytes, const struct sj_call *request)
{
    enum sj_inside outer = sj__slow_enter(request->asker);
    sj__heap_inside = SJ_INSIDE_HEAP; /* a handler that comes now is served from the heap that all share */
    void *block = NULL;
    for (unsigned way = 0; block == NULL && way <= SJ_WAYS_TO_ROOM; way++)
        if (way == 0 || sj__slow_make_room(way - 1, slab_bytes))
            block = sj__heap_locked_malloc(heap, request->size_bytes, request->alignment, request->zero, account);
    sj__slow_leave(outer);
    if (block != NULL && sj__profile_is_due(request->size_bytes))
        sj__profile_sample(block, request->size_bytes, request->size_bytes, request->asker.caller);
    return block;
}

static void *large(const struct sj_policy *policy, uint32_t account, size_t bytes, const struct sj_call *request)
{
    void *block = sj__slow_large(policy, request);
    if (block == NULL)
        return NULL;
    enum sj_inside outer = sj__slow_enter(request->asker);
    sj__named_attach_large(account, (struct sj_large *)(void *)sj_window_lookup(sj_window_granule(block)), bytes);
    sj__heap_inside = outer;
    return block;
}

/* What the block will count for: exact, but for one of nothing that needs a page, and counts for none. */
static size_t bytes_of(const struct sj_call *request, bool is_small, unsigned class_index)
{
    size_t bytes = SJ_MAX_REQUEST_BYTES;
    if (is_small)
        return sj__size_classes[class_index].usable_bytes;
    (void)sj_checked_round_up(request->size_bytes > 0 ? request->size_bytes : 1, sj__page_bytes(), &bytes);
    return bytes;
}

static void *take(struct sj_named *named, uint32_t account, const struct sj_call *request)
{
    const struct sj_settings *settings = __atomic_load_n(&sj__sealed.in_force, __ATOMIC_ACQUIRE); /* a raise's store */
    const struct sj_policy *policy = named != NULL ? &named->policy : &settings->policy;
    bool is_nothing = request->size_bytes == 0 && request->alignment <= SJ_SMALL_STEP_BYTES;
    unsigned class_index = sj_heap_class_for(policy, request->size_bytes, request->alignment);
    bool is_small = is_nothing || class_index != SJ_CLASS_ZERO;
    size_t bytes = bytes_of(request, is_small, class_index);
    if (named != NULL && !sj__named_reserve(named, bytes))
        return NULL;
    void *block = NULL;
    if (is_small) {
        struct sj_heap *heap = named != NULL ? &named->heap : sj__named_labelled_heap();
        size_t slab_bytes = (size_t)sj__size_classes[class_index].granules << SJ_GRANULE_SHIFT;
        block = heap != NULL ? small(heap, account, slab_bytes, request) : NULL;
    } else {
        block = large(policy, account, bytes, request);
    }
    if (named != NULL && block == NULL)
        sj__named_unreserve(named, bytes);
    return block;
}

void *sj__counted_allocate(uint32_t account, const struct sj_call *request)
{
    struct sj_named *named = sj__named_of(account);
    int saved_errno = errno;
    void *block = take(named, account, request);
    if (block == NULL && named != NULL && named->exhausted == SJ_EXHAUSTED_REPORT)
        report_exhausted(named, request);
    if (block != NULL)
        sj_peaks_note(account);
    errno = block != NULL ? saved_errno : ENOMEM;
    return block;
}
