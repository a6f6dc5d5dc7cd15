/* SPDX-License-Identifier: MIT
 *
 * What: option texts and their sources put together into the settings in force.
 *
 * Why this way: each text is walked twice, once for the level and once for the single options, which is simpler than
 * remembering what a later level must not undo. The file is walked as two texts, the lines for everybody and then the
 * sections of this program, so that a section overrides them by the same rule by which one source overrides another.
 *
 * Invariants: see options.h. A strength is a digit out of options.def; the floor compares strengths and nothing else.
 *
 * Concurrency: see options.h.
 */
#include "base/format.h"
#include "policy/parser.h"

#include <string.h>

enum { WARNINGS_MAX = 8, DETAIL_BYTES = 96, NO_FLOOR = -1 };

enum pass { PASS_LEVEL, PASS_SINGLE };

/* One text on its way into the settings. */
struct reading {
    struct sj_settings *settings;
    SJ_OPTIONS_WARN(warn);
    enum sj_option_source source;
    unsigned unused; /* items warned about */
    int floor;       /* the file's floor, or NO_FLOOR */
};

static const char *source_name(enum sj_option_source source)
{
    static const char *const names[] = { "scrubjay_default_options", "/etc/scrubjay.conf", "SCRUBJAY_OPTIONS",
                                         "the command line" };
    return names[source];
}

static void warn_unused(struct reading *reading, const char *what, struct sj_slice item)
{
    if (reading->unused++ >= WARNINGS_MAX)
        return;
    char buffer[DETAIL_BYTES];
    struct sj_text text;
    sj__format_start(&text, buffer, sizeof buffer);
    sj__format_string(&text, " \"");
    sj__format_printable(&text, item.start, item.length < DETAIL_BYTES / 2 ? item.length : DETAIL_BYTES / 2);
    sj__format_string(&text, "\" in ");
    sj__format_string(&text, source_name(reading->source));
    if (reading->unused == WARNINGS_MAX)
        sj__format_string(&text, " (more are not shown)");
    reading->warn(what, buffer);
}

static void apply_floor(struct reading *reading, struct sj_slice item, struct sj_slice value)
{
    uint64_t floor;
    if (reading->source != SJ_SOURCE_FILE)
        warn_unused(reading, "a floor is read in /etc/scrubjay.conf only:", item);
    else if (!sj__slice_read_number(value, &floor) || floor > SJ_LEVEL_MAX)
        warn_unused(reading, "bad value, not used:", item);
    else
        reading->floor = (int)floor;
}

/* One `key=value`, if it is this pass's concern. */
static void apply_item(struct reading *reading, struct sj_slice item, enum pass pass)
{
    size_t split = 0;
    while (split < item.length && item.start[split] != '=')
        split++;
    const struct sj_slice key = sj__slice_trim(item.start, item.start + split);
    const struct sj_option *option = sj__options_find(key.start, key.length);
    const bool is_level = option != NULL && option->kind == SJ_OPTION_LEVEL;
    if (is_level != (pass == PASS_LEVEL))
        return;
    if (split == item.length) {
        warn_unused(reading, "not key=value, not used:", item);
        return;
    }
    const struct sj_slice value = sj__slice_trim(item.start + split + 1, item.start + item.length);
    if (option != NULL) {
        if (!sj__option_apply(reading->settings, option, value))
            warn_unused(reading, "bad value, not used:", item);
    } else if (sj__slice_is(key, "floor")) {
        apply_floor(reading, item, value);
    } else {
        warn_unused(reading, "unknown option, not used:", item);
    }
}

/* Is the item that begins here an option whose value may have colons in it? */
static bool keeps_colons(const char *start, const char *end)
{
    const char *equals = start;
    while (equals < end && *equals != '=' && *equals != ',' && *equals != ':' && *equals != '\n')
        equals++;
    const struct sj_slice key = sj__slice_trim(start, equals);
    const struct sj_option *option = sj__options_find(key.start, key.length);
    const char *const value = equals < end ? equals + 1 : end;
    const char *colon = value;
    while (colon < end && *colon != ':' && *colon != ',' && *colon != '\n')
        colon++;
    return option != NULL && option->kind == SJ_OPTION_TARGET &&
           !sj__option_is_word(option, sj__slice_trim(value, colon));
}

static void apply_items(struct reading *reading, struct sj_slice items, enum pass pass)
{
    const char *const end = items.start + items.length;
    for (const char *start = items.start; start < end;) {
        const char *stop = start;
        const bool with_colons = keeps_colons(start, end);
        while (stop < end && *stop != ',' && (*stop != ':' || with_colons) && *stop != '\n')
            stop++;
        const struct sj_slice item = sj__slice_trim(start, stop);
        if (item.length > 0)
            apply_item(reading, item, pass);
        start = stop + 1;
    }
}

static void apply_text(struct reading *reading, const char *text)
{
    struct sj_slice items = { text, 0 };
    while (text[items.length] != '\0')
        items.length++;
    apply_items(reading, items, PASS_LEVEL);
    apply_items(reading, items, PASS_SINGLE);
}

unsigned sj__options_apply(struct sj_settings *settings, const char *text, enum sj_option_source source,
                           SJ_OPTIONS_WARN(warn))
{
    struct reading reading = { .settings = settings, .warn = warn, .source = source, .floor = NO_FLOOR };
    if (text != NULL)
        apply_text(&reading, text);
    return reading.unused;
}

/* The line without its comment: from a '#' at its start or after a blank. */
static struct sj_slice line_body(const char *start, const char *end)
{
    for (const char *c = start; c < end; c++) {
        if (*c == '#' && (c == start || c[-1] == ' ' || c[-1] == '\t'))
            end = c;
    }
    return sj__slice_trim(start, end);
}

/* Walks the file's lines; applies those before any section, or those in the sections called `program`. */
static void walk_file(struct reading *reading, const char *text, const char *program, bool in_sections, enum pass pass)
{
    bool wanted = !in_sections;
    while (*text != '\0') {
        const char *end = text;
        while (*end != '\0' && *end != '\n')
            end++;
        const struct sj_slice line = line_body(text, end);
        if (line.length > 0 && line.start[0] == '[') {
            const bool closed = line.start[line.length - 1] == ']';
            if (!closed && !in_sections && pass == PASS_SINGLE)
                warn_unused(reading, "section without ], its lines are not used:", line);
            const struct sj_slice name = sj__slice_trim(line.start + 1, line.start + line.length - (closed ? 1 : 0));
            wanted = in_sections && closed && name.length > 0 && sj__slice_is(name, program);
        } else if (wanted) {
            apply_items(reading, line, pass);
        }
        text = *end == '\0' ? end : end + 1;
    }
}

/* Returns the file's floor, or NO_FLOOR. */
static int apply_file(struct sj_settings *settings, const char *text, const char *program, SJ_OPTIONS_WARN(warn))
{
    struct reading reading = { .settings = settings, .warn = warn, .source = SJ_SOURCE_FILE, .floor = NO_FLOOR };
    walk_file(&reading, text, "", false, PASS_LEVEL);
    walk_file(&reading, text, "", false, PASS_SINGLE);
    if (program != NULL) {
        walk_file(&reading, text, program, true, PASS_LEVEL);
        walk_file(&reading, text, program, true, PASS_SINGLE);
    }
    return reading.floor;
}

/* "One in so many": a smaller number is the stronger, but for 0. */
static void raise_count(uint32_t *count, uint32_t least, const char *name, struct sj_text *raised)
{
    if (*count - 1 <= least - 1)
        return;
    *count = least;
    sj__format_char(raised, ' ');
    sj__format_string(raised, name);
}

/* Raises the options whose members lie before `end`; adds their names to `raised`. */
static void raise_options(struct sj_settings *settings, unsigned level, size_t end, struct sj_text *raised)
{
    struct sj_settings least;
    sj__options_start(&least, level);
    for (size_t i = 0; i < sj__options_count; i++) {
        const struct sj_option *option = &sj__options_table[i];
        if (option->strengths[0] == '\0' || option->offset >= end)
            continue;
        const uint8_t least_value = sj__option_read(&least, option);
        if (option->strengths[sj__option_read(settings, option)] >= option->strengths[least_value])
            continue;
        sj__option_write(settings, option, least_value);
        sj__format_char(raised, ' ');
        sj__format_string(raised, option->name);
    }
    raise_count(&settings->policy.sample, least.policy.sample, "sample", raised);
    raise_count(&settings->policy.walk, least.policy.walk, "walk", raised);
    if (settings->level < level)
        settings->level = (uint8_t)level;
}

void sj__options_raise(struct sj_settings *settings, unsigned level)
{
    char buffer[DETAIL_BYTES];
    struct sj_text raised;
    struct sj_policy plain = sj__policy_levels[settings->level];
    plain.fixed_seed = settings->policy.fixed_seed;
    sj__format_start(&raised, buffer, sizeof buffer);
    if (memcmp(&settings->policy, &plain, sizeof plain) == 0 && level >= settings->level) {
        settings->policy = sj__policy_levels[level]; /* also what is no option, or has no strength */
        settings->policy.fixed_seed = plain.fixed_seed;
    }
    raise_options(settings, level, offsetof(struct sj_settings, policy) + sizeof settings->policy, &raised);
}

static void raise_to_floor(struct sj_settings *settings, unsigned floor, SJ_OPTIONS_WARN(warn))
{
    char buffer[DETAIL_BYTES];
    struct sj_text raised;
    sj__format_start(&raised, buffer, sizeof buffer);
    raise_options(settings, floor, sizeof *settings, &raised);
    if (raised.length > 0)
        warn("raised to the floor of /etc/scrubjay.conf:", buffer);
}

/* A fixed seed is for tests: said each time, and refused where somebody else's safety hangs on it. */
static void judge_seed(struct sj_settings *settings, bool refused, SJ_OPTIONS_WARN(warn))
{
    if (!settings->policy.fixed_seed)
        return;
    if (refused) {
        settings->policy.fixed_seed = 0;
        settings->seed = 0;
        warn("seed not used: refused in set-user-id programs and under a floor", NULL);
    } else {
        warn("seed is fixed: all randomness is predictable, for tests and measurements only", NULL);
    }
}

/* Whoever starts the program must not choose where it makes files. */
static void judge_target(char *target, bool secure, const char *refusal, SJ_OPTIONS_WARN(warn))
{
    if (!secure || target[0] == '\0')
        return;
    target[0] = '\0';
    warn(refusal, NULL);
}

/* A file is asked for, so a profile is. It needs samples, of every level: see judge_sample. */
static void judge_profile(struct sj_settings *settings)
{
    if (settings->profile_dump[0] != '\0')
        settings->profile = 1;
    if (settings->profile_rate == 0)
        settings->profile = 0;
    if (settings->profile && settings->policy.delay == SJ_DELAY_LIFO)
        settings->policy.delay = SJ_DELAY_RUN;
}

/* Samples are taken between slots that are counted, which delay=lifo does without. What was asked for in so many words wins
 * over what came with a level. */
static void judge_sample(struct sj_settings *settings)
{
    struct sj_policy *policy = &settings->policy;
    if (policy->sample == 0 || policy->delay != SJ_DELAY_LIFO)
        return;
    if (policy->sample == sj__policy_levels[settings->level].sample)
        policy->sample = 0;
    else
        policy->delay = SJ_DELAY_RUN;
}

static void judge_disable(struct sj_settings *settings, const char *value, bool has_floor, SJ_OPTIONS_WARN(warn))
{
    if (value == NULL || value[0] == '\0')
        return;
    size_t length = 0;
    while (value[length] != '\0')
        length++;
    if (!sj__slice_read_bool((struct sj_slice){ value, length }, &settings->disable)) {
        warn("SCRUBJAY_DISABLE not used: its value must be 0 or 1", NULL);
    } else if (settings->disable && has_floor) {
        settings->disable = 0;
        warn("SCRUBJAY_DISABLE not used: /etc/scrubjay.conf sets a floor", NULL);
    }
}

/* What one option needs of another. */
static void complete(struct sj_policy *policy)
{
    if (policy->verify) /* what is to be verified must have been filled */
        policy->scrub = SJ_SCRUB_FREE;
}

static void say_nothing(const char *what, const char *detail)
{
    (void)what;
    (void)detail;
}

/* Are two settings alike in all but what an arena can have? */
static bool are_alike_outside_arenas(const struct sj_settings *program, const struct sj_settings *arena)
{
    char texts[2][SJ_OPTIONS_TEXT_BYTES];
    struct sj_settings rest = *arena;
    rest.policy = program->policy;
    rest.level = program->level;
    rest.hold.limit_bytes = program->hold.limit_bytes;
    rest.exhausted = program->exhausted;
    sj__options_print(program, texts[0], sizeof texts[0]);
    sj__options_print(&rest, texts[1], sizeof texts[1]);
    return strcmp(texts[0], texts[1]) == 0 && arena->policy.fixed_seed == program->policy.fixed_seed;
}

unsigned sj__options_arena(struct sj_settings *settings, const char *text)
{
    const struct sj_settings program = *settings;
    settings->hold.limit_bytes = 0; /* the program's is another limit */
    unsigned unused = sj__options_apply(settings, text, SJ_SOURCE_COMMAND, say_nothing);
    unused += !are_alike_outside_arenas(&program, settings);
    if (program.floor > 0)
        raise_to_floor(settings, program.floor, say_nothing);
    complete(&settings->policy);
    return unused;
}

void sj__options_settle(struct sj_settings *settings, const struct sj_option_texts *texts, SJ_OPTIONS_WARN(warn))
{
    int floor = NO_FLOOR;
    sj__options_start(settings, SJ_LEVEL_DEFAULT);
    if (texts->linked != NULL)
        sj__options_apply(settings, texts->linked, SJ_SOURCE_LINKED, warn);
    if (texts->file != NULL)
        floor = apply_file(settings, texts->file, texts->program, warn);
    settings->floor = (uint8_t)(floor != NO_FLOOR ? floor : 0);
    if (texts->environment != NULL && !texts->secure)
        sj__options_apply(settings, texts->environment, SJ_SOURCE_ENVIRONMENT, warn);
    if (floor != NO_FLOOR)
        raise_to_floor(settings, (unsigned)floor, warn);
    complete(&settings->policy);
    judge_sample(settings);
    judge_seed(settings, texts->secure || floor != NO_FLOOR, warn);
    judge_target(settings->report, texts->secure, "report not used: refused in set-user-id programs", warn);
    judge_target(settings->profile_dump, texts->secure, "profile_dump not used: refused in set-user-id programs", warn);
    if (strchr(settings->stats, ':') != NULL)
        judge_target(settings->stats, texts->secure, "stats not used: a file is refused in set-user-id programs", warn);
    judge_profile(settings);
    if (!texts->secure)
        judge_disable(settings, texts->disable, floor != NO_FLOOR, warn);
}
