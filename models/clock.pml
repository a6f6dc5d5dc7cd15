/* SPDX-License-Identifier: MIT
 *
 * What: the release clock with its bell, and the requests of other processes in the control block: src/span/release.h,
 * src/heap/pass.c, src/front/live.c and the askers of tools/control.c.
 *
 * Why this way: the two share one word. A pass takes the due time away before it looks; what is put down, and who rings,
 * lowers it meanwhile; a request lies in words that the kernel copies one after the other. A lost due time would be memory
 * that never goes back, a lost bell a request that is never answered. Time is a number that may go up at any moment; a slow
 * path comes by whenever the clock says that something is due.
 *
 * Invariants: judged by assertions on the way, and by `init` when nothing can move any more: nothing held is overdue or
 * without a due time, every asker has had its answer or no try left, every answer was the asker's own.
 *
 * Concurrency: THREADS that take slow paths, PUTS that put memory down, ASKERS that write requests; sequentially
 * consistent. With -DNOTE_INSIDE what was put down is visible to others only when its lock is given back, as by a store
 * buffer, and the due time is looked at before that.
 */
#ifndef THREADS
#define THREADS 2
#endif
#ifndef PUTS
#define PUTS 1
#endif
#ifndef ASKERS
#define ASKERS 1
#endif
#ifndef TRIES
#define TRIES 2 /* requests that an asker may write */
#endif
#ifndef LAST_MS
#define LAST_MS 3
#endif
#define AGE_MS  1 /* release_ms */
#define NEVER   15
#define LIMITS  0 /* a due time sooner than any: by a bell, too */
#define BAD     1 /* EBADMSG */

c_decl {
static unsigned char seen[6];
static const char *const seen_name[6] = { "aged", "rung-again", "bad-message", "written-over", "second-try", "answered" };
__attribute__((destructor)) static void print_seen(void)
{
    int n;
    printf("seen:");
    for (n = 0; n < 6; n++)
        if (seen[n])
            printf(" %s", seen_name[n]);
    printf("\n");
}
}
#define SEEN(n) c_code { seen[n] = 1; }

byte now = 1, due = NEVER;
byte held[PUTS + 1]; /* the time at which it was put down; 0: nothing is there */
bit memory_lock, pass_lock, live_lock;
byte put_down;    /* PUTS that are through */
byte finished;    /* ASKERS that are through */

/* The control block: words that are copied one by one. A request number stands for its command and its checksum. */
byte asked, asked_command, asked_sum;
byte answered, answer_error;
byte answer_is_for;                /* of the error: not in the block */
byte carried[ASKERS * TRIES + 1];  /* how often a request was carried out */

/* sj__release_lower_due: a loop of compare and exchange */
inline lower(to, current)
{
    current = due;
    do
    :: to < current ->
#ifdef BREAK_PLAIN_LOWER
        due = to;
        break
#else
        atomic {
            if
            :: due == current -> due = to; break
            :: else -> current = due
            fi
        }
#endif
    :: else -> break
    od
}

/* sj__live_serve; `goes` is whether a pass follows */
inline serve()
{
    goes = 1;
    if
    :: asked == answered
    :: else ->
        if
        :: atomic { live_lock == 0 -> live_lock = 1 };
            if
            :: asked == answered
            :: else ->
                sequence = asked;
                command = asked_command;
                sum = asked_sum;
                if
#ifdef BREAK_NO_CHECKSUM
                :: true ->
#else
                :: sum == sequence && command == sequence ->
#endif
                    d_step {
                        assert(command == sequence); /* else one asker's command under another's name */
                        carried[command]++;
                        error = 0
                    }
#ifndef BREAK_NO_CHECKSUM
                :: else -> error = BAD; SEEN(2)
#endif
                fi;
                d_step { answer_error = error; answer_is_for = sequence };
                answered = sequence
            fi;
            live_lock = 0
        :: else -> goes = 0
        fi
    fi;
    d_step { sequence = 0; command = 0; sum = 0; error = 0 }
}

/* release_all: one piece of memory a pass, as its budget is bounded; the oldest of what is left */
inline look()
{
    atomic { memory_lock == 0 -> memory_lock = 1 };
    d_step {
        oldest = NEVER;
        given = 0;
        for (i : 0 .. PUTS) {
            if
            :: held[i] != 0 && held[i] + AGE_MS <= at && given == 0 -> held[i] = 0; given = 1; SEEN(0)
            :: held[i] != 0 && (held[i] + AGE_MS > at || given != 0) && held[i] < oldest -> oldest = held[i]
            :: else
            fi
        };
        i = 0;
        memory_lock = 0
    }
}

inline pass()
{
    if
    :: atomic { pass_lock == 0 -> pass_lock = 1 };
        at = now;
#ifdef BREAK_LOOK_BEFORE_EXCHANGE
        look();
        due = NEVER;
#else
        due = NEVER;
        look();
#endif
        if
        :: oldest != NEVER -> lower(oldest + AGE_MS, current)
        :: else
        fi;
#ifndef BREAK_NO_BELL_AGAIN
        if
        :: asked != answered -> SEEN(1); lower(LIMITS, current)
        :: else
        fi;
#endif
        pass_lock = 0
    :: else
    fi;
    d_step { at = 0; oldest = 0; given = 0; current = 0 }
}

proctype slow_paths()
{
    byte sequence, command, sum, error, at, oldest, given, i, current;
    bit goes;
    do
    :: due <= now ->
        serve();
        if
        :: goes -> pass()
        :: else
        fi
    od
}

proctype put(byte number)
{
    byte freed, current;
    freed = now;
#ifdef BREAK_NOTE_BEFORE_PUT
    lower(freed + AGE_MS, current);
    atomic { memory_lock == 0 -> memory_lock = 1 };
    d_step { held[number] = freed; memory_lock = 0 };
#else
    atomic { memory_lock == 0 -> memory_lock = 1 };
#ifdef NOTE_INSIDE
    lower(freed + AGE_MS, current);
    skip; /* a loop must not end where a d_step begins */
    d_step { held[number] = freed; memory_lock = 0 };
#else
    d_step { held[number] = freed; memory_lock = 0 };
    lower(freed + AGE_MS, current);
#endif
#endif
    put_down++
}

/* sj__control_ask */
proctype ask(byte first)
{
    byte mine, tries, read_asked, read_answered, read_error, read_is_for;
    do
    :: mine == 0 && tries == TRIES -> break /* EBUSY */
    :: mine == 0 && tries < TRIES && asked == answered ->
        mine = first + tries;
        tries++;
#ifdef BREAK_SEQUENCE_FIRST
        asked = mine;
        asked_command = mine;
        asked_sum = mine;
        due = LIMITS
#else
#ifdef BREAK_BELL_FIRST
        due = LIMITS;
#endif
        asked_command = mine;
        asked_sum = mine;
        asked = mine;
#ifndef BREAK_BELL_FIRST
        due = LIMITS
#endif
#endif
        ;
        if
        :: tries > 1 -> SEEN(4)
        :: else
        fi
    :: mine != 0 && (asked != mine || answered == mine) ->
        read_asked = asked;
        read_answered = answered;
        d_step { read_error = answer_error; read_is_for = answer_is_for };
        if
#ifdef BREAK_ONE_LOOK
        :: read_answered == mine && read_error != BAD ->
#else
        :: read_answered == mine && read_error != BAD && asked == mine ->
#endif
            assert(read_is_for == mine); /* the error and the number are this request's */
            assert(carried[mine] > 0);
            SEEN(5);
            break
        :: read_answered == mine && read_error == BAD -> mine = 0
#ifndef BREAK_ONE_LOOK
        :: read_answered == mine && read_error != BAD && asked != mine -> SEEN(3); mine = 0
#endif
        :: read_answered != mine && read_asked != mine -> SEEN(3); mine = 0
        :: read_answered != mine && read_asked == mine
        fi;
        d_step { read_asked = 0; read_answered = 0; read_error = 0; read_is_for = 0 }
    od;
    finished++
}

active proctype time()
{
    do
    :: now < LAST_MS -> now++
    :: break
    od
}

init {
    byte i;
    atomic {
        for (i : 1 .. THREADS) { run slow_paths() };
#if PUTS > 0
        for (i : 1 .. PUTS) { run put(i - 1) };
#endif
#if ASKERS > 0
        for (i : 1 .. ASKERS) { run ask((i - 1) * TRIES + 1) }
#endif
    };
    atomic {
        timeout ->
        assert(put_down == PUTS && memory_lock == 0 && pass_lock == 0 && live_lock == 0);
        assert(due > now);              /* else a slow path would come by */
        assert(finished == ASKERS);     /* no request was lost */
        for (i : 0 .. PUTS) {
            assert(held[i] == 0 || due <= held[i] + AGE_MS) /* no due time was lost */
        }
    }
}
