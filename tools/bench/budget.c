/* SPDX-License-Identifier: MIT
 *
 * What: see budget.h.
 *
 * Why this way: see budget.h.
 */
#include "bench/budget.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/engine.h"
#include "bench/peers.h"
#include "bench/report.h"
#include "bench/text.h"
#include "lab/budget.h"

enum { BUDGET_OFFERS_MAX = BENCH_ARMS_MAX, BUDGET_TRIES_MAX = 3 };

static const double BUDGET_LADDER_SHARE = 0.4;
static const double BUDGET_OPTIONS_SHARE = 0.3;
static const double BUDGET_FINAL_SHARE = 0.3;

struct budget {
    struct bench_options *options;
    struct bench_manifest *manifest;
    enum bench_metric metrics[LAB_LIMITS_MAX];
    double limits[LAB_LIMITS_MAX]; /* effects: 0.03 is 3 % */
    size_t count;
    struct bench_options session; /* of the session under way */
    struct bench_outcome outcome;
};

/* "cpu=3%,rss=10%" */
static void budget_parse(struct budget *budget, const char *text)
{
    const char *at = text;
    while (*at != '\0') {
        char name[8];
        double percent;
        int length = 0;
        if (sscanf(at, "%7[a-z]=%lf%n", name, &percent, &length) != 2 || !(percent >= 0))
            bench_die("--budget takes cpu=N%%,rss=N%%,wall=N%%, not %s", text);
        at += length + (at[length] == '%' ? 1 : 0);
        at += *at == ',' ? 1 : 0;
        size_t found = budget->count;
        for (unsigned metric = 0; metric < BENCH_JUDGED_METRICS; metric++)
            if (strcmp(name, bench_metric_name(metric)) == 0 && found < LAB_LIMITS_MAX)
                budget->metrics[budget->count] = metric, budget->limits[budget->count++] = percent / 100;
        if (budget->count == found)
            bench_die("--budget knows cpu, rss and wall, each once; not %s", name);
    }
    if (budget->count == 0)
        bench_die("--budget takes cpu=N%%,rss=N%%,wall=N%%");
}

/* A session of its own, with no arms yet. */
static void budget_open(struct budget *budget, const char *name, double share)
{
    struct bench_options *session = &budget->session;
    *session = *budget->options;
    session->arms = (struct bench_arms){ .keep_all = budget->options->arms.keep_all };
    session->base_count = 0;
    session->budget_seconds = share * budget->options->budget_seconds;
    if (budget->options->out != NULL) {
        session->out = bench_format("%s/%s", budget->options->out, name);
        if (!bench_make_directory(session->out))
            bench_die("cannot make the folder %s", session->out);
    }
    memset(&budget->outcome, 0, sizeof budget->outcome);
}

static void budget_measure(struct budget *budget)
{
    bench_options_find_bases(&budget->session);
    bench_engine_measure(&budget->outcome, &budget->session, budget->manifest);
    bench_engine_report(&budget->outcome);
    putchar('\n');
}

/* The dearest workload of an arm in a limited metric; NULL if it is invalid in one. */
static const struct bench_claim *budget_dearest(const struct budget *budget, size_t head, size_t limit)
{
    const struct bench_claims *claims = &budget->outcome.claims;
    const struct bench_claim *dearest = NULL;
    for (size_t i = 0; i < claims->count; i++) {
        const struct bench_claim *claim = &claims->items[i];
        if (claim->head != head || claim->metric != budget->metrics[limit])
            continue;
        if (claim->fault != NULL)
            return NULL;
        if (dearest == NULL || claim->claim.log_interval.high > dearest->claim.log_interval.high)
            dearest = claim;
    }
    return dearest;
}

/* Does an arm fit in every limited metric, for every workload? Says so in a line. */
static enum lab_fit budget_fit(const struct budget *budget, size_t head)
{
    static const char *const words[] = { "fits", "cannot tell", "too dear" };
    const char *name = budget->session.arms.items[head].name;
    enum lab_fit worst = LAB_FITS;
    for (size_t i = 0; i < budget->count; i++) {
        const struct bench_claim *claim = budget_dearest(budget, head, i);
        if (claim == NULL) {
            printf("%s: invalid\n", name);
            return LAB_FAILS;
        }
        enum lab_fit fit = lab_fit_of(claim->claim.log_interval, budget->limits[i]);
        if (claim->claim.verdict == LAB_INVALID && fit == LAB_FITS)
            fit = LAB_UNSURE;
        char *effect = bench_effect_text(claim->claim.head.log_median, claim->claim.log_interval);
        printf("%s: %s %s of at most +%g %%: %s\n", name, bench_metric_name(budget->metrics[i]), effect,
               100 * budget->limits[i], words[fit]);
        free(effect);
        worst = fit > worst ? fit : worst;
    }
    return worst;
}

static void budget_print(const char *settings, const struct bench_manifest *manifest)
{
    const struct bench_workload *workload = &manifest->items[0];
    const char *path = manifest->count == 1 && workload->words[0] != NULL ? workload->words[0] : "PROGRAM";
    const char *slash = strrchr(path, '/');
    printf("\noptions:      %s\n", settings);
    printf("shell:        scrubjay run -o %s -- %s\n", settings, path);
    printf("systemd:      systemctl edit UNIT\n"
           "                  [Service]\n"
           "                  Environment=LD_PRELOAD=libscrubjay.so SCRUBJAY_OPTIONS=%s\n",
           settings);
    printf("Dockerfile:   ENV LD_PRELOAD=libscrubjay.so SCRUBJAY_OPTIONS=%s\n", settings);
    printf("/etc/scrubjay.conf (the library has to be loaded as well):\n"
           "                  [%s]\n",
           slash != NULL ? slash + 1 : path);
    char *items = bench_copy(settings, strlen(settings));
    char *rest = NULL;
    for (const char *item = strtok_r(items, ",", &rest); item != NULL; item = strtok_r(NULL, ",", &rest))
        printf("                  %s\n", item);
    free(items);
}

/* The highest level that fits; -1 if none does, with *unsure set if one might. Its room goes to log_room[]. */
static int budget_find_level(struct budget *budget, bool *unsure, double *log_room)
{
    budget_open(budget, "levels", BUDGET_LADDER_SHARE);
    bench_add_glibc(&budget->session.arms);
    bench_add_levels(&budget->session, "level");
    budget_measure(budget);
    int found = -1;
    *unsure = false;
    for (size_t arm = 1; arm < budget->session.arms.null; arm++) {
        enum lab_fit fit = budget_fit(budget, arm);
        *unsure = *unsure || fit == LAB_UNSURE;
        if (fit != LAB_FITS)
            continue;
        found = (int)arm - 1;
        for (size_t i = 0; i < budget->count; i++)
            log_room[i] = log1p(budget->limits[i]) - budget_dearest(budget, arm, i)->claim.head.log_median;
    }
    return found;
}

/* What each stronger option costs by itself on top of the level. Returns the number of offers; arm i + 1 is offer i. */
static size_t budget_price_options(struct budget *budget, unsigned level, struct lab_offer *offers)
{
    budget_open(budget, "options", BUDGET_OPTIONS_SHARE);
    char *settings = bench_format("level=%u", level);
    bench_add_scrubjay(&budget->session, settings, settings);
    free(settings);
    size_t added = bench_add_single_options(&budget->session, level, true);
    if (added == 0)
        return 0;
    budget_measure(budget);
    size_t count = 0;
    for (size_t arm = 1; arm <= added && count < BUDGET_OFFERS_MAX; arm++) {
        struct lab_offer *offer = &offers[count++];
        *offer = (struct lab_offer){ 0 };
        offer->gain = bench_option_gain(budget->session.arms.items[arm].name, level, &offer->option);
        for (size_t i = 0; i < budget->count; i++) {
            const struct bench_claim *claim = budget_dearest(budget, arm, i);
            offer->log_prices[i] = claim != NULL ? claim->claim.head.log_median : INFINITY;
        }
    }
    return count;
}

/* "level=2,scrub=free,..." */
static char *budget_settings(const struct bench_arms *priced, unsigned level, const struct lab_offer *offers,
                             size_t count)
{
    char *settings = bench_format("level=%u", level);
    for (size_t i = 0; i < count; i++) {
        if (!offers[i].taken)
            continue;
        char *longer = bench_format("%s,%s", settings, priced->items[i + 1].name);
        free(settings);
        settings = longer;
    }
    return settings;
}

/* Measures the set as a whole, and takes its dearest option out until it fits; the settings, NULL if none is left. */
static char *budget_settle(struct budget *budget, unsigned level, struct lab_offer *offers, size_t count,
                           const double *log_room)
{
    const struct bench_arms priced = budget->session.arms;
    for (unsigned try = 0; try < BUDGET_TRIES_MAX && !bench_interrupted(); try++) {
        size_t dearest = lab_dearest_offer(offers, count, log_room, budget->count);
        if (dearest == count)
            return NULL;
        char *settings = budget_settings(&priced, level, offers, count);
        char *name = bench_format("set%u", try + 1);
        budget_open(budget, name, BUDGET_FINAL_SHARE / BUDGET_TRIES_MAX);
        bench_add_glibc(&budget->session.arms);
        bench_add_scrubjay(&budget->session, settings, settings);
        free(name);
        budget_measure(budget);
        if (budget_fit(budget, 1) == LAB_FITS)
            return settings;
        free(settings);
        offers[dearest].taken = false;
    }
    return NULL;
}

int bench_budget_find(struct bench_options *options, struct bench_manifest *manifest)
{
    static struct budget budget;
    static struct lab_offer offers[BUDGET_OFFERS_MAX];
    double log_room[LAB_LIMITS_MAX];
    bool unsure;
    if (options->resume)
        bench_die("--budget and --resume do not go together");
    budget = (struct budget){ .options = options, .manifest = manifest };
    budget_parse(&budget, options->budget);
    int level = budget_find_level(&budget, &unsure, log_room);
    if (level < 0 && bench_engine_status(&budget.outcome) == lab_verdict_status(LAB_INVALID)) {
        puts("\ncannot tell: what was measured is invalid, see above");
        return lab_verdict_status(LAB_INVALID);
    }
    if (level < 0) {
        puts(unsure ? "\ncannot tell: no level surely fits; more time (--time), a quieter machine or a longer command"
                    : "\nnone fits");
        return unsure ? 2 : 1;
    }
    size_t count = bench_interrupted() ? 0 : budget_price_options(&budget, (unsigned)level, offers);
    char *settings = NULL;
    if (lab_take_offers(offers, count, log_room, budget.count) > 0)
        settings = budget_settle(&budget, (unsigned)level, offers, count, log_room);
    if (settings == NULL)
        settings = bench_format("level=%d", level);
    if (unsure)
        puts("\nA stronger level may fit too; that cannot be told from this session.");
    budget_print(settings, manifest);
    free(settings);
    return 0;
}
