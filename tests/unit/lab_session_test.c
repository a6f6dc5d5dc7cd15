/* SPDX-License-Identifier: MIT
 *
 * What: the lab tests itself: simulated sessions on recorded noise, with known truth planted, must come to the right
 * verdict often enough and to a wrong one seldom enough.
 *
 * Why this way: a lab that is trusted unseen is no lab. Each rule of the verdict has a session here that makes it act.
 *
 * Invariants: a session runs base, head and null control in mirrored blocks of random order, as the runner does; noise
 * is taken from the recording in run order, so that neighbours in time stay alike.
 *
 * Concurrency: one thread.
 */
#include "unit.h"

#include <math.h>

#include "lab/design.h"
#include "lab/paired.h"
#include "lab/power.h"
#include "lab/rank.h"
#include "lab/verdict.h"
#include "lab_noise.h"

enum { ARM_BASE, ARM_HEAD, ARM_NULL, ARMS, BLOCKS_MAX = 200 };

/* The truth of a simulated machine, in log units. */
struct world {
    double head_effect;
    double null_effect;
    double noise;         /* multiplies the recording */
    double drift;         /* everything gets slower by this in the course of the session */
    double effect_drift;  /* the head's effect grows by this in the course of the session */
    double order_penalty; /* a half block's last run is slower by this than its first */
};

static const struct world quiet_world = { .noise = 1 };

static struct lab_settings settings(void)
{
    return (struct lab_settings){ .confidence = 0.95, .delta = 0.01, .resamples = 200, .seed = unit_state.seed };
}

static double world_value(const struct world *world, size_t arm, double when, double place, double recorded)
{
    double log_value = world->noise * recorded + world->drift * when + world->order_penalty * place;
    if (arm == ARM_HEAD)
        log_value += world->head_effect + world->effect_drift * when;
    if (arm == ARM_NULL)
        log_value += world->null_effect;
    return 0.5 * exp(log_value);
}

static void run_session(const struct world *world, struct lab_random *random, size_t blocks, struct lab_block *head,
                        struct lab_block *null)
{
    const short *recording = lab_noise[lab_random_below(random, LAB_NOISE_SERIES)];
    size_t at = lab_random_below(random, LAB_NOISE_LENGTH);
    for (size_t block = 0; block < blocks; block++) {
        size_t order[2 * ARMS];
        size_t place[ARMS] = { 0 };
        lab_design_block(random, ARMS, order);
        for (size_t i = 0; i < ARMS; i++)
            place[order[i]] = i;
        /* After the loop place[] is where an arm stands in the second half, the mirror of the first. */
        head[block] = (struct lab_block){ .base_came_first = place[ARM_BASE] > place[ARM_HEAD] };
        null[block] = (struct lab_block){ .base_came_first = place[ARM_BASE] > place[ARM_NULL] };
        for (size_t i = 0; i < 2 * ARMS; i++) {
            size_t half = i / ARMS;
            size_t arm = order[i];
            double when = ((double)block + (double)i / (2 * ARMS)) / (double)blocks;
            double in_half = (double)(i % ARMS) / (ARMS - 1);
            double value = world_value(world, arm, when, in_half, recording[at] * 1e-4);
            at = (at + 1) % LAB_NOISE_LENGTH;
            if (arm == ARM_BASE)
                head[block].base[half] = null[block].base[half] = value;
            else if (arm == ARM_HEAD)
                head[block].head[half] = value;
            else
                null[block].head[half] = value;
        }
    }
}

static struct lab_claim judge_session(const struct world *world, struct lab_random *random, size_t blocks)
{
    static struct lab_block head[BLOCKS_MAX];
    static struct lab_block null[BLOCKS_MAX];
    struct lab_settings chosen = settings();
    run_session(world, random, blocks, head, null);
    return lab_claim_judge(head, null, blocks, &chosen);
}

struct tally {
    unsigned verdicts[LAB_INVALID + 1];
    unsigned notes[8];
};

static struct tally judge_sessions(const struct world *world, unsigned sessions, size_t blocks)
{
    struct tally tally = { 0 };
    struct lab_random random;
    lab_random_seed(&random, unit_state.seed);
    for (unsigned i = 0; i < sessions; i++) {
        struct lab_claim claim = judge_session(world, &random, blocks);
        tally.verdicts[claim.verdict]++;
        for (unsigned bit = 0; bit < 8; bit++)
            tally.notes[bit] += (claim.notes >> bit) & 1;
    }
    for (unsigned verdict = 0; verdict <= LAB_INVALID; verdict++)
        NOTE("%s: %u of %u", lab_verdict_word((enum lab_verdict)verdict), tally.verdicts[verdict], sessions);
    return tally;
}

/* The spread of a block's log ratio in the recording. */
static double recorded_spread(void)
{
    static struct lab_block head[BLOCKS_MAX];
    static struct lab_block null[BLOCKS_MAX];
    double logs[BLOCKS_MAX];
    struct lab_random random;
    lab_random_seed(&random, 1);
    run_session(&quiet_world, &random, BLOCKS_MAX, head, null);
    lab_block_logs(null, BLOCKS_MAX, logs);
    return lab_deviation(logs, BLOCKS_MAX);
}

static void lab_session__planted_work_is_found_in_four_of_five_sessions(void)
{
    enum { SESSIONS = 200 };
    const double visible = log1p(0.02) / 1.5;
    size_t blocks = lab_blocks_for_effect(recorded_spread(), visible, 0.95, BLOCKS_MAX);
    REQUIRE(blocks < BLOCKS_MAX);
    struct world world = quiet_world;
    world.head_effect = log1p(0.02);
    CHECK(judge_sessions(&world, SESSIONS, blocks).verdicts[LAB_SLOWER] >= SESSIONS * 0.8);
    world.head_effect = -log1p(0.02);
    CHECK(judge_sessions(&world, SESSIONS, blocks).verdicts[LAB_FASTER] >= SESSIONS * 0.8);
}

static void lab_session__equal_work_raises_few_false_alarms(void)
{
    enum { SESSIONS = 400 };
    for (size_t blocks = 10; blocks <= 40; blocks += 15) {
        struct tally tally = judge_sessions(&quiet_world, SESSIONS, blocks);
        CHECK(tally.verdicts[LAB_SLOWER] + tally.verdicts[LAB_FASTER] <= SESSIONS * 0.05);
        CHECK(tally.verdicts[LAB_INVALID] <= SESSIONS * 0.02);
    }
}

static void lab_session__equal_work_is_same_when_the_blocks_allow_it(void)
{
    enum { SESSIONS = 100 };
    struct world world = quiet_world;
    world.noise = 0.3;
    CHECK(judge_sessions(&world, SESSIONS, 40).verdicts[LAB_SAME] >= SESSIONS * 0.95);
    world.head_effect = log1p(0.005); /* real, but it does not matter */
    struct tally tally = judge_sessions(&world, SESSIONS, 150);
    CHECK(tally.verdicts[LAB_SAME] >= SESSIONS * 0.9);
    CHECK(tally.notes[0] >= SESSIONS * 0.8);
}

static void lab_session__a_drift_of_ten_percent_cancels(void)
{
    enum { SESSIONS = 100 };
    struct world world = quiet_world;
    world.noise = 0.3;
    world.drift = log1p(0.10);
    struct tally tally = judge_sessions(&world, SESSIONS, 40);
    CHECK(tally.verdicts[LAB_SAME] >= SESSIONS * 0.95);
    CHECK(tally.verdicts[LAB_SLOWER] + tally.verdicts[LAB_FASTER] + tally.verdicts[LAB_INVALID] <= 4);
}

static void lab_session__a_growing_effect_is_warned_of(void)
{
    struct world world = quiet_world;
    world.effect_drift = 0.3;
    CHECK(judge_sessions(&world, 50, 40).notes[3] >= 45);
    CHECK(judge_sessions(&quiet_world, 200, 40).notes[3] <= 12);
}

static void lab_session__an_effect_of_order_is_warned_of_and_cancels(void)
{
    struct world world = quiet_world;
    world.noise = 0.3;
    world.order_penalty = 0.03;
    struct tally tally = judge_sessions(&world, 50, 40);
    CHECK(tally.notes[4] >= 48);
    CHECK(tally.verdicts[LAB_SAME] >= 45);
}

static void lab_session__drift_and_order_together_are_invalid(void)
{
    struct world world = quiet_world;
    world.noise = 0.3;
    world.order_penalty = 0.03;
    world.effect_drift = 0.3;
    CHECK(judge_sessions(&world, 50, 40).verdicts[LAB_INVALID] >= 45);
}

static void lab_session__a_null_control_that_is_off_weakens_or_voids_the_claim(void)
{
    struct world world = quiet_world;
    world.noise = 0.3;
    world.head_effect = 0.015;
    CHECK(judge_sessions(&world, 50, 60).verdicts[LAB_SLOWER] >= 48);
    world.null_effect = 0.019;
    struct tally tally = judge_sessions(&world, 50, 60);
    CHECK(tally.verdicts[LAB_SLOWER] <= 5); /* widened by what the null is off */
    CHECK(tally.notes[1] >= 48);
    world.null_effect = 0.05;
    CHECK(judge_sessions(&world, 50, 60).verdicts[LAB_INVALID] >= 48);
}

static void lab_session__flagged_blocks_count_but_must_not_decide(void)
{
    static struct lab_block head[40];
    static struct lab_block null[40];
    struct lab_settings chosen = settings();
    struct lab_random random;
    lab_random_seed(&random, unit_state.seed);
    struct world world = quiet_world;
    world.noise = 0.1;
    run_session(&world, &random, 40, head, null);
    for (size_t i = 0; i < 25; i++) { /* a neighbour that hurts the head only */
        head[i].flagged = null[i].flagged = true;
        head[i].head[0] *= 1.2;
        head[i].head[1] *= 1.2;
    }
    struct lab_claim claim = lab_claim_judge(head, null, 40, &chosen);
    CHECK_EQ(claim.verdict, LAB_INCONCLUSIVE);
    CHECK((claim.notes & LAB_NOTE_FLIPPED) != 0);
    CHECK_EQ(claim.unflagged_verdict, LAB_SAME);
    CHECK_EQ(claim.flagged_blocks, 25);

    world.head_effect = 0.1;
    run_session(&world, &random, 40, head, null);
    for (size_t i = 0; i < 10; i++)
        head[i].flagged = null[i].flagged = true;
    claim = lab_claim_judge(head, null, 40, &chosen);
    CHECK_EQ(claim.verdict, LAB_SLOWER);
    CHECK_EQ(claim.head.blocks, 40);
}

static void lab_session__several_workloads_are_corrected_together(void)
{
    enum { SESSIONS = 40, WORKLOADS = 20 };
    static struct lab_claim claims[WORKLOADS];
    struct lab_claim *family[WORKLOADS];
    struct lab_random random;
    lab_random_seed(&random, unit_state.seed);
    unsigned alarmed = 0;
    unsigned found = 0;
    for (unsigned i = 0; i < SESSIONS; i++) {
        for (size_t k = 0; k < WORKLOADS; k++) {
            struct world world = quiet_world;
            world.head_effect = k == 0 ? 0.1 : 0;
            claims[k] = judge_session(&world, &random, 20);
            family[k] = &claims[k];
        }
        lab_correct_claims(family, WORKLOADS, 0.95);
        bool alarm = false;
        for (size_t k = 1; k < WORKLOADS; k++)
            alarm = alarm || claims[k].verdict == LAB_SLOWER || claims[k].verdict == LAB_FASTER;
        alarmed += alarm;
        found += claims[0].verdict == LAB_SLOWER;
    }
    CHECK(alarmed <= 6); /* 2 expected at most */
    CHECK(found >= SESSIONS * 0.9);
}

static void lab_session__stopping_by_the_evalue_keeps_its_level(void)
{
    enum { SESSIONS = 2000, LOOKS = 200 };
    struct lab_random random;
    lab_random_seed(&random, unit_state.seed);
    unsigned by_evalue = 0;
    unsigned by_peeking = 0;
    for (unsigned i = 0; i < SESSIONS; i++) {
        size_t counts[2] = { 0, 0 };
        double values[LOOKS];
        bool enough = false;
        bool peeked = false;
        for (size_t look = 0; look < LOOKS; look++) {
            size_t side = lab_random_below(&random, 2);
            counts[side]++;
            values[look] = side == 0 ? -1 : 1;
            enough = enough || lab_sign_evalue(counts[0], counts[1]) >= 20;
            peeked = peeked || (look % 10 == 9 && lab_sign_test(values, look + 1).p <= 0.05);
        }
        by_evalue += enough;
        by_peeking += peeked;
    }
    CHECK(by_evalue <= SESSIONS * 0.05);
    CHECK(by_peeking >= SESSIONS * 0.10); /* why it is not done without */
    CHECK(lab_sign_evalue(0, 10) > 20);
}

static void lab_verdict__follows_the_interval(void)
{
    static const struct {
        double median;
        struct lab_interval interval;
        enum lab_verdict verdict;
    } cases[] = {
        { 0.0, { -0.009, 0.009 }, LAB_SAME },     { 0.005, { 0.002, 0.009 }, LAB_SAME },
        { 0.02, { 0.005, 0.03 }, LAB_SLOWER },    { 0.02, { -0.001, 0.03 }, LAB_INCONCLUSIVE },
        { 0.008, { 0.001, 0.03 }, LAB_LEANS },    { -0.02, { -0.03, -0.005 }, LAB_FASTER },
        { -0.008, { -0.03, -0.001 }, LAB_LEANS }, { 0.0, { -INFINITY, INFINITY }, LAB_INCONCLUSIVE },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_EQ(lab_verdict_of(cases[i].median, cases[i].interval, 0.01), cases[i].verdict);
}

static void lab_verdict__exit_status_takes_the_worst(void)
{
    CHECK_EQ(lab_verdict_status(LAB_SAME), 0);
    CHECK_EQ(lab_verdict_status(LAB_FASTER), 0);
    CHECK_EQ(lab_verdict_status(LAB_SLOWER), 1);
    CHECK_EQ(lab_verdict_status(LAB_LEANS), 2);
    CHECK_EQ(lab_verdict_status(LAB_INCONCLUSIVE), 2);
    CHECK_EQ(lab_verdict_status(LAB_INVALID), 3);
    CHECK_EQ(lab_worse_status(1, 2), 1);
    CHECK_EQ(lab_worse_status(2, 1), 1);
    CHECK_EQ(lab_worse_status(0, 2), 2);
    CHECK_EQ(lab_worse_status(3, 1), 3);
}

/* However much a process repeats inside, it is one number, and one number is no claim. */
static void lab_verdict__one_process_of_many_iterations_is_one_value(void)
{
    struct lab_block block = { .base = { 1, 1 }, .head = { 1.5, 1.5 }, .base_came_first = true };
    struct lab_block same = { .base = { 1, 1 }, .head = { 1, 1 }, .base_came_first = true };
    struct lab_settings chosen = settings();
    struct lab_claim claim = lab_claim_judge(&block, &same, 1, &chosen);
    CHECK_EQ(claim.head.blocks, 1);
    CHECK_EQ(claim.verdict, LAB_INCONCLUSIVE);
    CHECK((claim.notes & LAB_NOTE_TOO_FEW) != 0);
}

/* Counts, such as peak memory, can be equal to the last digit: that is SAME, not a missing interval. */
static void lab_verdict__equal_values_are_ties_and_same(void)
{
    struct lab_block blocks[12];
    for (size_t i = 0; i < 12; i++)
        blocks[i] = (struct lab_block){ .base = { 2048, 2048 }, .head = { 2048, 2048 }, .base_came_first = i % 2 == 0 };
    struct lab_settings chosen = settings();
    struct lab_claim claim = lab_claim_judge(blocks, blocks, 12, &chosen);
    CHECK_EQ(claim.verdict, LAB_SAME);
    CHECK_EQ(claim.head.sign.ties, 12);
}

/* The number of further blocks, when they are run, settles the matter about as often as promised. */
static void lab_verdict__further_blocks_are_about_right(void)
{
    enum { SESSIONS = 150 };
    struct lab_random random;
    lab_random_seed(&random, unit_state.seed);
    struct world world = quiet_world;
    world.head_effect = 0.02;
    unsigned open = 0;
    unsigned settled = 0;
    for (unsigned i = 0; i < SESSIONS; i++) {
        struct lab_claim claim = judge_session(&world, &random, 15);
        size_t more = claim.further_blocks;
        if (claim.verdict != LAB_INCONCLUSIVE || more == 0 || more > BLOCKS_MAX - 15)
            continue;
        open++;
        settled += judge_session(&world, &random, 15 + more).verdict == LAB_SLOWER;
    }
    NOTE("%u of %u open sessions settled", settled, open);
    CHECK(open >= 20);
    CHECK(settled * 2 >= open);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(lab_session__planted_work_is_found_in_four_of_five_sessions);
    RUN(lab_session__equal_work_raises_few_false_alarms);
    RUN(lab_session__equal_work_is_same_when_the_blocks_allow_it);
    RUN(lab_session__a_drift_of_ten_percent_cancels);
    RUN(lab_session__a_growing_effect_is_warned_of);
    RUN(lab_session__an_effect_of_order_is_warned_of_and_cancels);
    RUN(lab_session__drift_and_order_together_are_invalid);
    RUN(lab_session__a_null_control_that_is_off_weakens_or_voids_the_claim);
    RUN(lab_session__flagged_blocks_count_but_must_not_decide);
    RUN(lab_session__several_workloads_are_corrected_together);
    RUN(lab_session__stopping_by_the_evalue_keeps_its_level);
    RUN(lab_verdict__follows_the_interval);
    RUN(lab_verdict__exit_status_takes_the_worst);
    RUN(lab_verdict__one_process_of_many_iterations_is_one_value);
    RUN(lab_verdict__equal_values_are_ties_and_same);
    RUN(lab_verdict__further_blocks_are_about_right);
    return unit_end();
}
