// Reads JSON as RFC 8259 has it, and nothing beside it.
//
// Written here although there are libraries: jsoncpp (1.9.5, in its strict mode) takes `01`, `1.`, `-`, `+1`,
// raw line breaks in strings and lone surrogates, tells no place of a key, and quotes the input in its
// errors, which for a file of credentials must not happen.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "doc/problems.h"
#include "doc/text_check.h"

namespace prefetch::doc {

enum class JsonRules {
  kStrict,    // a duplicate key and a lone surrogate are problems; a byte order mark is passed over
  kLenient,   // as Go's encoding/json, which docker and kubelet read with: of duplicate keys the last counts,
              // and invalid UTF-8 becomes U+FFFD
  kGoStrict,  // the same, but a duplicate key is a problem, as for kubelet's strict decoders
  kGo,        // as kLenient, but duplicate keys stay, in their order: Go reads each into the same variable
};

// One value, with nothing behind it. nullopt, with the problem added, if the text cannot be read. A tree that
// comes with problems (duplicate keys) is good for finding further ones, not for use. Pure.
// `begin` is where `text` stands, if it is a part of another text.
std::optional<Node> ParseJson(std::string_view text, Problems& problems, JsonRules rules = JsonRules::kStrict,
                              const Limits& limits = {}, Position begin = {1, 1});

// The same. `beyond_limits`: the text may be good JSON, and only `limits`, or a number beyond those of Go,
// keeps this reader from it. Go minds such a number only in a member that it reads.
std::optional<Node> ParseJson(std::string_view text, Problems& problems, JsonRules rules,
                              const Limits& limits, bool& beyond_limits);

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

}  // namespace prefetch::doc
