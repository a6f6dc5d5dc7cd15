// SPDX-License-Identifier: MIT
//
// What: the replaceable C++ operators: every form, alignment, failure, new-handlers, and what the library builds on them.
//
// Why this way: the forms are called by name as well as by new-expressions, so that each exported symbol is met whatever
// the compiler prefers. Exhaustion is tried in a child under RLIMIT_AS, so that it ends soon and harms nobody.
//
// Invariants: passes with any conforming operators; that the ones tested are Scrubjay's is a check of its own.
//
// Concurrency: one test uses threads.
#include "scrubjay.h"
#include "unit/unit.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <utility>
#include <vector>

// Weak, so that the program also links without the library, to run under LD_PRELOAD or another allocator; but out of an
// archive nothing weak is pulled.
#if defined(SJ_TEST_ARCHIVE)
extern "C" size_t sj_malloc_usable_size(void *block);
#else
extern "C" __attribute__((weak)) size_t sj_malloc_usable_size(void *block);
#endif

namespace
{

volatile size_t huge_bytes = SIZE_MAX / 2 - 4096; // below PTRDIFF_MAX: refused by the system, not by the request check
volatile size_t absurd_bytes = SIZE_MAX - 64;     // above it

// Runs `body` in a child; returns its wait status.
template <typename Body> int in_child(Body body)
{
    pid_t child = fork();
    if (child == 0) {
        body();
        _exit(unit_failed() ? 1 : 0);
    }
    int status = -1;
    return waitpid(child, &status, 0) == child ? status : -1;
}

void *volatile escaped; // what is stored here can't be optimised away

template <typename Call> bool throws_bad_alloc(Call call)
{
    try {
        escaped = call();
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

bool is_aligned(const void *block, size_t alignment)
{
    return reinterpret_cast<uintptr_t>(block) % alignment == 0;
}

void *filled(void *block, size_t bytes)
{
    CHECK(block != nullptr);
    CHECK(is_aligned(block, bytes >= alignof(max_align_t) ? alignof(max_align_t) : 8));
    return memset(block, 0xa5, bytes);
}

constexpr size_t sizes[] = { 1, 7, 8, 16, 17, 100, 128, 129, 1000, 4096, 5000, 32768, 40000, 1 << 20, (5 << 20) + 1 };
constexpr size_t alignments[] = { 1, 2, 8, 16, 32, 64, 128, 512, 4096, 8192, 65536 };

void front_operators__are_scrubjays()
{
    if (getenv("SJ_TEST_ANY_ALLOCATOR") != nullptr)
        SKIP("SJ_TEST_ANY_ALLOCATOR is set");
#if !defined(SJ_TEST_ARCHIVE)
    REQUIRE(sj_malloc_usable_size != nullptr);
#endif
    void *block = ::operator new(100);
    CHECK(sj_malloc_usable_size(block) >= 100); // a stranger's block would be reported
    ::operator delete (block, size_t{ 100 });
}

void front_operators__plain_forms_round_trip()
{
    for (size_t bytes : sizes) {
        ::operator delete(filled(::operator new(bytes), bytes));
        ::operator delete(filled(::operator new(bytes), bytes), bytes);
        ::operator delete(filled(::operator new(bytes), bytes), std::nothrow);
        ::operator delete(filled(::operator new(bytes, std::nothrow), bytes));
        ::operator delete(filled(::operator new(bytes, std::nothrow), bytes), bytes);
        ::operator delete[](filled(::operator new[](bytes), bytes));
        ::operator delete[](filled(::operator new[](bytes), bytes), bytes);
        ::operator delete[](filled(::operator new[](bytes), bytes), std::nothrow);
        ::operator delete[](filled(::operator new[](bytes, std::nothrow), bytes));
        ::operator delete[](filled(::operator new[](bytes, std::nothrow), bytes), bytes);
    }
}

void *filled_aligned(void *block, size_t bytes, size_t alignment)
{
    CHECK(block != nullptr);
    CHECK(is_aligned(block, alignment));
    return memset(block, 0x5a, bytes);
}

void front_operators__aligned_forms_round_trip()
{
    for (size_t alignment : alignments) {
        for (size_t bytes : sizes) {
            auto al = static_cast<std::align_val_t>(alignment);
            auto check = [&](void *block) { return filled_aligned(block, bytes, alignment); };
            ::operator delete(check(::operator new(bytes, al)), al);
            ::operator delete(check(::operator new(bytes, al)), bytes, al);
            ::operator delete(check(::operator new(bytes, al)), al, std::nothrow);
            ::operator delete(check(::operator new(bytes, al, std::nothrow)), al);
            ::operator delete(check(::operator new(bytes, al, std::nothrow)), bytes, al);
            ::operator delete[](check(::operator new[](bytes, al)), al);
            ::operator delete[](check(::operator new[](bytes, al)), bytes, al);
            ::operator delete[](check(::operator new[](bytes, al)), al, std::nothrow);
            ::operator delete[](check(::operator new[](bytes, al, std::nothrow)), al);
            ::operator delete[](check(::operator new[](bytes, al, std::nothrow)), bytes, al);
        }
    }
}

void front_operators__zero_bytes_are_distinct()
{
    void *a = ::operator new(0);
    void *b = ::operator new[](0);
    void *c = ::operator new(0, std::align_val_t(64));
    CHECK(a != nullptr && b != nullptr && c != nullptr);
    CHECK(a != b && b != c && a != c);
    CHECK(is_aligned(c, 64));
    ::operator delete (a, size_t{ 0 });
    ::operator delete[](b, size_t{ 0 });
    ::operator delete (c, size_t{ 0 }, std::align_val_t(64));
}

void front_operators__null_is_deleted_by_every_form()
{
    void *volatile null = nullptr;
    auto al = std::align_val_t(64);
    ::operator delete(null);
    ::operator delete (null, size_t{ 10 });
    ::operator delete(null, std::nothrow);
    ::operator delete(null, al);
    ::operator delete (null, size_t{ 10 }, al);
    ::operator delete(null, al, std::nothrow);
    ::operator delete[](null);
    ::operator delete[](null, size_t{ 10 });
    ::operator delete[](null, std::nothrow);
    ::operator delete[](null, al);
    ::operator delete[](null, size_t{ 10 }, al);
    ::operator delete[](null, al, std::nothrow);
    CHECK(null == nullptr);
}

void front_operators__throw_bad_alloc_when_too_much_is_asked()
{
    auto al = std::align_val_t(64);
    for (size_t bytes : { size_t{ huge_bytes }, size_t{ absurd_bytes } }) {
        CHECK(throws_bad_alloc([&] { return ::operator new(bytes); }));
        CHECK(throws_bad_alloc([&] { return ::operator new[](bytes); }));
        CHECK(throws_bad_alloc([&] { return ::operator new(bytes, al); }));
        CHECK(throws_bad_alloc([&] { return ::operator new[](bytes, al); }));
        CHECK(throws_bad_alloc([&] { return new char[bytes]; }));
    }
    CHECK(throws_bad_alloc([&] { return std::vector<char>(huge_bytes).empty() ? nullptr : escaped; }));
}

void front_operators__bad_alloc_is_caught_by_its_bases()
{
    bool caught = false;
    try {
        (void)::operator new(huge_bytes);
    } catch (const std::exception &error) {
        caught = strstr(error.what(), "bad_alloc") != nullptr;
    }
    CHECK(caught);
}

void front_operators__destructors_run_when_new_throws_past_them()
{
    int ended = 0;
    struct guard {
        int *count;
        ~guard()
        {
            ++*count;
        }
    };
    try {
        guard outer{ &ended };
        auto inner = [&] {
            guard g{ &ended };
            return ::operator new[](huge_bytes);
        };
        (void)inner();
    } catch (const std::bad_alloc &) {
        ended += 10;
    }
    CHECK_EQ(ended, 12);
}

void front_operators__nothrow_forms_give_null()
{
    auto al = std::align_val_t(64);
    for (size_t bytes : { size_t{ huge_bytes }, size_t{ absurd_bytes } }) {
        CHECK(::operator new(bytes, std::nothrow) == nullptr);
        CHECK(::operator new[](bytes, std::nothrow) == nullptr);
        CHECK(::operator new(bytes, al, std::nothrow) == nullptr);
        CHECK(::operator new[](bytes, al, std::nothrow) == nullptr);
        CHECK(new (std::nothrow) char[bytes] == nullptr);
    }
}

// GCC asks its runtime to throw std::bad_array_new_length; clang asks operator new[] for SIZE_MAX bytes.
#if defined(__clang__)
using array_length_error = std::bad_alloc;
#else
using array_length_error = std::bad_array_new_length;
#endif

void front_operators__array_length_that_overflows_throws()
{
    volatile long negative = -1;
    volatile size_t many = SIZE_MAX / sizeof(long) + 2;
    int caught = 0;
    for (size_t count : { static_cast<size_t>(negative), size_t{ many } }) {
        try {
            escaped = new long[count];
        } catch (const array_length_error &) {
            caught++;
        }
    }
    CHECK_EQ(caught, 2);
}

int handler_calls;

void handler_that_leaves_after_three()
{
    if (++handler_calls == 3)
        std::set_new_handler(nullptr);
}

void front_operators__handler_is_called_until_it_is_gone()
{
    auto al = std::align_val_t(256);
    struct {
        bool (*call)();
    } const forms[] = {
        { [] { return throws_bad_alloc([] { return ::operator new(huge_bytes); }); } },
        { [] { return throws_bad_alloc([] { return ::operator new[](huge_bytes); }); } },
        { [] { return throws_bad_alloc([] { return ::operator new(huge_bytes, std::align_val_t(256)); }); } },
        { [] { return throws_bad_alloc([] { return ::operator new[](huge_bytes, std::align_val_t(256)); }); } },
    };
    for (const auto &form : forms) {
        handler_calls = 0;
        std::set_new_handler(handler_that_leaves_after_three);
        CHECK(form.call());
        CHECK_EQ(handler_calls, 3);
    }
    for (int which = 0; which < 4; which++) {
        handler_calls = 0;
        std::set_new_handler(handler_that_leaves_after_three);
        void *block = which == 0   ? ::operator new(huge_bytes, std::nothrow)
                      : which == 1 ? ::operator new[](huge_bytes, std::nothrow)
                      : which == 2 ? ::operator new(huge_bytes, al, std::nothrow)
                                   : ::operator new[](huge_bytes, al, std::nothrow);
        CHECK(block == nullptr);
        CHECK_EQ(handler_calls, 3);
    }
    std::set_new_handler(nullptr);
}

struct handler_error {
};

void handler_that_throws()
{
    handler_calls++;
    throw handler_error();
}

void front_operators__what_a_handler_throws_comes_through()
{
    handler_calls = 0;
    std::set_new_handler(handler_that_throws);
    int caught = 0;
    for (int which = 0; which < 4; which++) {
        try {
            auto al = std::align_val_t(64);
            (void)(which == 0   ? ::operator new(huge_bytes)
                   : which == 1 ? ::operator new[](huge_bytes)
                   : which == 2 ? ::operator new(huge_bytes, al)
                                : ::operator new[](huge_bytes, al));
        } catch (const handler_error &) {
            caught++;
        }
    }
    std::set_new_handler(nullptr);
    CHECK_EQ(caught, 4);
    CHECK_EQ(handler_calls, 4);
}

// With a static runtime there is nobody to catch for us: then the runtime ends the process, and never anything else.
void front_operators__nothrow_stops_what_a_handler_throws()
{
    int status = in_child([] {
        auto al = std::align_val_t(64);
        std::set_new_handler(handler_that_throws);
        CHECK(::operator new(huge_bytes, std::nothrow) == nullptr);
        CHECK(::operator new[](huge_bytes, std::nothrow) == nullptr);
        CHECK(::operator new(huge_bytes, al, std::nothrow) == nullptr);
        CHECK(::operator new[](huge_bytes, al, std::nothrow) == nullptr);
    });
    bool returned_null = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    bool terminated = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
#if defined(SJ_TEST_STATIC_RUNTIME)
    CHECK(returned_null || terminated);
#else
    CHECK(returned_null);
    (void)terminated;
#endif
}

void *reserve;

void handler_that_spends_the_reserve()
{
    handler_calls++;
    if (reserve == nullptr)
        throw std::bad_alloc();
    ::operator delete(reserve);
    reserve = nullptr;
}

size_t mapped_bytes()
{
    unsigned long pages = 0;
    char text[64] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != nullptr && fgets(text, sizeof text, file) != nullptr)
        pages = strtoul(text, nullptr, 10);
    if (file != nullptr)
        fclose(file);
    return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// The textbook handler: keeps a reserve, gives it up once, and the allocation that failed then succeeds.
void front_operators__handler_that_frees_memory_lets_new_succeed()
{
    int status = in_child([] {
        constexpr size_t block_bytes = size_t{ 24 } << 20;
        handler_calls = 0;
        reserve = ::operator new(block_bytes);
        struct rlimit limit = { mapped_bytes() + (size_t{ 100 } << 20), RLIM_INFINITY };
        REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
        std::set_new_handler(handler_that_spends_the_reserve);
        int granted = 0;
        bool failed = false;
        int granted_after_first_call = 0;
        try {
            for (; granted < 1000; granted++) {
                *static_cast<char *>(::operator new(block_bytes)) = 1;
                granted_after_first_call += handler_calls == 1;
            }
        } catch (const std::bad_alloc &) {
            failed = true;
        }
        CHECK(failed);
        CHECK_EQ(handler_calls, 2);
        CHECK(granted_after_first_call >= 1);
        NOTE("%d blocks granted", granted);
        void *small = ::operator new(64, std::nothrow); // the heap still stands
        ::operator delete(small);
    });
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// The limit of the option is an end of memory like any other.
void front_operators__throw_at_limit_bytes()
{
    int status = in_child([] {
        CHECK_EQ(sj_ctl("limit_bytes", "32m", nullptr, 0), 0);
        for (size_t bytes : { size_t{ 100 } << 20, size_t{ 1000 }, size_t{ 100000 } }) {
            std::vector<void *> blocks;
            blocks.reserve(1 << 16);
            bool failed = false;
            try {
                while (blocks.size() < blocks.capacity())
                    blocks.push_back(::operator new(bytes));
            } catch (const std::bad_alloc &) {
                failed = true;
            }
            CHECK(failed);
            CHECK(::operator new(bytes, std::nothrow) == nullptr);
            for (void *block : blocks)
                ::operator delete(block);
        }
    });
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Small blocks until nothing is left, then bad_alloc, caught; and all of it can be freed and had again.
void front_operators__small_blocks_run_out_cleanly()
{
    int status = in_child([] {
        struct node {
            node *next;
            char bytes[56];
        };
        struct rlimit limit = { mapped_bytes() + (size_t{ 24 } << 20), RLIM_INFINITY };
        REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
        size_t counts[2] = { 0, 0 };
        for (size_t &count : counts) {
            node *list = nullptr;
            try {
                for (;; count++)
                    list = new node{ list, {} };
            } catch (const std::bad_alloc &) {
                while (list != nullptr)
                    delete std::exchange(list, list->next);
            }
        }
        CHECK(counts[0] > 1000);
        CHECK(counts[1] > counts[0] / 2);
    });
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

struct counted {
    static int alive;
    long payload[3];
    counted()
    {
        alive++;
    }
    virtual ~counted()
    {
        alive--;
    }
};
int counted::alive;

struct alignas(128) wide : counted {
    char more[200];
};

void front_operators__new_expressions_of_arrays_and_wide_types()
{
    for (size_t count = 0; count < 70; count += 3) {
        auto *some = new counted[count];
        auto *wides = new wide[count];
        auto *quiet = new (std::nothrow) wide[count];
        REQUIRE(quiet != nullptr);
        for (size_t i = 0; i < count; i++) {
            CHECK(is_aligned(&wides[i], 128));
            CHECK(is_aligned(&quiet[i], 128));
        }
        delete[] some;
        delete[] wides;
        delete[] quiet;
        counted *base = new wide; // deleted by its base: the deleting destructor knows the size
        delete base;
        delete new (std::nothrow) counted;
    }
    CHECK_EQ(counted::alive, 0);
}

struct throws_when_made {
    char bytes[300];
    throws_when_made()
    {
        throw 1;
    }
};

void front_operators__constructor_that_throws_gives_its_memory_back()
{
    int caught = 0;
    for (int i = 0; i < 1000; i++) {
        try {
            delete new throws_when_made;
        } catch (int) {
            caught++;
        }
        try {
            delete[] new (std::nothrow) throws_when_made[3];
        } catch (int) {
            caught++;
        }
    }
    CHECK_EQ(caught, 2000);
}

void front_operators__containers_live_on_them()
{
    std::map<std::string, std::vector<int>> table;
    for (int i = 0; i < 2000; i++) {
        std::vector<int> &row = table["row number " + std::to_string(i % 257)];
        row.push_back((i * 7919) % 1009);
        std::stable_sort(row.begin(), row.end()); // takes its buffer by the nothrow form
        CHECK(std::is_sorted(row.begin(), row.end()));
    }
    auto shared = std::make_shared<std::string>(1000, 'x');
    std::unique_ptr<char[]> owned(new char[77]);
    CHECK_EQ(table.size(), 257);
    CHECK_EQ(shared->size(), 1000);
}

void front_operators__blocks_are_deleted_by_another_thread()
{
    std::vector<std::unique_ptr<wide>> wides;
    std::vector<std::string> texts;
    std::thread([&] {
        for (size_t i = 0; i < 500; i++) {
            wides.emplace_back(new wide);
            texts.emplace_back(i, 'y');
        }
    }).join();
    std::thread([&] {
        wides.clear();
        texts.clear();
    }).join();
    CHECK_EQ(counted::alive, 0);
}

void front_operators__alignment_that_is_no_power_of_two_is_refused()
{
    volatile size_t odd = 48;
    auto al = static_cast<std::align_val_t>(size_t{ odd });
    if (getenv("SJ_TEST_ANY_ALLOCATOR") != nullptr)
        SKIP("libstdc++ before 13 passes it on");
    CHECK(throws_bad_alloc([&] { return ::operator new(100, al); }));
    CHECK(::operator new(100, al, std::nothrow) == nullptr);
}

} // namespace

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(front_operators__are_scrubjays);
    RUN(front_operators__plain_forms_round_trip);
    RUN(front_operators__aligned_forms_round_trip);
    RUN(front_operators__zero_bytes_are_distinct);
    RUN(front_operators__null_is_deleted_by_every_form);
    RUN(front_operators__throw_bad_alloc_when_too_much_is_asked);
    RUN(front_operators__bad_alloc_is_caught_by_its_bases);
    RUN(front_operators__destructors_run_when_new_throws_past_them);
    RUN(front_operators__nothrow_forms_give_null);
    RUN(front_operators__array_length_that_overflows_throws);
    RUN(front_operators__handler_is_called_until_it_is_gone);
    RUN(front_operators__what_a_handler_throws_comes_through);
    RUN(front_operators__nothrow_stops_what_a_handler_throws);
    RUN(front_operators__handler_that_frees_memory_lets_new_succeed);
    RUN(front_operators__throw_at_limit_bytes);
    RUN(front_operators__small_blocks_run_out_cleanly);
    RUN(front_operators__new_expressions_of_arrays_and_wide_types);
    RUN(front_operators__constructor_that_throws_gives_its_memory_back);
    RUN(front_operators__containers_live_on_them);
    RUN(front_operators__blocks_are_deleted_by_another_thread);
    RUN(front_operators__alignment_that_is_no_power_of_two_is_refused);
    return unit_end();
}
