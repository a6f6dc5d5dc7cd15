/* SPDX-License-Identifier: MIT
 *
 * What: the page of a session: foreign text is escaped, every arm and run is shown, ticks are where they should be. Whether
 * it is well-formed and stands alone is asked of a real parser in contract/page.sh.
 *
 * Why this way: a session is made up here, whose truth is known, and written as the tool writes one.
 */
#include "unit.h"

#include <math.h>

#include "bench/text.h"
#include "page/markup.h"
#include "page/page.h"
#include "page/protection.h"
#include "page/scale.h"

enum { BLOCKS = 12, ARMS = 5, CURVE_VALUES = 8 };

static const char hostile[] = "<script>alert(\"1\")</script>&'\x01\xff";

static struct bench_options options;
static struct bench_machine machine;
static struct bench_session session = { .options = &options, .machine = &machine };
static struct bench_workload workload;
static struct bench_result result;
static struct bench_run process_floor = { .wall_seconds = 1e-3, .cpu_seconds = 1e-3, .peak_rss_kib = 1000 };

static void set_arm(size_t index, const char *name, const char *library, const char *variable)
{
    struct bench_arm *arm = &options.arms.items[index];
    *arm = (struct bench_arm){ .name = bench_format("%s", name),
                               .library = bench_format("%s", library),
                               .preload = bench_format("%s", library) };
    if (variable != NULL)
        arm->variables[arm->variable_count++] = bench_format("%s", variable);
}

/* Memory rises in steps to its peak. */
static void add_curve(struct bench_run *run)
{
    run->rss_kib = (struct lab_series){ .span = run->wall_seconds, .count = CURVE_VALUES };
    for (size_t i = 0; i < CURVE_VALUES; i++)
        run->rss_kib.values[i] = run->peak_rss_kib * (double)(i + 1) / CURVE_VALUES;
    run->mean_rss_kib = lab_mean(run->rss_kib.values, CURVE_VALUES);
}

/* Arm k takes k * 2 % more time than the baseline and k MiB more; a little noise, the same each time. */
static void add_rows(void)
{
    result.rows = lab_allocate(2 * BLOCKS * ARMS, sizeof *result.rows);
    for (size_t block = 0; block < BLOCKS; block++) {
        for (size_t position = 0; position < 2 * ARMS; position++) {
            size_t arm = position < ARMS ? position : 2 * ARMS - 1 - position;
            double more = arm == ARMS - 1 ? 0 : 0.02 * (double)arm;
            double noise = 0.004 * sin(12.9898 * (double)result.row_count);
            struct bench_row *row = &result.rows[result.row_count++];
            *row = (struct bench_row){ .block = block, .position = position, .arm = arm };
            row->half = position >= ARMS;
            row->run.cpu_seconds = row->run.wall_seconds = exp(more + noise);
            row->run.peak_rss_kib = 1024 * (double)(10 + (arm == ARMS - 1 ? 0 : arm));
            add_curve(&row->run);
        }
    }
}

static void make_session(void)
{
    options = (struct bench_options){ .command = bench_format("scrubjay cost --seed 42 -- %s", hostile),
                                      .base_count = 1,
                                      .delta_time = 0.01,
                                      .delta_memory = 0.02,
                                      .confidence = 0.95,
                                      .seed = 42 };
    set_arm(0, "glibc", "", NULL);
    set_arm(1, hostile, "/lib/other.so", NULL);
    set_arm(2, "level 2", "/lib/libscrubjay.so", "SCRUBJAY_OPTIONS=level=2");
    set_arm(3, "level 1", "/lib/libscrubjay.so", "SCRUBJAY_OPTIONS=level=1,seed={seed},bogus=1");
    set_arm(4, "glibc-copy", "", NULL);
    options.arms.count = ARMS;
    options.arms.null = ARMS - 1;
    bench_machine_read(&machine);
    workload = (struct bench_workload){ .name = bench_format("%s", hostile), .real = true, .command = options.command };
    result = (struct bench_result){ .workload = &workload, .blocks = BLOCKS };
    add_rows();
}

static char *write_page(void)
{
    struct bench_claims claims;
    bench_claims_judge(&claims, &options, &result, 1);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    page_write(out, &session, &claims, &process_floor);
    fclose(out);
    free(claims.items);
    return text;
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
        count++;
    return count;
}

static char *escaped(const char *text)
{
    char *result_text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&result_text, &bytes);
    page_escape(out, text);
    fclose(out);
    return result_text;
}

static void check_escaped(const char *text, const char *expected)
{
    char *found = escaped(text);
    CHECK(strcmp(found, expected) == 0);
    free(found);
}

static void page_markup__escapes_what_means_something(void)
{
    check_escaped("a<b>&\"c\"'d'", "a&lt;b&gt;&amp;&quot;c&quot;&#39;d&#39;");
    check_escaped("\u00e4\u20ac\U0001f426\t\n", "\u00e4\u20ac\U0001f426\t\n");
}

static void page_markup__replaces_what_is_no_text(void)
{
    static const char *const bad[] = { "\x01",         "\x7f",     "\xff",         "\x80",
                                       "\xc3",         "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80",
                                       "\xef\xbf\xbf", "\xc2\x85" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *found = escaped(bad[i]);
        CHECK(strncmp(found, "\xef\xbf\xbd", 3) == 0);
        for (size_t at = 0; at < strlen(found); at += 3)
            CHECK(strncmp(found + at, "\xef\xbf\xbd", 3) == 0);
        free(found);
    }
    check_escaped("\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"); /* cut off at the end */
}

static void page_markup__writes_effects_with_their_interval(void)
{
    char *text = page_effect_interval(log(0.95), (struct lab_interval){ log(0.9), log(1.1) });
    CHECK(strcmp(text, "\u22125.0\u00a0% [\u221210.0, +10.0]") == 0);
    free(text);
    text = page_effect_interval(-0.0001, (struct lab_interval){ -INFINITY, INFINITY });
    CHECK(strcmp(text, "+0.0\u00a0% [?, ?]") == 0);
    free(text);
    text = page_clip("\u00e4\u00e4\u00e4\u00e4", 3);
    CHECK(strcmp(text, "\u00e4\u00e4\u2026") == 0);
    free(text);
    text = page_clip("abc", 3);
    CHECK(strcmp(text, "abc") == 0);
    free(text);
}

static void check_ticks(const struct page_scale *scale, const double *ticks, size_t count)
{
    CHECK(count >= 1 && count <= PAGE_TICKS_MAX);
    for (size_t i = 0; i < count; i++) {
        CHECK(ticks[i] >= scale->low - 1e-9 && ticks[i] <= scale->high + 1e-9);
        CHECK(i == 0 || ticks[i] > ticks[i - 1]);
    }
}

static void page_scale__has_round_ticks_and_zero_for_any_range(void)
{
    double ticks[PAGE_TICKS_MAX];
    for (double low = 0; low > -3; low = 1.7 * low - 0.003) {
        for (double high = 0; high < 5; high = 1.6 * high + 0.004) {
            struct page_scale scale = page_scale_make(low, high, 6, 434);
            size_t count = page_scale_effects(&scale, 52, ticks);
            check_ticks(&scale, ticks, count);
            bool has_zero = false;
            for (size_t i = 0; i < count; i++)
                has_zero = has_zero || fabs(ticks[i]) < 1e-9;
            CHECK(has_zero);
        }
    }
    for (double high = 0.5; high < 1e7; high *= 3.3) {
        struct page_scale scale = { 0, high, 6, 434 };
        check_ticks(&scale, ticks, page_scale_amounts(&scale, 52, ticks));
    }
    struct page_scale scale = page_scale_make(-1, 1, 0, 100);
    CHECK(page_scale_place(&scale, 50) <= 100 && page_scale_place(&scale, -50) >= 0);
}

static void page_protection__is_read_from_the_options(void)
{
    struct page_protection glibc = page_protection_of(&options.arms.items[0]);
    struct page_protection high = page_protection_of(&options.arms.items[2]);
    struct page_protection low = page_protection_of(&options.arms.items[3]);
    CHECK(!glibc.known && glibc.on == 0);
    CHECK(high.known && low.known && high.on > low.on && high.on <= page_protection_count());
    char *added = page_protection_added(&low, &high);
    CHECK(strstr(added, "scrub=auto") != NULL);
    free(added);
}

static void page_page__escapes_hostile_names(void)
{
    char *page = write_page();
    CHECK(strstr(page, "<script") == NULL);
    CHECK(strstr(page, "&lt;script&gt;") != NULL);
    CHECK(strchr(page, '\x01') == NULL && strchr(page, '\xff') == NULL);
    free(page);
}

static void page_page__shows_every_arm_and_every_run(void)
{
    char *page = write_page();
    size_t heads = ARMS - 2;
    /* Two ladders, a strip and a curve an arm, the memory. */
    CHECK(count_of(page, "<svg") == 2 + 2 * heads + 1);
    CHECK(count_of(page, "</svg>") == 2 + 2 * heads + 1);
    CHECK(count_of(page, "<circle") == 2 * heads);
    /* A strip has the pairs of its arm and of the null control; the memory each run but the null control's. */
    CHECK(count_of(page, "h0") == heads * 2 * (2 * BLOCKS) + (ARMS - 1) * 2 * BLOCKS);
    CHECK(strstr(page, "level 2<tspan") > strstr(page, "level 1<tspan")); /* though it was given first */
    CHECK(strstr(page, "--seed 42") != NULL);
    free(page);
}

/* Rises to the right, within the picture; returns the height it rises to, of which 0 is the top. */
static double check_curve(const char *at)
{
    double x = 0;
    double y = 0;
    double top = 1000;
    double right = 0;
    size_t points = 0;
    at = strstr(at, "points=\"") + strlen("points=\"");
    for (int used = 0; sscanf(at, "%lf,%lf %n", &x, &y, &used) == 2; at += used) {
        CHECK(x > right && y <= top && x <= 440 && y >= 0);
        right = x;
        top = y;
        points++;
    }
    CHECK(*at == '"');
    CHECK_EQ(points, CURVE_VALUES + 2); /* with the ends */
    return top;
}

static void page_page__draws_memory_over_time_with_the_baseline_behind(void)
{
    char *page = write_page();
    const char *at = page;
    size_t curves = 0;
    double base_top = 0;
    for (; (at = strstr(at, "<polyline")) != NULL; at++, curves++) {
        bool is_base = strncmp(at, "<polyline class=\"curve nil\"", strlen("<polyline class=\"curve nil\"")) == 0;
        double top = check_curve(at);
        CHECK(is_base == (curves % 2 == 0));
        if (is_base)
            base_top = top;
        else
            CHECK(top < base_top); /* every arm takes more */
    }
    CHECK_EQ(curves, 2 * (ARMS - 2));
    free(page);
    for (size_t i = 0; i < result.row_count; i++)
        result.rows[i].run.rss_kib.count = 0; /* as rows of earlier versions are */
    page = write_page();
    CHECK(strstr(page, "<polyline") == NULL && strstr(page, "over time") == NULL);
    for (size_t i = 0; i < result.row_count; i++)
        result.rows[i].run.rss_kib.count = CURVE_VALUES;
    free(page);
}

static void page_page__names_the_fault_of_an_arm_and_no_times(void)
{
    char *fault = result.faults[2] = bench_format("stdout differs; see <x>");
    char *page = write_page();
    CHECK(count_of(page, "stdout differs; see &lt;x&gt;") >= 3); /* ladders and tables */
    CHECK(count_of(page, "<circle") == 2 * (ARMS - 3));
    result.faults[2] = NULL;
    free(fault);
    free(page);
}

static void page_page__says_nothing_was_measured_when_refused(void)
{
    char *refused = result.refused = bench_format("no such program: %s", hostile);
    char *page = write_page();
    CHECK(strstr(page, "Not measured: no such program: &lt;script") != NULL);
    CHECK(strstr(page, "<svg") == NULL);
    result.refused = NULL;
    free(refused);
    free(page);
}

/* For contract/page.sh: `lab_page_test --write FILE` writes the page of the made-up session. */
static int write_file(const char *path)
{
    char *page = write_page();
    FILE *out = fopen(path, "we");
    if (out == NULL || fputs(page, out) < 0 || fclose(out) != 0)
        return 1;
    free(page);
    return 0;
}

int main(int argc, char **argv)
{
    make_session();
    if (argc == 3 && strcmp(argv[1], "--write") == 0)
        return write_file(argv[2]);
    unit_begin(argc, argv);
    RUN(page_markup__escapes_what_means_something);
    RUN(page_markup__replaces_what_is_no_text);
    RUN(page_markup__writes_effects_with_their_interval);
    RUN(page_scale__has_round_ticks_and_zero_for_any_range);
    RUN(page_protection__is_read_from_the_options);
    RUN(page_page__escapes_hostile_names);
    RUN(page_page__shows_every_arm_and_every_run);
    RUN(page_page__draws_memory_over_time_with_the_baseline_behind);
    RUN(page_page__names_the_fault_of_an_arm_and_no_times);
    RUN(page_page__says_nothing_was_measured_when_refused);
    return unit_end();
}
