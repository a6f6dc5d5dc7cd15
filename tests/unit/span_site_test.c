/* SPDX-License-Identifier: MIT
 *
 * What: places: what a class keeps of closed slabs and for how long, guards behind slabs, and what happens when the kernel
 * refuses. And a model: slabs of random classes and stretches of runs come and go, against an oracle that knows for each
 * granule whose it has been.
 *
 * Why this way: slabs are opened under policies of the test's own, in a process that was started with isolate=on. The
 * clock is a variable, and the kernel a table that refuses what it is told to, guard markers too.
 *
 * Invariants checked: a granule of a class's is never another's, until places are given up; bytes taken, set aside and bare
 * are what the test has and what it has left; a guard faults.
 *
 * Concurrency: none.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/inside.h"

#include "front/entry.h"
#include "platform/clock.h"
#include "platform/pages.h"
#include "span/run.h"
#include "span/site.h"
#include "support/process.h"

enum { GRANULES_MAX = 1 << 16, GUARD_REMOVE = 103, GUARD_INSTALL = 102, SMALL = 4 /* a class of one granule */ };

static const struct sj_policy isolated = { .guard = SJ_GUARD_LARGE, .isolate = 1 };
static const struct sj_policy common = { .guard = SJ_GUARD_LARGE };
static const struct sj_policy every = { .guard = SJ_GUARD_EVERY };
static const struct sj_policy eighth = { .guard = SJ_GUARD_EIGHTH, .isolate = 1 };

static int owner;
static uint64_t now_ms = 1000000;

static uint64_t test_clock(void)
{
    return now_ms;
}

/* --- A kernel that refuses. --- */

static bool refuse_markers, refuse_releases, refuse_protection, refuse_maps;
static uint64_t advices, protections;

static void *source_map(void *address, size_t bytes, int protection, int flags)
{
    if (refuse_maps)
        return errno = ENOMEM, MAP_FAILED;
    return mmap(address, bytes, protection, flags, -1, 0);
}

static int source_protect(void *address, size_t bytes, int protection)
{
    protections++;
    return refuse_protection ? (errno = ENOMEM, -1) : mprotect(address, bytes, protection);
}

static int source_advise(void *address, size_t bytes, int advice)
{
    bool marker = advice == GUARD_INSTALL || advice == GUARD_REMOVE;
    advices++;
    if (marker ? refuse_markers : refuse_releases && advice == MADV_DONTNEED)
        return errno = EINVAL, -1;
    return madvise(address, bytes, advice);
}

static void *source_move(void *from, size_t from_bytes, size_t to_bytes, int flags, void *to)
{
    return mremap(from, from_bytes, to_bytes, flags, to);
}

static const struct sj_page_source source = { source_map, munmap, source_protect, source_advise, source_move };

static void use_kernel(void)
{
    refuse_markers = refuse_releases = refuse_protection = refuse_maps = false;
    sj__pages_set_source(&source);
    sj__pages_start(); /* looks for guard markers again */
}

/* --- What several tests do. --- */

static struct sj_slab *open_slab(const struct sj_policy *policy, unsigned class_index)
{
    return sj__slab_open(policy, class_index, &owner, 2);
}

static struct sj_run_bytes run_bytes(void)
{
    struct sj_run_bytes bytes;
    sj__run_read_bytes(&bytes);
    return bytes;
}

static struct sj_site_counts counts(void)
{
    struct sj_site_counts counted;
    sj__site_read_counts(&counted);
    return counted;
}

static size_t bytes_of(unsigned class_index)
{
    return (size_t)sj__size_classes[class_index].granules << SJ_GRANULE_SHIFT;
}

/* As if it had been used: its pages are there. */
static void use_pages(const struct sj_slab *slab)
{
    for (size_t offset = 0; offset < bytes_of(slab->class_index); offset += 4096)
        ((volatile char *)slab->base)[offset] = 0;
}

static void start_over(void)
{
    use_kernel();
    (void)sj__site_give_up();
    (void)sj__run_purge();
}

/* --- Keeping. --- */

static void span_site__stays_its_class_s_when_isolated(void)
{
    start_over();
    struct sj_slab *slab = open_slab(&isolated, SMALL);
    REQUIRE(slab != NULL);
    const char *base = slab->base;
    uint64_t shared = counts().not_isolated;
    sj__slab_close(slab);
    CHECK_EQ(sj_load_relaxed_u32(&sj__window_find(base)->kind), SJ_SPAN_FREED);
    struct sj_slab *other = open_slab(&isolated, SMALL + 1);
    CHECK(other != NULL && other->base != base);
    struct sj_slab *again = open_slab(&isolated, SMALL);
    CHECK(again == slab && again->base == base);
    CHECK(slab_of(base) == again);
    CHECK_EQ(counts().not_isolated, shared);
    sj__slab_close(other);
    sj__slab_close(again);
}

static void span_site__takes_no_more_memory_for_being_made_anew(void)
{
    size_t first;
    enum sj_run_content content;
    start_over();
    REQUIRE(sj__run_take(8, &first, &content));
    sj__run_give(first, 8, SJ_RUN_ZERO); /* as if its pages were there */
    struct sj_run_bytes before = run_bytes();
    struct sj_slab *slab = open_slab(&isolated, SMALL);
    REQUIRE(slab != NULL);
    CHECK(slab->first_granule < first || slab->first_granule >= first + 8);
    struct sj_run_bytes after = run_bytes();
    CHECK_EQ(sj_run_held_bytes(&before) - sj_run_held_bytes(&after), bytes_of(SMALL));
    CHECK_EQ(after.released - before.released, bytes_of(SMALL));
    CHECK_EQ(after.books.aged_bytes, before.books.aged_bytes); /* no age has come */
    CHECK_EQ(after.books.aged_calls, before.books.aged_calls);
    sj__slab_close(slab);
    CHECK(open_slab(&isolated, SMALL) == slab);
    before = run_bytes();
    CHECK_EQ(sj_run_held_bytes(&before), sj_run_held_bytes(&after));
    sj__slab_close(slab);
}

static void span_site__goes_to_the_runs_when_not_isolated(void)
{
    start_over();
    struct sj_slab *slab = open_slab(&common, SMALL);
    REQUIRE(slab != NULL);
    const char *base = slab->base;
    use_pages(slab);
    sj__slab_close(slab); /* its pages are there: who comes next gets them */
    struct sj_slab *other = open_slab(&common, SMALL + 1);
    REQUIRE(other != NULL);
    CHECK(other->base == base);
    sj__slab_close(other);
    CHECK_EQ(run_bytes().set_aside, 0);
}

static void span_site__gives_its_pages_back_when_old_and_not_before(void)
{
    start_over();
    struct sj_slab *slab = open_slab(&isolated, SMALL);
    REQUIRE(slab != NULL);
    use_pages(slab);
    struct sj_run_bytes open = run_bytes();
    sj__slab_close(slab);
    CHECK_EQ(run_bytes().set_aside, open.set_aside + bytes_of(SMALL));
    CHECK_EQ(run_bytes().taken, open.taken - bytes_of(SMALL));
    size_t budget = SIZE_MAX, given = 0;
    CHECK_EQ(sj__site_release_aged(now_ms - 1, &budget, &given), now_ms);
    CHECK_EQ(budget, SIZE_MAX);
    budget = 0;
    CHECK_EQ(sj__site_release_aged(now_ms, &budget, &given), now_ms);
    CHECK_EQ(given, 0);
    budget = 1; /* a place goes whole, or one larger than any pass's budget would stay for ever */
    CHECK_EQ(sj__site_release_aged(now_ms, &budget, &given), SJ_NEVER_MS);
    CHECK_EQ(budget, 0);
    CHECK_EQ(given, bytes_of(SMALL));
    CHECK_EQ(run_bytes().set_aside, open.set_aside);
    CHECK_EQ(run_bytes().bare, open.bare + bytes_of(SMALL));
    CHECK(open_slab(&isolated, SMALL) == slab);
    CHECK(slab->clean_start);
    CHECK_EQ(run_bytes().taken, open.taken);
    CHECK_EQ(run_bytes().bare, open.bare);
    sj__slab_close(slab);
    CHECK_EQ(sj__site_purge(), bytes_of(SMALL));
    CHECK_EQ(sj__site_purge(), 0);
}

static void span_site__is_held_as_if_young_when_release_is_refused(void)
{
    start_over();
    struct sj_slab *slab = open_slab(&isolated, SMALL);
    REQUIRE(slab != NULL);
    use_pages(slab);
    sj__slab_close(slab);
    refuse_releases = true;
    now_ms += 5000;
    size_t budget = SIZE_MAX, given = 0;
    CHECK_EQ(sj__site_release_aged(now_ms - 1000, &budget, &given), now_ms);
    CHECK_EQ(budget, SIZE_MAX);
    CHECK_EQ(sj__site_release_aged(now_ms - 1000, &budget, &given), now_ms);
    CHECK_EQ(given, 0);
    use_kernel();
    CHECK_EQ(sj__site_purge(), bytes_of(SMALL));
}

static void span_site__holds_no_pages_beyond_the_limit(void)
{
    start_over();
    struct sj_hold hold, none;
    sj__release_get(&hold);
    none = hold;
    none.hold_max_bytes = 0;
    struct sj_slab *slab = open_slab(&isolated, SMALL);
    struct sj_slab *refused = open_slab(&isolated, SMALL);
    REQUIRE(slab != NULL && refused != NULL);
    use_pages(refused);
    struct sj_run_bytes open = run_bytes();
    sj__release_set(&none);
    sj__slab_close(slab);
    CHECK_EQ(run_bytes().bare, open.bare + bytes_of(SMALL));
    refuse_releases = true;
    sj__slab_close(refused); /* counts as in use: nobody took its pages */
    CHECK_EQ(run_bytes().set_aside, 0);
    CHECK_EQ(run_bytes().taken, open.taken - bytes_of(SMALL));
    CHECK(open_slab(&isolated, SMALL) == refused);
    CHECK_EQ(run_bytes().taken, open.taken - bytes_of(SMALL));
    use_kernel();
    sj__slab_close(refused);
    sj__release_set(&hold);
}

static void span_site__does_not_open_beyond_the_limit_on_memory(void)
{
    start_over();
    struct sj_hold hold, limited;
    sj__release_get(&hold);
    limited = hold;
    struct sj_slab *slab = open_slab(&isolated, SMALL);
    REQUIRE(slab != NULL);
    sj__slab_close(slab);
    (void)sj__site_purge();
    limited.limit_bytes = 1;
    sj__release_set(&limited);
    CHECK(open_slab(&isolated, SMALL) == NULL);
    sj__release_set(&hold);
    CHECK(open_slab(&isolated, SMALL) == slab);
    sj__slab_close(slab);
}

static void span_site__of_zero_sized_objects_keeps_faulting(void)
{
    start_over();
    struct sj_slab *slab = open_slab(&isolated, SJ_CLASS_ZERO);
    REQUIRE(slab != NULL);
    char *base = slab->base;
    CHECK(touching_faults(base, true));
    uint64_t calls = advices + protections;
    sj__slab_close(slab);
    CHECK(open_slab(&isolated, SJ_CLASS_ZERO) == slab);
    CHECK_EQ(advices + protections, calls);
    CHECK(touching_faults(base, true));
    sj__slab_close(slab);
    CHECK(touching_faults(base, false));
    CHECK(sj__site_give_up() > 0);
    *(volatile char *)base = 1;
    *(volatile char *)base = 0;
}

/* --- Guards. --- */

static void check_guard(const struct sj_slab *slab)
{
    char *end = slab->base + bytes_of(slab->class_index);
    CHECK(slab->guarded);
    CHECK(!touching_faults(end - 1, true));
    CHECK(touching_faults(end, true) && touching_faults(end + SJ_GRANULE_BYTES - 1, false));
    CHECK_EQ(sj_load_relaxed_u32(&sj__window_find(end)->kind), SJ_SPAN_UNUSED);
}

static void guard_every(void)
{
    enum { SLABS = 20 };
    struct sj_slab *slabs[SLABS];
    uint64_t guards = counts().guards;
    for (unsigned i = 0; i < SLABS; i++) {
        slabs[i] = open_slab(&every, SMALL + i);
        REQUIRE(slabs[i] != NULL);
        check_guard(slabs[i]);
    }
    CHECK_EQ(counts().guards, guards + SLABS);
    uint64_t calls = advices + protections;
    for (unsigned i = 0; i < SLABS; i++)
        sj__slab_close(slabs[i]);
    for (unsigned i = 0; i < SLABS; i++)
        CHECK(open_slab(&every, SMALL + i) == slabs[i]);
    CHECK_EQ(advices + protections, calls); /* guards cost nothing when slabs come and go */
    for (unsigned i = 0; i < SLABS; i++) {
        check_guard(slabs[i]);
        sj__slab_close(slabs[i]);
    }
    CHECK(sj__site_give_up() > 0);
    CHECK_EQ(counts().guards, guards);
    CHECK_EQ(run_bytes().bare, 0);
    CHECK_EQ(sj__pages_protected_guards(), 0);
}

static void span_site__has_guard_behind_every_slab_when_asked(void)
{
    start_over();
    guard_every();
}

static void span_site__has_guards_by_protection_when_kernel_has_no_markers(void)
{
    start_over();
    refuse_markers = true;
    sj__pages_start();
    CHECK(!sj__pages_have_guard_markers());
    guard_every();
}

static void span_site__has_guard_behind_every_eighth_slab_when_asked(void)
{
    enum { SLABS = 64 };
    struct sj_slab *slabs[SLABS];
    unsigned guarded = 0;
    start_over();
    for (unsigned i = 0; i < SLABS; i++) {
        slabs[i] = open_slab(&eighth, SMALL);
        REQUIRE(slabs[i] != NULL);
        guarded += slabs[i]->guarded;
    }
    CHECK_EQ(guarded, SLABS / 8);
    for (unsigned i = 0; i < SLABS; i++)
        sj__slab_close(slabs[i]);
}

static void span_site__goes_without_guard_and_counts_it_when_refused(void)
{
    enum { SLABS = 100, BUDGET = 50, MANY = BUDGET / 5 };
    struct sj_slab *slabs[SLABS];
    unsigned guarded = 0;
    start_over();
    refuse_markers = true;
    sj__pages_start();
    sj__pages_set_guard_budget(BUDGET);
    uint64_t refused = counts().guards_refused;
    for (unsigned i = 0; i < SLABS; i++) {
        slabs[i] = open_slab(&every, SMALL);
        REQUIRE(slabs[i] != NULL);
        guarded += slabs[i]->guarded;
    }
    CHECK_EQ(guarded, MANY);
    CHECK_EQ(counts().guards_refused - refused, SLABS - MANY);
    CHECK_EQ(sj__pages_protected_guards(), MANY);
    while (guarded > 0)
        if (slabs[--guarded]->guarded)
            CHECK(slabs[guarded]->stays);
    for (unsigned i = 0; i < SLABS; i++)
        sj__slab_close(slabs[i]);
    (void)sj__site_give_up();
    sj__pages_set_guard_budget(0);
    refuse_protection = true; /* the system refuses, not the budget */
    refused = counts().guards_refused;
    struct sj_slab *slab = open_slab(&every, SMALL);
    REQUIRE(slab != NULL);
    CHECK(!slab->guarded && counts().guards_refused == refused + 1);
    sj__slab_close(slab);
    use_kernel();
}

static void span_site__goes_without_guard_when_its_granule_cannot_be_had(void)
{
    struct sj_hold hold, limited;
    start_over();
    sj__slab_close(open_slab(&common, SMALL)); /* a record that has no place is left */
    (void)sj__run_purge();
    struct sj_run_bytes bytes = run_bytes();
    size_t used_bytes, mapped_bytes;
    sj__arena_bytes(&used_bytes, &mapped_bytes);
    sj__release_get(&hold);
    limited = hold;
    limited.limit_bytes = bytes.taken + bytes.set_aside + used_bytes + bytes_of(SMALL) + SJ_GRANULE_BYTES / 2;
    uint64_t refused = counts().guards_refused;
    sj__release_set(&limited);
    struct sj_slab *slab = open_slab(&every, SMALL);
    sj__release_set(&hold);
    REQUIRE(slab != NULL);
    CHECK(!slab->guarded);
    CHECK_EQ(counts().guards_refused, refused + 1);
    sj__slab_close(slab);
}

/* --- Giving up. --- */

static void span_site__is_given_up_when_address_space_is_short(void)
{
    enum { SLABS = 32 };
    struct sj_slab *slabs[SLABS];
    start_over();
    for (unsigned i = 0; i < SLABS; i++)
        REQUIRE((slabs[i] = open_slab(&eighth, SMALL + i % 4)) != NULL);
    uint64_t before = counts().not_isolated;
    size_t bytes = 0;
    struct sj_run_bytes open = run_bytes();
    for (unsigned i = 0; i < SLABS; i++) {
        bytes += bytes_of(slabs[i]->class_index);
        sj__slab_close(slabs[i]);
    }
    CHECK_EQ(sj__site_give_up(), bytes);
    CHECK_EQ(counts().not_isolated - before, SLABS);
    CHECK_EQ(run_bytes().taken, open.taken - bytes);
    CHECK_EQ(run_bytes().bare, 0);
    CHECK_EQ(run_bytes().set_aside, 0);
    /* Records go on without their places. */
    struct sj_slab *slab = open_slab(&isolated, SMALL);
    REQUIRE(slab != NULL);
    CHECK(slab->stays);
    sj__slab_close(slab);
}

static void span_site__is_made_of_common_granules_and_counted_when_nothing_else_is_left(void)
{
    enum { SLABS = 64, UNTOUCHED_MAX = 20000 };
    static struct sj_slab *slabs[SLABS];
    static size_t untouched[UNTOUCHED_MAX];
    unsigned count, taken = 0;
    start_over();
    for (count = 0; count < SLABS; count++) /* their records and granules are there then */
        REQUIRE((slabs[count] = open_slab(&common, SMALL)) != NULL);
    while (count > 0)
        sj__slab_close(slabs[--count]);
    refuse_maps = true;
    while (taken < UNTOUCHED_MAX && sj__run_take_untouched(1, &untouched[taken]))
        taken++;
    CHECK(taken < UNTOUCHED_MAX);
    uint64_t before = counts().not_isolated;
    for (; count < SLABS; count++)
        REQUIRE((slabs[count] = open_slab(&isolated, SMALL)) != NULL);
    CHECK_EQ(counts().not_isolated, before + SLABS);
    while (count > 0)
        sj__slab_close(slabs[--count]);
    while (taken > 0)
        sj__run_give(untouched[--taken], 1, SJ_RUN_EMPTY);
    use_kernel();
}

/* --- A random life. --- */

enum { NOBODY = 0, COMMON = 255, SLABS = 200, STRETCHES = 50, STEPS = 60000 };

static unsigned char had_by[GRANULES_MAX]; /* class + 1, or COMMON */

static void note_had(size_t first, size_t granules, unsigned char who)
{
    for (size_t granule = first; granule < first + granules; granule++) {
        REQUIRE(granule < GRANULES_MAX);
        CHECK(had_by[granule] == NOBODY || had_by[granule] == who);
        had_by[granule] = who;
    }
}

static struct sj_slab *life_slabs[SLABS];
static struct {
    size_t first, granules;
} life_stretches[STRETCHES];

static void step_slab(uint64_t *state, const struct sj_policy *policy)
{
    struct sj_slab **slab = &life_slabs[unit_random_below(state, SLABS)];
    if (*slab != NULL) {
        (*slab)->released = false;
        sj__slab_close(*slab);
        *slab = NULL;
        return;
    }
    *slab = open_slab(policy, (unsigned)unit_random_below(state, SJ_CLASS_COUNT));
    REQUIRE(*slab != NULL);
    note_had((*slab)->first_granule, sj__size_classes[(*slab)->class_index].granules,
             (unsigned char)((*slab)->class_index + 1));
}

static void step_stretch(uint64_t *state)
{
    unsigned i = (unsigned)unit_random_below(state, STRETCHES);
    if (life_stretches[i].granules > 0) {
        sj__run_give(life_stretches[i].first, life_stretches[i].granules, SJ_RUN_DIRTY);
        life_stretches[i].granules = 0;
        return;
    }
    enum sj_run_content content;
    size_t granules = 1 + (size_t)unit_random_below(state, 40);
    REQUIRE(sj__run_take(granules, &life_stretches[i].first, &content));
    life_stretches[i].granules = granules;
    note_had(life_stretches[i].first, granules, COMMON);
}

static size_t bytes_in_use(void)
{
    size_t granules = 0;
    for (unsigned i = 0; i < SLABS; i++)
        granules += life_slabs[i] != NULL ? sj__size_classes[life_slabs[i]->class_index].granules : 0;
    for (unsigned i = 0; i < STRETCHES; i++)
        granules += life_stretches[i].granules;
    return granules << SJ_GRANULE_SHIFT;
}

static void span_site__of_a_class_is_never_another_s_over_a_random_life(void)
{
    uint64_t state = unit_state.seed;
    start_over();
    size_t base_bytes = run_bytes().taken;
    for (unsigned i = 0; i < STEPS; i++) {
        if (unit_random_below(&state, 3) == 0)
            step_stretch(&state);
        else
            step_slab(&state, unit_random_below(&state, 2) == 0 ? &isolated : &eighth);
        if (i % 1000 == 0) {
            size_t budget = (size_t)unit_random_below(&state, 8 << 20), given = 0;
            (void)sj__site_release_aged(now_ms - unit_random_below(&state, 3000), &budget, &given);
            CHECK_EQ(run_bytes().taken, base_bytes + bytes_in_use());
        }
        now_ms++;
    }
    for (unsigned i = 0; i < SLABS; i++)
        if (life_slabs[i] != NULL)
            sj__slab_close(life_slabs[i]);
    CHECK_EQ(counts().not_isolated, 0);
}

int main(int argc, char **argv)
{
    run_under("level=2", argv);
    unit_begin(argc, argv);
    sj__clock_set_source(test_clock);
    if (!sj__start())
        return 1;
    sj__pages_set_source(&source);
    RUN(span_site__of_a_class_is_never_another_s_over_a_random_life);
    RUN(span_site__stays_its_class_s_when_isolated);
    RUN(span_site__takes_no_more_memory_for_being_made_anew);
    RUN(span_site__goes_to_the_runs_when_not_isolated);
    RUN(span_site__gives_its_pages_back_when_old_and_not_before);
    RUN(span_site__is_held_as_if_young_when_release_is_refused);
    RUN(span_site__holds_no_pages_beyond_the_limit);
    RUN(span_site__does_not_open_beyond_the_limit_on_memory);
    RUN(span_site__of_zero_sized_objects_keeps_faulting);
    RUN(span_site__has_guard_behind_every_slab_when_asked);
    RUN(span_site__has_guards_by_protection_when_kernel_has_no_markers);
    RUN(span_site__has_guard_behind_every_eighth_slab_when_asked);
    RUN(span_site__goes_without_guard_and_counts_it_when_refused);
    RUN(span_site__goes_without_guard_when_its_granule_cannot_be_had);
    RUN(span_site__is_given_up_when_address_space_is_short);
    RUN(span_site__is_made_of_common_granules_and_counted_when_nothing_else_is_left);
    return unit_end();
}
