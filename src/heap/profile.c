/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see profile.h.
 */
#include "heap/profile.h"

#include "heap/countdown.h"
#include "heap/heap.h"
#include "meta/arena.h"
#include "platform/entropy.h"
#include "platform/lock.h"
#include "platform/probe.h"
#include "platform/process.h"
#include "platform/stack.h"

#include <string.h>

enum {
    OWN_FRAMES = 8, /* at most so many of the library's own lie above the caller */
    SLOTS = 2 * SJ_PROFILE_SITES_MAX,
    RECORDS_MAX = SJ_PROFILE_CHUNK_RECORDS * SJ_PROFILE_RECORD_CHUNKS,
    PEAK_FRACTION = 20,         /* a peak counts from a twentieth above the last */
    PEAK_TELL_BYTES = 25 << 20, /* and is told of from so much on */
};

struct sj_profile sj__profile;
uint32_t sj__profile_rate;
struct sj_atomic_u32 sj__profile_heads[1 << SJ_PROFILE_HEAD_BITS];
struct sj_profile_record *sj__profile_records[SJ_PROFILE_RECORD_CHUNKS];

static struct sj_lock profile_lock = SJ_LOCK_INIT(SJ_RANK_PROFILE);
static uint32_t site_slots[SLOTS]; /* sites by the hash of their stack, in the first free slot from there; 0: free */
static uint32_t records_used, free_first; /* records are counted from 1 */
static struct sj_atomic_u64 draws;        /* of a sequence that is spread by mixing */
static struct sj_atomic_u64
    block_until; /* bytes of blocks drawn one by one that are not sampled before one is; may go below 0 */

/* ---- Draws ------------------------------------------------------------------------------------------------------- */

/* Nothing hangs on nobody knowing it. */
static uint64_t random_word(void)
{
    uint64_t word = sj_fetch_add_relaxed_u64(&draws, 0x9e3779b97f4a7c15u);
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

uint64_t sj__profile_draw(void)
{
    return sj__profile_rate != 0 ? sj__countdown_draw(random_word(), sj__profile_rate) : UINT64_MAX;
}

void sj__profile_start(const struct sj_settings *settings)
{
    uint64_t seed = settings->seed;
    if (settings->profile == 0)
        return;
    if (!settings->policy.fixed_seed)
        (void)sj__entropy_fill(&seed, sizeof seed);
    sj_store_relaxed_u64(&draws, seed);
    sj__profile_rate = settings->profile_rate < UINT32_MAX ? (uint32_t)settings->profile_rate : UINT32_MAX;
    sj_store_relaxed_u64(&block_until, sj__profile_draw());
    memcpy(sj__profile.magic, SJ_PROFILE_MAGIC, SJ_PROFILE_MAGIC_BYTES);
    sj__profile.version = SJ_PROFILE_VERSION;
    sj__profile.bytes = sizeof sj__profile;
    sj__profile.rate_bytes = sj__profile_rate;
    sj__profile.site_bytes = sizeof(struct sj_profile_site);
    sj__profile.chunk_sites = SJ_PROFILE_CHUNK_SITES;
    sj__profile.self = (uint64_t)(uintptr_t)&sj__profile;
}

bool sj__profile_is_due(size_t size_bytes)
{
    if (sj_likely(sj__profile_rate == 0))
        return false;
    int64_t until = (int64_t)sj_fetch_sub_relaxed_u64(&block_until, size_bytes);
    if (until >= (int64_t)size_bytes || until < 0) /* below 0: another thread's is, and it has not drawn again yet */
        return false;
    (void)sj_fetch_add_relaxed_u64(&block_until, sj__profile_draw() + size_bytes - (uint64_t)until);
    return true;
}

/* What a sample stands for. */
static struct sj_profile_tally weigh(size_t size_bytes, size_t chance_bytes)
{
    uint64_t chance = sj__countdown_chance(chance_bytes, sj__profile_rate) >> SJ_PROFILE_OBJECT_SHIFT;
    uint64_t objects = UINT64_MAX / (chance != 0 ? chance : 1);
    return (struct sj_profile_tally){ .bytes = (uint64_t)(((sj_u128)size_bytes * objects) >> SJ_PROFILE_OBJECT_SHIFT),
                                      .objects = objects };
}

static void add(struct sj_profile_tally *to, const struct sj_profile_tally *weight)
{
    to->bytes += weight->bytes;
    to->objects += weight->objects;
}

static void take_away(struct sj_profile_tally *from, const struct sj_profile_tally *weight)
{
    from->bytes -= weight->bytes;
    from->objects -= weight->objects;
}

/* ---- Sites ------------------------------------------------------------------------------------------------------- */

struct stack {
    const void *frames[OWN_FRAMES + SJ_PROFILE_FRAMES];
    const void **first; /* in the program, if that is known */
    uint32_t count;
    uint64_t hash;
};

static void walk(struct stack *stack, const void *caller)
{
    size_t count = sj__stack_walk_often(stack->frames, OWN_FRAMES + SJ_PROFILE_FRAMES), first = 0;
    while (first < count && stack->frames[first] != caller)
        first++;
    first = first < count ? first : 0;
    stack->first = stack->frames + first;
    stack->count = (uint32_t)(count - first < SJ_PROFILE_FRAMES ? count - first : SJ_PROFILE_FRAMES);
    stack->hash = stack->count;
    for (uint32_t i = 0; i < stack->count; i++) {
        stack->hash = (stack->hash ^ (uint64_t)(uintptr_t)stack->first[i]) * 0xff51afd7ed558ccdu;
        stack->hash ^= stack->hash >> 32;
    }
}

static struct sj_profile_site *site_at(uint32_t index)
{
    struct sj_profile_site *chunk =
        (struct sj_profile_site *)(uintptr_t)sj__profile.chunks[index / SJ_PROFILE_CHUNK_SITES];
    return &chunk[index % SJ_PROFILE_CHUNK_SITES];
}

/* A new site; false if there can be no more. */
static bool make_site(uint32_t *index)
{
    *index = sj_load_relaxed_u32(&sj__profile.sites);
    if (*index == SJ_PROFILE_SITES_MAX)
        return false;
    if (*index % SJ_PROFILE_CHUNK_SITES == 0) {
        void *chunk = sj__arena_alloc(SJ_PROFILE_CHUNK_SITES * sizeof(struct sj_profile_site));
        if (chunk == NULL)
            return false;
        sj__profile.chunks[*index / SJ_PROFILE_CHUNK_SITES] = (uint64_t)(uintptr_t)chunk;
    }
    sj_store_release_u32(&sj__profile.sites, *index + 1); /* pairs with the load in sj__profile_site_of */
    return true;
}

static bool is_of(const struct sj_profile_site *site, const struct stack *stack)
{
    return site->hash == stack->hash && site->frames_count == stack->count &&
           memcmp(site->frames, stack->first, stack->count * sizeof site->frames[0]) == 0;
}

/* The site of a stack, made if need be, or the first one. False if there is none at all. */
static bool find_site(const struct stack *stack, uint32_t *index)
{
    if (sj_load_relaxed_u32(&sj__profile.sites) == 0 && !make_site(index)) /* the first one */
        return false;
    size_t slot = stack->hash % SLOTS;
    for (; site_slots[slot] != 0; slot = (slot + 1) % SLOTS)
        if (is_of(site_at(site_slots[slot]), stack)) {
            *index = site_slots[slot];
            return true;
        }
    if (!make_site(index)) {
        *index = 0;
        sj__profile.lost_stacks++;
        return true;
    }
    struct sj_profile_site *site = site_at(*index);
    site->hash = stack->hash;
    site->frames_count = stack->count;
    memcpy(site->frames, stack->first, stack->count * sizeof site->frames[0]);
    site_slots[slot] = *index;
    return true;
}

/* ---- Records of blocks ------------------------------------------------------------------------------------------- */

static struct sj_profile_record *record_at(uint32_t number)
{
    return &sj__profile_records[(number - 1) / SJ_PROFILE_CHUNK_RECORDS][(number - 1) % SJ_PROFILE_CHUNK_RECORDS];
}

/* 0: there are too many. */
static uint32_t make_record(void)
{
    uint32_t number = free_first;
    if (number != 0) {
        free_first = record_at(number)->next;
        return number;
    }
    if (records_used == RECORDS_MAX)
        return 0;
    struct sj_profile_record **chunk = &sj__profile_records[records_used / SJ_PROFILE_CHUNK_RECORDS];
    if (*chunk == NULL)
        *chunk = sj__arena_alloc(SJ_PROFILE_CHUNK_RECORDS * sizeof **chunk);
    return *chunk != NULL ? ++records_used : 0;
}

static void forget_locked(const void *block)
{
    struct sj_atomic_u32 *head = &sj__profile_heads[sj_profile_head_of(block)];
    struct sj_profile_record *before = NULL;
    uint32_t number = sj_load_relaxed_u32(head);
    while (number != 0 && record_at(number)->address != (uint64_t)(uintptr_t)block) {
        before = record_at(number);
        number = before->next;
    }
    if (number == 0)
        return;
    struct sj_profile_record *record = record_at(number);
    if (before != NULL)
        before->next = record->next;
    else
        sj_store_relaxed_u32(head, record->next);
    take_away(&site_at(record->site)->live, &record->weight);
    take_away(&sj__profile.live, &record->weight);
    sj__profile.live_samples--;
    record->address = 0;
    record->next = free_first;
    free_first = number;
    sj_probe_free(block);
}

/* Remembers what was live when it was most. True if it is now. */
static bool note_peak(void)
{
    uint64_t last = sj__profile.peak.bytes;
    if (sj__profile.live.bytes <= last + last / PEAK_FRACTION)
        return false;
    sj__profile.peak = sj__profile.live;
    uint32_t sites = sj_load_relaxed_u32(&sj__profile.sites);
    for (uint32_t i = 0; i < sites; i++)
        site_at(i)->peak = site_at(i)->live;
    return true;
}

/* True if there is a new peak. */
static bool remember_locked(const void *block, const struct sj_profile_tally *weight, const struct stack *stack)
{
    uint32_t index;
    forget_locked(block); /* left by a free in a signal handler */
    if (!find_site(stack, &index))
        return false;
    struct sj_profile_site *site = site_at(index);
    site->samples++;
    add(&site->allocated, weight);
    add(&sj__profile.allocated, weight);
    uint32_t number = make_record();
    if (number == 0) {
        sj__profile.lost_blocks++;
        return false;
    }
    struct sj_atomic_u32 *head = &sj__profile_heads[sj_profile_head_of(block)];
    *record_at(number) = (struct sj_profile_record){
        .next = sj_load_relaxed_u32(head), .site = index, .address = (uint64_t)(uintptr_t)block, .weight = *weight
    };
    sj_store_release_u32(head, number); /* pairs with the load in sj__profile_site_of */
    add(&site->live, weight);
    add(&sj__profile.live, weight);
    sj__profile.live_samples++;
    return note_peak();
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

/* Bracket a change. */
static enum sj_inside begin(void)
{
    enum sj_inside outer = sj__heap_inside;
    sj__heap_inside = SJ_INSIDE_SPANS;
    sj__lock(&profile_lock);
    (void)sj_exchange_acq_rel_u32(&sj__profile.changes, sj_load_relaxed_u32(&sj__profile.changes) + 1);
    return outer;
}

static void end(enum sj_inside outer)
{
    sj_store_release_u32(&sj__profile.changes, sj_load_relaxed_u32(&sj__profile.changes) + 1); /* for other processes */
    sj__unlock(&profile_lock);
    sj__heap_inside = outer;
}

bool sj__profile_note_malloc(const void *block, size_t size_bytes, size_t chance_bytes, const void *caller)
{
    struct stack stack;
    walk(&stack, caller);
    struct sj_profile_tally weight = weigh(size_bytes, chance_bytes);
    sj_probe_alloc(block, size_bytes, weight.bytes);
    enum sj_inside outer = begin();
    bool is_peak = remember_locked(block, &weight, &stack) && sj__profile.peak.bytes >= PEAK_TELL_BYTES;
    end(outer);
    return is_peak;
}

/* In a signal handler that has interrupted us the record stays, until the next sample at that place. */
void sj__profile_forget(const void *block)
{
    if (sj__heap_inside == SJ_INSIDE_SPANS)
        return;
    enum sj_inside outer = begin();
    forget_locked(block);
    end(outer);
}

void sj__profile_forget_those(bool (*is_one)(const void *block, const void *of), const void *of)
{
    if (sj__profile_rate == 0)
        return;
    enum sj_inside outer = begin();
    for (uint32_t number = 1; number <= records_used; number++) {
        const void *block = (const void *)(uintptr_t)record_at(number)->address;
        if (block != NULL && is_one(block, of))
            forget_locked(block);
    }
    end(outer);
}

const struct sj_profile_site *sj__profile_site_of(const void *block)
{
    uint32_t number = sj_load_acquire_u32(&sj__profile_heads[sj_profile_head_of(block)]); /* pairs with the store */
    for (unsigned steps = 0; number != 0 && steps < RECORDS_MAX; steps++) {
        const struct sj_profile_record *record = record_at(number);
        uint32_t site = record->site;
        if (record->address == (uint64_t)(uintptr_t)block)
            return site < sj_load_acquire_u32(&sj__profile.sites) ? site_at(site) : NULL; /* pairs with make_site */
        number = record->next;
    }
    return NULL;
}

void sj__profile_lock_for_fork(void)
{
    sj__lock(&profile_lock);
}

void sj__profile_unlock_after_fork(bool in_child)
{
    if (in_child)
        sj__lock_reset(&profile_lock);
    else
        sj__unlock(&profile_lock);
}
