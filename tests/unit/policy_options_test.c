/* SPDX-License-Identifier: MIT
 *
 * What: tests of policy/options and policy/settle: the parser, the order of the sources, the floor.
 *
 * Why this way: the parser is pure, so each test is texts in and `key=value` text out; the warnings are collected by a
 * callback. Random texts look for a crash, a warning without an end, and settings that do not survive their own text.
 */
#include "policy/options.h"
#include "unit/unit.h"

static char warnings[8192];
static unsigned warning_count;

static void collect_warning(const char *what, const char *detail)
{
    const size_t used = strlen(warnings);
    snprintf(warnings + used, sizeof warnings - used, "%s%s\n", what, detail != NULL ? detail : "");
    warning_count++;
}

static void forget_warnings(void)
{
    warnings[0] = '\0';
    warning_count = 0;
}

static struct sj_settings settle(const struct sj_option_texts *texts)
{
    struct sj_settings settings;
    memset(&settings, 0xa5, sizeof settings);
    forget_warnings();
    sj__options_settle(&settings, texts, collect_warning);
    return settings;
}

static struct sj_settings settle_environment(const char *environment)
{
    return settle(&(struct sj_option_texts){ .environment = environment });
}

static const char *print(const struct sj_settings *settings)
{
    static char text[SJ_OPTIONS_TEXT_BYTES];
    CHECK(sj__options_print(settings, text, sizeof text) < sizeof text);
    return text;
}

static bool same_policy(const struct sj_settings *settings, unsigned level)
{
    return memcmp(&settings->policy, &sj__policy_levels[level], sizeof settings->policy) == 0;
}

static void options_settle__gives_default_level_when_no_texts(void)
{
    const struct sj_settings settings = settle(&(struct sj_option_texts){ 0 });
    CHECK(same_policy(&settings, SJ_LEVEL_DEFAULT));
    CHECK_EQ(settings.level, SJ_LEVEL_DEFAULT);
    CHECK_EQ(settings.disable, 0);
    CHECK_EQ(warning_count, 0);
    CHECK(
        strcmp(print(&settings),
               "level=2,random=on,delay=run,quarantine=16k,scrub=auto,verify=off,canary=off,guard=large,align_end=off,"
               "trap=off,"
               "isolate=on,copy=write,sized=on,types=off,"
               "tag=off,sample=20000,sample_rate=1000,walk=0,"
               "foreign=report,onerror=abort,"
               "thp=never,release_ms=1000,release_max_bytes=67108864,hold_max_bytes=134217728,"
               "cache_max_bytes=67108864,cache_max_count=256,cache_max_entry_bytes=1048576,limit_bytes=0,"
               "exhausted=null,live=on,tick=off,"
               "report=text,profile=off,profile_rate=524288,profile_dump=off,"
               "verbose=off,stats=off,stats_ms=10000,label_peaks=off") == 0);
}

static void options_settle__equals_level_when_level_is_set(void)
{
    for (unsigned level = 0; level <= SJ_LEVEL_MAX; level++) {
        char text[16];
        snprintf(text, sizeof text, "level=%u", level);
        const struct sj_settings settings = settle_environment(text);
        CHECK(same_policy(&settings, level));
        CHECK_EQ(settings.level, level);
        CHECK_EQ(warning_count, 0);
    }
}

static void options_apply__takes_level_first_when_it_stands_last(void)
{
    const struct sj_settings settings = settle_environment("scrub=free,random=off,level=1");
    CHECK(strstr(print(&settings),
                 "level=1,random=off,delay=run,quarantine=16k,scrub=free,verify=off,canary=off,guard=large") != NULL);
}

static void options_apply__takes_last_when_key_is_repeated(void)
{
    const struct sj_settings settings = settle_environment("level=0,level=1,scrub=free,scrub=reuse");
    CHECK_EQ(settings.level, 1);
    CHECK_EQ(settings.policy.scrub, SJ_SCRUB_REUSE);
}

static void options_apply__skips_when_items_are_empty(void)
{
    const struct sj_settings settings = settle_environment(",,:level=1::  ,\n, scrub = free ,");
    CHECK_EQ(warning_count, 0);
    CHECK_EQ(settings.level, 1);
    CHECK_EQ(settings.policy.scrub, SJ_SCRUB_FREE);
}

static void options_apply__accepts_all_words_when_switch(void)
{
    static const char *const words[] = { "off", "on", "0", "1", "false", "true", "no", "yes" };
    for (unsigned i = 0; i < 8; i++) {
        char text[64];
        snprintf(text, sizeof text, "random=%s,sized=%s,verbose=%s:stats=%s", words[i], words[i], words[i], words[i]);
        const struct sj_settings settings = settle_environment(text);
        CHECK_EQ(warning_count, 0);
        CHECK_EQ(settings.policy.random, i & 1);
        CHECK_EQ(settings.policy.sized, i & 1);
        CHECK_EQ(settings.verbose, i & 1);
        CHECK(strcmp(settings.stats, (i & 1) != 0 ? "on" : "") == 0);
    }
}

static void options_apply__warns_once_and_keeps_when_item_is_bad(void)
{
    static const char *const bad[] = {
        "bogus=1",  "level=5",   "level=-1",       "level=",   "level=99999999999999999999",
        "scrub=0",  "scrub=ree", "scrub=freed",    "random=2", "random=ON",
        "random",   "=on",       "floor=1",        "seed=",    "seed=0x",
        "seed=12z", "seed=-1",   "delay=lifo|run", "guard=on", "seed=18446744073709551616",
        "level",    "levels=1",  "leve=1"
    };
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct sj_settings settings = settle_environment(bad[i]);
        CHECK_EQ(warning_count, 1);
        CHECK(strstr(warnings, bad[i]) != NULL);
        CHECK(strstr(warnings, "SCRUBJAY_OPTIONS") != NULL);
        CHECK(same_policy(&settings, SJ_LEVEL_DEFAULT));
    }
}

static void options_apply__stops_warning_when_there_are_many(void)
{
    char text[4096] = "";
    for (unsigned i = 0; i < 200; i++)
        strcat(text, "no\033such=1,");
    settle_environment(text);
    CHECK(warning_count > 1);
    CHECK(warning_count <= 8);
    CHECK(strchr(warnings, '\033') == NULL);
    CHECK(strstr(warnings, "more") != NULL);
}

static void options_apply__counts_when_items_are_not_used(void)
{
    struct sj_settings settings;
    sj__options_start(&settings, 1);
    CHECK_EQ(sj__options_apply(&settings, "a=1,scrub=free,level=7,b", SJ_SOURCE_LINKED, collect_warning), 3);
    CHECK_EQ(sj__options_apply(&settings, NULL, SJ_SOURCE_LINKED, collect_warning), 0);
    CHECK_EQ(settings.policy.scrub, SJ_SCRUB_FREE);
}

static void options_settle__overrides_when_source_is_later(void)
{
    struct sj_option_texts texts = { .linked = "level=0,verbose=1" };
    struct sj_settings settings = settle(&texts);
    CHECK_EQ(settings.level, 0);
    CHECK_EQ(settings.verbose, 1);
    texts.file = "level=1\nscrub=reuse\n";
    settings = settle(&texts);
    CHECK_EQ(settings.level, 1);
    CHECK_EQ(settings.policy.scrub, SJ_SCRUB_REUSE);
    CHECK_EQ(settings.verbose, 1); /* no part of a level */
    texts.environment = "scrub=free";
    settings = settle(&texts);
    CHECK_EQ(settings.level, 1);
    CHECK_EQ(settings.policy.scrub, SJ_SCRUB_FREE);
    texts.environment = "level=2"; /* a later level undoes an earlier source's single options */
    settings = settle(&texts);
    CHECK(same_policy(&settings, 2));
}

static void options_settle__reads_sections_when_program_matches(void)
{
    struct sj_option_texts texts = { .file = "# everybody\n"
                                             "level = 1   # a comment\r\n"
                                             "[redis-server]\n"
                                             "scrub=free, random=off\n"
                                             "[nginx]\n"
                                             "level=0\n"
                                             "  [ redis-server ]  \n"
                                             "stats=1" };
    struct sj_settings settings = settle(&texts);
    CHECK(same_policy(&settings, 1));
    texts.program = "";
    settings = settle(&texts);
    CHECK(same_policy(&settings, 1));
    texts.program = "redis";
    settings = settle(&texts);
    CHECK(same_policy(&settings, 1));
    CHECK(settings.stats[0] == '\0');
    texts.program = "redis-server";
    settings = settle(&texts);
    CHECK_EQ(settings.policy.scrub, SJ_SCRUB_FREE);
    CHECK_EQ(settings.policy.random, 0);
    CHECK_EQ(settings.policy.delay, SJ_DELAY_RUN);
    CHECK(strcmp(settings.stats, "on") == 0);
    texts.program = "nginx";
    settings = settle(&texts);
    CHECK(same_policy(&settings, 0));
    CHECK_EQ(warning_count, 0);
}

static void options_settle__warns_when_section_is_not_closed(void)
{
    const struct sj_settings settings =
        settle(&(struct sj_option_texts){ .file = "[a\nlevel=0\n[]\nlevel=0\n", .program = "a" });
    CHECK_EQ(warning_count, 1);
    CHECK(same_policy(&settings, SJ_LEVEL_DEFAULT));
}

static void options_settle__raises_when_under_floor(void)
{
    struct sj_option_texts texts = { .file = "floor=1\n", .environment = "level=0" };
    struct sj_settings settings = settle(&texts);
    CHECK(same_policy(&settings, 1));
    CHECK_EQ(settings.level, 1);
    CHECK_EQ(warning_count, 1);
    CHECK(strstr(warnings, "random delay guard sized sample") != NULL);
    texts.environment = "scrub=free,delay=lifo";
    settings = settle(&texts);
    CHECK_EQ(settings.policy.scrub, SJ_SCRUB_FREE);
    CHECK_EQ(settings.policy.delay, SJ_DELAY_RUN);
    texts.environment = NULL;
    settings = settle(&texts);
    CHECK(same_policy(&settings, SJ_LEVEL_DEFAULT));
    CHECK_EQ(warning_count, 0);
    texts.file = "floor=2";
    texts.environment = "scrub=reuse,foreign=ignore"; /* auto scrubs small slots in free, reuse does not */
    settings = settle(&texts);
    CHECK(same_policy(&settings, 2));
    CHECK_EQ(settings.foreign, SJ_FOREIGN_REPORT);
    texts.environment = "scrub=free";
    settings = settle(&texts);
    CHECK_EQ(settings.policy.scrub, SJ_SCRUB_FREE);
    texts.file = "floor=7\nfloor=\n";
    settle(&texts);
    CHECK_EQ(warning_count, 2);
}

static void options_arena__applies_what_an_arena_can_have(void)
{
    struct sj_option_texts texts = { .environment = "level=3,limit_bytes=1g,stats=on" };
    struct sj_settings program, arena;
    sj__options_settle(&program, &texts, collect_warning);
    arena = program;
    CHECK_EQ(sj__options_arena(&arena, "scrub=reuse,verify=off,limit_bytes=1m,exhausted=report"), 0);
    CHECK(arena.policy.scrub == SJ_SCRUB_REUSE && arena.policy.verify == 0 && arena.policy.canary == SJ_CANARY_SLOT);
    CHECK(arena.hold.limit_bytes == 1 << 20 && arena.exhausted == SJ_EXHAUSTED_REPORT);
    arena = program;
    CHECK_EQ(sj__options_arena(&arena, NULL), 0);
    CHECK(memcmp(&arena.policy, &program.policy, sizeof arena.policy) == 0 && arena.hold.limit_bytes == 0);
    arena = program;
    CHECK_EQ(sj__options_arena(&arena, "scrub=off"), 0); /* verify needs it */
    CHECK(arena.policy.scrub == SJ_SCRUB_FREE);
    static const char *const bad[] = { "stats=off", "seed=4", "tick=on", "nothing=1", "level=9" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        arena = program;
        CHECK(sj__options_arena(&arena, bad[i]) > 0);
    }
}

static void options_arena__never_ends_under_the_floor(void)
{
    struct sj_option_texts texts = { .file = "floor=3\n" };
    struct sj_settings settings;
    sj__options_settle(&settings, &texts, collect_warning);
    CHECK_EQ(sj__options_arena(&settings, "level=0,canary=off"), 0);
    const struct sj_policy *least = &sj__policy_levels[3];
    CHECK(settings.policy.scrub == least->scrub && settings.policy.canary == least->canary &&
          settings.policy.verify == least->verify && settings.policy.delay == least->delay);
}

static void options_settle__raises_samples_when_there_are_fewer_than_the_floors(void)
{
    struct sj_option_texts texts = { .file = "floor=4\n", .environment = "sample=off" };
    CHECK_EQ(settle(&texts).policy.sample, 500);
    texts.environment = "sample=501";
    CHECK_EQ(settle(&texts).policy.sample, 500);
    texts.environment = "sample=499";
    CHECK_EQ(settle(&texts).policy.sample, 499);
}

static void options_settle__walks_as_often_as_the_floor_does(void)
{
    struct sj_option_texts texts = { .file = "floor=4\n", .environment = "level=4,walk=off" };
    CHECK_EQ(settle(&texts).policy.walk, 10000);
    CHECK(strstr(warnings, "walk") != NULL);
    texts.environment = "walk=1";
    CHECK_EQ(settle(&texts).policy.walk, 1);
    CHECK_EQ(settle_environment("level=4").policy.walk, 10000);
    CHECK_EQ(settle_environment("level=3").policy.walk, 0);
    CHECK_EQ(settle_environment("level=3,walk=7").policy.walk, 7);
}

static void options_settle__rests_slots_when_samples_are_asked_for(void)
{
    CHECK_EQ(settle_environment("level=0").policy.sample, 0);
    struct sj_settings settings = settle_environment("level=0,sample=100");
    CHECK_EQ(settings.policy.sample, 100);
    CHECK_EQ(settings.policy.delay, SJ_DELAY_RUN);
    settings = settle_environment("level=2,delay=lifo");
    CHECK_EQ(settings.policy.sample, 0);
    CHECK_EQ(settings.policy.delay, SJ_DELAY_LIFO);
    CHECK_EQ(settle_environment("sample=4294967296").policy.sample, 20000);
    CHECK_EQ(warning_count, 1);
}

static void options_settle__takes_floor_of_section_when_program_matches(void)
{
    struct sj_option_texts texts = { .file = "floor=2\n[ls]\nfloor=0\n", .program = "ls", .environment = "level=0" };
    struct sj_settings settings = settle(&texts);
    CHECK(same_policy(&settings, 0));
    texts.program = "cat";
    settings = settle(&texts);
    CHECK(same_policy(&settings, 2));
}

static void options_settle__never_ends_under_floor_when_texts_are_random(void)
{
    static const char *const items[] = { "level=0",    "level=1",   "level=2",     "random=off",
                                         "delay=lifo", "scrub=off", "scrub=reuse", "scrub=free",
                                         "scrub=auto", "guard=off", "sized=off",   "foreign=ignore" };
    uint64_t state = unit_state.seed;
    for (unsigned i = 0; i < 20000; i++) {
        char environment[256] = "", file[32];
        const unsigned floor = (unsigned)unit_random_below(&state, SJ_LEVEL_MAX + 1);
        for (uint64_t count = unit_random_below(&state, 6); count > 0; count--) {
            strcat(environment, items[unit_random_below(&state, sizeof items / sizeof items[0])]);
            strcat(environment, ",");
        }
        snprintf(file, sizeof file, "floor=%u", floor);
        const struct sj_settings settings =
            settle(&(struct sj_option_texts){ .file = file, .environment = environment });
        const struct sj_policy *least = &sj__policy_levels[floor];
        static const unsigned strength[] = {
            [SJ_SCRUB_OFF] = 0, [SJ_SCRUB_REUSE] = 1, [SJ_SCRUB_AUTO] = 2, [SJ_SCRUB_FREE] = 3
        };
        CHECK(settings.level >= floor);
        CHECK(settings.policy.random >= least->random);
        CHECK(settings.policy.delay >= least->delay);
        CHECK(strength[settings.policy.scrub] >= strength[least->scrub]);
        CHECK(settings.policy.guard >= least->guard);
        CHECK(settings.policy.isolate >= least->isolate);
        CHECK(settings.policy.sized >= least->sized);
        CHECK_EQ(settings.foreign, SJ_FOREIGN_REPORT);
    }
}

static void options_settle__ignores_environment_when_secure(void)
{
    const struct sj_settings settings = settle(&(struct sj_option_texts){
        .file = "level=1", .environment = "level=0,seed=3,bogus", .disable = "1", .secure = true });
    CHECK(same_policy(&settings, 1));
    CHECK_EQ(settings.disable, 0);
    CHECK_EQ(warning_count, 0);
}

static void options_settle__judges_seed_when_it_is_set(void)
{
    struct sj_option_texts texts = { .environment = "seed=0xffffffffffffffff" };
    struct sj_settings settings = settle(&texts);
    CHECK_EQ(settings.policy.fixed_seed, 1);
    CHECK_EQ(settings.seed, UINT64_MAX);
    CHECK_EQ(warning_count, 1);
    CHECK(strstr(print(&settings), "seed=0xffffffffffffffff") != NULL);
    texts.environment = "seed=42,level=1";
    settings = settle(&texts);
    CHECK_EQ(settings.seed, 42);
    CHECK_EQ(settings.policy.fixed_seed, 1);
    texts.file = "floor=0";
    settings = settle(&texts);
    CHECK_EQ(settings.policy.fixed_seed, 0);
    CHECK_EQ(warning_count, 1);
    settings = settle(&(struct sj_option_texts){ .file = "seed=1", .secure = true });
    CHECK_EQ(settings.policy.fixed_seed, 0);
}

static void options_settle__disables_when_asked_and_no_floor(void)
{
    struct sj_option_texts texts = { .disable = "1" };
    CHECK_EQ(settle(&texts).disable, 1);
    texts.disable = "yes";
    CHECK_EQ(settle(&texts).disable, 1);
    texts.disable = "0";
    CHECK_EQ(settle(&texts).disable, 0);
    texts.disable = "";
    CHECK_EQ(settle(&texts).disable, 0);
    CHECK_EQ(warning_count, 0);
    texts.disable = "maybe";
    CHECK_EQ(settle(&texts).disable, 0);
    CHECK_EQ(warning_count, 1);
    texts.disable = "1";
    texts.file = "floor=0";
    CHECK_EQ(settle(&texts).disable, 0);
    CHECK_EQ(warning_count, 1);
}

static void options_print__parses_back_when_settings_are_random(void)
{
    uint64_t state = unit_state.seed;
    for (unsigned i = 0; i < 5000; i++) {
        struct sj_settings settings, again;
        sj__options_start(&settings, (unsigned)unit_random_below(&state, SJ_LEVEL_MAX + 1));
        settings.policy.random = unit_random(&state) & 1;
        settings.policy.delay = unit_random(&state) & 1;
        settings.policy.scrub = unit_random(&state) & 3;
        settings.policy.guard = unit_random(&state) & 3;
        settings.policy.isolate = unit_random(&state) & 1;
        settings.policy.sized = unit_random(&state) & 1;
        settings.policy.fixed_seed = unit_random(&state) & 1;
        settings.seed = settings.policy.fixed_seed ? unit_random(&state) : 0;
        settings.verbose = unit_random(&state) & 1;
        strcpy(settings.stats, unit_random(&state) % 2 == 0 ? "" : "openmetrics:/a:c");
        settings.foreign = unit_random(&state) & 1;
        sj__options_start(&again, 0);
        CHECK_EQ(sj__options_apply(&again, print(&settings), SJ_SOURCE_LINKED, collect_warning), 0);
        CHECK(memcmp(&again.policy, &settings.policy, sizeof again.policy) == 0);
        CHECK(again.level == settings.level && again.verbose == settings.verbose &&
              strcmp(again.stats, settings.stats) == 0 && again.foreign == settings.foreign &&
              again.seed == settings.seed);
    }
}

static void options_print__cuts_when_buffer_is_small(void)
{
    struct sj_settings settings;
    char whole[SJ_OPTIONS_TEXT_BYTES], part[SJ_OPTIONS_TEXT_BYTES];
    sj__options_start(&settings, 2);
    const size_t length = sj__options_print(&settings, whole, sizeof whole);
    CHECK_EQ(length, strlen(whole));
    CHECK_EQ(sj__options_print(&settings, NULL, 0), length);
    for (size_t bytes = 1; bytes <= length + 1; bytes++) {
        memset(part, '#', sizeof part);
        CHECK_EQ(sj__options_print(&settings, part, bytes), length);
        CHECK_EQ(strlen(part), bytes - 1);
        CHECK(memcmp(part, whole, bytes - 1) == 0);
        CHECK_EQ(part[bytes], '#');
    }
}

static void options_apply__survives_when_texts_are_noise(void)
{
    static const char alphabet[] = "level=012,:[]#\n scrubfeandomgu0x9=,=\r\t\xff";
    uint64_t state = unit_state.seed;
    for (unsigned i = 0; i < 50000; i++) {
        char text[96];
        const size_t length = unit_random_below(&state, sizeof text);
        for (size_t c = 0; c < length; c++)
            text[c] = alphabet[unit_random_below(&state, sizeof alphabet - 1)];
        text[length] = '\0';
        const struct sj_settings settings = settle(&(struct sj_option_texts){
            .linked = text, .file = text, .program = "e", .environment = text, .disable = text });
        CHECK(settings.level <= SJ_LEVEL_MAX);
        CHECK(settings.policy.scrub <= SJ_SCRUB_AUTO);
        CHECK(settings.policy.random <= 1 && settings.disable <= 1);
    }
}

static void options_table__is_sound_when_read(void)
{
    for (size_t i = 0; i < sj__options_count; i++) {
        const struct sj_option *option = &sj__options_table[i];
        CHECK(sj__options_find(option->name, strlen(option->name)) == option);
        if (option->kind != SJ_OPTION_CHOICE || option->strengths[0] == '\0')
            continue;
        size_t values = 1;
        for (const char *c = option->values; *c != '\0'; c++)
            values += *c == '|';
        CHECK_EQ(strlen(option->strengths), values);
        for (unsigned level = 1; level <= SJ_LEVEL_MAX; level++) { /* a ladder: no rung is weaker than the one below */
            struct sj_settings lower, upper;
            sj__options_start(&lower, level - 1);
            sj__options_start(&upper, level);
            CHECK(option->strengths[((const uint8_t *)&upper)[option->offset]] >=
                  option->strengths[((const uint8_t *)&lower)[option->offset]]);
        }
    }
}

/* ---- Targets ---- */

static void options_apply__takes_colons_when_option_is_a_target(void)
{
    struct sj_settings settings;
    sj__options_start(&settings, 2);
    CHECK_EQ(sj__options_apply(&settings, "level=1:report=json:/tmp/a:b.%p,verbose=on", SJ_SOURCE_ENVIRONMENT,
                               collect_warning),
             0);
    CHECK(strcmp(settings.report, "json:/tmp/a:b.%p") == 0);
    CHECK_EQ(settings.level, 1);
    CHECK_EQ(settings.verbose, 1);
    CHECK(strstr(print(&settings), "report=json:/tmp/a:b.%p,") != NULL);
    CHECK_EQ(sj__options_apply(&settings, "report=json:fd:12", SJ_SOURCE_ENVIRONMENT, collect_warning), 0);
    CHECK(strcmp(settings.report, "json:fd:12") == 0);
    CHECK_EQ(sj__options_apply(&settings, "report=text", SJ_SOURCE_ENVIRONMENT, collect_warning), 0);
    CHECK(settings.report[0] == '\0');
}

static void options_apply__refuses_a_target_when_it_has_no_such_form(void)
{
    char longest[SJ_TARGET_BYTES + 16] = "report=json:/";
    memset(longest + strlen(longest), 'a', SJ_TARGET_BYTES);
    longest[strlen("report=") + SJ_TARGET_BYTES] = '\0';
    const char *const bad[] = { "report=json",
                                "report=json:",
                                "report=json:fd:",
                                "report=json:fd:x",
                                "report=json:fd:0x1",
                                "report=json:fd:-1",
                                "report=json:fd:9999999999",
                                "report=xml:/tmp/a",
                                "report=",
                                "report=json:/tmp/\001",
                                longest };
    struct sj_settings settings;
    sj__options_start(&settings, 2);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (!CHECK_EQ(sj__options_apply(&settings, bad[i], SJ_SOURCE_ENVIRONMENT, collect_warning), 1))
            unit_print("# %s\n", bad[i]);
        CHECK(settings.report[0] == '\0');
    }
    longest[strlen(longest) - 1] = '\0';
    CHECK_EQ(sj__options_apply(&settings, longest, SJ_SOURCE_ENVIRONMENT, collect_warning), 0);
}

static void options_print__has_room_when_every_target_is_longest(void)
{
    struct sj_settings settings;
    sj__options_start(&settings, 4);
    for (size_t i = 0; i < sj__options_count; i++)
        if (sj__options_table[i].kind == SJ_OPTION_TARGET)
            memset((char *)&settings + sj__options_table[i].offset, 'a', sj__options_table[i].bytes - 1u);
    CHECK(strlen(print(&settings)) > 2 * (SJ_TARGET_BYTES - 1));
}

static void options_apply__takes_words_and_files_for_stats(void)
{
    static const struct {
        const char *text, *stats;
        unsigned unused;
    } cases[] = { { "stats=json", "json", 0 },
                  { "stats=file:/a:b", "file:/a:b", 0 },
                  { "stats=openmetrics:/a,level=1", "openmetrics:/a", 0 },
                  { "stats=on:level=1", "on", 0 },
                  { "stats=yes", "on", 0 },
                  { "stats=0:level=1", "", 0 },
                  { "stats=openmetrics", "", 1 },
                  { "stats=json:", "", 1 },
                  { "stats=csv:/a", "", 1 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sj_settings settings;
        sj__options_start(&settings, 2);
        bool fits =
            sj__options_apply(&settings, cases[i].text, SJ_SOURCE_ENVIRONMENT, collect_warning) == cases[i].unused &&
            strcmp(settings.stats, cases[i].stats) == 0 && settings.level == (strstr(cases[i].text, "level") ? 1 : 2);
        if (!CHECK(fits))
            unit_print("# %s\n", cases[i].text);
    }
}

static void options_settle__refuses_a_file_for_stats_when_secure(void)
{
    struct sj_option_texts texts = { .linked = "stats=file:/a", .secure = true };
    CHECK(settle(&texts).stats[0] == '\0');
    CHECK_EQ(warning_count, 1);
    texts.linked = "stats=on";
    CHECK(strcmp(settle(&texts).stats, "on") == 0);
    CHECK_EQ(warning_count, 0);
}

static void options_settle__refuses_a_target_when_secure(void)
{
    struct sj_settings settings;
    for (unsigned secure = 0; secure < 2; secure++) {
        const struct sj_option_texts texts = { .file = "report=json:/tmp/a,profile_dump=file:/tmp/b",
                                               .secure = secure };
        sj__options_settle(&settings, &texts, collect_warning);
        CHECK_EQ(settings.report[0] == '\0', secure);
        CHECK_EQ(settings.profile_dump[0] == '\0', secure);
        CHECK_EQ(settings.profile, !secure);
    }
}

static void options_settle__counts_slots_when_a_profile_is_wanted(void)
{
    struct sj_settings settings;
    const struct sj_option_texts on = { .file = "level=0,profile=on" },
                                 none = { .file = "level=0,profile=on,profile_rate=0" };
    sj__options_settle(&settings, &on, collect_warning);
    CHECK(settings.profile == 1 && settings.policy.delay == SJ_DELAY_RUN);
    sj__options_settle(&settings, &none, collect_warning);
    CHECK(settings.profile == 0 && settings.policy.delay == SJ_DELAY_LIFO);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(options_settle__gives_default_level_when_no_texts);
    RUN(options_settle__equals_level_when_level_is_set);
    RUN(options_apply__takes_level_first_when_it_stands_last);
    RUN(options_apply__takes_last_when_key_is_repeated);
    RUN(options_apply__skips_when_items_are_empty);
    RUN(options_apply__accepts_all_words_when_switch);
    RUN(options_apply__warns_once_and_keeps_when_item_is_bad);
    RUN(options_apply__stops_warning_when_there_are_many);
    RUN(options_apply__counts_when_items_are_not_used);
    RUN(options_settle__overrides_when_source_is_later);
    RUN(options_settle__reads_sections_when_program_matches);
    RUN(options_settle__warns_when_section_is_not_closed);
    RUN(options_settle__raises_when_under_floor);
    RUN(options_arena__applies_what_an_arena_can_have);
    RUN(options_arena__never_ends_under_the_floor);
    RUN(options_settle__raises_samples_when_there_are_fewer_than_the_floors);
    RUN(options_settle__walks_as_often_as_the_floor_does);
    RUN(options_settle__rests_slots_when_samples_are_asked_for);
    RUN(options_settle__takes_floor_of_section_when_program_matches);
    RUN(options_settle__never_ends_under_floor_when_texts_are_random);
    RUN(options_settle__ignores_environment_when_secure);
    RUN(options_settle__judges_seed_when_it_is_set);
    RUN(options_settle__disables_when_asked_and_no_floor);
    RUN(options_print__parses_back_when_settings_are_random);
    RUN(options_print__cuts_when_buffer_is_small);
    RUN(options_apply__survives_when_texts_are_noise);
    RUN(options_table__is_sound_when_read);
    RUN(options_apply__takes_colons_when_option_is_a_target);
    RUN(options_apply__refuses_a_target_when_it_has_no_such_form);
    RUN(options_apply__takes_words_and_files_for_stats);
    RUN(options_settle__refuses_a_file_for_stats_when_secure);
    RUN(options_settle__refuses_a_target_when_secure);
    RUN(options_print__has_room_when_every_target_is_longest);
    RUN(options_settle__counts_slots_when_a_profile_is_wanted);
    return unit_end();
}
