/* SPDX-License-Identifier: MIT */
/*
 * What: accounts by themselves: names, finding and opening, sums, and what happens when there are no more numbers.
 * Why this way: the books here belong to no arena, so each figure is known. All tests share the numbers, which are never given
 * back; the one that uses them all up comes last.
 */
#include "unit/inside.h"

#include "heap/account.h"
#include "scrubjay.h"

#include <pthread.h>

enum { THREADS = 4, TURNS = 20000, MANY = 300 };

static struct sj_book first = { .name = "first" }, second = { .name = "second" };

static uint64_t live(uint32_t account)
{
    return sj_load_relaxed_u64(&sj__account_at(account)->counts.live_bytes);
}

static uint64_t peak(uint32_t account)
{
    return sj_load_relaxed_u64(&sj__account_at(account)->counts.peak_bytes);
}

static void heap_account__names_keep_what_every_reader_can_take(void)
{
    static const struct {
        const char *name, *kept;
    } cases[] = {
        { "net/in", "net/in" },
        { "a.b:c+d-e/f", "a.b:c+d-e/f" },
        { "two words", "two_words" },
        { "quote\"brace{comma,", "quote_brace_comma_" },
        { "line\nbreak", "line_break" },
        { "\xc3\xa4", "__" },
        { "", "" },
        { NULL, "" },
    };
    char kept[SJ_NAME_BYTES], longest[3 * SJ_NAME_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)sj__account_name(kept, cases[i].name);
        CHECK(strcmp(kept, cases[i].kept) == 0);
    }
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    (void)sj__account_name(kept, longest);
    CHECK_EQ(strlen(kept), SJ_NAME_BYTES - 1);
}

static void heap_account__is_one_for_each_book_and_label(void)
{
    uint32_t one = sj__account_get(&first, "one");
    CHECK(one != SJ_NO_ACCOUNT);
    CHECK_EQ(sj__account_get(&first, "one"), one);
    CHECK_EQ(sj__account_find(&first, "one"), one);
    CHECK_EQ(sj__account_find(&second, "one"), SJ_NO_ACCOUNT);
    uint32_t other = sj__account_get(&second, "one");
    CHECK(other != one && sj__account_at(other)->book == &second && sj__account_at(one)->book == &first);
    CHECK_EQ(sj__account_get(&first, NULL), sj__account_get(&first, ""));
    char again[] = { 'o', 'n', 'e', '\0' }; /* it is the text that counts, not where it lies */
    CHECK_EQ(sj__account_get(&first, again), one);
}

static void heap_account__are_found_when_there_are_many_in_a_chain(void)
{
    static uint32_t numbers[MANY];
    char label[16];
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(label, sizeof label, "label%u", i);
        numbers[i] = sj__account_get(&first, label);
        CHECK_EQ(numbers[i], sj__account_count());
    }
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(label, sizeof label, "label%u", i);
        CHECK_EQ(sj__account_find(&first, label), numbers[i]);
        CHECK(strcmp(sj__account_at(numbers[i])->label, label) == 0);
    }
}

static void heap_account__sums_follow_each_block(void)
{
    uint32_t account = sj__account_get(&first, "sums");
    const struct sj_counts *counts = &sj__account_at(account)->counts;
    sj__account_add(account, 100);
    sj__account_add(account, 50);
    CHECK_EQ(live(account), 150);
    sj__account_remove(account, 100);
    CHECK_EQ(live(account), 50);
    CHECK_EQ(peak(account), 150);
    sj__account_resize(account, 50, 500);
    CHECK_EQ(live(account), 500);
    sj__account_resize(account, 500, 20);
    CHECK_EQ(live(account), 20);
    CHECK_EQ(peak(account), 500);
    CHECK_EQ(sj_load_relaxed_u64(&counts->allocated_blocks), 2);
    CHECK_EQ(sj_load_relaxed_u64(&counts->freed_blocks), 1);
    CHECK_EQ(sj_load_relaxed_u64(&counts->freed_bytes), 100 + 480);
    sj__account_remove(account, 20);
    CHECK_EQ(live(account), 0);
}

static void heap_account__forgetting_touches_its_own_book_only(void)
{
    uint32_t mine = sj__account_get(&first, "forgotten"), other = sj__account_get(&second, "kept");
    sj__account_add(mine, 10);
    sj__account_add(other, 10);
    sj__account_forget(&first);
    CHECK_EQ(live(mine) + peak(mine), 0);
    CHECK_EQ(live(other), 10);
    sj__account_remove(other, 10);
}

static void *add_and_remove(void *argument)
{
    uint32_t account = (uint32_t)(uintptr_t)argument;
    for (unsigned i = 0; i < TURNS; i++) {
        sj__account_add(account, 3);
        sj__account_add(account, 5);
        sj__account_remove(account, 3);
    }
    return NULL;
}

static void heap_account__loses_nothing_when_threads_count(void)
{
    pthread_t threads[THREADS];
    uint32_t account = sj__account_get(&first, "threads");
    for (unsigned i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, add_and_remove, (void *)(uintptr_t)account) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(live(account), 5ull * THREADS * TURNS);
    CHECK(peak(account) >= live(account) && peak(account) <= live(account) + 3ull * THREADS);
}

static void *open_some(void *argument)
{
    char label[16];
    uint32_t *numbers = argument;
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(label, sizeof label, "raced%u", i);
        numbers[i] = sj__account_get(&second, label);
    }
    return NULL;
}

static void heap_account__is_opened_once_when_threads_race_for_it(void)
{
    static uint32_t numbers[THREADS][MANY];
    pthread_t threads[THREADS];
    uint32_t before = sj__account_count();
    for (unsigned i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, open_some, numbers[i]) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(sj__account_count(), before + MANY);
    for (unsigned i = 1; i < THREADS; i++)
        CHECK(memcmp(numbers[0], numbers[i], sizeof numbers[0]) == 0);
}

static void heap_account__is_that_of_no_label_when_numbers_are_used_up(void)
{
    static struct sj_book books[SJ_ACCOUNTS_MAX / MANY + 1]; /* many, since chains are walked */
    char label[16];
    uint32_t nameless = sj__account_get(&first, "");
    for (unsigned i = 0; sj__account_count() < SJ_ACCOUNTS_MAX; i++) {
        (void)snprintf(label, sizeof label, "last%u", i % MANY);
        if (!CHECK(sj__account_get(&books[i / MANY], label) != SJ_NO_ACCOUNT))
            return;
    }
    CHECK_EQ(sj__account_get(&first, "one too many"), nameless);
    CHECK_EQ(sj__account_find(&first, "one too many"), SJ_NO_ACCOUNT);
    static struct sj_book late = { .name = "late" };
    CHECK_EQ(sj__account_get(&late, "any"), SJ_NO_ACCOUNT);
    CHECK_EQ(sj__account_count(), SJ_ACCOUNTS_MAX);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    sj_free(sj_malloc(1)); /* starts the library */
    RUN(heap_account__names_keep_what_every_reader_can_take);
    RUN(heap_account__is_one_for_each_book_and_label);
    RUN(heap_account__are_found_when_there_are_many_in_a_chain);
    RUN(heap_account__sums_follow_each_block);
    RUN(heap_account__forgetting_touches_its_own_book_only);
    RUN(heap_account__loses_nothing_when_threads_count);
    RUN(heap_account__is_opened_once_when_threads_race_for_it);
    RUN(heap_account__is_that_of_no_label_when_numbers_are_used_up);
    return unit_end();
}
