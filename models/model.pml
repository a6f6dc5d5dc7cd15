/* SPDX-License-Identifier: MIT
 *
 * What: the processes of the free protocol's model: threads with heaps, remote frees, the store buffers' drain, the
 * judge.
 *
 * Why this way: a thread does any step of the protocol that its state admits, in any order and as often as the sizes
 * allow, and may stop for good at any moment between two calls; nothing is tuned to a schedule. Remote frees begin in
 * the order of their numbers: they differ in nothing else, and it divides the states by up to FREES!.
 *
 * Invariants: judged at each step by the assertions in protocol.pml, and at the end, when nothing can move any more,
 * by `init`: nobody stands in the middle of a call; when the owners have folded what is in their queues, no R bit is
 * left, no slab is queued, and no object was freed twice without an alarm.
 *
 * Concurrency: all of it.
 */
#include "protocol.pml"

#if OBJECTS == 1
#define FOR_OBJECTS(option) option(0)
#elif OBJECTS == 2
#define FOR_OBJECTS(option) option(0) option(1)
#elif OBJECTS == 3
#define FOR_OBJECTS(option) option(0) option(1) option(2)
#elif OBJECTS == 4
#define FOR_OBJECTS(option) option(0) option(1) option(2) option(3)
#endif
#if SLABS == 1
#define FOR_SLABS(option) option(0)
#elif SLABS == 2
#define FOR_SLABS(option) option(0) option(1)
#endif
#if THREADS == 1
#define FOR_THREADS(option) option(0)
#elif THREADS == 2
#define FOR_THREADS(option) option(0) option(1)
#elif THREADS == 3
#define FOR_THREADS(option) option(0) option(1) option(2)
#endif

/* ---- a remote free ---- */

#define OPTION_BEGIN(j) \
    :: d_step { STEP(started == number && given[j] > 0) given[j]--; started++; busy++; i = j }

proctype remote_free(byte number)
{
    byte i;
    byte my_owner;
    byte my_generation;
    byte my_geometry;
    bit was_queued;
#ifdef LIMIT_STALE_CLAIM
    byte judged;
#endif

    if
    FOR_OBJECTS(OPTION_BEGIN)
    fi;

    /* The order of these loads is part of the protocol with a generation: that, the owner, the geometry, L. */
#if GENERATIONS > 1 && !defined(BREAK_GENERATION_LAST)
    d_step { STEP(true) my_generation = generation[SLAB(i)] };
#endif
#ifdef ALLOW_LOOK_AT_R
    d_step {
        STEP(true)
        if
        :: HAS(R, i) -> ALARM
        :: else
        fi
    };
#endif
#ifdef ALLOW_GEOMETRY_BEFORE_OWNER
    d_step { STEP(true) my_geometry = geometry[SLAB(i)] };
#endif
#if GENERATIONS > 1 || defined(ALLOW_EARLY_OWNER)
    d_step {
        STEP(true) my_owner = owner[SLAB(i)];
        if
        :: my_owner == 0 -> ALARM
        :: else
        fi
    };
#endif
#if (GENERATIONS > 1 && !defined(ALLOW_GEOMETRY_BEFORE_OWNER)) || defined(LIMIT_NO_GENERATION)
    d_step { STEP(true) my_geometry = geometry[SLAB(i)] };
#endif
#ifndef BREAK_L_AFTER_CLAIM
    d_step {
        STEP(true) judge(i)
#ifdef LIMIT_STALE_CLAIM
        ; judged = object[i]
#endif
    };
#endif
#ifdef BREAK_GENERATION_LAST
    d_step { STEP(true) my_generation = generation[SLAB(i)] };
#endif

#ifndef BREAK_QUEUE_BEFORE_CLAIM
    d_step {
        STEP(true) claim(i, my_generation, my_geometry); my_geometry = 0; my_generation = 0
#if GENERATIONS > 1 && !defined(ALLOW_EARLY_OWNER)
        ; my_owner = 0
#endif
#ifdef LIMIT_STALE_CLAIM
        ; assert(alarm || judged == object[i])
#endif
    };
#endif
#ifdef BREAK_L_AFTER_CLAIM
    d_step { STEP(true) judge(i) };
#endif
    queue_once(SLAB(i));
done:
#ifdef BREAK_QUEUE_BEFORE_CLAIM
    atomic { STEP(true) claim(i, my_generation, my_geometry) };
#endif
    atomic { STEP(true) busy--; i = 0; my_owner = 0 }
}

/* ---- a thread ---- */

#ifdef BREAK_CHECK_AT_REFILL
#define MAY_HAND_OUT(i) HAS(W, i)
#else
#define MAY_HAND_OUT(i) HAS(A, i)
#endif

#define OPTION_HAND_OUT(i) \
    :: atomic { \
           STEP(h != 0 && own[SLAB(i)] == h && MAY_HAND_OUT(i) && mallocs < MALLOCS && len(buffer[t]) + 2 <= BUFFER) \
           d_step { assert_writer(t, h); hand_out(t, i) }; \
           if \
           :: !alarm -> publish(t, i) \
           :: else \
           fi \
       }

/* Of an object that never left the thread, or that came back from another one. */
#define OPTION_LOCAL_FREE(i) \
    :: d_step { STEP(h != 0 && own[SLAB(i)] == h && held[i] > 0 && nfull(buffer[t])) \
           held[i]--; assert_writer(t, h); local_free(t, i) } \
    :: d_step { STEP(h != 0 && own[SLAB(i)] == h && given[i] > 0 && nfull(buffer[t])) \
           given[i]--; assert_writer(t, h); local_free(t, i) }

#ifdef BREAK_CHECK_AT_REFILL
#define OPTION_REFILL(s) \
    :: d_step { STEP(h != 0 && own[s] == h && W[s] == 0 && A[s] != 0) \
           if \
           :: (R[s] & A[s]) != 0 -> ALARM \
           :: else -> W[s] = A[s]; A[s] = 0 \
           fi }
#else
#define OPTION_REFILL(s)
#endif

/* On its slow path a thread may fold a slab that nobody queued, or that stands in another thread's queue. */
#ifdef LIMIT_QUEUE_ONLY
#define OPTION_FOLD_DIRECTLY(s)
#else
#define OPTION_FOLD_DIRECTLY(s) \
    :: atomic { STEP(h != 0 && own[s] == h && R[s] != 0) \
           busy++; as = h; slab = s + 1; next = 0; folders[as]++ }; goto fold
#endif

#define OPTION_POP(unused) \
    :: d_step { STEP(h != 0 && head[h] != 0) \
           busy++; as = h; folders[as]++; drain(t); slab = head[h]; head[h] = 0 }; goto walk

#if RETIRES > 0
#define OPTION_RETIRE(s) \
    :: d_step { STEP(h != 0 && own[s] == h && MAY_RETIRE(s) && nfull(buffer[t])) \
           busy++; slab = s + 1; retire(t, s) }; goto retiring
#define OPTION_OPEN(s) \
    :: d_step { STEP(h != 0 && own[s] == 0) \
           busy++; drain(t); own[s] = h; slab = s + 1; buffer[t] ! GEOMETRY, s, NEXT_LIFE(s) }; goto opening
#else
#define OPTION_RETIRE(s)
#define OPTION_OPEN(s)
#endif

/* Dead heaps. Who works on one has taken it off the list, under the list's lock, so that it is nobody else's
 * meanwhile. */
#if HEAPS > 1 || FRESH > 0
#ifdef BREAK_DEAD_FOLD_UNLOCKED
#define LOCK(g)
#else
#define LOCK(g) locked = locked | BIT(g);
#endif
#define IS_WAITING(g) (dead[g] && (locked & BIT(g)) == 0)
#define OPTION_DEAD_FOLD(g) \
    :: d_step { STEP(h != 0 && IS_WAITING(g) && head[g] != 0) \
           LOCK(g) SEEN_DEAD_FOLD; busy++; as = g; folders[as]++; drain(t); slab = head[g]; head[g] = 0 }; goto walk
#endif
#if FRESH > 0
#define OPTION_ADOPT(g) \
    :: d_step { STEP(fresh && h == 0 && IS_WAITING(g)) \
           fresh = 0; dead[g] = 0; runner[g] = t + 1; h = g; \
           if \
           :: head[g] != 0 -> SEEN_ADOPTION \
           :: else \
           fi }
#else
#define OPTION_ADOPT(g)
#endif

#if TAKES > 0
#define OPTION_TAKE(s) \
    :: d_step { STEP(h != 0 && own[s] != 0 && own[s] != h && IS_WAITING(own[s]) && takes < TAKES) \
           if \
           :: queued[s] -> SEEN_TAKE \
           :: else \
           fi; \
           takes++; drain(t); own[s] = h; owner[s] = h }
#else
#define OPTION_TAKE(s)
#endif

/* A thread's end folds its queue; with FOLD_ALL_AT_EXIT it looks at R of each slab it owns, too. What must be found
 * then? */
#if defined(FOLD_ALL_AT_EXIT) || defined(LIMIT_EXIT_FOLDS_QUEUE)
#define MUST_BE_FOUND(s) true
#else
#define MUST_BE_FOUND(s) (head[h] == s + 1)
#endif

#if EXITS > 0
#define OPTION_EXIT(unused) \
    :: d_step { STEP(h != 0 && ((EXITS >> t) & 1) == 1) \
           busy++; leaving = 1; as = h; folders[as]++; \
           for (word : 0 .. OBJECTS - 1) { \
               if \
               :: own[SLAB(word)] == h && claims[word] > 1 && MUST_BE_FOUND(SLAB(word)) -> doubled = 1 \
               :: else \
               fi \
           } \
           drain(t); slab = head[h]; head[h] = 0 }; goto walk
#else
#define OPTION_EXIT(unused)
#endif

#ifdef BREAK_LATE_LOCAL_FREE
#define OPTION_LATE(i) \
    :: d_step { STEP(late != 0 && own[SLAB(i)] == late && held[i] > 0 && nfull(buffer[t])) \
           held[i]--; assert_writer(t, late); local_free(t, i) }
#else
#define OPTION_LATE(i)
#endif

proctype thread(byte t; byte h)
{
    byte as;       /* the heap in whose name it folds */
    byte slab;     /* number + 1 */
    byte next;
    byte my_owner;
    byte bits;
    bit was_queued;
#if FRESH > 0
    bit fresh = (h == 0);
#endif
#if EXITS > 0
    bit leaving;
    bit doubled;
    byte scanned;
#endif
#ifdef BREAK_LATE_LOCAL_FREE
    byte late;
#endif

idle:
    do
    FOR_OBJECTS(OPTION_HAND_OUT)
    FOR_OBJECTS(OPTION_LOCAL_FREE)
    FOR_SLABS(OPTION_REFILL)
    FOR_SLABS(OPTION_FOLD_DIRECTLY)
    OPTION_POP(0)
    FOR_SLABS(OPTION_RETIRE)
    FOR_SLABS(OPTION_OPEN)
#if EXITS > 0
    OPTION_DEAD_FOLD(1)
    OPTION_ADOPT(1)
#endif
#if EXITS > 1
    OPTION_DEAD_FOLD(2)
    OPTION_ADOPT(2)
#endif
    FOR_SLABS(OPTION_TAKE)
    OPTION_EXIT(0)
    FOR_OBJECTS(OPTION_LATE)
    :: d_step { STEP(((STOPS >> t) & 1) == 1) stopped = stopped | BIT(h) }; break
    od;
    goto stop;

#if RETIRES > 0
retiring:
    atomic {
        STEP(true)
        d_step { put_away(t, slab - 1) };
        if
        :: as != 0 -> goto done
        :: else -> slab = 0; busy--; goto idle
        fi
    };
opening:
    atomic { STEP(true) d_step { open(t, slab - 1, h); slab = 0; busy-- } };
    goto idle;
#endif

walk:
    atomic {
        STEP(true)
        if
        :: slab == 0 -> goto walked
        :: else
        fi;
        /* `queued` is still set, so nobody writes the link: this load may count as one with the next step. */
#ifndef BREAK_LINK_AFTER_QUEUED
        next = link[slab - 1]
#endif
    };
#ifdef BREAK_R_BEFORE_QUEUED
    d_step { STEP(true) bits = R[slab - 1] };
#endif
#ifdef BREAK_OWNER_BEFORE_QUEUED
    d_step { STEP(true) my_owner = owner[slab - 1] };
#endif
    d_step { STEP(true) drain(t); queued[slab - 1] = 0; in_queue[slab - 1]-- };
#ifdef BREAK_LINK_AFTER_QUEUED
    d_step { STEP(true) next = link[slab - 1] };
#endif
    atomic {
        STEP(true)
#ifndef BREAK_OWNER_BEFORE_QUEUED
        my_owner = owner[slab - 1];
#endif
        if
        :: my_owner == 0 -> SEEN_POP_RETIRED; goto done
#ifdef BREAK_NO_FORWARD
        :: my_owner != 0 && my_owner != as -> goto done
#else
        :: my_owner != 0 && my_owner != as -> goto forward
#endif
        :: my_owner == as -> goto fold
        fi
    };

forward:
    atomic { STEP(true) SEEN_FORWARD };
    queue_once(slab - 1);
    goto done;

fold:
    atomic {
        STEP(len(buffer[t]) < BUFFER)
        d_step {
            assert_writer(t, as);
            fold_read(slab - 1, bits)
        };
#ifndef BREAK_R_CLEARED_FIRST
        if
        :: alarm || bits == 0 -> skip
        :: else -> fold_unlive(t, slab - 1, bits)
        fi;
#endif
        if
        :: bits == 0 -> goto done
        :: else
        fi
    };
    d_step {
        STEP(true)
        fold_clear(t, slab - 1, bits);
#ifdef BREAK_R_CLEARED_FIRST
        fold_unlive(t, slab - 1, bits);
#endif
        fold_take(slab - 1, bits)
    };
#if RETIRES > 0 && (SLABS > 1 || EXITS > 0)
    /* Here, too, in the midst of a queue, and in a dead thread's name. */
    atomic {
        STEP(true)
        if
        :: MAY_RETIRE(slab - 1) -> d_step { retire(t, slab - 1) }; goto retiring
        :: goto done
        fi
    };
#endif

done:
    atomic {
        STEP(true) slab = next; next = 0; my_owner = 0; bits = 0;
        goto walk
    };

walked:
#if EXITS > 0
    atomic {
        STEP(true)
        if
#ifdef FOLD_ALL_AT_EXIT
        :: leaving ->
            do
            :: scanned < SLABS && own[scanned] != h -> scanned++
            :: scanned < SLABS && own[scanned] == h -> slab = scanned + 1; scanned++; goto fold
            :: scanned == SLABS -> break
            od
#endif
        :: else
        fi
    };
    atomic {
        STEP(true)
        if
        :: leaving ->
            d_step {
                assert(!doubled); /* at the latest at the thread's end */
                drain(t);
                folders[as]--;
                dead[h] = 1;
                runner[h] = 0;
#ifdef BREAK_LATE_LOCAL_FREE
                late = h;
#else
                for (word : 0 .. OBJECTS - 1) {
                    if
                    :: own[SLAB(word)] == h -> given[word] = given[word] + held[word]; held[word] = 0
                    :: else
                    fi
                };
#endif
                leaving = 0;
                doubled = 0;
                scanned = 0;
                as = 0;
                h = 0;
                busy--
            };
            goto idle
        :: else
        fi
    };
#endif
    atomic {
        STEP(true)
        d_step {
            folders[as]--;
            if
            :: as != h -> drain(t); locked = locked & (255 - BIT(as))
            :: else
            fi;
            as = 0;
            busy--
        }
    };
    goto idle;

stop:
    skip
}

/* ---- the store buffers reach memory ---- */

#define OPTION_DRAIN(t) \
    :: d_step { STEP(len(buffer[t]) > 0) drain_one(t) } \
    OPTION_OVERTAKE(t, 0) OPTION_OVERTAKE(t, 1)

/* On a machine with weaker stores than x86-64's those of L come by other slabs' and by release stores, never by their
 * own. */
#ifdef WEAK_STORES
#define OPTION_OVERTAKE(t, s) \
    :: d_step { STEP((s < SLABS && buffer[t] ?? [LIVE, s, y])) buffer[t] ?? LIVE, s, y; L[s] = y; y = 0 }
#else
#define OPTION_OVERTAKE(t, s)
#endif

proctype memory()
{
    do
    FOR_THREADS(OPTION_DRAIN)
    od
}

/* ---- the end ---- */

/* What the owners' next slow paths do; then nothing may be left. */
inline fold_all_queues()
{
    byte as;
    byte slab;
    byte next;
    byte my_owner;

    do
    :: !alarm && head[1] != 0 -> as = 1; slab = head[1]; head[1] = 0; fold_queue()
#if HEAPS > 1
    :: !alarm && head[1] == 0 && head[2] != 0 -> as = 2; slab = head[2]; head[2] = 0; fold_queue()
#endif
    :: else -> break
    od
}

inline fold_queue()
{
    do
    :: slab != 0 && !alarm ->
        next = link[slab - 1];
        queued[slab - 1] = 0;
        in_queue[slab - 1]--;
        if
        :: owner[slab - 1] == 0
        :: owner[slab - 1] == as ->
            if
            :: (R[slab - 1] & (ALL - L[slab - 1])) != 0 -> SEEN_EXIT_ALARM; ALARM
            :: else -> L[slab - 1] = L[slab - 1] & (ALL - R[slab - 1]); R[slab - 1] = 0
            fi
        :: else -> queued[slab - 1] = 1; my_owner = owner[slab - 1]; push(slab - 1, my_owner)
        fi;
        slab = next
    :: else -> break
    od
}

init {
    atomic {
        d_step {
            for (word : 0 .. SLABS - 1) {
                own[word] = 1;
                owner[word] = 1;
                A[word] = ALL
            };
            for (word : 0 .. OBJECTS - 1) {
                claims[word] = 1
            }
        };
        run memory();
#if FREES == 1
        run remote_free(0);
#elif FREES == 2
        run remote_free(0); run remote_free(1);
#elif FREES == 3
        run remote_free(0); run remote_free(1); run remote_free(2);
#elif FREES == 4
        run remote_free(0); run remote_free(1); run remote_free(2); run remote_free(3);
#endif
        runner[1] = 1;
        run thread(0, 1);
#if HEAPS > 1
        runner[2] = 2;
        run thread(1, 2);
#endif
#if FRESH > 0
        run thread(HEAPS, 0)
#endif
    };
    atomic {
        timeout ->
        if
        :: alarm
        :: else ->
            assert(busy == 0 && locked == 0);
            SEEN_QUIET;
            d_step {
                /* A thread that still takes slow paths has seen each of its own slabs' bits. */
                for (word : 0 .. SLABS - 1) {
                    assert(R[word] == 0 || own[word] == 0 || dead[own[word]] || (stopped & BIT(own[word])) != 0
                           || (R[word] & (ALL - L[word])) != 0)
                };
                fold_all_queues();
#ifndef LIMIT_EXIT_FOLDS_QUEUES
                for (word : 0 .. SLABS - 1) {
                    if
                    :: (R[word] & (ALL - L[word])) != 0 -> SEEN_EXIT_ALARM; ALARM
                    :: else
                    fi
                };
#endif
                if
                :: alarm
                :: else ->
                    for (word : 0 .. SLABS - 1) {
#if EXTRA == 0 || GENERATIONS > 1
                        assert(R[word] == 0); /* no wake-up was lost */
#endif
                        assert(!queued[word] && in_queue[word] == 0)
                    };
                    for (word : 0 .. OBJECTS - 1) {
                        assert(claims[word] <= 1)
                    }
                fi
            }
        fi
    }
}
