// FairQueue: items that wait for a few workers, of parties that share these fairly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace prefetch::base {

// The next item is the oldest of the party that has the fewest items at work. Not thread-safe.
template <typename T>
class FairQueue {
 public:
  struct Item {
    std::string party;
    T value;
  };

  // The largest numbers of items that wait: of all parties, and of one.
  FairQueue(std::size_t most, std::size_t most_of_one) : most_(most), most_of_one_(most_of_one) {}

  // Returns false, and drops the item, if there is no room for one more of this party.
  bool Add(std::string party, T value) {
    const auto of_party = std::count_if(waiting_.begin(), waiting_.end(),
                                        [&](const Item& item) { return item.party == party; });
    if (waiting_.size() >= most_ || static_cast<std::size_t>(of_party) >= most_of_one_) return false;
    waiting_.push_back({std::move(party), std::move(value)});
    return true;
  }
  // Takes the next item to work; Done ends that. nullopt: none waits.
  std::optional<Item> Take() {
    auto next = std::min_element(waiting_.begin(), waiting_.end(), [&](const Item& a, const Item& b) {
      return AtWork(a.party) < AtWork(b.party);
    });
    if (next == waiting_.end()) return std::nullopt;
    Item item = std::move(*next);
    waiting_.erase(next);
    at_work_[item.party]++;
    return item;
  }
  void Done(const std::string& party) {
    if (auto found = at_work_.find(party); --found->second == 0) at_work_.erase(found);
  }

 private:
  std::size_t AtWork(const std::string& party) const {
    const auto found = at_work_.find(party);
    return found == at_work_.end() ? 0 : found->second;
  }

  const std::size_t most_, most_of_one_;
  std::list<Item> waiting_;                     // the oldest first
  std::map<std::string, std::size_t> at_work_;  // by party
};

}  // namespace prefetch::base
