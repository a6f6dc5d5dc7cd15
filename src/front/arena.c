/* SPDX-License-Identifier: MIT
 *
 * What: arenas and labels, as scrubjay.h has them.
 *
 * Why this way: every function first finds out what the handle and the block are, from records that the program can't reach, and
 * reports what does not belong together; the rest is heap/named.h.
 *
 * Invariants: the labels of a thread are a stack, of which the lowest LABELS_DEEP are kept.
 *
 * Concurrency: as scrubjay.h promises.
 */
#include "base/checked.h"
#include "base/format.h"
#include "front/bill.h"
#include "front/counted.h"
#include "front/entry.h"
#include "front/tagged.h"
#include "heap/deep.h"
#include "heap/profile.h"
#include "policy/options.h"
#include "report/report.h"
#include "scrubjay.h"

#include <errno.h>
#include <string.h>

_Static_assert(SJ_NAME_BYTES == SJ_ACCOUNT_NAME_BYTES, "scrubjay.h");

enum { LABELS_DEEP = 32, NOTE_BYTES = 96 };

static _Thread_local uint32_t label_depth;
static _Thread_local uint16_t labels[LABELS_DEEP]; /* accounts; [0] is the outermost */

#define ASKER(name) ((struct sj_asker){ .function = (name), .caller = __builtin_return_address(0) })

/* False, and errno set, where there can be no arenas. */
static bool is_served(void)
{
    if (sj__start() && !sj__sealed.settings.disable)
        return true;
    errno = sj__sealed.settings.disable ? ENOTSUP : ENOMEM;
    return false;
}

/* Only the first call with a label has to open an account. */
static uint32_t account_of_label(struct sj_book *book, const char *label)
{
    uint32_t account = sj__account_find(book, label);
    if (sj_likely(account != SJ_NO_ACCOUNT))
        return account;
    struct sj_deep deep;
    sj_deep_begin(&deep);
    account = sj__account_get(book, label);
    sj_deep_end(&deep);
    return account;
}

/* ---- Arenas ------------------------------------------------------------------------------------------------------ */

/* NULL only if that is to be refused: then errno is EINVAL. */
static struct sj_named *arena_of(const struct sj_arena *arena, struct sj_asker asker)
{
    sj__counted_refuse_inside(asker);
    struct sj_named *named = sj__start() ? sj__named_find(arena) : NULL;
    if (sj_unlikely(named == NULL)) {
        sj__report_refusable(SJ_NO_ARENA, &(struct sj_report_facts){
                                              .pointer = arena, .function = asker.function, .caller = asker.caller });
        errno = EINVAL;
    }
    return named;
}

SJ_EXPORT struct sj_arena *sj_arena_create(const char *name, const char *options)
{
    if (!is_served())
        return NULL;
    sj__counted_refuse_inside(ASKER("sj_arena_create"));
    const struct sj_settings *in_force = __atomic_load_n(&sj__sealed.in_force, __ATOMIC_ACQUIRE); /* a raise's store */
    struct sj_settings settings = *in_force;
    if (name == NULL || name[0] == '\0' || sj__options_arena(&settings, options) != 0) {
        errno = EINVAL;
        return NULL;
    }
    struct sj_deep deep;
    sj_deep_begin(&deep);
    struct sj_named *named = sj__named_create(name, &settings);
    sj_deep_end(&deep);
    if (named == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    return sj__named_handle(named);
}

/* The label in force, if none is given. */
static void *allocate(const struct sj_arena *arena, const char *label, const struct sj_call *request)
{
    struct sj_named *named = arena_of(arena, request->asker);
    if (named == NULL)
        return NULL;
    if (label == NULL && sj__counted_label != SJ_NO_ACCOUNT)
        label = sj__account_at(sj__counted_label)->label;
    uint32_t account = account_of_label(&named->book, label);
    if (account == SJ_NO_ACCOUNT) {
        errno = ENOMEM;
        return NULL;
    }
    uint64_t tags = sj_tags_ignore();
    void *block = sj_tagged_hand_out(sj__counted_allocate(account, request));
    sj_tags_heed(tags);
    return block;
}

SJ_EXPORT void *sj_arena_malloc(struct sj_arena *arena, const char *label, size_t size)
{
    return allocate(arena, label, &(struct sj_call){ size, 1, false, SJ_FAMILY_MALLOC, ASKER("sj_arena_malloc") });
}

SJ_EXPORT void *sj_arena_calloc(struct sj_arena *arena, const char *label, size_t count, size_t size)
{
    size_t bytes;
    if (!sj_checked_mul(count, size, &bytes))
        bytes = SIZE_MAX; /* more than there can be: ENOMEM */
    return allocate(arena, label, &(struct sj_call){ bytes, 1, true, SJ_FAMILY_MALLOC, ASKER("sj_arena_calloc") });
}

SJ_EXPORT void *sj_arena_aligned_alloc(struct sj_arena *arena, const char *label, size_t alignment, size_t size)
{
    if (!sj_is_power_of_two(alignment)) {
        errno = EINVAL;
        return NULL;
    }
    return allocate(arena, label,
                    &(struct sj_call){ size, alignment, false, SJ_FAMILY_MALLOC, ASKER("sj_arena_aligned_alloc") });
}

/* A block that the program says is the arena's: judged, and reported if it is not. False: that was refused. */
static bool is_of(const struct sj_named *named, const void *block, struct sj_asker asker, bool freeing,
                  struct sj_judgement *judgement)
{
    *judgement = sj__judge(block);
    if (judgement->verdict != SJ_IS_LIVE) {
        sj__judge_report(judgement, block, asker, freeing);
        return false;
    }
    if (judgement->account != SJ_NO_ACCOUNT && sj__named_of(judgement->account) == named)
        return true;
    char note[NOTE_BYTES];
    struct sj_text text;
    struct sj_report_facts facts = sj__judge_facts(judgement, block, asker);
    sj__format_start(&text, note, sizeof note);
    sj__format_string(&text, "the arena that was given: ");
    sj__format_string(&text, named->name);
    facts.note = note;
    sj__report_refusable(SJ_WRONG_ARENA, &facts);
    return false;
}

SJ_EXPORT void *sj_arena_realloc(struct sj_arena *arena, const char *label, void *block, size_t size)
{
    struct sj_asker asker = ASKER("sj_arena_realloc");
    struct sj_judgement judgement;
    if (block == NULL)
        return allocate(arena, label, &(struct sj_call){ size, 1, false, SJ_FAMILY_MALLOC, asker });
    const struct sj_named *named = arena_of(arena, asker);
    if (named == NULL || !is_of(named, block, asker, false, &judgement)) {
        errno = EINVAL;
        return NULL;
    }
    uint64_t tags = sj_tags_ignore();
    unsigned tag = sj_tags_of(block);
    void *resized = NULL;
    block = sj_tagged_admit(block, size == 0, asker);
    if (block == NULL)
        errno = EINVAL;
    else if (size == 0)
        sj__slow_free_judged(&judgement, block, asker);
    else
        resized = sj__slow_resize(&judgement, block, size, asker);
    if (sj_tags_are_on())
        resized = sj__tagged_resized(&judgement, tag, resized, false);
    sj_tags_heed(tags);
    return resized;
}

SJ_EXPORT void sj_arena_free(struct sj_arena *arena, void *block)
{
    struct sj_asker asker = ASKER("sj_arena_free");
    struct sj_judgement judgement;
    int saved_errno = errno;
    if (block == NULL)
        return;
    const struct sj_named *named = arena_of(arena, asker);
    uint64_t tags = sj_tags_ignore();
    if (named != NULL && is_of(named, block, asker, true, &judgement)) {
        block = sj_tagged_admit(block, true, asker);
        if (block != NULL)
            sj__slow_free_judged(&judgement, block, asker);
    }
    sj_tags_heed(tags);
    errno = saved_errno;
}

static void check_slot(const struct sj_slab *slab, unsigned slot_index, const void *caller)
{
    sj__slow_check_slot(slab, slot_index, (struct sj_asker){ .function = "sj_arena_reset", .caller = caller });
    if (sj_tags_are_on())
        sj__tagged_retire(slab->base + (size_t)slot_index * slab->slot_bytes);
}

static void check_large(const struct sj_large *large, const void *caller)
{
    sj__slow_check_large(large, (struct sj_asker){ .function = "sj_arena_reset", .caller = caller });
    if (sj_tags_are_on())
        sj__tagged_retire(large->start);
}

static bool is_in(const void *block, const void *of)
{
    struct sj_judgement judgement = sj__judge(block);
    return judgement.account != SJ_NO_ACCOUNT && sj__named_of(judgement.account) == of;
}

static void empty(const struct sj_arena *arena, struct sj_asker asker,
                  void (*how)(struct sj_named *, const struct sj_named_checks *))
{
    struct sj_deep deep;
    int saved_errno = errno;
    struct sj_named *named = arena_of(arena, asker);
    if (named != NULL) {
        sj_deep_begin(&deep);
        sj__profile_forget_those(is_in, named);
        how(named, &(struct sj_named_checks){ check_slot, check_large, asker.caller });
        sj_deep_end(&deep);
    }
    errno = saved_errno;
}

SJ_EXPORT void sj_arena_reset(struct sj_arena *arena)
{
    empty(arena, ASKER("sj_arena_reset"), sj__named_reset);
}

SJ_EXPORT void sj_arena_destroy(struct sj_arena *arena)
{
    if (arena != NULL)
        empty(arena, ASKER("sj_arena_destroy"), sj__named_end);
}

/* ---- Labels ------------------------------------------------------------------------------------------------------ */

SJ_EXPORT int sj_label_push(const char *label)
{
    if (!is_served())
        return -1;
    sj__counted_refuse_inside(ASKER("sj_label_push"));
    uint32_t account = account_of_label(&sj__named_no_arena, label);
    if (account == SJ_NO_ACCOUNT) {
        errno = ENOMEM;
        return -1;
    }
    if (label_depth < LABELS_DEEP) {
        labels[label_depth] = (uint16_t)account;
        sj__counted_label = account;
    }
    label_depth++;
    if (sj__heap_aside == NULL && sj__heap_current != &sj__heap_dead) {
        sj__heap_aside = sj__heap_current;
        sj_compiler_barrier(); /* a handler that comes between has both */
        sj__heap_current = &sj__heap_labelled;
    }
    return 0;
}

SJ_EXPORT void sj_label_pop(void)
{
    if (label_depth == 0)
        return;
    label_depth--;
    if (label_depth > 0) {
        sj__counted_label = labels[(label_depth < LABELS_DEEP ? label_depth : LABELS_DEEP) - 1];
        return;
    }
    if (sj__heap_aside != NULL) {
        sj__heap_current = sj__heap_aside;
        sj_compiler_barrier();
        sj__heap_aside = NULL;
    }
    sj_compiler_barrier(); /* a handler that comes before has a label as long as it has the heap of labels */
    sj__counted_label = SJ_NO_ACCOUNT;
}

/* ---- What they come to ------------------------------------------------------------------------------------------- */

static void fill(const struct sj_counts *counts, const struct sj_book *book, const char *label,
                 struct sj_account_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    if (book->name != NULL)
        memcpy(stats->arena, book->name, strlen(book->name) + 1);
    memcpy(stats->label, label, strlen(label) + 1);
    stats->live_bytes = sj_load_relaxed_u64(&counts->live_bytes);
    stats->peak_bytes = sj_load_relaxed_u64(&counts->peak_bytes);
    stats->allocated_bytes = stats->live_bytes + sj_load_relaxed_u64(&counts->freed_bytes);
    stats->allocated_blocks = sj_load_relaxed_u64(&counts->allocated_blocks);
    stats->live_blocks = stats->allocated_blocks - sj_load_relaxed_u64(&counts->freed_blocks);
}

SJ_EXPORT int sj_arena_read(const struct sj_arena *arena, struct sj_account_stats *stats)
{
    const struct sj_named *named = arena_of(arena, ASKER("sj_arena_read"));
    if (named == NULL)
        return -1;
    fill(&named->counts, &named->book, "", stats);
    stats->limit_bytes = named->limit_bytes;
    return 0;
}

SJ_EXPORT int sj_arena_bill(const struct sj_arena *arena, struct sj_bill *bill, size_t bytes)
{
    const struct sj_named *named = arena_of(arena, ASKER("sj_arena_bill"));
    struct sj_bill made;
    struct sj_bill_row row = { .named = named };
    if (named == NULL || !sj__bill_ask(&made, &row, false))
        return -1;
    struct sj_bill part = { .version = SJ_BILL_VERSION,
                            .bytes = (uint32_t)(bytes < sizeof part ? bytes : sizeof part) };
    memcpy(part.line, row.line, sizeof row.line);
    for (unsigned line = 0; line < SJ_BILL_LINES; line++)
        part.committed_bytes += row.line[line];
    memcpy(bill, &part, part.bytes);
    return 0;
}

SJ_EXPORT int sj_account_read(size_t index, struct sj_account_stats *stats)
{
    if (index >= sj__account_count()) {
        errno = ENOENT;
        return -1;
    }
    const struct sj_account *account = sj__account_at((uint32_t)index + 1);
    fill(&account->counts, account->book, account->label, stats);
    return 0;
}

SJ_EXPORT int sj_account_of(const void *block, struct sj_account_stats *stats)
{
    struct sj_judgement judgement = sj__judge(block);
    bool is_inside = judgement.verdict == SJ_IS_LIVE || judgement.verdict == SJ_IS_INTERIOR;
    if (!is_inside || judgement.account == SJ_NO_ACCOUNT) {
        memset(stats, 0, sizeof *stats);
        return 0;
    }
    const struct sj_account *account = sj__account_at(judgement.account);
    fill(&account->counts, account->book, account->label, stats);
    return 1;
}
