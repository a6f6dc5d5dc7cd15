// SPDX-License-Identifier: MIT
//
// What: a program that replaces operator new(size_t) and operator delete(void *), and nothing else, to keep a header
// before each object.
//
// Why this way: the standard promises such a program that the default array, nothrow and sized forms come to these two
// ([new.delete.single], [new.delete.array]). A library whose forms go to its own heap at once would be handed a pointer
// 16 bytes behind a block's start.
//
// Invariants: every object has the header; its magic number is checked and its count kept.
//
// Concurrency: none.
#include "unit/unit.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <vector>

namespace
{

constexpr uint64_t magic = 0x5c2b1a0e77d3f491u;
struct alignas(16) header {
    uint64_t magic;
    uint64_t bytes;
};
long objects_made;
long objects_alive;
bool fails; // operator new throws
void *volatile escaped;

} // namespace

void *operator new(size_t bytes)
{
    auto *head = fails ? nullptr : static_cast<header *>(malloc(sizeof(header) + bytes));
    if (head == nullptr)
        throw std::bad_alloc();
    *head = { magic, bytes };
    objects_made++;
    objects_alive++;
    return head + 1;
}

// GCC warns that the sized form is missing: that is the point.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wsized-deallocation"
__attribute__((noinline)) void operator delete(void *block) noexcept
{
    if (block == nullptr)
        return;
    header *head = static_cast<header *>(block) - 1;
    CHECK_EQ(head->magic, magic);
    head->magic = 0;
    objects_alive--;
    free(head);
}
#pragma GCC diagnostic pop

namespace
{

void front_operators__every_default_form_comes_to_the_replaced_pair()
{
    long alive = objects_alive;
    long made = objects_made;
    for (size_t bytes : { size_t{ 1 }, size_t{ 100 }, size_t{ 5000 }, size_t{ 100000 }, size_t{ 3 } << 20 }) {
        ::operator delete(::operator new(bytes));
        ::operator delete(::operator new(bytes), bytes);
        ::operator delete(::operator new(bytes), std::nothrow);
        ::operator delete(::operator new(bytes, std::nothrow));
        ::operator delete[](::operator new[](bytes));
        ::operator delete[](::operator new[](bytes), bytes);
        ::operator delete[](::operator new[](bytes), std::nothrow);
        ::operator delete[](::operator new[](bytes, std::nothrow), bytes);
    }
    CHECK_EQ(objects_made - made, 5 * 8);
    CHECK_EQ(objects_alive, alive);
}

void front_operators__nothrow_stops_what_the_replaced_form_throws()
{
#if defined(SJ_TEST_STATIC_RUNTIME)
    SKIP("a static runtime has no form that catches for us");
#endif
    fails = true;
    void *one = ::operator new(100, std::nothrow);
    void *many = ::operator new[](100, std::nothrow);
    fails = false;
    CHECK(one == nullptr);
    CHECK(many == nullptr);
}

void front_operators__array_form_throws_what_the_replaced_form_throws()
{
    bool caught = false;
    fails = true;
    try {
        escaped = ::operator new[](100);
    } catch (const std::bad_alloc &) {
        caught = true;
    }
    fails = false;
    CHECK(caught);
}

struct alignas(64) wide {
    char bytes[192];
};

void front_operators__aligned_forms_stay_ours()
{
    long made = objects_made;
    for (int i = 0; i < 100; i++) {
        auto *one = new wide;
        auto *some = new wide[3];
        CHECK(reinterpret_cast<uintptr_t>(one) % 64 == 0 && reinterpret_cast<uintptr_t>(some) % 64 == 0);
        delete one;
        delete[] some;
        delete new (std::nothrow) wide;
    }
    CHECK_EQ(objects_made - made, 0);
}

void front_operators__containers_work_on_the_replaced_pair()
{
    std::map<std::string, std::vector<int>> table;
    for (int i = 0; i < 1000; i++) {
        auto &row = table["a key of some length " + std::to_string(i % 97)];
        row.push_back(i * 7919 % 1009);
        std::stable_sort(row.begin(), row.end());
    }
    CHECK_EQ(table.size(), 97);
}

} // namespace

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(front_operators__every_default_form_comes_to_the_replaced_pair);
    RUN(front_operators__nothrow_stops_what_the_replaced_form_throws);
    RUN(front_operators__array_form_throws_what_the_replaced_form_throws);
    RUN(front_operators__aligned_forms_stay_ours);
    RUN(front_operators__containers_work_on_the_replaced_pair);
    return unit_end();
}
