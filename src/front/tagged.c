/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see tagged.h.
 */
#include "front/tagged.h"

#include "base/bits.h"
#include "heap/heap.h"
#include "meta/window.h"
#include "platform/pages.h"
#include "report/report.h"

#include <errno.h>

/* ---- Colours ----------------------------------------------------------------------------------------------------- */

/* Bit n: the tag n. A slab's first slot may follow another's last one, so these two have colours of their own. */
enum {
    COLOUR_ODD = 0xaaaa,   /* slots with an odd number */
    COLOUR_EVEN = 0x5554,  /* with an even one */
    COLOUR_FIRST = 0x0054, /* 2, 4, 6 */
    COLOUR_LAST = 0x5500,  /* 8, 10, 12, 14: the last one, if its number is even */
    COLOUR_ANY = 0xfffe    /* large blocks: guards lie beside them */
};

static unsigned colour_of(const struct sj_judgement *judgement)
{
    unsigned index = judgement->slot_index;
    if (judgement->slab == NULL)
        return COLOUR_ANY;
    if (index == 0)
        return COLOUR_FIRST;
    if (index % 2 != 0)
        return COLOUR_ODD;
    return index + 1 == judgement->slab->slots ? COLOUR_LAST : COLOUR_EVEN;
}

/* Some blocks have no tag: those that fault by their pages when they are missed. */
static bool has_tag(const struct sj_judgement *judgement)
{
    if (judgement->slab != NULL)
        return judgement->slab->class_index != SJ_CLASS_ZERO;
    return judgement->large != NULL && !judgement->large->unusable && judgement->usable_bytes <= SJ_TAGGED_MAX_BYTES;
}

static bool is_accessible(const struct sj_judgement *judgement)
{
    if (judgement->slab != NULL)
        return judgement->slab->class_index != SJ_CLASS_ZERO;
    return judgement->large == NULL || !judgement->large->unusable;
}

/* ---- What a block's memory has ----------------------------------------------------------------------------------- */

/* The whole of it that is nobody else's. */
static void extent_of(const struct sj_judgement *judgement, char **start, char **end)
{
    *start = (char *)(uintptr_t)judgement->block;
    if (judgement->slab != NULL) {
        *end = *start + judgement->slab->slot_bytes;
        return;
    }
    size_t page_bytes = sj__page_bytes();
    *start = (char *)sj_round_down((uintptr_t)judgement->block, page_bytes);
    *end = judgement->large != NULL ? judgement->large->start + judgement->large->usable_bytes : *start + page_bytes;
}

enum { RESIDENT_PAGES = 1024 };

static void set_between(char *start, const char *end, unsigned tag)
{
    if (start < end)
        sj__tags_set(start, (size_t)(end - start), tag);
}

static void *cover(const struct sj_judgement *judgement, unsigned tag)
{
    char *start, *end, *block = (char *)(uintptr_t)judgement->block;
    char *used_end = block + sj_round_up(judgement->usable_bytes, SJ_TAGS_GRANULE_BYTES);
    extent_of(judgement, &start, &end);
    if (used_end > end)
        used_end = end;
    set_between(start, block, 0);
    set_between(block, used_end, tag);
    set_between(used_end, end, 0);
    return sj_tags_put(block, tag);
}

/* What has no tag may lie where blocks with tags were. Behind the bytes to keep pages are given back rather than touched, but for
 * the last one, which has the canary. */
static void *uncover(const struct sj_judgement *judgement, size_t keep_bytes, bool kept_is_clear)
{
    char *start, *end;
    size_t page_bytes = sj__page_bytes();
    if (!is_accessible(judgement))
        return (void *)(uintptr_t)judgement->block;
    extent_of(judgement, &start, &end);
    char *kept_end = (char *)sj_round_up((uintptr_t)judgement->block + keep_bytes, page_bytes);
    char *last = end - page_bytes;
    kept_end = kept_end < start + page_bytes ? start + page_bytes : kept_end;
    if (judgement->large != NULL && kept_end < last && sj__pages_release(kept_end, (size_t)(last - kept_end)))
        end = kept_end;
    set_between(kept_is_clear ? kept_end : start, end, 0);
    if (end == kept_end)
        sj__tags_set(last, page_bytes, 0);
    return (void *)(uintptr_t)judgement->block;
}

/* A freed block without a tag gets one where it holds anything: who goes by its pointer faults there. Where the kernel has guard
 * markers it is made inaccessible whole. */
static void cover_resident(const struct sj_judgement *judgement)
{
    char *start, *end;
    unsigned char resident[RESIDENT_PAGES];
    size_t page_bytes = sj__page_bytes();
    unsigned tag = sj__tags_choose(1);
    if (judgement->large == NULL || judgement->large->unusable || sj__pages_have_guard_markers())
        return;
    extent_of(judgement, &start, &end);
    for (size_t pages; start < end; start += pages * page_bytes) {
        pages = (size_t)(end - start) / page_bytes;
        pages = pages > RESIDENT_PAGES ? RESIDENT_PAGES : pages;
        if (!sj__pages_see_resident(start, pages * page_bytes, resident))
            return;
        for (size_t i = 0; i < pages; i++)
            if ((resident[i] & 1) != 0)
                sj__tags_set(start + i * page_bytes, page_bytes, tag);
    }
}

static unsigned tag_for(const struct sj_judgement *judgement)
{
    unsigned colour = colour_of(judgement), is = sj__tags_get(judgement->block);
    return (colour >> is & 1) != 0 ? is : sj__tags_choose(~colour);
}

void *sj__tagged_hand_out(void *block)
{
    if (block == NULL || sj_tags_of(block) != 0)
        return block;
    struct sj_judgement judgement = sj__judge(block);
    if (judgement.verdict != SJ_IS_LIVE)
        return block;
    return has_tag(&judgement) ? cover(&judgement, tag_for(&judgement)) : uncover(&judgement, 0, false);
}

/* ---- What comes in ----------------------------------------------------------------------------------------------- */

static _Thread_local const void *caller_of_entry;

struct visit {
    uint64_t tags;
    const void *caller;
};

static bool is_outermost(const struct visit *visit)
{
    return !sj_tags_were_ignored(visit->tags);
}

static struct visit begin(const void *caller)
{
    struct visit visit = { sj_tags_ignore(), caller_of_entry };
    if (is_outermost(&visit))
        caller_of_entry = caller;
    return visit;
}

static void end(const struct visit *visit)
{
    caller_of_entry = visit->caller;
    sj_tags_heed(visit->tags);
}

const void *sj__tagged_caller(const void *caller)
{
    return caller_of_entry != NULL ? caller_of_entry : caller;
}

static void *admit(void *block, bool is_program, bool freeing, struct sj_asker asker)
{
    char *start = sj_tags_strip(block);
    struct sj_judgement judgement = sj__judge(start);
    if (judgement.verdict == SJ_IS_FOREIGN)
        return block;
    if (judgement.verdict != SJ_IS_LIVE || !is_accessible(&judgement))
        return start; /* whoever gets it reports it */
    if (is_program && sj_tags_of(block) != sj__tags_get(start)) {
        struct sj_report_facts facts = sj__judge_facts(&judgement, start, asker);
        facts.note = "the pointer's tag is of an earlier block, which has been freed; another lies at its address now";
        sj__report_refusable(freeing ? SJ_DOUBLE_FREE : SJ_USE_AFTER_FREE, &facts);
        return NULL;
    }
    if (freeing && !has_tag(&judgement))
        cover_resident(&judgement);
    else if (freeing)
        (void)cover(&judgement, sj__tags_choose(~colour_of(&judgement) | 1u << sj__tags_get(start)));
    return start;
}

void *sj__tagged_admit(void *block, bool freeing, struct sj_asker asker)
{
    return admit(block, true, freeing, asker);
}

void sj__tagged_retire(const void *block)
{
    (void)admit((void *)(uintptr_t)block, false, true, (struct sj_asker){ 0 });
}

void *sj__tagged_resized(const struct sj_judgement *before, unsigned tag, void *after, bool cleared)
{
    if (after == NULL || sj_tags_of(after) != 0)
        return after;
    struct sj_judgement judgement = sj__judge(after);
    if (judgement.verdict != SJ_IS_LIVE)
        return after;
    if (has_tag(&judgement))
        return cover(&judgement, after == before->block && tag != 0 ? tag : tag_for(&judgement));
    size_t kept_bytes = before->usable_bytes < judgement.usable_bytes ? before->usable_bytes : judgement.usable_bytes;
    return uncover(&judgement, kept_bytes, cleared && !has_tag(before));
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

#define BEHIND (&sj__sealed.behind_tags)
#define CALLER __builtin_return_address(0)

/* A function that makes a block, and one that gives one back. */
#define DEFINE_MAKER(name, parameters, call)             \
    static void *name parameters                         \
    {                                                    \
        struct visit visit = begin(CALLER);              \
        void *block = sj__tagged_hand_out(BEHIND->call); \
        end(&visit);                                     \
        return block;                                    \
    }
#define DEFINE_GIVER(name, parameters, called, call)                                           \
    static void name parameters                                                                \
    {                                                                                          \
        struct visit visit = begin(CALLER);                                                    \
        struct sj_asker asker = { .function = (called), .caller = sj__tagged_caller(CALLER) }; \
        void *start = block != NULL ? admit(block, is_outermost(&visit), true, asker) : NULL;  \
        if (start != NULL)                                                                     \
            BEHIND->call;                                                                      \
        end(&visit);                                                                           \
    }

DEFINE_MAKER(tagged_malloc, (size_t size_bytes), malloc(size_bytes))
DEFINE_MAKER(tagged_calloc, (size_t count, size_t size_bytes), calloc(count, size_bytes))
DEFINE_MAKER(tagged_aligned, (size_t alignment, size_t size_bytes), aligned(alignment, size_bytes))
DEFINE_MAKER(tagged_new, (size_t size_bytes), new_object(size_bytes))
DEFINE_MAKER(tagged_new_array, (size_t size_bytes), new_array(size_bytes))
DEFINE_GIVER(tagged_free, (void *block), "free", free(start))
DEFINE_GIVER(tagged_delete, (void *block), "delete", delete_object(start))
DEFINE_GIVER(tagged_delete_array, (void *block), "delete[]", delete_array(start))
DEFINE_GIVER(tagged_free_sized, (void *block, size_t size_bytes), "free_sized", free_sized(start, size_bytes))
DEFINE_GIVER(tagged_delete_sized, (void *block, size_t size_bytes), "delete", delete_object_sized(start, size_bytes))
DEFINE_GIVER(tagged_delete_array_sized, (void *block, size_t size_bytes), "delete[]",
             delete_array_sized(start, size_bytes))
DEFINE_GIVER(tagged_free_aligned_sized, (void *block, size_t alignment, size_t size_bytes), "free_aligned_sized",
             free_aligned_sized(start, alignment, size_bytes))

static void *resize(void *block, size_t size_bytes, bool is_program, struct sj_asker asker)
{
    char *start = admit(block, is_program, false, asker);
    if (start == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    struct sj_judgement before = sj__judge(start);
    if (before.verdict != SJ_IS_LIVE)
        return BEHIND->realloc(start, size_bytes);
    unsigned tag = has_tag(&before) ? sj__tags_get(start) : 0;
    return sj__tagged_resized(&before, tag, BEHIND->realloc(start, size_bytes), true);
}

static void *tagged_realloc(void *block, size_t size_bytes)
{
    struct visit visit = begin(CALLER);
    struct sj_asker asker = { .function = "realloc", .caller = sj__tagged_caller(CALLER) };
    void *resized = block != NULL ? resize(block, size_bytes, is_outermost(&visit), asker)
                                  : sj__tagged_hand_out(BEHIND->realloc(NULL, size_bytes));
    end(&visit);
    return resized;
}

static size_t tagged_usable_size(void *block)
{
    struct visit visit = begin(CALLER);
    struct sj_asker asker = { .function = "malloc_usable_size", .caller = sj__tagged_caller(CALLER) };
    void *start = block != NULL ? admit(block, is_outermost(&visit), false, asker) : NULL;
    size_t usable_bytes = start != NULL ? BEHIND->usable_size(start) : 0;
    end(&visit);
    return usable_bytes;
}

const struct sj_dispatch sj__tagged_table = {
    .malloc = tagged_malloc,
    .free = tagged_free,
    .calloc = tagged_calloc,
    .free_sized = tagged_free_sized,
    .realloc = tagged_realloc,
    .aligned = tagged_aligned,
    .free_aligned_sized = tagged_free_aligned_sized,
    .usable_size = tagged_usable_size,
    .new_object = tagged_new,
    .new_array = tagged_new_array,
    .delete_object = tagged_delete,
    .delete_array = tagged_delete_array,
    .delete_object_sized = tagged_delete_sized,
    .delete_array_sized = tagged_delete_array_sized,
};

struct sj_dispatch *sj__tagged_level_table(void)
{
    return sj_tags_are_on() ? &sj__sealed.behind_tags : &sj__sealed.dispatch;
}

void sj__tagged_start(struct sj_settings *settings)
{
    if (settings->tag == SJ_TAG_OFF)
        return;
    const char *reason =
        SJ_LEVEL_IS_FIXED ? "this build has one level only" : sj__tags_start(settings->tag == SJ_TAG_SYNC);
    if (reason != NULL) {
        settings->tag = SJ_TAG_OFF;
        sj__report_warn("tag not used: ", reason);
        return;
    }
    if (settings->policy.guard == SJ_GUARD_OFF)
        settings->policy.guard = SJ_GUARD_LARGE;
    settings->policy.trap = SJ_TRAP_ON;
    sj__window_tag();
}
