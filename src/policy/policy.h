/* SPDX-License-Identifier: MIT
 *
 * What: the policy, as plain data: which protections are on, and how the process reports.
 *
 * Why this way: one named field a mitigation. Hot code takes a `const struct sj_policy *` as its first argument and is
 * instantiated with a constant for each level, so a test on a field costs nothing there; cold code and custom policies
 * read the same fields at run time. Nothing else decides what is on.
 *
 * Invariants: after start the one struct sj_settings in force lives in a sealed (read-only) page. A policy that equals
 * a level's constant in every field of struct sj_policy is served by that level's variant.
 *
 * Concurrency: read-only after start.
 */
#ifndef SJ_POLICY_POLICY_H
#define SJ_POLICY_POLICY_H

#include "base/compiler.h"

/* In this order: from RUN on, freed slots rest in their slab. */
enum sj_delay { SJ_DELAY_LIFO, SJ_DELAY_RUN, SJ_DELAY_QUARANTINE };

/* In this order: from FREE on, small slots are scrubbed at free. */
enum sj_scrub { SJ_SCRUB_OFF, SJ_SCRUB_REUSE, SJ_SCRUB_FREE, SJ_SCRUB_AUTO };

/* In this order: each catches what the one before does. */
enum sj_canary { SJ_CANARY_OFF, SJ_CANARY_SLOT, SJ_CANARY_EXACT };

/* In this order: each has the guards of the one before. */
enum sj_guard { SJ_GUARD_OFF, SJ_GUARD_LARGE, SJ_GUARD_EIGHTH, SJ_GUARD_EVERY };

/* When freed large blocks are made inaccessible; in this order: AUTO as long as that takes little of the process's time. */
enum sj_trap_when { SJ_TRAP_OFF, SJ_TRAP_AUTO, SJ_TRAP_ON };

/* In this order: from WRITE on, writes are checked. */
enum sj_copy { SJ_COPY_OFF, SJ_COPY_WRITE, SJ_COPY_BOTH };

enum sj_foreign { SJ_FOREIGN_REPORT, SJ_FOREIGN_IGNORE };

enum sj_onerror { SJ_ONERROR_ABORT, SJ_ONERROR_REPORT };

/* What an arena does that can't give a block. */
enum sj_exhausted { SJ_EXHAUSTED_NULL, SJ_EXHAUSTED_REPORT };

/* Whether accesses whose pointer has another tag than the memory are found, and when: where the kernel is next entered, or at once. */
enum sj_tag { SJ_TAG_OFF, SJ_TAG_ASYNC, SJ_TAG_SYNC };

enum sj_thp { SJ_THP_NEVER, SJ_THP_SYSTEM };

/* The mitigations. */
struct sj_policy {
    uint32_t sample;           /* one allocation in so many is guarded, on the average; 0: none */
    uint32_t walk;             /* a step of the heap check in so many slow paths of a thread; 0: none */
    uint8_t random;            /* bool: random pick of slots and words */
    uint8_t delay;             /* enum sj_delay: when a freed slot may be handed out again */
    uint8_t scrub;             /* enum sj_scrub: when freed bytes are overwritten */
    uint8_t guard;             /* enum sj_guard: guard pages */
    uint8_t sized;             /* bool: the size given to a sized free must match */
    uint8_t fixed_seed;        /* bool: `seed` is the source of all randomness; for tests and measurements only */
    uint16_t scrub_free_bytes; /* scrub=auto: slots up to this size are scrubbed at free, larger ones at reuse */
    uint8_t copy;              /* enum sj_copy: bounds in the copy functions */
    uint8_t trap;              /* enum sj_trap_when: freed large blocks are inaccessible until they are reused */
    uint8_t align_end;         /* bool: large blocks end at their guard */
    uint8_t isolate;           /* bool: addresses of small objects stay their size class's */
    uint8_t verify;            /* bool: free slots are looked at when handed out; scrub=free comes with it */
    uint8_t quarantine;        /* delay=quarantine: 16 KiB of a class, doubled so often */
    uint8_t canary;            /* enum sj_canary: a value behind each object */
    uint8_t types;             /* bool: malloc's, new's and new[]'s blocks go back to where they came from */
};

/* How long free memory is held for reuse, how much of it, and how much memory there may be in all. All can change live. */
struct sj_hold {
    int64_t release_ms;             /* free memory goes back to the system at this age; -1: never by time */
    uint64_t release_max_bytes;     /* at most so much in one pass; the rest in the next */
    uint64_t hold_max_bytes;        /* of free runs, before what is freed goes back at once */
    uint64_t cache_max_bytes;       /* of freed large blocks kept whole, all together */
    uint64_t cache_max_count;       /* of them, how many */
    uint64_t cache_max_entry_bytes; /* the largest that is kept */
    uint64_t limit_bytes;           /* of blocks, slabs, free memory held and records, all together; 0: none */
};

/* Of the value of an option that names a file, with its NUL. */
enum { SJ_TARGET_BYTES = 256, SJ_STATS_BYTES = 112 };

/* The policy and how the process behaves around it. */
struct sj_settings {
    struct sj_policy policy;
    uint8_t level;        /* 0..SJ_LEVEL_MAX: the level the policy started from */
    uint8_t verbose;      /* bool: print one banner line at start */
    uint8_t label_peaks;  /* bool: print the labels of an arena at each new peak */
    uint8_t foreign;      /* enum sj_foreign: what to do with a pointer that is not ours */
    uint8_t onerror;      /* enum sj_onerror: what follows a misuse that can be refused */
    uint8_t thp;          /* enum sj_thp: transparent huge pages for the program's memory */
    uint8_t disable;      /* bool: SCRUBJAY_DISABLE=1 and it may be obeyed */
    uint8_t live;         /* bool: other processes may ask for something, and the level may be raised */
    uint8_t tick;         /* bool: a thread of our own looks after the ages of free memory */
    uint8_t profile;      /* bool: samples by bytes are taken, see profile.h */
    uint8_t floor;        /* of /etc/scrubjay.conf: nothing goes under this level */
    uint8_t exhausted;    /* enum sj_exhausted: of arenas */
    uint8_t tag;          /* enum sj_tag: blocks and their pointers have tags that the processor compares */
    uint32_t sample_rate; /* samples a second at most; 0: any number */
    uint32_t stats_ms;    /* statistics in a file are written anew after so long; 0: at exit only */
    struct sj_hold hold;
    uint64_t profile_rate;              /* a byte in so many is sampled */
    uint64_t seed;                      /* used if policy.fixed_seed */
    char report[SJ_TARGET_BYTES];       /* where reports go besides fd 2: "json:..."; "": nowhere */
    char profile_dump[SJ_TARGET_BYTES]; /* where the profile goes at exit: "file:..."; "": nowhere */
    char stats[SJ_STATS_BYTES]; /* where statistics go at exit and in between: as the option has it; "": nowhere */
};

enum { SJ_LEVEL_MAX = 4, SJ_LEVEL_DEFAULT = 2 };

/* The ladder: the policy of each level, as constants the variants are instantiated with. */
#define SJ_POLICY_LEVEL_0                                                                                   \
    {                                                                                                       \
        .random = 0, .delay = SJ_DELAY_LIFO, .scrub = SJ_SCRUB_OFF, .guard = SJ_GUARD_OFF, .sized = 0,      \
        .fixed_seed = 0, .scrub_free_bytes = SJ_SCRUB_FREE_BYTES_DEFAULT, .copy = SJ_COPY_OFF, .isolate = 0 \
    }
#define SJ_POLICY_LEVEL_1                                                                                    \
    {                                                                                                        \
        .random = 1, .delay = SJ_DELAY_RUN, .scrub = SJ_SCRUB_OFF, .guard = SJ_GUARD_LARGE, .sized = 1,      \
        .fixed_seed = 0, .scrub_free_bytes = SJ_SCRUB_FREE_BYTES_DEFAULT, .copy = SJ_COPY_OFF, .isolate = 0, \
        .sample = 20000                                                                                      \
    }
#define SJ_POLICY_LEVEL_2                                                                                      \
    {                                                                                                          \
        .random = 1, .delay = SJ_DELAY_RUN, .scrub = SJ_SCRUB_AUTO, .guard = SJ_GUARD_LARGE, .sized = 1,       \
        .fixed_seed = 0, .scrub_free_bytes = SJ_SCRUB_FREE_BYTES_DEFAULT, .copy = SJ_COPY_WRITE, .isolate = 1, \
        .sample = 20000                                                                                        \
    }
#define SJ_POLICY_LEVEL_3                                                                                             \
    {                                                                                                                 \
        .random = 1, .delay = SJ_DELAY_QUARANTINE, .scrub = SJ_SCRUB_FREE, .guard = SJ_GUARD_EIGHTH, .sized = 1,      \
        .fixed_seed = 0, .scrub_free_bytes = SJ_SCRUB_FREE_BYTES_DEFAULT, .copy = SJ_COPY_BOTH, .isolate = 1,         \
        .trap = SJ_TRAP_AUTO, .align_end = 1, .verify = 1, .quarantine = 0, .sample = 5000, .canary = SJ_CANARY_SLOT, \
        .types = 1                                                                                                    \
    }
#define SJ_POLICY_LEVEL_4                                                                                       \
    {                                                                                                           \
        .random = 1, .delay = SJ_DELAY_QUARANTINE, .scrub = SJ_SCRUB_FREE, .guard = SJ_GUARD_EVERY, .sized = 1, \
        .fixed_seed = 0, .scrub_free_bytes = SJ_SCRUB_FREE_BYTES_DEFAULT, .copy = SJ_COPY_BOTH, .isolate = 1,   \
        .trap = SJ_TRAP_ON, .align_end = 1, .verify = 1, .quarantine = 2, .sample = 500, .walk = 10000,         \
        .canary = SJ_CANARY_EXACT, .types = 1                                                                   \
    }

/* scrub=auto scrubs slots up to this size at free, while their lines are hot. Measured; see doc/adr. */
#define SJ_SCRUB_FREE_BYTES_DEFAULT 256

enum { SJ_SAMPLE_RATE_DEFAULT = 1000, SJ_PROFILE_RATE_DEFAULT = 512 << 10, SJ_STATS_MS_DEFAULT = 10000 };

/* Measured; see doc/adr/0050 and doc/release.md. */
#define SJ_HOLD_DEFAULT                                                                                              \
    {                                                                                                                \
        .release_ms = 1000, .release_max_bytes = 64 << 20, .hold_max_bytes = 128 << 20, .cache_max_bytes = 64 << 20, \
        .cache_max_count = 256, .cache_max_entry_bytes = 1 << 20                                                     \
    }

extern const struct sj_policy sj__policy_levels[SJ_LEVEL_MAX + 1];

#endif
