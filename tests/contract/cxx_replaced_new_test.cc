// SPDX-License-Identifier: MIT
//
// What: a program that replaces operator new(size_t) alone and asks malloc for more than it was asked for.
//
// Why this way: legal as long as operator delete ends in free(), which the program here relies on as many do. The size
// at a sized delete is then the object's and not the block's: checking it would stop a program that works elsewhere.
//
// Invariants: no report.
//
// Concurrency: none.
#include "unit/unit.h"

#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

static long objects_made;

void *operator new(size_t bytes)
{
    void *block = malloc(bytes + 64);
    if (block == nullptr)
        throw std::bad_alloc();
    objects_made++;
    return block;
}

namespace
{

struct object {
    char bytes[40];
    virtual ~object() = default;
};

void front_operators__sized_delete_of_a_replaced_new_is_no_mismatch()
{
    long made = objects_made;
    for (size_t bytes = 1; bytes < 40000; bytes += 1 + bytes / 3) {
        ::operator delete(::operator new(bytes), bytes);
        ::operator delete[](::operator new[](bytes), bytes);
        ::operator delete(::operator new(bytes, std::nothrow), bytes);
    }
    CHECK(objects_made - made > 60);
}

void front_operators__objects_and_containers_are_deleted_quietly()
{
    std::vector<std::unique_ptr<object>> objects;
    for (int i = 0; i < 1000; i++)
        objects.emplace_back(new object);
    objects.clear();
    std::string text;
    for (int i = 0; i < 1000; i++)
        text += "0123456789";
    CHECK_EQ(text.size(), 10000);
    delete[] new object[10];
    CHECK(objects_made > 1000);
}

} // namespace

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(front_operators__sized_delete_of_a_replaced_new_is_no_mismatch);
    RUN(front_operators__objects_and_containers_are_deleted_quietly);
    return unit_end();
}
