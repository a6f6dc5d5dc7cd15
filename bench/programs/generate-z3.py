# SPDX-License-Identifier: MIT
"""Writes SMT-LIB: a multiplier to verify, a puzzle of inequalities, pigeons without enough holes."""

from bench_numbers import Numbers

BITS = 7
PIGEONS = 9
UNKNOWNS = 26


def multiplier():
    print(f"(push)\n(declare-const x (_ BitVec {BITS}))\n(declare-const y (_ BitVec {BITS}))")
    print(f"(declare-const z (_ BitVec {BITS}))")
    print("(assert (not (= (bvmul x (bvadd y z)) (bvadd (bvmul x y) (bvmul z x)))))\n(check-sat)\n(pop)")


def pigeons():
    print("(push)")
    for pigeon in range(PIGEONS):
        for hole in range(PIGEONS - 1):
            print(f"(declare-const p{pigeon}_{hole} Bool)")
    for pigeon in range(PIGEONS):
        print(f"(assert (or {' '.join(f'p{pigeon}_{hole}' for hole in range(PIGEONS - 1))}))")
    for hole in range(PIGEONS - 1):
        for first in range(PIGEONS):
            for second in range(first):
                print(f"(assert (or (not p{first}_{hole}) (not p{second}_{hole})))")
    print("(check-sat)\n(pop)")


def inequalities(numbers):
    print("(push)")
    for index in range(UNKNOWNS):
        print(f"(declare-const n{index} Int)\n(assert (and (> n{index} 0) (< n{index} 50)))")
    for _ in range(UNKNOWNS * 3):
        a, b, c = (numbers.below(UNKNOWNS) for _ in range(3))
        print(f"(assert (or (> (+ n{a} (* 2 n{b})) (+ n{c} {numbers.below(40)})) (< (* 3 n{b}) n{a})))")
    print(f"(assert (distinct {' '.join(f'n{index}' for index in range(UNKNOWNS))}))\n(check-sat)\n(pop)")


def arrays(numbers):
    print("(push)\n(declare-const start (Array Int Int))")
    term = "start"
    other = "start"
    places = [numbers.below(1000) for _ in range(40)]
    for place in sorted(set(places)):
        term = f"(store {term} {place} {place * 3})"
    for place in sorted(set(places), reverse=True):
        other = f"(store {other} {place} {place * 3})"
    print(f"(assert (not (= {term} {other})))\n(check-sat)\n(pop)")


def main():
    numbers = Numbers(17)
    multiplier()
    pigeons()
    inequalities(numbers)
    arrays(numbers)


main()
