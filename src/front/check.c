/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see check.h.
 */
#include "front/check.h"

#include "front/entry.h"
#include "front/slow.h"
#include "heap/check.h"
#include "heap/deep.h"
#include "scrubjay.h"

#include <errno.h>

enum {
    WALK_BYTES = 1 << 20, /* of the window, a step: some hundred microseconds at most */
    PIECE_GRANULES = 16,  /* that signals wait for, in a check on demand */
    PATIENCE_MS = 100     /* for the locks of heaps whose threads don't move, in a check on demand */
};

_Thread_local uint32_t sj__check_slow_paths;
static struct sj_atomic_size cursor; /* the granule at which the next step begins */

static const struct sj_settings *settings_in_force(void)
{
    return __atomic_load_n(&sj__sealed.in_force, __ATOMIC_ACQUIRE); /* pairs with a raise's store */
}

static size_t window_granules(void)
{
    return sj_load_acquire_size(&sj__window_limit_bytes) >> SJ_GRANULE_SHIFT; /* pairs with the growth */
}

/* A piece, with what it takes. */
static void check_piece(struct sj_check *check, size_t first, size_t end)
{
    struct sj_deep deep;
    sj_deep_begin(&deep);
    sj__check_granules(check, first, end);
    sj_deep_end(&deep);
}

static void check_range(struct sj_check *check, size_t first, size_t end)
{
    for (size_t piece; first < end; first = piece) {
        piece = end - first > PIECE_GRANULES ? first + PIECE_GRANULES : end;
        check_piece(check, first, piece);
    }
}

/* The next granules, for whoever asks. True if they are the window's last. */
static bool take_next(size_t granules, size_t *first, size_t *end)
{
    size_t limit = window_granules();
    *first = sj_fetch_add_relaxed_size(&cursor, granules);
    *end = *first < limit && limit - *first > granules ? *first + granules : limit;
    if (*end < limit)
        return false;
    sj_store_relaxed_size(&cursor, 0);
    return true;
}

uint64_t sj__check_whole(void)
{
    struct sj_check check = { .settings = settings_in_force(), .patience_ms = PATIENCE_MS };
    size_t granules = window_granules();
    sj__check_granules(&check, 0, granules);
    return (uint64_t)granules << SJ_GRANULE_SHIFT;
}

void sj__check_walk(void)
{
    struct sj_check check = { .settings = settings_in_force() };
    size_t first, end;
    sj__check_slow_paths = 0;
    (void)take_next(WALK_BYTES >> SJ_GRANULE_SHIFT, &first, &end);
    check_piece(&check, first, end);
}

SJ_EXPORT int sj_check(size_t budget)
{
    if (!sj__start() || sj__sealed.settings.disable || sj__slow_is_inside()) {
        errno = sj__slow_is_inside() ? EAGAIN : sj__sealed.settings.disable ? ENOTSUP : ENOMEM;
        return -1;
    }
    struct sj_check check = { .settings = settings_in_force(), .patience_ms = PATIENCE_MS };
    size_t limit = window_granules(), first = 0, end = limit;
    size_t granules = budget / SJ_GRANULE_BYTES + (budget % SJ_GRANULE_BYTES != 0);
    bool is_last = budget == 0 || granules >= limit || take_next(granules, &first, &end);
    check_range(&check, first, end);
    return is_last;
}
