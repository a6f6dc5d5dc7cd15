#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What: prints what a profile in pprof's format says: `pprof.py FILE TYPE` has a line `BYTES INNERMOST;...;OUTERMOST` a sample.
Why this way: a reader of its own, so that the writer is not checked by itself where there is no `go tool pprof`."""
import gzip
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            count, at = varint(data, at)
            value = data[at:at + count]
            assert len(value) == count
            at += count
        else:
            sys.exit("a wire type that the format does not have")
        yield key >> 3, value


def one(message, number, missing=0):
    return next((value for field, value in fields(message) if field == number), missing)


def every(message, number):
    return [value for field, value in fields(message) if field == number]


profile = gzip.open(sys.argv[1]).read()
strings = [text.decode() for text in every(profile, 6)]
assert strings[0] == ""
types = [strings[one(message, 1)] for message in every(profile, 1)]
index = types.index(sys.argv[2])
functions = {one(message, 1): strings[one(message, 2)] for message in every(profile, 5)}
mappings = {one(message, 1) for message in every(profile, 3)}
names = {}
for message in every(profile, 4):
    assert one(message, 2) in mappings or one(message, 2) == 0
    line = one(message, 4, None)
    names[one(message, 1)] = functions[one(line, 1)] if line is not None else hex(one(message, 3))
for message in every(profile, 2):
    values = every(message, 2)
    assert len(values) == len(types)
    print(values[index], ";".join(names[number] for number in every(message, 1)))
