/* SPDX-License-Identifier: MIT
 *
 * What: options read and set while the program runs: sj_ctl, sj_purge, malloc_trim and mallopt.
 *
 * Why this way: what can change live is read through the limits of span/release.h, and through nothing else; all other
 * options are in the sealed page. So the settings in force are the sealed ones with the limits put over them. The level is raised by front/live.h.
 *
 * Invariants: no code of mallopt makes a program fail that works under another malloc: unknown ones are accepted.
 *
 * Concurrency: as scrubjay.h promises.
 */
#include "front/control.h"

#include "front/entry.h"
#include "front/live.h"
#include "front/slow.h"
#include "front/summary.h"
#include "front/tick.h"
#include "heap/pass.h"
#include "policy/parser.h"
#include "scrubjay.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define STATS_PREFIX "stats."
enum { NUMBER_BYTES = 24 /* of a statistic, with its NUL */ };

/* mallopt's codes: glibc's, and those of Android's libc. */
enum {
    CODE_TRIM_THRESHOLD = -1,
    CODE_MMAP_THRESHOLD = -3,
    CODE_DECAY_TIME = -100,
    CODE_PURGE = -101,
    CODE_PURGE_ALL = -104,
    CODE_PURGE_FAST = -105,
    CODE_CACHE_COUNT_MAX = -200,
    CODE_CACHE_SIZE_MAX = -201
};

void sj__control_settings(struct sj_settings *settings)
{
    *settings = *sj__sealed.in_force;
    sj__release_get(&settings->hold);
    settings->tick = sj__tick_is_on();
}

static bool is_live(const struct sj_option *option)
{
    size_t offset = option->offset;
    return offset == offsetof(struct sj_settings, tick) ||
           (offset >= offsetof(struct sj_settings, hold) &&
            offset < offsetof(struct sj_settings, hold) + sizeof(struct sj_hold));
}

static int fail(int error)
{
    errno = error;
    return -1;
}

static int set_level(struct sj_settings *settings, const struct sj_option *option, const char *value)
{
    if (!sj__option_apply(settings, option, (struct sj_slice){ value, strlen(value) }))
        return fail(EINVAL);
    int error = sj__slow_is_inside() ? EAGAIN : sj__live_raise(settings->level);
    return error == 0 ? 0 : fail(error);
}

static int read_statistic(const char *name, char *old, size_t old_size, const void *caller)
{
    char number[NUMBER_BYTES];
    struct sj_writer writer;
    struct sj_text text;
    sj__writer_start(&writer, SJ_FORM_LOOKUP, number, sizeof number, name);
    enum sj_inside outer = sj__slow_enter((struct sj_asker){ .function = "sj_ctl", .caller = caller });
    sj__summary_write(&writer, true);
    sj__slow_leave(outer);
    if (writer.text.length == 0)
        return fail(ENOENT);
    if (old != NULL && old_size > 0) {
        sj__format_start(&text, old, old_size);
        sj__format_string(&text, number);
    }
    return 0;
}

SJ_EXPORT int sj_ctl(const char *name, const char *value, char *old, size_t old_size)
{
    const struct sj_option *option = sj__options_find(name, strlen(name));
    struct sj_settings settings;
    bool is_statistic = strncmp(name, STATS_PREFIX, sizeof STATS_PREFIX - 1) == 0;
    if ((option == NULL && !is_statistic) || !sj__start() || sj__sealed.settings.disable)
        return fail(ENOENT);
    if (is_statistic)
        return value != NULL
                   ? fail(EPERM)
                   : read_statistic(name + sizeof STATS_PREFIX - 1, old, old_size, __builtin_return_address(0));
    sj__control_settings(&settings);
    if (old != NULL && old_size > 0)
        sj__options_value(option, &settings, old, old_size);
    if (value == NULL)
        return 0;
    if (option->kind == SJ_OPTION_LEVEL)
        return set_level(&settings, option, value);
    if (!is_live(option))
        return fail(EPERM);
    if (!sj__option_apply(&settings, option, (struct sj_slice){ value, strlen(value) }))
        return fail(EINVAL);
    sj__release_set(&settings.hold);
    if (settings.tick && !sj__tick_start())
        return fail(EAGAIN);
    if (!settings.tick)
        sj__tick_stop();
    return 0;
}

static int purge(enum sj_purge how, const char *function, const void *caller)
{
    if (!sj__start() || sj__sealed.settings.disable)
        return 0;
    enum sj_inside outer = sj__slow_enter((struct sj_asker){ .function = function, .caller = caller });
    bool given = sj__pass_purge(how) > 0;
    sj__slow_leave(outer);
    return given;
}

SJ_EXPORT int sj_purge(int all)
{
    return purge(all ? SJ_PURGE_ALL : SJ_PURGE, "sj_purge", __builtin_return_address(0));
}

SJ_EXPORT int sj_malloc_trim(size_t pad)
{
    int (*next)(size_t) = (int (*)(size_t))sj__entry_next("malloc_trim");
    if (next != NULL)
        return next(pad); /* to us it means nothing: what is kept is kept in slabs that are in use anyway */
    return purge(SJ_PURGE_ALL, "malloc_trim", __builtin_return_address(0));
}

int sj__control_mallopt(int code, int value)
{
    struct sj_hold hold;
    if (!sj__start() || sj__sealed.settings.disable)
        return 0;
    sj__release_get(&hold);
    uint64_t bytes = value < 0 ? INT64_MAX : (uint64_t)value; /* -1 is glibc's "no limit" */
    switch (code) {
    case CODE_PURGE: return purge(SJ_PURGE, "mallopt", __builtin_return_address(0)), 1;
    case CODE_PURGE_ALL: return purge(SJ_PURGE_ALL, "mallopt", __builtin_return_address(0)), 1;
    case CODE_PURGE_FAST: return purge(SJ_PURGE_FAST, "mallopt", __builtin_return_address(0)), 1;
    case CODE_DECAY_TIME: hold.release_ms = value < 0 ? -1 : value; break;
    case CODE_CACHE_COUNT_MAX: hold.cache_max_count = bytes; break;
    case CODE_CACHE_SIZE_MAX:
    case CODE_MMAP_THRESHOLD: hold.cache_max_entry_bytes = bytes; break;
    case CODE_TRIM_THRESHOLD: hold.hold_max_bytes = bytes; break;
    default: return 1; /* M_ARENA_MAX among them: every thread has a heap of its own, and needs no more */
    }
    sj__release_set(&hold);
    return 1;
}
