/* SPDX-License-Identifier: MIT
 *
 * What: how a misuse or a corruption ends the process, and how a warning is printed.
 *
 * Why this way: one function that does not return. By the time it runs, nothing about the heap may be trusted, and the
 * caller may be a signal handler: so no allocation, no lock, no stdio; only write(2) to fd 2, and only while fd 2 is
 * still the file it was at start.
 *
 * Invariants: the first line is `scrubjay: SJ-NNN title key=value...`, on one line, greppable. Details follow, the frames last,
 * and the document (report/document.h) if it is wanted. Then abort(). Once a report has begun, sj__report_begun() stays true for the process and its children.
 *
 * Concurrency: any thread, any signal handler. Of several threads reporting at once the first reports and the others
 * wait for the end of the process.
 */
#ifndef SJ_REPORT_REPORT_H
#define SJ_REPORT_REPORT_H

#include "base/compiler.h"
#include "policy/policy.h"
#include "report/catalogue.h"
#include "report/trace.h"

struct sj_report_facts {
    const void *pointer;              /* the pointer the program passed, or NULL */
    const void *block;                /* the start of the slot or block it concerns, or NULL */
    const char *function;             /* the entry point: "free", "realloc", ... */
    const char *arena;                /* the block's, or NULL */
    const char *label;                /* the block's, or NULL */
    const char *note;                 /* one more phrase, or NULL */
    const void *caller;               /* return address in the program, or NULL */
    size_t size_bytes;                /* size of the slot or block; 0 if unknown */
    size_t given_bytes;               /* size (or alignment) the program stated; 0 if none */
    size_t expected_bytes;            /* what it should have been; 0 if none */
    size_t offset_bytes;              /* distance of `pointer` from `block`, whichever comes first */
    bool has_byte;                    /* `pointer` is a byte that has changed: */
    uint8_t byte_was;                 /* what was left there */
    uint8_t byte_is;                  /* what is there now */
    const char *made_by;              /* the family that made the block, or NULL; then */
    const char *freed_by;             /* the one that was to free it */
    void (*details)(const void *of);  /* writes more lines, or NULL */
    const void *of;                   /* what it is given */
    const struct sj_trace *allocated; /* who allocated the block, or NULL */
    const struct sj_trace *freed;     /* and who freed it, or NULL */
};

/* Ends the process with a report. Async-signal-safe. */
_Noreturn void sj__report_misuse(enum sj_report_id id, const struct sj_report_facts *facts);

/* Reports a misuse that can be refused. Ends the process too, unless onerror=report: then it reports a call site once and
 * returns, and the caller must not do what it was asked for. Async-signal-safe. */
void sj__report_refusable(enum sj_report_id id, const struct sj_report_facts *facts);

/* What was refused, in lines on fd 2; nothing if nothing was. */
void sj__report_summarize(void);

/* True once a report has begun that ends the process. Async-signal-safe. */
bool sj__report_begun(void);

/* Remembers which file fd 2 is, so that no report is ever written into another one. Called once at start. */
void sj__report_start(void);

/* Takes what the settings say about reports; they are kept, not copied. Called once at start. */
void sj__report_configure(const struct sj_settings *settings);

/* Writes `text` (one line, with its newline) to fd 2 if it is still the file it was at start. Async-signal-safe. */
void sj__report_write(const char *text, size_t bytes);

/* One line `scrubjay: warning: <what><detail>`; either part may be NULL. Async-signal-safe. */
void sj__report_warn(const char *what, const char *detail);

#endif
