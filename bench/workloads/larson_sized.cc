/* SPDX-License-Identifier: MIT */
/*
 * What: larson with C++ operator new and the sized operator delete.
 *
 * Why this way: an allocator that checks the size given to delete, or uses it to find the size class, is measured only
 * by a program that gives it. C++ because that interface has no C spelling in Debian 12.
 *
 * Invariants: none of its own.
 *
 * Concurrency: stateless.
 */
#include "larson.h"

#include <new>

extern "C" void *larson_block_make(size_t size_bytes)
{
    return ::operator new(size_bytes);
}

extern "C" void larson_block_drop(void *block, size_t size_bytes)
{
    ::operator delete(block, size_bytes);
}

int main(int count, char **arguments)
{
    return larson_main("larson-sized", count, arguments);
}
