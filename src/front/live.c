/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see live.h.
 */
#include "front/live.h"

#include "front/bill.h"
#include "front/check.h"
#include "front/control.h"
#include "front/entry.h"
#include "front/fast.h"
#include "front/guard_fault.h"
#include "front/slow.h"
#include "front/stats_out.h"
#include "front/summary.h"
#include "front/tagged.h"
#include "heap/adopt.h"
#include "heap/deep.h"
#include "meta/window.h"
#include "platform/pages.h"
#include "policy/options.h"
#include "report/control_block.h"
#include "report/report.h"
#include "report/status.h"
#include "span/run.h"

#include <errno.h>
#include <string.h>

_Static_assert(sizeof(struct sj_stats) <= SJ_CONTROL_COUNTERS_MAX, "the control block has room for the counters");
_Static_assert(sizeof(struct sj_bill) <= SJ_CONTROL_BILL_MAX, "and for the bill");

static struct sj_lock live_lock = SJ_LOCK_INIT(SJ_RANK_LIVE);

/* ---- The sealed page --------------------------------------------------------------------------------------------- */

/* Where pages are larger, other data lies in the same one: it was never sealed. */
static bool has_page_of_its_own(void)
{
    return sj__page_bytes() <= SJ_SEALED_PAGE_BYTES;
}

static bool open_page(void)
{
    return !has_page_of_its_own() || sj__pages_unprotect(&sj__sealed, SJ_SEALED_BYTES);
}

/* False: refused. */
static bool seal_page(void)
{
    bool is_sealed = has_page_of_its_own() && sj__pages_seal_readonly(&sj__sealed, SJ_SEALED_BYTES);
    sj_store_relaxed_u32(&sj__control_page.control.unsealed, !is_sealed);
    return is_sealed || !has_page_of_its_own();
}

void sj__live_seal(void)
{
    if (!seal_page())
        sj__report_warn(
            "the page that leads to the allocator's functions stays writable: the kernel refused to seal it; "
            "see vm.max_map_count",
            NULL);
}

static void close_page(void)
{
    if (seal_page())
        return;
    (void)sj__pass_purge(SJ_PURGE_ALL); /* guards and traps may have used up the mappings there can be */
    sj__live_seal();
}

/* ---- After a raise: each thread puts back what it had taken ------------------------------------------------------ */

static void write_table(const struct sj_dispatch *table)
{
    struct sj_dispatch *to = sj__tagged_level_table();
    __atomic_store_n(&to->malloc, table->malloc, __ATOMIC_RELEASE);
    __atomic_store_n(&to->free, table->free, __ATOMIC_RELEASE);
    __atomic_store_n(&to->calloc, table->calloc, __ATOMIC_RELEASE);
    __atomic_store_n(&to->free_sized, table->free_sized, __ATOMIC_RELEASE);
    __atomic_store_n(&to->realloc, table->realloc, __ATOMIC_RELEASE);
    __atomic_store_n(&to->aligned, table->aligned, __ATOMIC_RELEASE);
    __atomic_store_n(&to->free_aligned_sized, table->free_aligned_sized, __ATOMIC_RELEASE);
    __atomic_store_n(&to->usable_size, table->usable_size, __ATOMIC_RELEASE);
    __atomic_store_n(&to->new_object, table->new_object, __ATOMIC_RELEASE);
    __atomic_store_n(&to->new_array, table->new_array, __ATOMIC_RELEASE);
    __atomic_store_n(&to->delete_object, table->delete_object, __ATOMIC_RELEASE);
    __atomic_store_n(&to->delete_array, table->delete_array, __ATOMIC_RELEASE);
    __atomic_store_n(&to->delete_object_sized, table->delete_object_sized, __ATOMIC_RELEASE);
    __atomic_store_n(&to->delete_array_sized, table->delete_array_sized, __ATOMIC_RELEASE);
}

/* Once all threads have come by: the new level's own table. Under the lock. */
static void finish_if_all_settled(void)
{
    struct sj_atomic_u32 *waiting = &sj__control_page.control.waiting;
    /* There may never have been a raise: other processes can write there. */
    if (sj_load_relaxed_u32(waiting) == 0 || sj__sealed.raised_to == NULL || !sj__adopt_all_are_settled() ||
        !open_page())
        return;
    write_table(sj__sealed.raised_to);
    close_page();
    sj_store_relaxed_u32(waiting, 0);
}

/* False in a signal handler that has interrupted a slow path of its own thread: its heap can't be touched now. */
static bool settle(void)
{
    struct sj_deep deep;
    struct sj_heap *heap = sj_heap_own();
    if (sj_load_relaxed_u32(&heap->level) == sj__adopt_level() || heap == &sj__heap_none || heap == &sj__heap_dead)
        return true;
    if (sj__slow_is_inside())
        return false;
    int saved_errno = errno;
    sj_deep_begin(&deep);
    sj__heap_settle(heap); /* if it was the last one, the next slow path finishes the raise */
    sj_deep_end(&deep);
    errno = saved_errno;
    return true;
}

static void *raising_malloc(size_t size_bytes)
{
    return settle() ? sj__sealed.raised_to->malloc(size_bytes) : sj__slow_malloc(size_bytes);
}

static void *raising_calloc(size_t count, size_t size_bytes)
{
    size_t bytes;
    if (settle())
        return sj__sealed.raised_to->calloc(count, size_bytes);
    return sj__slow_calloc(sj_checked_mul(count, size_bytes, &bytes) ? bytes : SIZE_MAX);
}

static void *raising_realloc(void *block, size_t size_bytes)
{
    return settle() ? sj__sealed.raised_to->realloc(block, size_bytes) : sj__slow_realloc(block, size_bytes);
}

static void *raising_new(size_t size_bytes)
{
    return settle() ? sj__sealed.raised_to->new_object(size_bytes) : sj__slow_new(size_bytes);
}

static void *raising_new_array(size_t size_bytes)
{
    return settle() ? sj__sealed.raised_to->new_array(size_bytes) : sj__slow_new_array(size_bytes);
}

static void *raising_aligned(size_t alignment, size_t size_bytes)
{
    (void)settle();
    return sj__sealed.raised_to->aligned(alignment, size_bytes);
}

/* ---- The raise --------------------------------------------------------------------------------------------------- */

static void write_page(const struct sj_settings *settings)
{
    struct sj_dispatch raising, *to = sj__tagged_level_table();
    sj__sealed.raised_to = sj__variant_for(&settings->policy);
    /* Before any slab can have canaries or families: these know of them, whatever the policy. */
    __atomic_store_n(&to->realloc, sj__slow_realloc, __ATOMIC_RELEASE);
    __atomic_store_n(&to->usable_size, sj__slow_usable_size, __ATOMIC_RELEASE);
    __atomic_store_n(&to->delete_object, sj__slow_delete, __ATOMIC_RELEASE);
    __atomic_store_n(&to->delete_array, sj__slow_delete_array, __ATOMIC_RELEASE);
    __atomic_store_n(&to->delete_object_sized, sj__slow_delete_sized, __ATOMIC_RELEASE);
    __atomic_store_n(&to->delete_array_sized, sj__slow_delete_array_sized, __ATOMIC_RELEASE);
    /* Release: who sees the pointer sees what it points to. */
    __atomic_store_n(&sj__sealed.in_force, settings, __ATOMIC_RELEASE);
    __atomic_store_n(&sj__sealed.copies.ends_mask, -sj_tail_step(&settings->policy), __ATOMIC_RELAXED);
    if (settings->policy.copy != SJ_COPY_OFF)
        __atomic_store_n(&sj__sealed.copies.write_base, sj__window_base, __ATOMIC_RELAXED);
    if (settings->policy.copy == SJ_COPY_BOTH)
        __atomic_store_n(&sj__sealed.copies.read_base, sj__window_base, __ATOMIC_RELAXED);
    sj__adopt_raise(settings);
    raising = *sj__sealed.raised_to;
    raising.malloc = raising_malloc;
    raising.calloc = raising_calloc;
    raising.realloc = raising_realloc;
    raising.aligned = raising_aligned;
    raising.new_object = raising_new;
    raising.new_array = raising_new_array;
    write_table(&raising);
}

static int raise_locked(unsigned level)
{
    const struct sj_settings *now = sj__sealed.in_force;
    if (SJ_LEVEL_IS_FIXED)
        return ENOTSUP;
    if (level > SJ_LEVEL_MAX)
        return EINVAL;
    if (level < now->level || now->live == 0)
        return EPERM;
    if (level == now->level)
        return 0;
    struct sj_settings raised;
    sj__control_settings(&raised);
    sj__options_raise(&raised, level);
    (void)sj__pass_purge(SJ_PURGE_FAST); /* the kernel pays for what large blocks and runs hold from before */
    sj__summary_note_raise(&now->policy, &raised.policy);
    if (raised.policy.isolate)
        sj__run_keep_apart();
    if (!open_page()) /* only now: it is open as long as it takes to write it */
        return ENOMEM;
    sj__sealed.raised[level - 1] = raised;
    sj_store_relaxed_u32(&sj__control_page.control.waiting, 1);
    write_page(&sj__sealed.raised[level - 1]);
    close_page();
    sj_store_relaxed_u32(&sj__control_page.control.level, level);
    sj__status_amend_options(&raised);
    finish_if_all_settled();
    return 0;
}

int sj__live_raise(unsigned level)
{
    struct sj_deep deep;
    sj_deep_begin(&deep);
    sj__lock(&live_lock);
    int error = raise_locked(level);
    sj__unlock(&live_lock);
    sj_deep_end(&deep);
    if (error == 0)
        sj__guard_fault_start(); /* what the level has brought may fault */
    return error;
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

/* The first accounts there are. */
static void fill_accounts(struct sj_control *control)
{
    static struct sj_account_stats accounts[SJ_CONTROL_ACCOUNTS_MAX];
    uint64_t count = 0;
    while (count < SJ_CONTROL_ACCOUNTS_MAX && sj_account_read(count, &accounts[count]) == 0)
        count++;
    control->accounts = (uint64_t)(uintptr_t)accounts;
    control->accounts_count = count;
}

static void fill_counters(struct sj_control *control)
{
    struct sj_stats stats;
    struct sj_bill bill;
    sj__summary_fill(&stats);
    sj__bill_fill(&bill, NULL, 0, false); /* what is resident the reader can ask the kernel */
    uint32_t filling = sj_load_relaxed_u32(&control->filling);
    (void)sj_exchange_acq_rel_u32(&control->filling, filling + 1); /* odd: the reader looks before and after */
    memcpy(control->counters, &stats, sizeof stats);
    memcpy(control->bill, &bill, sizeof bill);
    fill_accounts(control);
    control->counters_bytes = sizeof stats;
    control->filled_ms = sj__clock_ms();
    sj_store_release_u32(&control->filling, filling + 2);
}

static void set_release_ms(uint64_t number)
{
    struct sj_hold hold;
    sj__release_get(&hold);
    hold.release_ms = number > INT64_MAX ? -1 : (int64_t)number;
    sj__release_set(&hold);
}

static int carry_out(struct sj_control *control, uint64_t command, uint64_t number, uint64_t *result)
{
    int error = 0;
    switch (command) {
    case SJ_COMMAND_COUNTERS: fill_counters(control); break;
    case SJ_COMMAND_PURGE: *result = sj__pass_purge(number != 0 ? SJ_PURGE_ALL : SJ_PURGE) > 0; break;
    case SJ_COMMAND_CHECK: *result = sj__check_whole(); break;
    case SJ_COMMAND_RELEASE_MS: set_release_ms(number); break;
    case SJ_COMMAND_LEVEL:
        error = raise_locked(number > SJ_LEVEL_MAX ? SJ_LEVEL_MAX + 1 : (unsigned)number);
        *result = sj__sealed.in_force->level;
        break;
    default: error = ENOSYS;
    }
    return error;
}

static void serve_locked(struct sj_control *control)
{
    uint64_t sequence = sj_load_acquire_u64(&control->request.sequence); /* pairs with the writing process */
    uint64_t command = control->request.command, number = control->request.number, result = 0;
    int error = EBADMSG;
    if (control->request.checksum == sj_control_checksum(sequence, command, number))
        error = sj__sealed.in_force->live ? carry_out(control, command, number, &result) : EPERM;
    control->answer.error = (uint64_t)error;
    control->answer.number = result;
    sj_store_release_u64(&control->answer.sequence, sequence); /* last: the asker waits for it */
}

bool sj__live_serve(void)
{
    struct sj_deep deep;
    if (sj_likely(!sj_control_block_is_pending() && !sj__adopt_has_news() && !sj_stats_out_is_due()))
        return true;
    int saved_errno = errno;
    sj_deep_begin(&deep);
    bool is_ours = sj__try_lock(&live_lock);
    if (is_ours) {
        if (sj_control_block_is_pending()) /* nobody else has answered meanwhile */
            serve_locked(&sj__control_page.control);
        finish_if_all_settled();
        if (sj_stats_out_is_due())
            sj__stats_out_write();
        sj__unlock(&live_lock);
    }
    sj_deep_end(&deep);
    if (is_ours)
        sj__guard_fault_start(); /* what a raise has brought may fault */
    errno = saved_errno;
    return is_ours;
}

void sj__live_lock_for_fork(void)
{
    sj__lock(&live_lock);
}

void sj__live_unlock_after_fork(bool in_child)
{
    if (in_child)
        sj__lock_reset(&live_lock);
    else
        sj__unlock(&live_lock);
}
