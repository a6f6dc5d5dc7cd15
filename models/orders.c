/* SPDX-License-Identifier: MIT
 *
 * What: the protocol's memory orders, each against the one it pairs with, in all executions that C11 allows.
 *
 * Why this way: model.pml knows store buffers, not memory orders, and an x86-64 cannot show a wrong one. So each
 * pairing is a program of a few instructions whose executions are enumerated: a read may take any write of its word, a
 * write may stand anywhere in the word's modification order, and what the axioms of RC11 forbid is cut off
 * (happens-before must agree with the order in which a word's values are seen; a read-modify-write follows the write
 * it read at once; no value out of thin air). Release sequences go on through read-modify-writes only, as in C20. A
 * pairing is needed if weakening either side to relaxed lets the bad outcome in, and each entry says for which of its
 * instructions that is so.
 *
 * Invariants: axioms are checked after each event; what breaks them stays broken, so cutting there loses nothing.
 *
 * Concurrency: none of its own.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 3, MAX_INSTRUCTIONS = 7, MAX_EVENTS = 32, MAX_REGISTERS = 8, MAX_WEAKENINGS = 4, UNSET = -1 };

enum order { PLAIN, RELAXED, ACQUIRE = 2, RELEASE = 4, ACQ_REL = ACQUIRE | RELEASE };

enum kind { END, LOAD, STORE, EXCHANGE, FETCH_OR, FETCH_AND, FETCH_ADD, STOP_UNLESS };

/* The words of the protocol, and two of the program: MEMORY is a slot's content, POINTER is where a pointer is handed
 * over. */
enum word { R, L, QUEUED, LINK, HEAD, OWNER, CLASS, LOCK, MEMORY, POINTER, WORDS };

/* For LOAD and the read-modify-writes `reg` takes what was read; STOP_UNLESS ends the thread unless reg is value. */
struct instruction {
    enum kind kind;
    enum word word;
    int value;
    enum order order;
    int reg;
};

struct weakening {
    int thread;
    int index;
    const char *name;
};

struct test {
    const char *name;
    int initial[WORDS];
    struct instruction code[MAX_THREADS][MAX_INSTRUCTIONS];
    bool (*bad)(const int reg[]);
    bool bad_is_possible;                        /* a limit, or why something is not done otherwise */
    struct weakening weakenings[MAX_WEAKENINGS]; /* each of these lets the bad outcome in */
    struct weakening needless[MAX_WEAKENINGS];   /* none of these does */
};

struct event {
    int thread;
    const struct instruction *instruction;
    int value; /* as written */
    int reads; /* event read from, or UNSET */
    bool writes;
};

struct execution {
    struct event events[MAX_EVENTS];
    int event_count;
    int modification_order[WORDS][MAX_EVENTS];
    int write_count[WORDS];
    int next[MAX_THREADS];
    int reg[MAX_REGISTERS];
};

struct result {
    unsigned long executions;
    bool bad;
    bool race;
};

static bool is_read_modify_write(const struct event *event)
{
    return event->reads != UNSET && event->writes;
}

static void close_transitively(uint32_t relation[], int count)
{
    for (int via = 0; via < count; via++)
        for (int from = 0; from < count; from++)
            if (relation[from] >> via & 1)
                relation[from] |= relation[via];
}

static void find_happens_before(const struct execution *x, uint32_t before[])
{
    memset(before, 0, sizeof(uint32_t) * MAX_EVENTS);
    for (int b = 0; b < x->event_count; b++) {
        const struct event *event = &x->events[b];
        for (int a = 0; a < b; a++)
            if (x->events[a].thread == event->thread || x->events[a].thread == UNSET)
                before[a] |= UINT32_C(1) << b;
        if (event->reads == UNSET || !(event->instruction->order & ACQUIRE))
            continue;
        for (int source = event->reads; source != UNSET; source = x->events[source].reads) {
            const struct event *write = &x->events[source];
            if (write->instruction && (write->instruction->order & RELEASE))
                before[source] |= UINT32_C(1) << b;
            if (!is_read_modify_write(write))
                break;
        }
    }
    close_transitively(before, x->event_count);
}

static void find_communication(const struct execution *x, uint32_t order[])
{
    memset(order, 0, sizeof(uint32_t) * MAX_EVENTS);
    for (int word = 0; word < WORDS; word++)
        for (int i = 0; i < x->write_count[word]; i++) {
            int write = x->modification_order[word][i];
            if (i + 1 < x->write_count[word])
                order[write] |= UINT32_C(1) << x->modification_order[word][i + 1];
            for (int reader = 0; reader < x->event_count; reader++) {
                if (x->events[reader].reads != write)
                    continue;
                order[write] |= UINT32_C(1) << reader;
                if (i + 1 < x->write_count[word] && x->modification_order[word][i + 1] != reader)
                    order[reader] |= UINT32_C(1) << x->modification_order[word][i + 1];
            }
        }
    close_transitively(order, x->event_count);
}

static bool is_consistent(const struct execution *x)
{
    uint32_t before[MAX_EVENTS];
    uint32_t order[MAX_EVENTS];
    find_happens_before(x, before);
    find_communication(x, order);
    for (int a = 0; a < x->event_count; a++) {
        if ((before[a] | order[a]) >> a & 1)
            return false;
        for (int b = 0; b < x->event_count; b++)
            if ((before[a] >> b & 1) && (order[b] >> a & 1))
                return false;
    }
    return true;
}

static bool has_race(const struct execution *x)
{
    uint32_t before[MAX_EVENTS];
    find_happens_before(x, before);
    for (int a = 0; a < x->event_count; a++)
        for (int b = a + 1; b < x->event_count; b++) {
            const struct event *one = &x->events[a];
            const struct event *two = &x->events[b];
            if (!one->instruction || !two->instruction || one->instruction->word != two->instruction->word)
                continue;
            bool is_conflict =
                (one->writes || two->writes) && (one->instruction->order == PLAIN || two->instruction->order == PLAIN);
            if (is_conflict && !(before[a] >> b & 1) && !(before[b] >> a & 1))
                return true;
        }
    return false;
}

static int value_written(const struct instruction *instruction, int old)
{
    switch (instruction->kind) {
    case FETCH_OR: return old | instruction->value;
    case FETCH_AND: return old & instruction->value;
    case FETCH_ADD: return old + instruction->value;
    default: return instruction->value;
    }
}

static void explore(const struct execution *x, const struct test *test, struct result *result);

/* `position` in the modification order, or UNSET for a load; `source` to read from, or UNSET for a store. */
static void step(const struct execution *x, const struct test *test, int thread, int source, int position,
                 struct result *result)
{
    struct execution y = *x;
    const struct instruction *instruction = &test->code[thread][y.next[thread]++];
    int index = y.event_count++;
    if (index >= MAX_EVENTS)
        abort();
    struct event *event = &y.events[index];
    event->thread = thread;
    event->instruction = instruction;
    event->reads = source;
    event->writes = position != UNSET;
    int old = source == UNSET ? 0 : y.events[source].value;
    event->value = value_written(instruction, old);
    if (source != UNSET)
        y.reg[instruction->reg] = old;
    if (event->writes) {
        int *writes = y.modification_order[instruction->word];
        int count = y.write_count[instruction->word]++;
        memmove(writes + position + 1, writes + position, sizeof(int) * (size_t)(count - position));
        writes[position] = index;
    }
    if (is_consistent(&y))
        explore(&y, test, result);
}

/* Does the write at `position` have to stay right behind the one before it? */
static bool is_tied(const struct execution *x, enum word word, int position)
{
    return position < x->write_count[word] && is_read_modify_write(&x->events[x->modification_order[word][position]]);
}

static void explore_instruction(const struct execution *x, const struct test *test, int thread, struct result *result)
{
    const struct instruction *instruction = &test->code[thread][x->next[thread]];
    enum word word = instruction->word;
    int count = x->write_count[word];
    if (instruction->kind == STOP_UNLESS) {
        struct execution y = *x;
        y.next[thread] = y.reg[instruction->reg] == instruction->value ? y.next[thread] + 1 : MAX_INSTRUCTIONS;
        explore(&y, test, result);
    } else if (instruction->kind == LOAD) {
        for (int i = 0; i < count; i++)
            step(x, test, thread, x->modification_order[word][i], UNSET, result);
    } else if (instruction->kind == STORE) {
        for (int i = 1; i <= count; i++)
            if (!is_tied(x, word, i))
                step(x, test, thread, UNSET, i, result);
    } else {
        for (int i = 0; i < count; i++)
            if (!is_tied(x, word, i + 1))
                step(x, test, thread, x->modification_order[word][i], i + 1, result);
    }
}

static void explore(const struct execution *x, const struct test *test, struct result *result)
{
    bool is_over = true;
    for (int thread = 0; thread < MAX_THREADS; thread++) {
        if (x->next[thread] >= MAX_INSTRUCTIONS || test->code[thread][x->next[thread]].kind == END)
            continue;
        is_over = false;
        explore_instruction(x, test, thread, result);
    }
    if (!is_over)
        return;
    result->executions++;
    result->bad |= test->bad && test->bad(x->reg);
    result->race |= has_race(x);
}

static struct result run(const struct test *test)
{
    struct execution x = { .event_count = WORDS };
    struct result result = { 0, false, false };
    for (int word = 0; word < WORDS; word++) {
        x.events[word] = (struct event){ UNSET, NULL, test->initial[word], UNSET, true };
        x.modification_order[word][0] = word;
        x.write_count[word] = 1;
    }
    for (int i = 0; i < MAX_REGISTERS; i++)
        x.reg[i] = UNSET;
    explore(&x, test, &result);
    return result;
}

/* ---- the pairings; register n of a test is named in its predicate ---- */

#define LOAD_(word, order, reg)   \
    {                             \
        LOAD, word, 0, order, reg \
    }
#define STORE_(word, value, order)   \
    {                                \
        STORE, word, value, order, 0 \
    }
#define EXCHANGE_(word, value, order, reg) \
    {                                      \
        EXCHANGE, word, value, order, reg  \
    }
#define OR_(word, value, order, reg)      \
    {                                     \
        FETCH_OR, word, value, order, reg \
    }
#define AND_(word, value, order, reg)      \
    {                                      \
        FETCH_AND, word, value, order, reg \
    }
#define ADD_(word, value, order, reg)      \
    {                                      \
        FETCH_ADD, word, value, order, reg \
    }
#define STOP_UNLESS_(reg, value)            \
    {                                       \
        STOP_UNLESS, R, value, RELAXED, reg \
    }

/* The generation stands above the slots' bits. */
enum { BIT_0 = 1, BIT_1 = 2, GENERATION = 4 };

static bool wake_up_lost(const int reg[])
{
    return reg[0] == 1 && reg[2] == 0; /* the freer saw `queued`, the fold saw no bit */
}

static bool link_unseen(const int reg[])
{
    return reg[1] == 0;
}

static bool live_unseen(const int reg[])
{
    return reg[1] == 0;
}

static bool folded_but_live(const int reg[])
{
    return reg[0] == 0 && reg[1] == 1;
}

static bool new_owner_unseen(const int reg[])
{
    return reg[1] == 3 && reg[2] == 0;
}

static bool old_class_new_generation(const int reg[])
{
    bool is_claim_taken = reg[2] != UNSET && (reg[2] & GENERATION) == (reg[0] & GENERATION);
    bool is_class_right = reg[1] == ((reg[0] & GENERATION) ? 2 : 1);
    bool is_seen_at_opening = reg[3] & BIT_0;
    return is_claim_taken && !is_class_right && !is_seen_at_opening;
}

static bool two_claims_pass(const int reg[])
{
    return reg[0] == 0 && reg[1] == 0;
}

static bool new_claim_seen_at_hand_out(const int reg[])
{
    return reg[0] == BIT_0;
}

static bool live_unseen_after_adoption(const int reg[])
{
    return reg[1] == 1;
}

static bool both_frees_return(const int reg[])
{
    return reg[0] == 1 && reg[1] == 0 && reg[2] == 0;
}

static const struct test tests[] = {
    {
        .name = "a slot is scrubbed by the remote free before the fold hands it on (claim, load of R)",
        .code = { { STORE_(MEMORY, 1, PLAIN), OR_(R, BIT_0, ACQ_REL, 0) },
                  { LOAD_(R, ACQUIRE, 1), STOP_UNLESS_(1, BIT_0), STORE_(MEMORY, 2, PLAIN) } },
        .weakenings = { { 0, 1, "claim" }, { 1, 0, "load of R" } },
    },
    {
        .name = "the same when a third thread's claim stands between (release sequence)",
        .code = { { STORE_(MEMORY, 1, PLAIN), OR_(R, BIT_0, ACQ_REL, 0) },
                  { LOAD_(R, ACQUIRE, 1), STOP_UNLESS_(1, BIT_0 | BIT_1), STORE_(MEMORY, 2, PLAIN) },
                  { OR_(R, BIT_1, ACQ_REL, 2) } },
        .weakenings = { { 0, 1, "claim" }, { 1, 0, "load of R" } },
    },
    {
        .name = "two claims of one slot: the later one sees the earlier",
        .code = { { OR_(R, BIT_0, ACQ_REL, 0) }, { OR_(R, BIT_0, ACQ_REL, 1) } },
        .bad = two_claims_pass,
    },
    {
        .name = "no wake-up is lost (the freer's and the popper's exchange of `queued`)",
        .initial = { [QUEUED] = 1 },
        .code = { { OR_(R, BIT_0, ACQ_REL, 3), EXCHANGE_(QUEUED, 1, ACQ_REL, 0) },
                  { EXCHANGE_(QUEUED, 0, ACQ_REL, 1), LOAD_(R, ACQUIRE, 2) } },
        .bad = wake_up_lost,
        .weakenings = { { 0, 1, "freer's exchange" }, { 1, 0, "popper's exchange" } },
        .needless = { { 0, 0, "claim" }, { 1, 1, "load of R" } },
    },
    {
        .name = "a load of `queued` in place of the exchange does lose wake-ups",
        .initial = { [QUEUED] = 1 },
        .code = { { OR_(R, BIT_0, ACQ_REL, 3), LOAD_(QUEUED, ACQUIRE, 0) },
                  { EXCHANGE_(QUEUED, 0, ACQ_REL, 1), LOAD_(R, ACQUIRE, 2) } },
        .bad = wake_up_lost,
        .bad_is_possible = true,
    },
    {
        .name = "the popper sees the link (push, pop)",
        .code = { { STORE_(LINK, 7, RELAXED), EXCHANGE_(HEAD, 1, ACQ_REL, 2) },
                  { EXCHANGE_(HEAD, 0, ACQ_REL, 0), STOP_UNLESS_(0, 1), LOAD_(LINK, RELAXED, 1) } },
        .bad = link_unseen,
        .weakenings = { { 0, 1, "push" }, { 1, 0, "pop" } },
    },
    {
        .name = "a relaxed live bit is seen by whoever got the pointer (the program's own hand-over)",
        .code = { { STORE_(L, 1, RELAXED), STORE_(POINTER, 1, RELEASE) },
                  { LOAD_(POINTER, ACQUIRE, 0), STOP_UNLESS_(0, 1), LOAD_(L, ACQUIRE, 1) } },
        .bad = live_unseen,
        .weakenings = { { 0, 1, "program's release" }, { 1, 0, "program's acquire" } },
        .needless = { { 1, 2, "load of L" } },
    },
    {
        .name = "who finds R folded finds L clear (L first, R last; first load of a remote free)",
        .initial = { [R] = BIT_0, [L] = 1 },
        .code = { { STORE_(L, 0, RELAXED), AND_(R, ~BIT_0, ACQ_REL, 2) },
                  { LOAD_(R, ACQUIRE, 0), LOAD_(L, ACQUIRE, 1) } },
        .bad = folded_but_live,
        .weakenings = { { 0, 1, "fold's clear of R" }, { 1, 0, "load of R before L" } },
    },
    {
        .name = "with R first, L last that fails in spite of the orders",
        .initial = { [R] = BIT_0, [L] = 1 },
        .code = { { AND_(R, ~BIT_0, ACQ_REL, 2), STORE_(L, 0, RELAXED) },
                  { LOAD_(R, ACQUIRE, 0), LOAD_(L, ACQUIRE, 1) } },
        .bad = folded_but_live,
        .bad_is_possible = true,
    },
    {
        .name = "the hand-out check never sees the claim of the new object's own free",
        .code = { { LOAD_(R, ACQUIRE, 0), STORE_(L, 1, RELAXED), STORE_(POINTER, 1, RELEASE) },
                  { LOAD_(POINTER, ACQUIRE, 1), STOP_UNLESS_(1, 1), LOAD_(L, ACQUIRE, 2), OR_(R, BIT_0, ACQ_REL, 3) } },
        .bad = new_claim_seen_at_hand_out,
        .needless = { { 0, 0, "load of R at hand-out" }, { 1, 2, "load of L" } },
    },
    {
        .name = "owner's and remote free of one object may both return (the hand-out check is there for it)",
        .initial = { [L] = 1 },
        .code = { { LOAD_(R, ACQUIRE, 2), STORE_(L, 0, RELAXED) },
                  { LOAD_(L, ACQUIRE, 0), STOP_UNLESS_(0, 1), OR_(R, BIT_0, ACQ_REL, 1) } },
        .bad = both_frees_return,
        .bad_is_possible = true,
    },
    {
        .name = "who clears `queued` sees the owner that its setter freed under (pop, and taking back)",
        .initial = { [QUEUED] = 1 },
        .code = { { STORE_(OWNER, 2, RELEASE), STORE_(POINTER, 1, RELEASE) },
                  { LOAD_(POINTER, ACQUIRE, 0), STOP_UNLESS_(0, 1), OR_(R, BIT_0, ACQ_REL, 3),
                    EXCHANGE_(QUEUED, 3, ACQ_REL, 4) },
                  { EXCHANGE_(QUEUED, 0, ACQ_REL, 1), LOAD_(OWNER, ACQUIRE, 2) } },
        .bad = new_owner_unseen,
        .weakenings = { { 1, 3, "freer's exchange" }, { 2, 0, "popper's exchange" } },
        .needless = { { 1, 2, "claim" } },
    },
    {
        .name = "who forwards to a new owner sees that heap's content (store and load of the owner)",
        .code = { { STORE_(MEMORY, 1, PLAIN), STORE_(OWNER, 2, RELEASE) },
                  { LOAD_(OWNER, ACQUIRE, 0), STOP_UNLESS_(0, 2), LOAD_(MEMORY, PLAIN, 1) } },
        .weakenings = { { 0, 1, "store of the owner" }, { 1, 0, "load of the owner" } },
    },
    {
        .name =
            "a claim with the right generation was judged by the right class (opening, first load of a remote free)",
        .initial = { [CLASS] = 1, [L] = 1 },
        .code = { { STORE_(CLASS, 2, RELAXED), ADD_(R, GENERATION, ACQ_REL, 3) },
                  { LOAD_(R, ACQUIRE, 0), LOAD_(CLASS, ACQUIRE, 1), LOAD_(L, ACQUIRE, 4), OR_(R, BIT_0, ACQ_REL, 2) } },
        .bad = old_class_new_generation,
        .weakenings = { { 0, 1, "exchange at opening" }, { 1, 0, "load of the generation" } },
    },
    {
        .name = "who folds a dead thread's slab sees its live bits (heap list lock)",
        .initial = { [L] = 1, [LOCK] = 1 },
        .code = { { STORE_(L, 0, RELAXED), STORE_(LOCK, 0, RELEASE) },
                  { EXCHANGE_(LOCK, 1, ACQ_REL, 0), STOP_UNLESS_(0, 0), LOAD_(L, RELAXED, 1) } },
        .bad = live_unseen_after_adoption,
        .weakenings = { { 0, 1, "unlock" }, { 1, 0, "lock" } },
    },
};

static int failures;

static void judge(bool is_good, const char *name, const char *how, const char *weakened, unsigned long executions)
{
    printf("%s order: %s", is_good ? "ok" : "not ok", name);
    if (weakened)
        printf(": %s with a relaxed %s", how, weakened);
    printf(" (%lu executions)\n", executions);
    if (!is_good)
        failures++;
}

static void run_weakened(struct test test, const struct weakening weakenings[], bool lets_bad_in)
{
    for (int n = 0; n < MAX_WEAKENINGS && weakenings[n].name; n++) {
        enum order *order = &test.code[weakenings[n].thread][weakenings[n].index].order;
        enum order strong = *order;
        *order = RELAXED;
        struct result result = run(&test);
        *order = strong;
        judge((result.bad || result.race) == lets_bad_in, test.name, lets_bad_in ? "fails" : "holds",
              weakenings[n].name, result.executions);
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        const struct test *test = &tests[i];
        struct result result = run(test);
        judge((result.bad || result.race) == test->bad_is_possible, test->name, NULL, NULL, result.executions);
        run_weakened(*test, test->weakenings, true);
        run_weakened(*test, test->needless, false);
    }
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
