/* SPDX-License-Identifier: MIT
 *
 * What: the C++ runtime, as far as there is one.
 *
 * Why this way: libstdc++ and libc++ agree on the names below. std::__throw_bad_alloc is preferred, because the runtime
 * then builds its own exception; a program with a static runtime may export the pieces but not that function, so the
 * exception can also be built here: std::bad_alloc is one pointer, to its virtual table. Left over: a program that has
 * a static runtime of which it uses neither std::bad_alloc by name nor any container, and takes us as a shared library,
 * has nothing to throw with: SJ-010.
 *
 * Invariants: every reference outside libc is weak in the shared library.
 *
 * Concurrency: see the header.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "front/cxx_runtime.h"

#include "platform/cxx.h"
#include "report/report.h"

#include <dlfcn.h>

extern void (*_ZSt15get_new_handlerv(void))(void) SJ_CXX_RUNTIME_REFERENCE; /* std::get_new_handler() */
extern void _ZSt17__throw_bad_allocv(void) SJ_CXX_RUNTIME_REFERENCE;        /* std::__throw_bad_alloc() */

extern void *__cxa_allocate_exception(size_t bytes) SJ_WEAK;
extern void __cxa_throw(void *object, void *type, void (*destructor)(void *)) SJ_WEAK;
extern void *_ZTISt9bad_alloc[] SJ_WEAK;         /* typeinfo of std::bad_alloc */
extern void *_ZTVSt9bad_alloc[] SJ_WEAK;         /* its virtual table: offset, typeinfo, functions */
extern void _ZNSt9bad_allocD1Ev(void *) SJ_WEAK; /* its destructor */

/* Weak too: a fully static program has no loader to ask, and must not be made to link one. */
extern void *dlopen(const char *file, int mode) SJ_WEAK;
extern void *dlsym(void *restrict handle, const char *restrict name) SJ_WEAK;
extern int dlclose(void *handle) SJ_WEAK;

/* `name` in `scope` (RTLD_DEFAULT, RTLD_NEXT), else in a runtime that is loaded outside of it. */
static SJ_COLD void *cxx_find(void *scope, const char *name)
{
    static const char *const runtimes[] = { "libstdc++.so.6", "libc++abi.so.1", "libc++.so.1" };

    if (dlsym == NULL)
        return NULL;
    void *found = dlsym(scope, name);

    if (!SJ_CXX_RUNTIME_MAY_COME_LATER || dlopen == NULL || dlclose == NULL)
        return found;
    for (size_t i = 0; found == NULL && i < sizeof runtimes / sizeof runtimes[0]; i++) {
        void *handle = dlopen(runtimes[i], RTLD_LAZY | RTLD_NOLOAD);

        if (handle != NULL) {
            found = dlsym(handle, name);
            (void)dlclose(handle); /* its users keep it loaded */
        }
    }
    return found;
}

static void (*cxx_handler(void))(void)
{
    void (*(*get)(void))(void) = _ZSt15get_new_handlerv;

    if (get == NULL)
        get = (void (*(*)(void))(void))(uintptr_t)cxx_find(RTLD_DEFAULT, "_ZSt15get_new_handlerv");
    return get != NULL ? get() : NULL;
}

SJ_COLD bool sj__cxx_has_handler(void)
{
    return cxx_handler() != NULL;
}

SJ_COLD bool sj__cxx_call_handler(void)
{
    void (*handler)(void) = cxx_handler();

    if (handler == NULL)
        return false;
    handler();
    return true;
}

static bool cxx_can_build_exception(void)
{
    return __cxa_allocate_exception != NULL && __cxa_throw != NULL && _ZTISt9bad_alloc != NULL &&
           _ZTVSt9bad_alloc != NULL && _ZNSt9bad_allocD1Ev != NULL;
}

SJ_COLD _Noreturn void sj__cxx_throw_bad_alloc(size_t bytes)
{
    void (*throw_bad_alloc)(void) = _ZSt17__throw_bad_allocv;

    if (throw_bad_alloc == NULL)
        throw_bad_alloc = (void (*)(void))(uintptr_t)cxx_find(RTLD_DEFAULT, "_ZSt17__throw_bad_allocv");
    if (throw_bad_alloc != NULL)
        throw_bad_alloc();
    if (cxx_can_build_exception()) {
        void **exception = __cxa_allocate_exception(sizeof *exception);

        *exception = &_ZTVSt9bad_alloc[2];
        __cxa_throw(exception, _ZTISt9bad_alloc, _ZNSt9bad_allocD1Ev);
    }
    const struct sj_report_facts facts = { .function = "operator new", .given_bytes = bytes };

    sj__report_misuse(SJ_NO_CXX_RUNTIME, &facts);
}

SJ_COLD void *sj__cxx_runtimes_own(const char *operator_name)
{
    return cxx_find(RTLD_NEXT, operator_name);
}
