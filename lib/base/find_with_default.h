// FindWithDefault: the value of a key that a map need not have.
#pragma once

namespace prefetch::base {

// Returns the map's value, or a default one if the map has no such key. Adds nothing to the map.
template <typename Map>
const typename Map::mapped_type& FindWithDefault(const Map& map, const typename Map::key_type& key) {
  static const typename Map::mapped_type kDefault{};
  const auto found = map.find(key);
  return found == map.end() ? kDefault : found->second;
}

}  // namespace prefetch::base
