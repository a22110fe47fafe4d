// ParseJson: reads JSON as RFC 8259 has it, and nothing else.
// JsonValues: several values in one text.
// SecretNode: a document that wipes itself.
// JsonItems: a list that is too long for memory, item by item.
//
// Written here although there are libraries: jsoncpp (1.9.5, in its strict mode) takes `01`, `1.`, `-`, `+1`,
// raw line breaks in strings and lone surrogates, tells no place of a key, and quotes the input in its
// errors, which for a file of credentials must not happen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"
#include "doc/node.h"
#include "doc/problems.h"

namespace prefetch::doc {

enum class JsonRules {
  kStrict,    // a duplicate key and a lone surrogate are problems; a byte order mark is passed over
  kLenient,   // as Go's encoding/json, which docker and kubelet read with: of duplicate keys the last counts,
              // and invalid UTF-8 becomes U+FFFD
  kGoStrict,  // the same, but a duplicate key is a problem, as for kubelet's strict decoders
  kGo,        // as kLenient, but duplicate keys stay, in their order: Go reads each into the same variable
};

// Parses one value, with nothing behind it. Returns nullopt, with the problem added, if the text cannot be
// read. A tree that comes with problems (duplicate keys) is good for finding further ones, not for use. Pure.
// `begin` is where `text` stands, if it is a part of another text. `beyond_limits` is set to whether the text
// may be good JSON, and only `limits`, or a number beyond those of Go, keeps this reader from it. Go minds
// such a number only in a member that it reads.
std::optional<Node> ParseJson(std::string_view text, Problems& problems, JsonRules rules = JsonRules::kStrict,
                              const Limits& limits = {}, Position begin = {1, 1},
                              bool* beyond_limits = nullptr);

// Reads another program's document (a runtime's, a registry's) as kLenient: only a few of its members count.
// Returns null for what cannot be read or exceeds `limits`. Pure.
Node ParseOrNull(std::string_view text, const Limits& limits);
// Likewise for a text of any length that nests to 64 levels and has 100,000 values at most.
inline Node ParseOrNull(std::string_view text) {
  return ParseOrNull(text, {.bytes = text.size(), .depth = 64, .nodes = 100'000});
}

class JsonParser;

// The values of one text that stand one after another, as Go's json.Decoder reads them, by
// JsonRules::kLenient. The Limits are for all of them. Not thread-safe.
class JsonValues {
 public:
  // `text` is UTF-8 and, like `problems`, outlives this.
  JsonValues(std::string_view text, Problems& problems, const Limits& limits);
  ~JsonValues();

  // The next value; nullopt at the end of the text, or with the problem added.
  std::optional<Node> Next();
  // The end of the last value: its offset in bytes, and its place.
  std::size_t offset() const { return offset_; }
  Position at() const { return at_; }
  std::size_t nodes() const;  // of all values
  // The problem is a number that Go has no type for: no mistake in the syntax, which Go checks first.
  bool out_of_range() const;

 private:
  std::unique_ptr<JsonParser> parser_;
  std::size_t offset_ = 0;
  Position at_{1, 1};
};

// Overwrites all texts in the tree, but not the keys.
void WipeNode(doc::Node& node);

// Returns all strings in a plugin's answer that may be secrets: not those of members whose names tell what
// they are (kind, apiVersion, user names, times).
std::vector<base::Secret> SecretStrings(std::string_view json);

// A document that may hold passwords, tokens or keys. It is wiped when it is destroyed.
struct SecretNode {
  explicit SecretNode(doc::Node tree) : node(std::move(tree)) {}
  SecretNode(const SecretNode&) = delete;
  SecretNode& operator=(const SecretNode&) = delete;
  ~SecretNode() { WipeNode(node); }

  doc::Node node;
};

// A list in JSON that is too long for memory, item by item, as its bytes come.
//
//   JsonItems items([&](std::string_view item, Position at) { … });
//   while (…) items.Feed(bytes);
//   items.rest()
//
// The items are those of the document's member `items`, or of the document itself if it is an array. One
// owner, one thread. Memory grows with the longest item.
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
  bool has_no_items() const { return !seen_items_; }
  // Some item, or the rest, was longer than allowed.
  bool truncated() const { return truncated_; }

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
  bool in_item_ = false, seen_items_ = false, truncated_ = false;
};

}  // namespace prefetch::doc
