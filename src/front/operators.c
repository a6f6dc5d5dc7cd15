/* SPDX-License-Identifier: MIT
 *
 * What: the replaceable C++ operators new and delete, in all their forms.
 *
 * Why this way: they are C functions under the names C++ gives them, so that the library needs no C++ runtime. The
 * standard says that the default array, nothrow and sized forms call the plain ones, and programs lean on it: one that
 * replaces operator new(size_t) and operator delete(void *) alone, to put a header before each object, must see every
 * object. So each form asks whether the forms in force are all ours, and if not passes the call on as the standard
 * says. The definitions are weak: that makes the question one about the process (no compiler may answer it), and lets a
 * program replace some forms of the static library. The answer can't change once the library is relocated and is kept:
 * one load and compare a call. C can't catch, so a nothrow form that fails while a new-handler is set hands the call to
 * the runtime's own nothrow form, which calls operator new (ours) inside a try block: a handler that throws ends as
 * NULL, as the standard wants. Where there is no second form to hand to (a static runtime) the loop runs here, and a
 * handler that throws meets a caller who was promised no exception: that is std::terminate. An exception table written
 * by hand was refused: assembly for each machine, for that one case.
 *
 * Invariants: the loop ends when memory is found, or the handler throws or is gone. A size is checked at delete only if
 * every form of new and delete is ours: a replaced operator new may ask malloc for more than it was asked for. Compiled
 * with -fexceptions: what the runtime, a handler or a replaced form throws passes through here.
 *
 * Concurrency: any thread; no lock is held here.
 */
#include "front/operators.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "front/calls.h"
#include "front/cxx_runtime.h"
#include "platform/cxx.h"

/* --- The names: whatever is in force under them, ours or the program's. --- */

struct nothrow; /* std::nothrow_t; only its address is passed */

#define NEW                          SJ_CXX_SIZED(_Znw, )
#define NEW_ARRAY                    SJ_CXX_SIZED(_Zna, )
#define NEW_NOTHROW                  SJ_CXX_SIZED(_Znw, RKSt9nothrow_t)
#define NEW_ARRAY_NOTHROW            SJ_CXX_SIZED(_Zna, RKSt9nothrow_t)
#define NEW_ALIGNED                  SJ_CXX_SIZED(_Znw, St11align_val_t)
#define NEW_ARRAY_ALIGNED            SJ_CXX_SIZED(_Zna, St11align_val_t)
#define NEW_ALIGNED_NOTHROW          SJ_CXX_SIZED(_Znw, St11align_val_tRKSt9nothrow_t)
#define NEW_ARRAY_ALIGNED_NOTHROW    SJ_CXX_SIZED(_Zna, St11align_val_tRKSt9nothrow_t)
#define DELETE                       _ZdlPv
#define DELETE_ARRAY                 _ZdaPv
#define DELETE_SIZED                 SJ_CXX_SIZED(_ZdlPv, )
#define DELETE_ARRAY_SIZED           SJ_CXX_SIZED(_ZdaPv, )
#define DELETE_NOTHROW               _ZdlPvRKSt9nothrow_t
#define DELETE_ARRAY_NOTHROW         _ZdaPvRKSt9nothrow_t
#define DELETE_ALIGNED               _ZdlPvSt11align_val_t
#define DELETE_ARRAY_ALIGNED         _ZdaPvSt11align_val_t
#define DELETE_ALIGNED_SIZED         SJ_CXX_SIZED(_ZdlPv, St11align_val_t)
#define DELETE_ARRAY_ALIGNED_SIZED   SJ_CXX_SIZED(_ZdaPv, St11align_val_t)
#define DELETE_ALIGNED_NOTHROW       _ZdlPvSt11align_val_tRKSt9nothrow_t
#define DELETE_ARRAY_ALIGNED_NOTHROW _ZdaPvSt11align_val_tRKSt9nothrow_t

#define NAME_TEXT(name)          NAME_TEXT_EXPANDED(name)
#define NAME_TEXT_EXPANDED(name) #name

/* Declares one form: our definition `own`, and the weak C++ name that leads to it unless the program has its own. */
#define FORM(type, name, own, ...)                      \
    static __attribute__((used)) type own(__VA_ARGS__); \
    SJ_EXPORT SJ_WEAK type name(__VA_ARGS__) SJ_ALIAS(#own)

FORM(void *, NEW, own_new, size_t bytes);
FORM(void *, NEW_ARRAY, own_new_array, size_t bytes);
FORM(void *, NEW_NOTHROW, own_new_nothrow, size_t bytes, const struct nothrow *tag);
FORM(void *, NEW_ARRAY_NOTHROW, own_new_array_nothrow, size_t bytes, const struct nothrow *tag);
FORM(void *, NEW_ALIGNED, own_new_aligned, size_t bytes, size_t alignment);
FORM(void *, NEW_ARRAY_ALIGNED, own_new_array_aligned, size_t bytes, size_t alignment);
FORM(void *, NEW_ALIGNED_NOTHROW, own_new_aligned_nothrow, size_t bytes, size_t alignment, const struct nothrow *tag);
FORM(void *, NEW_ARRAY_ALIGNED_NOTHROW, own_new_array_aligned_nothrow, size_t bytes, size_t alignment,
     const struct nothrow *tag);
FORM(void, DELETE, own_delete, void *block);
FORM(void, DELETE_ARRAY, own_delete_array, void *block);
FORM(void, DELETE_SIZED, own_delete_sized, void *block, size_t bytes);
FORM(void, DELETE_ARRAY_SIZED, own_delete_array_sized, void *block, size_t bytes);
FORM(void, DELETE_NOTHROW, own_delete_nothrow, void *block, const struct nothrow *tag);
FORM(void, DELETE_ARRAY_NOTHROW, own_delete_array_nothrow, void *block, const struct nothrow *tag);
FORM(void, DELETE_ALIGNED, own_delete_aligned, void *block, size_t alignment);
FORM(void, DELETE_ARRAY_ALIGNED, own_delete_array_aligned, void *block, size_t alignment);
FORM(void, DELETE_ALIGNED_SIZED, own_delete_aligned_sized, void *block, size_t bytes, size_t alignment);
FORM(void, DELETE_ARRAY_ALIGNED_SIZED, own_delete_array_aligned_sized, void *block, size_t bytes, size_t alignment);
FORM(void, DELETE_ALIGNED_NOTHROW, own_delete_aligned_nothrow, void *block, size_t alignment,
     const struct nothrow *tag);
FORM(void, DELETE_ARRAY_ALIGNED_NOTHROW, own_delete_array_aligned_nothrow, void *block, size_t alignment,
     const struct nothrow *tag);

/* --- Are they all ours? --- */

enum operators_state { OPERATORS_UNKNOWN, OPERATORS_OURS, OPERATORS_MIXED };

static struct sj_atomic_u32 operators_state; /* enum operators_state; every thread finds the same */

static SJ_COLD bool operators_find_out(void)
{
    bool ours = NEW == own_new && NEW_ARRAY == own_new_array && NEW_NOTHROW == own_new_nothrow &&
                NEW_ARRAY_NOTHROW == own_new_array_nothrow && NEW_ALIGNED == own_new_aligned &&
                NEW_ARRAY_ALIGNED == own_new_array_aligned && NEW_ALIGNED_NOTHROW == own_new_aligned_nothrow &&
                NEW_ARRAY_ALIGNED_NOTHROW == own_new_array_aligned_nothrow && DELETE == own_delete &&
                DELETE_ARRAY == own_delete_array && DELETE_ALIGNED == own_delete_aligned &&
                DELETE_ARRAY_ALIGNED == own_delete_array_aligned;

    sj_store_relaxed_u32(&operators_state, ours ? OPERATORS_OURS : OPERATORS_MIXED);
    return ours;
}

SJ_ALWAYS_INLINE bool operators_are_ours(void)
{
    uint32_t state = sj_load_relaxed_u32(&operators_state);

    if (sj_likely(state == OPERATORS_OURS))
        return true;
    return state == OPERATORS_UNKNOWN && operators_find_out();
}

bool sj__operators_are_ours(void)
{
    return operators_are_ours();
}

/* --- Out of memory. --- */

/* Alignment 0 stands for the plain forms. */
SJ_ALWAYS_INLINE void *operators_try(size_t bytes, size_t alignment, enum sj_family family)
{
    return alignment == 0 ? sj__entry_new(bytes, family) : sj__slow_mark(sj__entry_aligned(alignment, bytes), family);
}

/* [new.delete.single]: call the handler until there is memory; without one, throw. */
static SJ_COLD void *operators_new_or_throw(size_t bytes, size_t alignment, enum sj_family family)
{
    void *block;

    do {
        bool impossible = alignment != 0 && !sj_is_power_of_two(alignment);

        if (impossible || !sj__cxx_call_handler())
            sj__cxx_throw_bad_alloc(bytes);
        block = operators_try(bytes, alignment, family);
    } while (block == NULL);
    return block;
}

static SJ_COLD void *operators_new_or_null(size_t bytes, size_t alignment, enum sj_family family)
{
    void *block = NULL;

    if (alignment != 0 && !sj_is_power_of_two(alignment))
        return NULL;
    while (block == NULL && sj__cxx_call_handler())
        block = operators_try(bytes, alignment, family);
    return block;
}

/* A nothrow form, `name`, that found no memory or must call a replaced operator new inside a try block. */
static SJ_COLD void *operators_nothrow(const char *name, void *(*replaced)(size_t), size_t bytes,
                                       const struct nothrow *tag, enum sj_family family)
{
    if (replaced == NULL && !sj__cxx_has_handler())
        return NULL;

    uintptr_t own = (uintptr_t)sj__cxx_runtimes_own(name);

    if (own != 0)
        return ((void *(*)(size_t, const struct nothrow *))own)(bytes, tag);
    return replaced != NULL ? replaced(bytes) : operators_new_or_null(bytes, 0, family);
}

static SJ_COLD void *operators_nothrow_aligned(const char *name, void *(*replaced)(size_t, size_t), size_t bytes,
                                               size_t alignment, const struct nothrow *tag, enum sj_family family)
{
    if (replaced == NULL && !sj__cxx_has_handler())
        return NULL;

    uintptr_t own = (uintptr_t)sj__cxx_runtimes_own(name);

    if (own != 0)
        return ((void *(*)(size_t, size_t, const struct nothrow *))own)(bytes, alignment, tag);
    return replaced != NULL ? replaced(bytes, alignment) : operators_new_or_null(bytes, alignment, family);
}

/* --- operator new. --- */

SJ_ALWAYS_INLINE void *operators_allocate(size_t bytes, enum sj_family family)
{
    void *block = operators_try(bytes, 0, family);

    return sj_likely(block != NULL) ? block : operators_new_or_throw(bytes, 0, family);
}

SJ_ALWAYS_INLINE void *operators_allocate_aligned(size_t bytes, size_t alignment, enum sj_family family)
{
    void *block = sj_likely(sj_is_power_of_two(alignment)) ? operators_try(bytes, alignment, family) : NULL;

    return sj_likely(block != NULL) ? block : operators_new_or_throw(bytes, alignment, family);
}

static void *own_new(size_t bytes)
{
    return operators_allocate(bytes, SJ_FAMILY_NEW);
}

static void *own_new_array(size_t bytes)
{
    return sj_likely(operators_are_ours()) ? operators_allocate(bytes, SJ_FAMILY_NEW_ARRAY) : NEW(bytes);
}

static void *own_new_nothrow(size_t bytes, const struct nothrow *tag)
{
    bool replaced = !operators_are_ours() && NEW != own_new;
    void *block = sj_likely(!replaced) ? operators_try(bytes, 0, SJ_FAMILY_NEW) : NULL;

    if (sj_likely(block != NULL))
        return block;
    return operators_nothrow(NAME_TEXT(NEW_NOTHROW), replaced ? NEW : NULL, bytes, tag, SJ_FAMILY_NEW);
}

static void *own_new_array_nothrow(size_t bytes, const struct nothrow *tag)
{
    bool replaced = !operators_are_ours() && (NEW_ARRAY != own_new_array || NEW != own_new);
    void *block = sj_likely(!replaced) ? operators_try(bytes, 0, SJ_FAMILY_NEW_ARRAY) : NULL;

    if (sj_likely(block != NULL))
        return block;
    return operators_nothrow(NAME_TEXT(NEW_ARRAY_NOTHROW), replaced ? NEW_ARRAY : NULL, bytes, tag,
                             SJ_FAMILY_NEW_ARRAY);
}

static void *own_new_aligned(size_t bytes, size_t alignment)
{
    return operators_allocate_aligned(bytes, alignment, SJ_FAMILY_NEW);
}

static void *own_new_array_aligned(size_t bytes, size_t alignment)
{
    return sj_likely(operators_are_ours()) ? operators_allocate_aligned(bytes, alignment, SJ_FAMILY_NEW_ARRAY)
                                           : NEW_ALIGNED(bytes, alignment);
}

static void *own_new_aligned_nothrow(size_t bytes, size_t alignment, const struct nothrow *tag)
{
    bool replaced = !operators_are_ours() && NEW_ALIGNED != own_new_aligned;
    void *block =
        sj_likely(!replaced && sj_is_power_of_two(alignment)) ? operators_try(bytes, alignment, SJ_FAMILY_NEW) : NULL;

    if (sj_likely(block != NULL))
        return block;
    return operators_nothrow_aligned(NAME_TEXT(NEW_ALIGNED_NOTHROW), replaced ? NEW_ALIGNED : NULL, bytes, alignment,
                                     tag, SJ_FAMILY_NEW);
}

static void *own_new_array_aligned_nothrow(size_t bytes, size_t alignment, const struct nothrow *tag)
{
    bool replaced =
        !operators_are_ours() && (NEW_ARRAY_ALIGNED != own_new_array_aligned || NEW_ALIGNED != own_new_aligned);
    void *block = sj_likely(!replaced && sj_is_power_of_two(alignment))
                      ? operators_try(bytes, alignment, SJ_FAMILY_NEW_ARRAY)
                      : NULL;

    if (sj_likely(block != NULL))
        return block;
    return operators_nothrow_aligned(NAME_TEXT(NEW_ARRAY_ALIGNED_NOTHROW), replaced ? NEW_ARRAY_ALIGNED : NULL, bytes,
                                     alignment, tag, SJ_FAMILY_NEW_ARRAY);
}

/* --- operator delete. --- */

static void own_delete(void *block)
{
    sj__entry_delete(block, SJ_FAMILY_NEW);
}

static void own_delete_array(void *block)
{
    if (sj_likely(operators_are_ours()))
        sj__entry_delete(block, SJ_FAMILY_NEW_ARRAY);
    else
        DELETE(block);
}

static void own_delete_sized(void *block, size_t bytes)
{
    if (sj_likely(operators_are_ours()))
        sj__entry_delete_sized(block, bytes, SJ_FAMILY_NEW);
    else
        DELETE(block);
}

static void own_delete_array_sized(void *block, size_t bytes)
{
    if (sj_likely(operators_are_ours()))
        sj__entry_delete_sized(block, bytes, SJ_FAMILY_NEW_ARRAY);
    else
        DELETE_ARRAY(block);
}

static void own_delete_nothrow(void *block, const struct nothrow *tag)
{
    (void)tag;
    DELETE(block);
}

static void own_delete_array_nothrow(void *block, const struct nothrow *tag)
{
    (void)tag;
    DELETE_ARRAY(block);
}

/* In a form of the program's choice, so that the caller is the program. */
SJ_ALWAYS_INLINE void operators_free_aligned_sized(void *block, size_t bytes, size_t alignment, enum sj_family family)
{
    sj__slow_unmark(block, family, __builtin_return_address(0));
    sj__entry_free_aligned_sized(block, alignment, bytes);
}

/* A block that can't have been had with this alignment takes the sized way, with the size it has: the check is there. */
SJ_ALWAYS_INLINE void operators_free_aligned(void *block, size_t alignment, enum sj_family family)
{
    if (sj_likely(sj_is_power_of_two(alignment) && ((uintptr_t)block & (alignment - 1)) == 0))
        sj__entry_delete(block, family);
    else
        operators_free_aligned_sized(block, sj__entry_usable_size(block), alignment, family);
}

static void own_delete_aligned(void *block, size_t alignment)
{
    operators_free_aligned(block, alignment, SJ_FAMILY_NEW);
}

static void own_delete_array_aligned(void *block, size_t alignment)
{
    if (sj_likely(operators_are_ours()))
        operators_free_aligned(block, alignment, SJ_FAMILY_NEW_ARRAY);
    else
        DELETE_ALIGNED(block, alignment);
}

static void own_delete_aligned_sized(void *block, size_t bytes, size_t alignment)
{
    if (sj_likely(operators_are_ours()))
        operators_free_aligned_sized(block, bytes, alignment, SJ_FAMILY_NEW);
    else
        DELETE_ALIGNED(block, alignment);
}

static void own_delete_array_aligned_sized(void *block, size_t bytes, size_t alignment)
{
    if (sj_likely(operators_are_ours()))
        operators_free_aligned_sized(block, bytes, alignment, SJ_FAMILY_NEW_ARRAY);
    else
        DELETE_ARRAY_ALIGNED(block, alignment);
}

static void own_delete_aligned_nothrow(void *block, size_t alignment, const struct nothrow *tag)
{
    (void)tag;
    DELETE_ALIGNED(block, alignment);
}

static void own_delete_array_aligned_nothrow(void *block, size_t alignment, const struct nothrow *tag)
{
    (void)tag;
    DELETE_ARRAY_ALIGNED(block, alignment);
}
