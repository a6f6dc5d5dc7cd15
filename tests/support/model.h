/* SPDX-License-Identifier: MIT */
/*
 * What: the model: an allocator's calls, driven by a stream of bytes, checked after each against a naive oracle.
 *
 * Why this way: the stream is the whole input, so the same code runs random operations, replays a trace, and is the
 * body of a fuzz target; a failing stream can be cut down record by record. The allocator is a table of functions,
 * so that one object serves the prefixed names under sanitizers and the plain names under preload.
 *
 * The stream is records of MODEL_RECORD_BYTES bytes, little endian; what is left over at the end is not read:
 *
 *     +----+-----------+---------------+-------------------------------+
 *     | op | alignment | slot (16 bit) | size code (32 bit)            |
 *     +----+-----------+---------------+-------------------------------+
 *
 * op modulo MODEL_OP_COUNT; alignment is a power, modulo 17; slot modulo MODEL_SLOTS; the size code is a number of
 * bits (top 5 bits, modulo 24) and a value of that many bits, so that all magnitudes
 * to 64 KiB are as likely, and some go to 8 MiB.
 *
 * Invariants checked: no two live blocks overlap; contents are kept, through realloc too, up to the usable size;
 * alignment; calloc reads zero; the usable size covers the request and does not change; with `clean`, no byte of an
 * old object is readable in a new one.
 *
 * Concurrency: a struct model belongs to one thread at a time; threads exchange blocks by model_take and model_put.
 */
#ifndef SJ_TESTS_SUPPORT_MODEL_H
#define SJ_TESTS_SUPPORT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_RECORD_BYTES = 8, MODEL_SLOTS = 512 };

enum model_op {
    MODEL_MALLOC,
    MODEL_MALLOC_AGAIN, /* twice in the list: what programs do most */
    MODEL_FREE,
    MODEL_FREE_AGAIN, /* another slot than the last FREE; never a double free */
    MODEL_CALLOC,
    MODEL_REALLOC,
    MODEL_REALLOCARRAY,
    MODEL_ALIGNED_ALLOC,
    MODEL_POSIX_MEMALIGN,
    MODEL_MEMALIGN,
    MODEL_FREE_SIZED,
    MODEL_CHECK,
    MODEL_FREE_RANGE, /* frees up to 64 neighbouring slots */
    MODEL_TRIM,       /* one time in 64 */
    MODEL_IMPOSSIBLE, /* calls that must fail and leave everything as it was */
    MODEL_OP_COUNT
};

/* The calls under test; free_sized, free_aligned_sized and trim may be NULL. */
struct model_calls {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    void (*free)(void *);
    void (*free_sized)(void *, size_t);
    void (*free_aligned_sized)(void *, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*memalign)(size_t, size_t);
    size_t (*usable_size)(void *);
    int (*trim)(size_t);
};

struct model_block {
    unsigned char *bytes; /* NULL: no block here */
    size_t size_bytes;    /* as asked for */
    size_t usable_bytes;  /* as told by usable_size */
    size_t alignment;     /* 0 if made without one */
    uint64_t pattern;     /* what it was filled with */
};

struct model {
    const struct model_calls *calls;
    bool clean;         /* memory of malloc must read as zero */
    bool quick;         /* large blocks are filled and checked at a few places of each page only */
    size_t live_bytes;  /* usable bytes of all live blocks */
    size_t limit_bytes; /* allocations that would exceed this are left out */
    uint64_t next_pattern;
    size_t operations; /* done so far, for the message of a failure */
    char failure[256]; /* empty while all is well */
    struct model_block blocks[MODEL_SLOTS];
};

void model_start(struct model *model, const struct model_calls *calls, bool clean);

/* Runs the stream; false if a check failed (see `failure`). */
bool model_run(struct model *model, const unsigned char *stream, size_t bytes);

/* Checks and frees all blocks; false if a check failed, now or before. */
bool model_finish(struct model *model);

/* Moves a block out of the model or into an empty slot of it, for another thread. */
struct model_block model_take(struct model *model, size_t slot);
bool model_put(struct model *model, size_t slot, struct model_block block);

/* Checks the contents of one block. */
bool model_check_block(struct model *model, const struct model_block *block);

/* Fills a buffer with a stream made from the seed. */
void model_random_stream(uint64_t seed, unsigned char *stream, size_t bytes);

/* Prints a stream readably, one record a line, with `print`, at most `records` of them. */
void model_print(const unsigned char *stream, size_t bytes, size_t records, void (*print)(const char *line));

/*
 * Runs a stream in a child process on a fresh model; true if all checks held and the child ended with 0.
 * `report` is where the child's failure goes: -1 for nowhere.
 */
bool model_survives(const struct model_calls *calls, bool clean, const unsigned char *stream, size_t bytes,
                    bool report);

/* Cuts a failing stream down in place, by trying children, for at most that long; returns the new length. */
size_t model_shrink(const struct model_calls *calls, bool clean, unsigned char *stream, size_t bytes, double seconds);

#endif
