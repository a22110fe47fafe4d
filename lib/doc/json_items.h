// JsonItems: a list in JSON that is too long for memory, item by item, as its bytes come.
//
//   JsonItems items([&](std::string_view item, Position at) { … });
//   while (…) items.Feed(bytes);
//   items.rest()
//
// The items are those of the document's member `items`, or of the document itself if it is an array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "doc/node.h"

namespace prefetch::doc {

// One owner, one thread. Its memory grows with the longest item.
class JsonItems {
 public:
  // `item` is the text of one value, which stands at `at` of the document. It ends with the call.
  using Take = std::function<void(std::string_view item, Position at)>;

  // `most_bytes`: maximum size of an item, and of all that is not one. Longer ones are cut off, and then are
  // no JSON.
  JsonItems(std::size_t most_bytes, Take take) : most_bytes_(most_bytes), take_(std::move(take)) {}

  void Feed(std::string_view bytes);
  // The document so far with 0 for each item, which the caller parses: all mistakes beyond the items are in
  // it.
  const std::string& rest() const { return rest_; }
  // The document has no member `items`, or it is no list: then rest() is all of it.
  bool whole() const { return !seen_items_; }
  // Some item, or the rest, was longer than allowed.
  bool cut() const { return cut_; }

 private:
  void Byte(char c);
  void Structure(char c);
  void Keep(std::string& text, char c);
  void Begin(char c);
  void End();

  std::size_t most_bytes_;
  Take take_;
  std::string item_, rest_, key_;
  Position here_{1, 1}, item_at_;
  std::size_t depth_ = 0;
  std::size_t items_depth_ = 0;  // of what is in the list; 0: not in it
  bool in_string_ = false, escaped_ = false;
  bool in_key_ = false;       // a string of the outermost object that may be a key
  bool after_items_ = false;  // the key `items` was the last thing
  bool in_item_ = false, seen_items_ = false, cut_ = false;
};

}  // namespace prefetch::doc
