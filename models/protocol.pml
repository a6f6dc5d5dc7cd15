/* SPDX-License-Identifier: MIT
 *
 * What: the state of the free protocol and its steps, one shared access a step, as inlines for model.pml.
 *
 * Why this way: a step makes one access to a word that others can see; what stands beside it is private to the thread
 * or ghost state. Two accesses are one step only where a comment says why, or inside a lock, where nobody can see the
 * first without the second. Plain stores of a thread go through its store buffer, a channel that one more process
 * empties at any moment (x86-TSO written out by hand, for spin knows sequential consistency only); a locked instruction
 * and a lock operation empty it first. Remote frees are loads and locked instructions only, so they need no buffer. The
 * intrusive stack is there with its links, not as an abstract set.
 *
 * Invariants: names in capitals are sizes and switches from the command line (-D); BREAK_x plants one fault that spin
 * must find, LIMIT_x shows a limit that the manual states, ALLOW_x takes a variant that must be as good as the text.
 * The ghost variables (claims, remote_first, life, in_queue, busy, folders, runner, alarm) steer nothing but
 * assertions and the end after an alarm.
 *
 * Concurrency: that is what is looked at.
 */

/* The sizes: slabs, slots a slab, heaps, threads that start with a heap, threads that start without one. */
#ifndef SLABS
#define SLABS 1
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef HEAPS
#define HEAPS 1
#endif
#ifndef FRESH
#define FRESH 0
#endif
/* The program: hand-outs in all, remote frees in all, frees beyond the legitimate ones, slabs retired, slabs taken from
 * dead heaps; the threads that may end, and those that may stop taking slow paths, a bit each. */
#ifndef MALLOCS
#define MALLOCS 3
#endif
#ifndef FREES
#define FREES 3
#endif
#ifndef EXTRA
#define EXTRA 0
#endif
#ifndef RETIRES
#define RETIRES 0
#endif
#ifndef EXITS
#define EXITS 0
#endif
#ifndef STOPS
#define STOPS 7
#endif
#ifndef TAKES
#define TAKES 0
#endif
#ifndef BUFFER
#define BUFFER 4
#endif
/* Values of a generation within the words of R, which counts a descriptor's lives; 1: there is none. */
#ifndef GENERATIONS
#define GENERATIONS 1
#endif

#define THREADS (HEAPS + FRESH)
#define OBJECTS (SLABS * SLOTS)
#define ALL     ((1 << SLOTS) - 1)
#define BIT(k)  (1 << (k))
#define SLAB(i) ((i) / SLOTS)
#define SLOT(i) ((i) % SLOTS)
#define MASK(i) BIT(SLOT(i))
#define HAS(word, i) ((word[SLAB(i)] & MASK(i)) != 0)

/* What all threads see. Slab and heap numbers are one up, so that 0 is "none". */
byte R[SLABS];          /* remote bits; with `generation` one atomic word */
byte generation[SLABS];
byte L[SLABS];          /* live bits, as memory has them */
bit  queued[SLABS];
byte link[SLABS];
byte owner[SLABS];      /* 0: retired */
byte geometry[SLABS];   /* base and class: each life of a descriptor has others, here its number */
byte head[HEAPS + 1];   /* of a heap's stack of slabs */
bit  dead[HEAPS + 1];   /* abandoned: off the list of those it is somebody's */
byte locked;            /* the dead heaps that a thread has taken off the list to work on, a bit each */

/* What the owner alone sees, or whoever folds in its stead under the lock. */
byte own_L[SLABS];      /* live bits in program order: L and what still waits in the buffer */
byte A[SLABS];          /* slots that may be handed out */
byte own[SLABS];        /* the owner in program order */
#ifdef BREAK_CHECK_AT_REFILL
byte W[SLABS];          /* the thread's word: slots checked when it was filled */
#endif

/* The program's pointers: frees that a heap's thread may still make of an object, and that other threads may. */
byte held[OBJECTS];
byte given[OBJECTS];
byte extra = EXTRA;
byte mallocs;
byte retires;
byte takes;
byte started;           /* remote frees begun */

/* Ghosts. */
byte claims[OBJECTS];      /* frees of the present object: a local one when it tests, a remote one at its claim */
bit  remote_first[OBJECTS];
byte life[SLABS];
byte in_queue[SLABS];
byte folders[HEAPS + 1];
byte runner[HEAPS + 1];    /* the thread that runs a heap */
byte busy;
byte stopped;              /* heaps whose thread takes no more slow path, a bit each */
bit  alarm;
#ifdef LIMIT_STALE_CLAIM
byte object[OBJECTS];      /* the number of the present object */
#endif

mtype:store = { LIVE, GIVE, OWNER, GEOMETRY };
chan buffer[THREADS] = [BUFFER] of { mtype:store, byte, byte };

/* Outside the state: for use within one d_step only. */
hidden mtype:store kind;
hidden byte x;
hidden byte y;
hidden byte word;

/* Points that a run must have come by, or it proved nothing: noted outside the state, printed at the end. */
c_decl {
\#include <stdio.h>
static unsigned char seen[19];
static const char *const seen_name[19] = {
    "pair", "fold-alarm", "second-claim", "local-alarm", "take-back",
    "open-alarm", "generation-alarm", "exit-alarm", "two-claims", "no-push",
    "long-queue", "late-push", "pop-retired", "forward", "push-to-dead",
    "dead-fold", "adoption", "take", "quiet",
};
__attribute__((destructor)) static void print_seen(void)
{
    int n;
    printf("seen:");
    for (n = 0; n < 19; n++)
        if (seen[n])
            printf(" %s", seen_name[n]);
    printf("\n");
}
}
#define SEEN_STORE_BUFFER_PAIR  c_code { seen[0] = 1; } /* both frees returned, the hand-out check finds them */
#define SEEN_FOLD_ALARM         c_code { seen[1] = 1; }
#define SEEN_SECOND_CLAIM       c_code { seen[2] = 1; }
#define SEEN_LOCAL_ALARM        c_code { seen[3] = 1; } /* the owner's free finds the remote one */
#define SEEN_TAKE_BACK          c_code { seen[4] = 1; }  /* `queued`, the slab having no owner any more */
#define SEEN_OPEN_ALARM         c_code { seen[5] = 1; }
#define SEEN_GENERATION         c_code { seen[6] = 1; }
#define SEEN_EXIT_ALARM         c_code { seen[7] = 1; }
#define SEEN_TWO_CLAIMS         c_code { seen[8] = 1; } /* in one fold */
#define SEEN_NO_PUSH            c_code { seen[9] = 1; } /* `queued` was set */
#define SEEN_LONG_QUEUE         c_code { seen[10] = 1; } /* two slabs in one queue */
#define SEEN_LATE_PUSH          c_code { seen[11] = 1; } /* its owner had changed once more */
#define SEEN_POP_RETIRED        c_code { seen[12] = 1; }
#define SEEN_FORWARD            c_code { seen[13] = 1; }
#define SEEN_PUSH_TO_DEAD       c_code { seen[14] = 1; }
#define SEEN_DEAD_FOLD          c_code { seen[15] = 1; } /* by a thread that does not own the heap */
#define SEEN_ADOPTION           c_code { seen[16] = 1; } /* with something in the queue */
#define SEEN_TAKE               c_code { seen[17] = 1; } /* with the slab in a queue */
#define SEEN_QUIET              c_code { seen[18] = 1; } /* a run to its end without an alarm */

/* An alarm ends the process: nothing steps after it. In a program that frees each object once there is none. */
#define ALARM alarm = 1; assert(EXTRA > 0)
#define STEP(guard) !alarm && (guard) ->

/* A second free of an object that another thread freed, made here and now in one go, would be found on the spot. */
#define FOUND_AT_ONCE(i) assert(!remote_first[i] || HAS(R, i) || !HAS(L, i))

/* ---- the store buffer ---- */

/* L has one writer, so a store of it is the whole word as the writer knows it. GIVE and OWNER are release stores: they
 * come out when all before them have. */
inline drain_one(t)
{
    buffer[t] ? kind, x, y;
    if
    :: kind == LIVE -> L[x] = y
    :: kind == GIVE -> given[x] = given[x] + y
    :: kind == OWNER -> owner[x] = y
    :: kind == GEOMETRY -> geometry[x] = y
    fi;
    x = 0;
    y = 0
}

/* Part of each locked instruction. */
inline drain(t)
{
    do
    :: len(buffer[t]) > 0 -> drain_one(t)
    :: else -> break
    od
}

/* ---- the queue ---- */

/* The compare-and-exchange loop counts as its last round; the link is the pusher's own until then. */
inline push(s, h)
{
    assert(in_queue[s] == 0);
    in_queue[s]++;
    if
    :: own[s] != h -> SEEN_LATE_PUSH
    :: else
    fi;
    link[s] = head[h];
    if
    :: link[s] != 0 -> SEEN_LONG_QUEUE
    :: else
    fi;
    if
    :: dead[h] -> SEEN_PUSH_TO_DEAD
    :: else
    fi;
    head[h] = s + 1
}

/* Sets `queued`, and whoever changed it from 0 brings the slab to its owner. If it has none any more all its bits are
 * folded: the flag is taken back, but then a new owner's freers may have relied on it, so the owner is looked at once
 * more. For a process with my_owner and was_queued that goes on at `done` and has nothing in its store buffer. */
inline queue_once(s)
{
#ifdef ALLOW_TEST_OF_QUEUED
    atomic {
        STEP(true)
        if
        :: queued[s] -> goto done
        :: else
        fi
    };
#endif
    do
    ::  atomic {
            STEP(true) was_queued = queued[s]; queued[s] = 1;
            if
            :: was_queued -> was_queued = 0; SEEN_NO_PUSH; goto done
            :: else
            fi
        };
#ifdef ALLOW_EARLY_OWNER
        break
#else
        atomic {
            STEP(true) my_owner = owner[s];
            if
            :: my_owner != 0 -> break
#ifdef BREAK_DROPPED_WITHOUT_OWNER
            :: else -> goto done
#else
            :: else
#endif
            fi
        };
        d_step { STEP(true) queued[s] = 0; SEEN_TAKE_BACK };
#ifdef BREAK_TAKEN_BACK_UNSEEN
        goto done
#else
        atomic {
            STEP(true)
            if
            :: owner[s] == 0 -> goto done
            :: else
            fi
        }
#endif
#endif
    od;
    atomic { STEP(true) push(s, my_owner) }
}

/* ---- remote free: the judge is a load, the claim a locked instruction ---- */

inline judge(i)
{
    if
    :: HAS(L, i)
    :: else -> ALARM
    fi
}

inline claim(i, my_generation, my_geometry)
{
    if
    :: HAS(R, i) -> SEEN_SECOND_CLAIM; ALARM
#if GENERATIONS == 1
    :: else ->
#else
    :: !HAS(R, i) && generation[SLAB(i)] != my_generation -> SEEN_GENERATION; ALARM
    :: !HAS(R, i) && generation[SLAB(i)] == my_generation ->
#endif
        R[SLAB(i)] = R[SLAB(i)] | MASK(i);
#if RETIRES > 0 && (GENERATIONS > 1 || defined(LIMIT_NO_GENERATION))
        /* The bit stands for the object that was meant, not for one of another life. */
        assert(my_geometry == life[SLAB(i)]);
#endif
        if
        :: claims[i] == 0 -> remote_first[i] = 1
        :: else
        fi;
        if
        :: claims[i] < 2 -> claims[i]++
        :: else
        fi;
        FOUND_AT_ONCE(i)
    fi
}

/* ---- the owner: local free and hand-out ---- */

/* The load of R is the one shared access; what follows goes into the buffer. */
inline local_free(t, i)
{
    if
    :: !HAS(own_L, i) -> ALARM
#ifndef BREAK_NO_LOCAL_CHECK
    :: HAS(own_L, i) && HAS(R, i) -> SEEN_LOCAL_ALARM; ALARM
#endif
    :: else ->
        assert(claims[i] == 0); /* whatever was freed before is found now */
        claims[i]++;
        own_L[SLAB(i)] = own_L[SLAB(i)] & (ALL - MASK(i));
        buffer[t] ! LIVE, SLAB(i), own_L[SLAB(i)];
        assert(!HAS(A, i));
        A[SLAB(i)] = A[SLAB(i)] | MASK(i)
    fi
}

inline hand_out(t, i)
{
    if
#ifndef BREAK_NO_HANDOUT_CHECK
#ifndef BREAK_CHECK_AT_REFILL
    :: HAS(R, i) ->
        if
        :: claims[i] == 2 -> SEEN_STORE_BUFFER_PAIR
        :: else
        fi;
        ALARM
#endif
#endif
    :: HAS(own_L, i) -> ALARM
    :: else ->
        /* The object before was freed, once; had it been freed twice, somebody would have spoken by now. */
        assert(claims[i] == 1);
        claims[i] = 0;
        remote_first[i] = 0;
        A[SLAB(i)] = A[SLAB(i)] & (ALL - MASK(i));
#ifdef BREAK_CHECK_AT_REFILL
        W[SLAB(i)] = W[SLAB(i)] & (ALL - MASK(i));
#endif
        mallocs++;
#ifdef LIMIT_STALE_CLAIM
        object[i]++;
#endif
        own_L[SLAB(i)] = own_L[SLAB(i)] | MASK(i);
        buffer[t] ! LIVE, SLAB(i), own_L[SLAB(i)]
    fi
}

/* Who may free the new object, and how often: the legitimate free is the owner's or another thread's. */
inline publish(t, i)
{
    if
    :: held[i]++
    :: buffer[t] ! GIVE, i, 1
    :: extra >= 1 -> extra = extra - 1; buffer[t] ! GIVE, i, 2
    :: extra >= 1 -> extra = extra - 1; held[i]++; buffer[t] ! GIVE, i, 1
    :: extra >= 2 -> extra = extra - 2; buffer[t] ! GIVE, i, 3
    :: extra >= 2 -> extra = extra - 2; held[i]++; buffer[t] ! GIVE, i, 2
    fi
}

/* ---- fold: three shared accesses, the load of R, the store of L (buffered), the locked and of R ---- */

inline assert_writer(t, h)
{
    assert((runner[h] == t + 1 && !dead[h]) || (dead[h] && (locked & BIT(h)) != 0));
    assert(folders[h] <= 1)
}

inline fold_read(s, bits)
{
#ifndef BREAK_R_BEFORE_QUEUED
    bits = R[s];
#endif
    if
    :: (bits & (ALL - own_L[s])) != 0 -> SEEN_FOLD_ALARM; ALARM
    :: else
    fi;
    if
    :: SLOTS > 1 && bits == ALL -> SEEN_TWO_CLAIMS
    :: else
    fi
}

inline fold_unlive(t, s, bits)
{
    if
    :: bits != 0 -> own_L[s] = own_L[s] & (ALL - bits); buffer[t] ! LIVE, s, own_L[s]
    :: else
    fi
}

inline fold_clear(t, s, bits)
{
    drain(t);
#ifdef BREAK_FOLD_STORES_ZERO
    R[s] = 0;
#else
    R[s] = R[s] & (ALL - bits);
#endif
    assert((A[s] & bits) == 0); /* at most one free takes effect */
    for (word : 0 .. SLOTS - 1) {
        FOUND_AT_ONCE((s) * SLOTS + word)
    }
}

inline fold_take(s, bits)
{
    A[s] = A[s] | bits;
    bits = 0
}

/* ---- the life of a descriptor ---- */

/* Retiring: when every slot is available and R is empty; `queued` and the link stay as they are, the slab may still
 * stand in a queue. Opening without a generation: the geometry, then the owner; what is left in R the hand-out check
 * finds. With a generation: the geometry, then an exchange of R that brings the next generation and says which bits
 * were left, then the owner. Slots are handed out after that. */
#if defined(ALLOW_GENERATION_AT_RETIREMENT) || defined(BREAK_GENERATION_AT_RETIREMENT)
#define NEXT_LIFE(s) life[s]
#else
#define NEXT_LIFE(s) (life[s] + 1)
#endif

#ifdef ALLOW_NO_LOOK_AT_RETIREMENT
#define MAY_RETIRE(s) (A[s] == ALL && retires < RETIRES)
#else
#define MAY_RETIRE(s) (A[s] == ALL && retires < RETIRES && R[s] == 0)
#endif

inline retire(t, s)
{
    retires++;
    A[s] = 0;
#ifdef ALLOW_GENERATION_AT_RETIREMENT
    buffer[t] ! OWNER, s, 0 /* first nobody's, then the exchange */
#endif
#ifdef BREAK_GENERATION_AT_RETIREMENT
    next_life(t, s)
#endif
}

/* Onto the list of unused descriptors, whose lock is one more locked instruction. */
inline put_away(t, s)
{
#ifdef ALLOW_GENERATION_AT_RETIREMENT
    next_life(t, s);
#endif
    drain(t);
    owner[s] = 0;
    own[s] = 0
}

inline next_life(t, s)
{
#if GENERATIONS > 1
    drain(t);
    if
#ifndef BREAK_OPENING_WIPES
    :: R[s] != 0 -> SEEN_OPEN_ALARM; ALARM
#endif
    :: else -> R[s] = 0
    fi;
    generation[s] = (generation[s] + 1) % GENERATIONS;
#endif
    life[s]++
}

inline open(t, s, h)
{
#if !defined(ALLOW_GENERATION_AT_RETIREMENT) && !defined(BREAK_GENERATION_AT_RETIREMENT)
    next_life(t, s);
#endif
    A[s] = ALL;
#ifdef BREAK_OPENING_RESETS_QUEUED
    queued[s] = 0;
    link[s] = 0;
#endif
    buffer[t] ! OWNER, s, h
}
