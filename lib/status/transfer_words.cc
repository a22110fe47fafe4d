#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "status/words.h"

namespace prefetch::status {
namespace {

// "412 of 680 MB": the unit once where it is the same.
std::string OfTotal(std::uint64_t done, std::uint64_t total) {
  std::string have = base::HumanBytes(done), all = base::HumanBytes(total);
  std::size_t unit = have.find(' ');
  if (have.substr(unit) == all.substr(all.find(' '))) have.resize(unit);
  return have + " of " + all;
}

}  // namespace

std::string TransferWords(std::uint64_t done, std::uint64_t total, std::uint64_t per_second) {
  std::string words = total == 0 ? base::HumanBytes(done) + " so far" : OfTotal(std::min(done, total), total);
  if (per_second == 0) return words;
  words += ", " + base::HumanBytes(per_second) + "/s";
  if (total > done) {
    const std::uint64_t seconds = (total - done + per_second - 1) / per_second;
    words += ", about " + base::HumanTime(std::chrono::seconds(seconds)) + " left";
  }
  return words;
}

}  // namespace prefetch::status
