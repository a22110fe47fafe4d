#!/usr/bin/python3
"""Tests of tests/mutants: each fault changes what a small program prints, and without one nothing changes."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from places import Source, planted

SWITCH = """#include <cstdlib>
static bool On(int n) { const char* chosen = std::getenv("PREFETCH_MUTANT"); return chosen && std::atoi(chosen) == n; }
#define PREFETCH_MUTANT(n) On(n)
"""
PROGRAM = r"""#include <cstdio>
#include <string>
#include <vector>
#define LIMIT 3
constexpr int kTable[] = {1, 2};
constexpr int Fixed(int x) { return x < 2 ? 1 : 0; }
enum class Kind { kOne, kTwo };  // a == b, in a comment
struct Pair {
  explicit Pair(int n) : held{n + 1} {}
  bool Odd() const { return held % 2 != 0; }
  int held;
};
namespace {
int Minus(int a, int b) {
  return a - b;
}
Kind Of(int n) {
  if (n > 1) return Kind::kTwo;
  return Kind::kOne;
}
std::string Text() {
  return "a < b && c";
}
}  // namespace
void Run() {
  std::vector<int> seen;
  seen.reserve(4);
  for (int n = 0; n < LIMIT; ++n) {
    if (n == 1) continue;
    seen.push_back(n);
  }
  auto both = [&](int n) { return n >= 2 && !seen.empty(); };
  std::string out = Text();
  out += both(2) ? " yes" : " no";
  out += both(1) ? " yes" : " no";
  out += " " + std::to_string(Minus(5, 3)) + " " + std::to_string(10 * seen.back() + seen.size());
  if (Of(2) == Kind::kTwo) out += Pair(2).Odd() ? " odd" : " even";
  if (Fixed(kTable[0]) && Of(1) == Kind::kOne) out += " one";
  std::puts(out.c_str());
}
int main() { Run(); }
"""


def compiled(folder, text):
    path, program = os.path.join(folder, "small.cc"), os.path.join(folder, "small")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SWITCH + text)
    subprocess.run(["g++", "-std=c++20", "-w", "-O0", path, "-o", program], check=True)
    return program


def printed(program, number):
    done = subprocess.run([program], env={"PREFETCH_MUTANT": str(number)}, stdout=subprocess.PIPE, text=True, timeout=10,
                          check=False)
    return done.returncode, done.stdout


class Places(unittest.TestCase):
    def setUp(self):
        self.source = Source(PROGRAM)
        self.numbered = list(enumerate(self.source.places, 1))

    def code_of(self, kind):
        return [PROGRAM[p.start:p.end] for p in self.source.places if p.kind == kind]

    def test_each_kind_is_found_where_it_stands(self):
        self.assertEqual(self.code_of("comparison"), ["held % 2 != 0", "n == 1", "Of(2) == Kind::kTwo", "Of(1) == Kind::kOne"])
        self.assertEqual(self.code_of("bound"), ["n > 1", "n < LIMIT", "n >= 2"])
        self.assertEqual(self.code_of("logic"), ["n >= 2 && !seen.empty()", "Fixed(kTable[0]) && Of(1) == Kind::kOne"])
        self.assertEqual(self.code_of("condition"), ["n > 1", "!seen.empty()", "both(2)", "both(1)", "Pair(2).Odd()", "Fixed(kTable[0]) && Of(1) == Kind::kOne"])
        self.assertEqual(self.code_of("swapped"), ["Minus(5, 3)"])
        self.assertIn("continue;", self.code_of("dropped"))
        self.assertIn("seen.push_back(n);", self.code_of("dropped"))
        self.assertIn("Kind::kTwo", self.code_of("return"))

    def test_constants_templates_texts_and_hints_are_left_alone(self):
        text, _ = planted(PROGRAM, self.numbered)
        for line in ("constexpr int kTable[] = {1, 2};", "constexpr int Fixed(int x) { return x < 2 ? 1 : 0; }",
                     "  seen.reserve(4);", "// a == b, in a comment", "held{n + 1}", "std::vector<int> seen;"):
            self.assertIn(line, text)

    def test_each_fault_changes_what_the_program_prints(self):
        with tempfile.TemporaryDirectory() as folder:
            plain = printed(compiled(folder, PROGRAM), 0)
            program = compiled(folder, planted(PROGRAM, self.numbered)[0])
            self.assertEqual(plain, (0, "a < b && c yes no 2 22 odd one\n"))
            self.assertEqual(printed(program, 0), plain)
            # A larger argument of both() and Of() stays on the same side of their bounds; of the last && both sides hold.
            same = [PROGRAM[p.start:p.end] for n, p in self.numbered if printed(program, n) == plain]
            self.assertEqual(same, ["2", "2", "Fixed(kTable[0]) && Of(1) == Kind::kOne"])

    def test_ranges_tell_where_a_fault_stands(self):
        text, ranges = planted(PROGRAM, self.numbered)
        for number, place in self.numbered:
            start, end = ranges[number]
            self.assertIn(f"PREFETCH_MUTANT({number})", text[start:end])
            self.assertEqual(text.count("\n", 0, start), PROGRAM.count("\n", 0, place.start))


unittest.main()
