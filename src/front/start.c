/* SPDX-License-Identifier: MIT
 *
 * What: the start: the first call of any entry point reads the policy, opens the window, and puts the level's variant
 * into the dispatch table; then table and settings are sealed.
 *
 * Why this way: the first malloc comes before any constructor, from the loader or another library, so the start hangs on
 * the table itself: it begins with functions that start and call again. Nothing that may allocate runs before the
 * table is in force.
 *
 * Invariants: started once. If the kernel gives no memory at all the table stays as it was and each call tries again.
 *
 * Concurrency: under the start lock.
 */
#include "front/calls.h"

#include "base/plain.h"
#include "front/aside.h"
#include "front/fork.h"
#include "front/guard_fault.h"
#include "front/layout.h"
#include "front/live.h"
#include "front/next.h"
#include "front/profile_dump.h"
#include "front/record.h"
#include "front/shadow.h"
#include "front/stats_out.h"
#include "front/tagged.h"
#include "front/tick.h"
#include "heap/adopt.h"
#include "heap/profile.h"
#include "meta/window.h"
#include "platform/control_group.h"
#include "platform/cpu.h"
#include "platform/entropy.h"
#include "platform/lock.h"
#include "platform/pages.h"
#include "platform/process.h"
#include "policy/options.h"
#include "report/control_block.h"
#include "report/report.h"
#include "report/status.h"
#include "span/release.h"
#include "span/run.h"
#include "span/size_class.h"
#include "span/tail.h"

#include <errno.h>
#include <string.h>

enum { FILE_BYTES = (1 << 16) + 1, NAME_BYTES = 256, ENVIRONMENT_BYTES = 4096 };
#define CONFIGURATION_FILE "/etc/scrubjay.conf"

/* A program may define this to have options of its own linked in. */
extern const char *scrubjay_default_options SJ_WEAK;

static struct sj_lock start_lock = SJ_LOCK_INIT(SJ_RANK_START);
static struct sj_atomic_u32 started;
static const char *aside_for; /* the tool that serves in our place, or NULL */

/* ---- Before the start ------------------------------------------------------------------------------------------- */

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

static void *start_malloc(size_t size_bytes)
{
    return sj__start() ? sj__entry_malloc(size_bytes) : no_memory();
}

static void *start_calloc(size_t count, size_t size_bytes)
{
    return sj__start() ? sj__entry_calloc(count, size_bytes) : no_memory();
}

static void *start_realloc(void *block, size_t size_bytes)
{
    return sj__start() ? sj__entry_realloc(block, size_bytes) : no_memory();
}

static void *start_aligned(size_t alignment, size_t size_bytes)
{
    return sj__start() ? sj__entry_aligned(alignment, size_bytes) : no_memory();
}

static void start_free(void *block)
{
    if (block != NULL && sj__start())
        sj__entry_free(block);
}

static void start_free_sized(void *block, size_t size_bytes)
{
    if (block != NULL && sj__start())
        sj__entry_free_sized(block, size_bytes);
}

static void start_free_aligned_sized(void *block, size_t alignment, size_t size_bytes)
{
    if (block != NULL && sj__start())
        sj__entry_free_aligned_sized(block, alignment, size_bytes);
}

static size_t start_usable_size(void *block)
{
    return block != NULL && sj__start() ? sj__entry_usable_size(block) : 0;
}

static void *start_new(size_t size_bytes)
{
    return sj__start() ? sj__entry_new(size_bytes, SJ_FAMILY_NEW) : no_memory();
}

static void *start_new_array(size_t size_bytes)
{
    return sj__start() ? sj__entry_new(size_bytes, SJ_FAMILY_NEW_ARRAY) : no_memory();
}

__attribute__((aligned(SJ_SEALED_PAGE_BYTES))) union sj_sealed sj__sealed = {
    .dispatch = {
        .malloc = start_malloc,
        .free = start_free,
        .calloc = start_calloc,
        .free_sized = start_free_sized,
        .realloc = start_realloc,
        .aligned = start_aligned,
        .free_aligned_sized = start_free_aligned_sized,
        .usable_size = start_usable_size,
        .new_object = start_new,
        .new_array = start_new_array,
        .delete_object = start_free, /* there is nothing yet that could be one's */
        .delete_array = start_free,
        .delete_object_sized = start_free_sized,
        .delete_array_sized = start_free_sized,
    },
    .in_force = &sj__sealed.settings,
    .copies = {
        .write_base = SJ_COPIES_NOWHERE,
        .read_base = SJ_COPIES_NOWHERE,
        .memmove = sj__plain_move,
        .memset = sj__plain_set,
    },
};

/* ---- The start -------------------------------------------------------------------------------------------------- */

/* The text of the file, or NULL. One that is there and not used is named: its floor may be missed. */
static const char *read_file(bool secure)
{
    static char file[FILE_BYTES]; /* too large for small stacks; touched as far as there is text */
    const char *reason = "it can't be read";
    long got = sj__process_read_file(CONFIGURATION_FILE, secure, file, sizeof file);
    if (got >= 0)
        return file;
    if (got == -ENOENT || got == -ENOTDIR)
        return NULL;
    if (got == -EFBIG)
        reason = "it is larger than 64 KiB";
    else if (got == -EPERM && secure)
        reason = "in a set-user-id program it must be root's, and writable by nobody else";
    else if (got == -ELOOP && secure)
        reason = "in a set-user-id program it must not be a link";
    sj__report_warn(CONFIGURATION_FILE " not used: ", reason);
    return NULL;
}

static void read_settings(struct sj_settings *settings)
{
    static char environment[ENVIRONMENT_BYTES], disable[NAME_BYTES];
    char name[NAME_BYTES];
    bool secure = sj__process_is_secure();
    sj__process_name(name, sizeof name);
    struct sj_option_texts texts = {
        .linked = &scrubjay_default_options != NULL ? scrubjay_default_options : NULL,
        .file = read_file(secure),
        .program = name,
        .environment = secure ? NULL : sj__process_environment("SCRUBJAY_OPTIONS", environment, sizeof environment),
        .disable = secure ? NULL : sj__process_environment("SCRUBJAY_DISABLE", disable, sizeof disable),
        .secure = secure,
    };
    sj__options_settle(settings, &texts, sj__report_warn);
    if (SJ_LEVEL_IS_FIXED) {
        settings->level = SJ_FIXED_LEVEL;
        settings->policy = sj__policy_levels[SJ_FIXED_LEVEL];
        settings->disable = 0;
    }
}

/* SCRUBJAY_DISABLE. False if there is no next allocator to pass calls on to, as in the archive: then level 0 it is. */
static bool step_aside(struct sj_settings *settings)
{
    if (&sj__next_start != NULL && sj__next_start())
        return true;
    settings->disable = 0;
    (void)sj__options_apply(settings, "level=0", SJ_SOURCE_ENVIRONMENT, sj__report_warn);
    return false;
}

/* What is checked about copies, where things lie, where randomness comes from, what is sampled, what large blocks are like,
 * how much waits in quarantine and when the heap is checked is not in the variants. */
static bool is_of_level(const struct sj_policy *policy, unsigned level)
{
    struct sj_policy served = *policy;
    served.copy = sj__policy_levels[level].copy;
    served.fixed_seed = 0;
    served.guard = sj__policy_levels[level].guard;
    served.isolate = sj__policy_levels[level].isolate;
    served.sample = sj__policy_levels[level].sample;
    served.trap = sj__policy_levels[level].trap;
    served.align_end = sj__policy_levels[level].align_end;
    served.quarantine = sj__policy_levels[level].quarantine;
    served.walk = sj__policy_levels[level].walk;
    return memcmp(&served, &sj__policy_levels[level], sizeof served) == 0;
}

const struct sj_dispatch *sj__variant_for(const struct sj_policy *policy)
{
    static const struct sj_dispatch *const variants[SJ_LEVEL_MAX + 1] = {
        &sj__variant_level0, &sj__variant_level1, &sj__variant_level2, &sj__variant_level3, &sj__variant_level4,
    };
    for (unsigned level = 0; level <= SJ_LEVEL_MAX; level++)
        if (is_of_level(policy, level))
            return variants[level];
    return &sj__variant_custom;
}

/* Opens the heap and puts it in force. */
static bool take_place(struct sj_settings *settings)
{
    uint64_t random[4] = { settings->seed, settings->seed * 3, settings->seed * 5, settings->seed * 7 };
    if (!settings->policy.fixed_seed)
        (void)sj__entropy_fill(random, sizeof random);
    sj__tagged_start(settings);
    if (!sj__window_start(random[0], random[1], random[2], settings->thp == SJ_THP_SYSTEM))
        return false;
    sj__canary_start(random[3]);
    sj__size_classes_start();
    if (settings->policy.isolate)
        sj__run_keep_apart();
    if (!sj__heaps_start(settings))
        return false;
    size_t allowance = sj__control_group_memory("/sys/fs/cgroup", "/proc/self/cgroup");
    sj__release_set_allowance(allowance == SIZE_MAX ? UINT64_MAX : allowance);
    sj__release_set(&settings->hold);
    sj__run_give_addresses(sj__process_pays_for_addresses());
    *sj__tagged_level_table() = *sj__variant_for(&settings->policy);
    if (sj_tags_are_on())
        sj__sealed.dispatch = sj__tagged_table;
    sj__sealed.copies.ends_mask = -sj_tail_step(&settings->policy);
    if (settings->policy.copy != SJ_COPY_OFF)
        sj__sealed.copies.write_base = sj__window_base;
    if (settings->policy.copy == SJ_COPY_BOTH)
        sj__sealed.copies.read_base = sj__window_base;
    return true;
}

static void settle(struct sj_settings *settings)
{
    aside_for = &sj__aside_for != NULL ? sj__aside_for() : NULL;
    if (aside_for != NULL) { /* its runtime may just be starting: nothing is called that it intercepts */
        settings->disable = 1;
        return;
    }
    sj__report_start();
    read_settings(settings);
    sj__report_configure(settings);
}

static bool start_locked(void)
{
    sj__pages_start();
    sj__cpu_start();
    struct sj_settings *settings = &sj__sealed.settings;
    settle(settings);
    bool aside = settings->disable && step_aside(settings);
    if (!aside && !take_place(settings))
        return false;
    if (&sj__copies_find != NULL)
        sj__copies_find(&sj__sealed.copies);
    if (!aside) {
        sj__control_block_start(&sj__release_due_ms, settings->level, sj__profile.self, &sj__layout);
        sj__stats_out_start(settings);
    }
    enum sj_status_state state = aside_for != NULL ? SJ_STATE_ASIDE : aside ? SJ_STATE_DISABLED : SJ_STATE_ON;
    sj__status_publish(state, SJ_VERSION_TEXT, settings);
    sj__live_seal(); /* refused: it stays writable, and works */
    return true;
}

bool sj__start(void)
{
    if (sj_load_acquire_u32(&started) != 0) /* pairs with the store below */
        return true;
    int saved_errno = errno;
    sj__lock(&start_lock);
    bool first = sj_load_relaxed_u32(&started) == 0;
    bool ready = !first || start_locked();
    if (ready)
        sj_store_release_u32(&started, 1); /* pairs with the load above */
    sj__unlock(&start_lock);
    if (ready && first && !sj__sealed.settings.disable)
        sj__fork_start(); /* may allocate */
    errno = saved_errno;
    return ready;
}

uintptr_t sj__entry_next(const char *name)
{
    return sj__start() && sj__sealed.settings.disable ? (uintptr_t)sj__next_find(name) : 0;
}

__attribute__((constructor)) static void start_at_load(void)
{
    sj__pages_use_libc();
    if (!sj__start())
        return;
    if (!sj__sealed.settings.disable && &sj__shadow_is_over != NULL && sj__shadow_is_over())
        sj__status_amend(SJ_STATE_SHADOWED);
    if (aside_for != NULL) {
        sj__report_start();
        sj__report_warn("not on in this process: malloc is left to ", aside_for);
        return;
    }
    if (sj__sealed.settings.verbose)
        sj__status_banner();
    if (sj__sealed.settings.tick && &sj__tick_can_start == NULL)
        sj__report_warn("tick not used: it starts by itself in the shared library with glibc only; see sj_ctl", NULL);
    sj__guard_fault_start();
    sj__record_start();
}

__attribute__((destructor)) static void finish_at_exit(void)
{
    if (sj_load_acquire_u32(&started) == 0 || sj__sealed.settings.disable)
        return;
    uint64_t tags = sj_tags_ignore();
    sj__adopt_check_at_exit();
    sj__report_summarize();
    sj__stats_out_at_exit();
    sj__record_at_exit();
    sj__profile_dump_at_exit();
    sj_tags_heed(tags);
}
