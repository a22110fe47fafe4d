// ParseJson: reads JSON as RFC 8259 has it, and nothing else.
// ParseJsonList: a list whose tree is too large for memory, item by item.
// JsonValues: several values in one text.
// SecretNode: a document that wipes itself.
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
// `beyond_limits` is set to whether the text may be good JSON, and only `limits`, or a number beyond those of
// Go, keeps this reader from it. Go minds such a number only in a member that it reads.
std::optional<Node> ParseJson(std::string_view text, Problems& problems, JsonRules rules = JsonRules::kStrict,
                              const Limits& limits = {}, bool* beyond_limits = nullptr);

// Gets an item of a list, and the list's document as far as it has been read. Both end with the call.
using TakeItem = std::function<void(const Node& item, const Node& list)>;

// Parses one value by JsonRules::kLenient, and passes on each item of its member `items`, or of the value
// itself if it is an array. The result has none of these items: their tree would take many times the text.
// `limits` are for each item, and for all that is no item. Calls `take` on this thread, and up to the first
// mistake.
std::optional<Node> ParseJsonList(std::string_view text, Problems& problems, const Limits& limits,
                                  const TakeItem& take);

// Reads another program's document (a runtime's, a registry's) as kLenient: only a few of its members count.
// Returns null for what cannot be read, nests deeper than 64 or has more than 100,000 values. Pure.
Node ParseOrNull(std::string_view text);

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

}  // namespace prefetch::doc
