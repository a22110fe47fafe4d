// Ran: the exit code and the output of a command, and expectations of them.
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "rig/expect_has.h"

namespace prefetch::tests {

struct Ran {
  int exit = 0;
  std::string out, err;

  friend bool operator==(const Ran&, const Ran&) = default;
};

inline std::ostream& operator<<(std::ostream& stream, const Ran& ran) {
  return stream << "exit " << ran.exit << "\n" << ran.out << "--- stderr\n" << ran.err;
}

// Did it end so, and print this, or complain of this?
inline testing::AssertionResult Prints(const Ran& ran, int exit, std::string_view part) {
  if (ran.exit == exit && ran.out.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "not exit " << exit << " and \"" << part << "\":\n" << ran;
}
inline testing::AssertionResult Complains(const Ran& ran, int exit, std::string_view part) {
  if (ran.exit == exit && ran.err.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "not exit " << exit << " and \"" << part << "\":\n" << ran;
}
// The same of one that prints nothing.
inline testing::AssertionResult OnlyComplains(const Ran& ran, int exit, std::string_view part) {
  if (ran.out.empty()) return Complains(ran, exit, part);
  return testing::AssertionFailure() << "it prints something:\n" << ran;
}

// `command` is called with two streams: what it prints, and what it complains of.
template <typename Command>
Ran Run(Command&& command) {
  std::ostringstream out, err;
  const int exit = std::forward<Command>(command)(out, err);
  return {exit, out.str(), err.str()};
}

}  // namespace prefetch::tests

namespace prefetch::ctl {

using tests::Ran;

}  // namespace prefetch::ctl
