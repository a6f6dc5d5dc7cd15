# SPDX-License-Identifier: MIT
"""Writes one large C file: structures, tables, loops, switches, calls from function to function."""

from bench_numbers import Numbers

FUNCTIONS = 60
OPERATORS = ["+", "-", "*", "^", "&", "|"]


def expression(numbers, names, depth):
    if depth == 0:
        return numbers.pick(names + [str(1 + numbers.below(1000))])
    left = expression(numbers, names, depth - 1)
    right = expression(numbers, names, depth - 1)
    return f"({left} {numbers.pick(OPERATORS)} {right})"


def structure(numbers, index):
    fields = "".join(f"    unsigned field_{i}[{1 + numbers.below(6)}];\n" for i in range(8))
    return f"struct record_{index} {{\n{fields}}};\n"


def function(numbers, index):
    names = ["a", "b", "c", "total"]
    lines = [f"unsigned function_{index}(unsigned a, unsigned b, struct record_{index % 40} *r)", "{"]
    lines += ["    unsigned c = a ^ b, total = 0;"]
    lines += [f"    for (unsigned i = 0; i < (a & {numbers.below(63) + 1}u); i++) {{"]
    lines += [f"        c += {expression(numbers, names + ['i'], 3)};"]
    lines += [f"        r->field_{numbers.below(8)}[0] += c * i;", "    }"]
    lines += [f"    switch (b % {8}u) {{"]
    for case in range(8):
        lines += [f"    case {case}:", f"        total += {expression(numbers, names, 3)};"]
        if index > 0:
            callee = numbers.below(index)
            lines += [f"        if (c > {numbers.below(100)}u)",
                      f"            total ^= function_{callee}(c, total, (struct record_{callee % 40} *)(void *)r);"]
        lines += ["        break;"]
    lines += ["    }", f"    while (total > {1000 + numbers.below(100000)}u)"]
    lines += [f"        total = (total >> 1) ^ {expression(numbers, names, 2)};"]
    return "\n".join(lines + ["    return total + r->field_3[0];", "}"]) + "\n"


def main():
    numbers = Numbers(11)
    for index in range(40):
        print(structure(numbers, index))
    for index in range(FUNCTIONS):
        print(function(numbers, index))


main()
