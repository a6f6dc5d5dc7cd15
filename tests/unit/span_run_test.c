/* SPDX-License-Identifier: MIT
 *
 * What: the runs: random takes, gives and purges on the real window against an oracle that knows every granule.
 *
 * Why this way: nothing else allocates in this process, so every granule of the window but the first is either the
 * test's or free, and the oracle is an array. Pages are written and read: what a run says it holds is believed only if
 * it does. A page source refuses calls, now and then, or from the Nth on.
 *
 * Invariants checked: no granule is taken twice; the free bytes by content and the taken ones make up the window; what
 * is said to be zero is; free neighbours of the same content are one run; what is said to be untouched nobody had.
 *
 * Concurrency: none.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/unit.h"

#include "front/entry.h"
#include "meta/window.h"
#include "platform/pages.h"
#include "span/release.h"
#include "span/run.h"

#include <sys/mman.h>

enum {
    GRANULES_MAX = 1 << 18,
    STRETCHES_MAX = 300,
    TAKEN_MAX = 1200, /* granules */
    PAGE_STEP = 4096, /* one word a page is looked at */
    ROUNDS = 3000
};

/* --- A kernel that refuses. --- */

static bool refuse_maps;
static unsigned refuse_advice_one_in; /* 0: none */
static bool refuse_from_then_on;      /* all calls, after as many as this: */
static unsigned calls_until_refusal;
static uint64_t source_state;

static bool refuses(bool asked)
{
    bool refused = asked;
    if (refuse_from_then_on)
        refused = calls_until_refusal == 0 || (calls_until_refusal--, false);
    if (refused)
        errno = ENOMEM;
    return refused;
}

static void *source_map(void *address, size_t bytes, int protection, int flags)
{
    return refuses(refuse_maps) ? MAP_FAILED : mmap(address, bytes, protection, flags, -1, 0);
}

static int source_unmap(void *address, size_t bytes)
{
    return munmap(address, bytes);
}

static int source_protect(void *address, size_t bytes, int protection)
{
    return refuses(refuse_maps) ? -1 : mprotect(address, bytes, protection);
}

static int source_advise(void *address, size_t bytes, int advice)
{
    bool asked = refuse_advice_one_in != 0 && unit_random_below(&source_state, refuse_advice_one_in) == 0;
    return refuses(asked) ? -1 : madvise(address, bytes, advice);
}

static void *source_move(void *from, size_t from_bytes, size_t to_bytes, int flags, void *to)
{
    return refuses(refuse_maps) ? MAP_FAILED : mremap(from, from_bytes, to_bytes, flags, to);
}

static const struct sj_page_source source = { source_map, source_unmap, source_protect, source_advise, source_move };

static void use_kernel(void)
{
    refuse_maps = refuse_from_then_on = false;
    refuse_advice_one_in = 0;
    sj__pages_set_source(NULL);
}

/* --- The oracle. --- */

struct stretch {
    size_t first;
    size_t granules;
    bool written; /* may hold something else than zeros */
};

static struct stretch stretches[STRETCHES_MAX];
static size_t stretch_count;
static size_t taken_granules;
static bool is_taken[GRANULES_MAX];
static bool was_taken[GRANULES_MAX]; /* ever */
static uint64_t owed_ever;

static uint64_t *word_of(size_t granule, size_t offset)
{
    return (uint64_t *)(void *)(sj_window_address(granule) + offset);
}

static bool reads_as_zero(const struct stretch *stretch)
{
    size_t pages_step = stretch->granules > 64 ? SJ_GRANULE_BYTES / 2 : PAGE_STEP;
    for (size_t i = 0; i < stretch->granules; i++)
        for (size_t offset = 0; offset < SJ_GRANULE_BYTES; offset += pages_step)
            if (*word_of(stretch->first + i, offset + (i * 8) % PAGE_STEP) != 0)
                return false;
    return true;
}

static void note_taken(size_t first, size_t granules, enum sj_run_content content)
{
    struct stretch *stretch = &stretches[stretch_count++];
    *stretch = (struct stretch){ .first = first, .granules = granules, .written = content == SJ_RUN_DIRTY };
    taken_granules += granules;
    CHECK(first > 0); /* the first granule is nobody's */
    for (size_t i = first; i < first + granules; i++) {
        if (!CHECK(i < GRANULES_MAX && !is_taken[i]))
            _exit(1);
        is_taken[i] = was_taken[i] = true;
    }
    if (content != SJ_RUN_DIRTY)
        CHECK(reads_as_zero(stretch));
}

static void note_given(size_t first, size_t granules)
{
    taken_granules -= granules;
    for (size_t i = first; i < first + granules; i++) {
        CHECK(is_taken[i]);
        is_taken[i] = false;
    }
}

static size_t window_granules(void)
{
    return sj_load_relaxed_size(&sj__window_limit_bytes) >> SJ_GRANULE_SHIFT;
}

static size_t free_bytes(void)
{
    struct sj_run_bytes bytes;
    sj__run_read_bytes(&bytes);
    return sj_run_held_bytes(&bytes) + bytes.held[SJ_RUN_EMPTY] + bytes.held[SJ_RUN_UNTOUCHED] +
           bytes.held[SJ_RUN_TRAPPED] + bytes.held[SJ_RUN_UNMAPPED];
}

/* Every byte that was owed has been paid once, or is owed still. */
static void check_debts(void)
{
    struct sj_run_bytes bytes;
    sj__run_read_bytes(&bytes);
    CHECK_EQ(bytes.owed + bytes.paid_reuse + bytes.paid_kernel, owed_ever);
}

static void check_sums(void)
{
    check_debts();
    CHECK_EQ(free_bytes() + (taken_granules << SJ_GRANULE_SHIFT), (window_granules() - 1) << SJ_GRANULE_SHIFT);
}

/* --- The operations. --- */

static void take(size_t granules)
{
    size_t first;
    enum sj_run_content content;
    if (sj__run_take(granules, &first, &content))
        note_taken(first, granules, content);
    else
        CHECK(refuse_maps || refuse_from_then_on);
}

/* Behind a stretch of ours, as a block that grows does. Succeeds only where the oracle sees room. */
static void take_at(uint64_t *state, size_t granules)
{
    const struct stretch *before = &stretches[unit_random_below(state, stretch_count)];
    size_t first = before->first + before->granules;
    enum sj_run_content content;
    if (sj__run_take_at(first, granules, &content))
        note_taken(first, granules, content);
}

static void write_some(uint64_t *state)
{
    struct stretch *stretch = &stretches[unit_random_below(state, stretch_count)];
    for (size_t i = 0; i < stretch->granules; i += 1 + unit_random_below(state, 4))
        *word_of(stretch->first + i, (unit_random_below(state, SJ_GRANULE_BYTES / PAGE_STEP) * PAGE_STEP) +
                                         (i * 8) % PAGE_STEP) = ~(uint64_t)0;
    stretch->written = true;
}

static enum sj_run_content content_to_give(uint64_t *state, const struct stretch *stretch)
{
    if (!stretch->written)
        return SJ_RUN_ZERO;
    switch (unit_random_below(state, 3)) {
    case 0: return SJ_RUN_DIRTY;
    case 1: return SJ_RUN_OWING;
    default: break;
    }
    memset(sj_window_address(stretch->first), 0, stretch->granules << SJ_GRANULE_SHIFT);
    return SJ_RUN_ZERO;
}

static void remove_stretch(size_t index)
{
    stretches[index] = stretches[--stretch_count];
}

static void give_owing(size_t first, size_t granules, size_t page, size_t pages, size_t owed_bytes)
{
    owed_ever += owed_bytes;
    sj__run_give_owing(first, granules, sj_window_address(first) + page * sj__page_bytes(), pages * sj__page_bytes(),
                       owed_bytes);
}

/* Some pages of a stretch owe, the others are zero. */
static void give_owing_in_part(uint64_t *state, size_t first, size_t granules)
{
    size_t page_bytes = sj__page_bytes(), all_bytes = granules << SJ_GRANULE_SHIFT;
    size_t page = unit_random_below(state, all_bytes / page_bytes);
    size_t pages = 1 + unit_random_below(state, all_bytes / page_bytes - page);
    char *start = sj_window_address(first);
    memset(start, 0, page * page_bytes);
    memset(start + (page + pages) * page_bytes, 0, all_bytes - (page + pages) * page_bytes);
    give_owing(first, granules, page, pages, unit_random_below(state, pages * page_bytes));
}

/* The whole of a stretch, its front, its back or its middle. */
static void give(uint64_t *state)
{
    size_t index = unit_random_below(state, stretch_count);
    struct stretch *stretch = &stretches[index];
    struct stretch part = *stretch;
    unsigned how = (unsigned)unit_random_below(state, 4);
    if (how > 0 && stretch->granules >= 3 && stretch_count < STRETCHES_MAX) {
        part.granules = stretch->granules / 3;
        part.first += how == 1 ? 0 : how == 2 ? part.granules : stretch->granules - part.granules;
    }
    enum sj_run_content content = content_to_give(state, &part);
    struct stretch whole = *stretch;
    remove_stretch(index);
    if (part.first > whole.first)
        stretches[stretch_count++] = (struct stretch){ whole.first, part.first - whole.first, whole.written };
    if (part.first + part.granules < whole.first + whole.granules)
        stretches[stretch_count++] =
            (struct stretch){ part.first + part.granules, whole.first + whole.granules - part.first - part.granules,
                              whole.written };
    note_given(part.first, part.granules);
    if (content == SJ_RUN_OWING)
        give_owing_in_part(state, part.first, part.granules);
    else
        sj__run_give(part.first, part.granules, content);
    CHECK(sj__window_find(sj_window_address(part.first)) != sj__window_unused);
}

static void step(uint64_t *state)
{
    static const size_t limits[] = { 1, 2, 4, 16, 64, 600 };
    size_t granules = 1 + unit_random_below(state, limits[unit_random_below(state, 6)]);
    bool room = stretch_count + 2 < STRETCHES_MAX && taken_granules + granules <= TAKEN_MAX;
    unsigned op = (unsigned)unit_random_below(state, 16);
    if (stretch_count == 0 || (op < 6 && room))
        take(granules);
    else if (op < 8 && room)
        take_at(state, granules);
    else if (op < 11)
        write_some(state);
    else if (op < 15 || !room)
        give(state);
    else if (unit_random_below(state, 8) == 0)
        (void)sj__run_purge();
}

static void give_all(void)
{
    while (stretch_count > 0) {
        struct stretch stretch = stretches[0];
        remove_stretch(0);
        note_given(stretch.first, stretch.granules);
        sj__run_give(stretch.first, stretch.granules, stretch.written ? SJ_RUN_DIRTY : SJ_RUN_ZERO);
    }
}

static bool keeps_apart(void)
{
    return sj__sealed.settings.policy.isolate;
}

/* After a purge free runs are alike, with isolate=on but for whether anybody ever had them, so each free stretch that the oracle sees must be
 * one run. */
static void check_joined(void)
{
    (void)sj__run_purge();
    struct sj_run_bytes bytes;
    sj__run_read_bytes(&bytes);
    CHECK_EQ(sj_run_held_bytes(&bytes), 0);
    if (bytes.held[SJ_RUN_UNMAPPED] > 0)
        return; /* after a refusal some are unmapped, and mapped runs stay apart from them */
    size_t end = window_granules();
    for (size_t first = 1; first < end;) {
        size_t granules = 0;
        while (first + granules < end && !is_taken[first + granules] &&
               (!keeps_apart() || was_taken[first + granules] == was_taken[first]))
            granules++;
        enum sj_run_content content;
        if (granules > 0 && CHECK(sj__run_take_at(first, granules, &content))) {
            CHECK_EQ(content, SJ_RUN_EMPTY);
            sj__run_give(first, granules, SJ_RUN_EMPTY);
            memset(&was_taken[first], 1, granules);
        }
        first += granules > 0 ? granules : 1;
    }
}

/* --- Tests. --- */

static void span_run__untouched_granules_are_nobodys_ever(void)
{
    if (!keeps_apart())
        SKIP("needs isolate=on");
    uint64_t state = unit_state.seed;
    for (unsigned i = 0; i < 200; i++) {
        size_t granules = 1 + (size_t)unit_random_below(&state, 5), first;
        step(&state);
        if (stretch_count == STRETCHES_MAX || !CHECK(sj__run_take_untouched(granules, &first)))
            continue;
        for (size_t g = first; g < first + granules; g++)
            CHECK(!was_taken[g]);
        note_taken(first, granules, SJ_RUN_EMPTY);
        check_sums();
    }
    give_all();
}

static void span_run__use_is_counted_and_limited_when_changed(void)
{
    struct sj_run_bytes before, after;
    size_t first;
    enum sj_run_content content;
    REQUIRE(sj__run_take(4, &first, &content));
    sj__run_read_bytes(&before);
    CHECK(sj__run_change_use(4, SJ_USE_TAKEN, SJ_USE_SET_ASIDE));
    sj__run_read_bytes(&after);
    CHECK_EQ(after.taken, before.taken - 4 * SJ_GRANULE_BYTES);
    CHECK_EQ(after.set_aside, before.set_aside + 4 * SJ_GRANULE_BYTES);
    CHECK(sj__run_change_use(4, SJ_USE_SET_ASIDE, SJ_USE_BARE));
    struct sj_hold hold, limited;
    sj__release_get(&hold);
    limited = hold;
    limited.limit_bytes = 1;
    sj__release_set(&limited);
    CHECK(!sj__run_change_use(4, SJ_USE_BARE, SJ_USE_TAKEN));
    CHECK(sj__run_change_use(4, SJ_USE_BARE, SJ_USE_GIVEN));
    CHECK(!sj__run_change_use(4, SJ_USE_TAKEN, SJ_USE_SET_ASIDE));
    sj__release_set(&hold);
    sj__run_read_bytes(&after);
    CHECK_EQ(after.taken, before.taken);
    CHECK_EQ(after.set_aside, before.set_aside);
    CHECK_EQ(after.bare, before.bare);
    sj__run_give(first, 4, SJ_RUN_DIRTY);
}

static void span_run__agrees_with_the_oracle_over_random_operations(void)
{
    uint64_t state = unit_state.seed;
    for (unsigned i = 0; i < ROUNDS; i++) {
        step(&state);
        check_sums();
        if (i % 500 == 499)
            check_joined();
        if (unit_failed())
            break;
    }
    give_all();
    check_sums();
    check_joined();
    CHECK_EQ(free_bytes(), (window_granules() - 1) << SJ_GRANULE_SHIFT);
}

static void span_run__agrees_with_the_oracle_when_calls_are_refused_now_and_then(void)
{
    uint64_t state = unit_state.seed + 1;
    source_state = unit_state.seed + 2;
    sj__pages_set_source(&source);
    for (unsigned i = 0; i < ROUNDS && !unit_failed(); i++) {
        refuse_maps = unit_random_below(&source_state, 2) == 0;
        refuse_advice_one_in = 1 + (i / 100) % 8;
        step(&state);
        check_sums();
    }
    use_kernel();
    give_all();
    check_sums();
    check_joined();
}

static void span_run__survives_refusal_from_each_call_on(void)
{
    for (unsigned from = 0; from < 24 && !unit_failed(); from++) {
        uint64_t state = unit_state.seed + from;
        refuse_from_then_on = true;
        calls_until_refusal = from;
        sj__pages_set_source(&source);
        take(TAKEN_MAX / 2); /* now and then more than is free in one piece */
        for (unsigned i = 0; i < 60; i++)
            step(&state);
        check_sums();
        use_kernel();
        give_all();
        check_sums();
    }
    check_joined();
}

static void span_run__keeps_what_it_cannot_give_back(void)
{
    take(8);
    struct stretch stretch = stretches[stretch_count - 1];
    remove_stretch(stretch_count - 1);
    note_given(stretch.first, stretch.granules);
    memset(sj_window_address(stretch.first), 1, stretch.granules << SJ_GRANULE_SHIFT);
    sj__run_give(stretch.first, stretch.granules, SJ_RUN_DIRTY);
    refuse_advice_one_in = 1;
    sj__pages_set_source(&source);
    CHECK_EQ(sj__run_purge(), 0);
    check_sums();
    use_kernel();
    size_t first;
    enum sj_run_content content;
    REQUIRE(sj__run_take(8, &first, &content));
    CHECK_EQ(content, SJ_RUN_DIRTY);
    note_taken(first, 8, content);
    give_all();
}

static void span_run__scrubs_what_owes_and_cannot_be_given_back(void)
{
    struct sj_run_bytes bytes;
    take(8);
    struct stretch stretch = stretches[stretch_count - 1];
    remove_stretch(stretch_count - 1);
    note_given(stretch.first, stretch.granules);
    memset(sj_window_address(stretch.first), 1, stretch.granules << SJ_GRANULE_SHIFT);
    give_owing(stretch.first, stretch.granules, 0, (stretch.granules << SJ_GRANULE_SHIFT) / sj__page_bytes(),
               stretch.granules << SJ_GRANULE_SHIFT);
    CHECK(!reads_as_zero(&stretch));
    refuse_advice_one_in = 1;
    sj__pages_set_source(&source);
    for (unsigned passes = 0; passes < 100; passes++) { /* each ends at the first refusal */
        size_t budget_bytes = SIZE_MAX;
        (void)sj__run_release_aged(SJ_NEVER_MS, &budget_bytes);
    }
    use_kernel();
    sj__run_read_bytes(&bytes);
    CHECK_EQ(bytes.owed, 0);
    CHECK(reads_as_zero(&stretch)); /* free still, and held */
    check_sums();
    give_all();
}

static size_t resident_pages(size_t first_granule, size_t granules)
{
    unsigned char pages[TAKEN_MAX];
    size_t bytes = granules << SJ_GRANULE_SHIFT, count = 0;
    if (!CHECK_EQ(mincore(sj_window_address(first_granule), bytes, pages), 0))
        return 0;
    for (size_t i = 0; i < bytes / sj__page_bytes(); i++)
        count += pages[i] & 1u;
    return count;
}

/* As a large block leaves its guards and what its granules have behind it. */
static void span_run__scrubs_no_page_that_does_not_owe(void)
{
    enum { GRANULES = 4, SLACK_PAGES = 2 };
    size_t page_bytes = sj__page_bytes(), pages = ((size_t)GRANULES << SJ_GRANULE_SHIFT) / page_bytes;
    if (pages <= 2 * SLACK_PAGES)
        return;
    (void)sj__run_purge();
    take(GRANULES);
    struct stretch stretch = stretches[stretch_count - 1];
    char *start = sj_window_address(stretch.first);
    CHECK_EQ(madvise(start, (size_t)GRANULES << SJ_GRANULE_SHIFT, MADV_DONTNEED), 0);
    memset(start + SLACK_PAGES * page_bytes, 1, (pages - 2 * SLACK_PAGES) * page_bytes);
    remove_stretch(stretch_count - 1);
    note_given(stretch.first, stretch.granules);
    give_owing(stretch.first, GRANULES, SLACK_PAGES, pages - 2 * SLACK_PAGES, (pages - 2 * SLACK_PAGES) * page_bytes);
    size_t first;
    enum sj_run_content content;
    REQUIRE(sj__run_take(GRANULES, &first, &content));
    CHECK_EQ(first, stretch.first);
    CHECK_EQ(content, SJ_RUN_ZERO);
    CHECK(resident_pages(first, GRANULES) <= pages - 2 * SLACK_PAGES); /* before the oracle reads them all */
    note_taken(first, GRANULES, content);
    give_all();
}

static void span_run__gives_addresses_back_where_they_are_charged(void)
{
    enum { GRANULES = 32, FEW = 4 };
    static const enum sj_run_content given[] = { SJ_RUN_DIRTY, SJ_RUN_ZERO, SJ_RUN_EMPTY, SJ_RUN_TRAPPED };
    unsigned char page;
    (void)sj__run_purge();
    sj__run_give_addresses(true);
    for (unsigned i = 0; i < sizeof given / sizeof given[0]; i++) {
        size_t first;
        enum sj_run_content content;
        REQUIRE(sj__run_take(GRANULES, &first, &content));
        CHECK_EQ(content, SJ_RUN_EMPTY);
        char *start = sj_window_address(first);
        note_taken(first, GRANULES, content);
        remove_stretch(stretch_count - 1);
        note_given(first, GRANULES);
        if (given[i] == SJ_RUN_DIRTY)
            memset(start, 1, (size_t)GRANULES << SJ_GRANULE_SHIFT);
        if (given[i] == SJ_RUN_TRAPPED) /* refused: then it is as good as empty, and is unmapped all the same */
            (void)sj__pages_trap(start, SJ_GRANULE_BYTES, SJ_TRAP_EMPTYING);
        sj__run_give(first, GRANULES, given[i]);
        CHECK_EQ(mincore(start, sj__page_bytes(), &page), given[i] <= SJ_RUN_OWING ? 0 : -1);
        (void)sj__run_purge();
        CHECK_EQ(mincore(start, sj__page_bytes(), &page), -1); /* not mapped */
        check_sums();
    }
    take(FEW);
    const struct stretch few = stretches[stretch_count - 1];
    give_all();
    (void)sj__run_purge();
    CHECK_EQ(mincore(sj_window_address(few.first), sj__page_bytes(), &page), 0); /* not worth a hole */
    sj__run_give_addresses(false);
    check_sums();
}

/* Also when calls are refused: then pages go back where addresses can't. */
static void span_run__agrees_with_the_oracle_where_addresses_are_charged(void)
{
    sj__run_give_addresses(true);
    span_run__agrees_with_the_oracle_over_random_operations();
    span_run__agrees_with_the_oracle_when_calls_are_refused_now_and_then();
    sj__run_give_addresses(false);
}

static void span_run__holds_no_more_pages_than_allowed(void)
{
    enum { BLOCKS = 64, BLOCK_GRANULES = 32 }; /* 128 MiB */
    struct sj_run_bytes bytes;
    for (unsigned i = 0; i < BLOCKS; i++)
        take(BLOCK_GRANULES);
    give_all();
    sj__run_read_bytes(&bytes);
    size_t allowed = bytes.window / 8 > (size_t)32 << 20 ? bytes.window / 8 : (size_t)32 << 20;
    CHECK(sj_run_held_bytes(&bytes) <= allowed);
    check_sums();
    check_joined();
}

static void span_run__refuses_what_is_larger_than_the_window_can_be(void)
{
    size_t first, old_limit = window_granules();
    enum sj_run_content content;
    CHECK(!sj__run_take(SIZE_MAX, &first, &content));
    CHECK(!sj__run_take(SIZE_MAX >> SJ_GRANULE_SHIFT, &first, &content));
    CHECK(!sj__run_take(((size_t)PTRDIFF_MAX) >> SJ_GRANULE_SHIFT, &first, &content));
    CHECK(!sj__run_take_at(1, SIZE_MAX, &content));
    CHECK(!sj__run_take_at(SIZE_MAX, 1, &content));
    CHECK(!sj__run_take_at(window_granules(), SIZE_MAX >> SJ_GRANULE_SHIFT, &content));
    CHECK(!sj__run_take_at(window_granules() + 1, 1, &content));
    CHECK_EQ(window_granules(), old_limit);
    check_sums();
}

/* A block at the window's end grows there, and need not move. */
static void span_run__grows_the_window_for_a_stretch_at_its_end(void)
{
    enum sj_run_content content;
    enum { GRANULES = 5 };
    take(window_granules()); /* no free run has as many, so it ends where the window does */
    size_t first = stretches[stretch_count - 1].first + stretches[stretch_count - 1].granules;
    if (first != window_granules())
        SKIP("it does not");
    REQUIRE(sj__run_take_at(first, GRANULES, &content));
    CHECK_EQ(content, SJ_RUN_EMPTY);
    note_taken(first, GRANULES, content);
    CHECK(window_granules() >= first + GRANULES);
    check_sums();
}

/* Near what the system allows, what is given does not stay, and what is held goes before more is taken. */
static void span_run__holds_nothing_under_pressure(void)
{
    struct sj_run_bytes bytes;
    const struct sj_hold hold = SJ_HOLD_DEFAULT;
    give_all();
    take(20);
    sj__run_give(stretches[stretch_count - 1].first, 20, SJ_RUN_DIRTY);
    note_given(stretches[stretch_count - 1].first, 20);
    stretch_count--;
    sj__run_read_bytes(&bytes);
    CHECK(sj_run_held_bytes(&bytes) >= 20 * (size_t)SJ_GRANULE_BYTES);
    CHECK(!sj__run_is_pressed());
    sj__release_set_allowance(1); /* records alone are more */
    sj__release_set(&hold);
    sj__run_lock_for_fork(); /* every free of a large block asks: without a lock, or this never ends */
    sj__arena_lock_for_fork();
    CHECK(sj__run_is_pressed());
    sj__arena_unlock_after_fork(false);
    sj__run_unlock_after_fork(false);
    take(1);
    sj__run_read_bytes(&bytes);
    CHECK_EQ(sj_run_held_bytes(&bytes), 0);
    sj__run_give(stretches[stretch_count - 1].first, 1, SJ_RUN_DIRTY);
    note_given(stretches[stretch_count - 1].first, 1);
    stretch_count--;
    sj__run_read_bytes(&bytes);
    CHECK_EQ(sj_run_held_bytes(&bytes), 0);
    sj__release_set_allowance(UINT64_MAX);
    sj__release_set(&hold);
    CHECK(!sj__run_is_pressed());
    check_sums();
}

static void span_run__counts_what_is_handed_out(void)
{
    struct sj_run_bytes bytes;
    sj__run_read_bytes(&bytes);
    CHECK_EQ(bytes.taken, taken_granules << SJ_GRANULE_SHIFT);
}

/* The records of runs come from the arena. When that can't grow, a purge must do with the records it has: it is what a
 * request falls back on when memory is short. */
static void span_run__purges_without_new_records(void)
{
    enum { TRIPLES = 90 };
    for (unsigned i = 0; i < 3 * TRIPLES; i++)
        take(1);
    size_t middles[TRIPLES];
    for (unsigned i = 0; i < TRIPLES; i++)
        middles[i] = stretches[3 * i + 1].first;
    for (unsigned i = 0; i < TRIPLES; i++) {
        for (size_t s = 0; s < stretch_count; s++)
            if (stretches[s].first == middles[i]) {
                remove_stretch(s);
                break;
            }
        note_given(middles[i], 1);
        *word_of(middles[i], 0) = 1;
        sj__run_give(middles[i], 1, SJ_RUN_DIRTY);
    }
    sj__pages_set_source(&source);
    refuse_maps = true;
    while (sj__arena_alloc(SJ_RECORD_BYTES) != NULL)
        continue;
    CHECK_EQ(sj__run_purge(), (size_t)TRIPLES << SJ_GRANULE_SHIFT);
    use_kernel();
    check_sums();
    give_all();
    check_joined();
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    if (!sj__start())
        return 1;
    sj__run_give_addresses(false); /* whatever this machine charges */
    /* First: later tests leave records in the pool. */
    RUN(span_run__purges_without_new_records);
    RUN(span_run__untouched_granules_are_nobodys_ever);
    /* Early: it doubles the window, and from a GiB on that begins a new piece, where nothing grows in place. */
    RUN(span_run__grows_the_window_for_a_stretch_at_its_end);
    RUN(span_run__use_is_counted_and_limited_when_changed);
    RUN(span_run__agrees_with_the_oracle_over_random_operations);
    RUN(span_run__agrees_with_the_oracle_when_calls_are_refused_now_and_then);
    RUN(span_run__survives_refusal_from_each_call_on);
    RUN(span_run__keeps_what_it_cannot_give_back);
    RUN(span_run__scrubs_what_owes_and_cannot_be_given_back);
    RUN(span_run__scrubs_no_page_that_does_not_owe);
    RUN(span_run__gives_addresses_back_where_they_are_charged);
    RUN(span_run__agrees_with_the_oracle_where_addresses_are_charged);
    RUN(span_run__holds_no_more_pages_than_allowed);
    RUN(span_run__refuses_what_is_larger_than_the_window_can_be);
    RUN(span_run__holds_nothing_under_pressure);
    RUN(span_run__counts_what_is_handed_out);
    return unit_end();
}
