// LruMap: a map of bounded size that forgets what was used longest ago. Not for several threads.
#pragma once

#include <list>
#include <map>
#include <string>
#include <utility>

namespace prefetch::base {

template <typename Value>
class LruMap {
 public:
  explicit LruMap(std::size_t capacity) : capacity_(capacity) {}

  // Returns the value, and counts as a use; nullptr if there is none. The pointer is valid until the next
  // change.
  Value* Find(const std::string& key) {
    auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->second;
  }
  // The value of that key, which is made if it is not there.
  Value& GetOrCreate(const std::string& key) {
    if (Value* value = Find(key)) return *value;
    entries_.emplace_front(key, Value{});
    index_[key] = entries_.begin();
    if (index_.size() > capacity_) {
      index_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return entries_.front().second;
  }
  void Erase(const std::string& key) {
    auto found = index_.find(key);
    if (found == index_.end()) return;
    entries_.erase(found->second);
    index_.erase(found);
  }
  std::size_t size() const { return index_.size(); }

 private:
  using Entries = std::list<std::pair<std::string, Value>>;
  std::size_t capacity_;
  Entries entries_;  // the latest used first
  std::map<std::string, typename Entries::iterator> index_;
};

}  // namespace prefetch::base
