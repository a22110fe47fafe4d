// Reads YAML as Kubernetes' programs read it: sigs.k8s.io/yaml, which is go-yaml v2 and turns its result into
// JSON.
//
// Plain scalars follow YAML 1.1: yes, on and y are booleans, 0110 is 72, 1_000 is 1000. Keys that are numbers
// or booleans become strings. `<<` merges in its place: it replaces the keys before it, and keys behind it
// replace its own. Tags of YAML's own types convert, others are passed over. A byte order mark chooses
// UTF-16. tests/judges compares this reader with that library; doc/yaml.h has the strict reader of our own
// documents.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "doc/problems.h"

namespace prefetch::doc {

// The rule for keys that stand twice in a mapping, also by a merge.
enum class RepeatedKeys {
  kLastCounts,
  kProblem,
};

// Returns the first document of `text`, and does not look at what is behind it; a null node if it is empty.
// nullopt, with the problem added, if Kubernetes' programs cannot read it, or a limit is reached. A tree that
// comes with problems is good for finding further ones, not for use. Pure.
std::optional<Node> ReadKubernetesYaml(std::string_view text, Problems& problems,
                                       RepeatedKeys repeated = RepeatedKeys::kLastCounts,
                                       const Limits& limits = {});

// Text behind the end of the document, which Kubernetes' programs do not read.
enum class TrailingText { kIgnored, kProblem };

// Reads one document of a stream likewise: `text` stands at `begin` of its file. `usage` is that of the
// stream. doc/kubernetes_stream.h finds the documents.
std::optional<Node> ReadKubernetesDocument(std::string_view text, Position begin, Problems& problems,
                                           RepeatedKeys repeated, TrailingText trailing, const Limits& limits,
                                           LimitUsage& usage);

// Length of the space, by Go's unicode.IsSpace, that `text` begins with.
std::size_t GoSpaceAt(std::string_view text);

// Returns the number that Go's strconv.ParseInt reads with base 0: "-5", "0x1f", "0b11", "0o17", "017",
// "1_000".
std::optional<std::int64_t> ParseGoInteger(std::string_view text);

// Returns true if Kubernetes' programs take `text` for JSON: its first character that is no space is `{`.
bool LooksLikeJson(std::string_view text);

// The order in which Kubernetes' decoders look at keys.
enum class KeyOrder {
  kAlphabet,  // YAML
  kText,      // JSON
};

struct KubernetesObject {
  Node root;
  KeyOrder order;
};

// Returns the object of a file: of JSON if it looks so, whose repeated keys all stay in the tree, else the
// first document of YAML.
std::optional<KubernetesObject> ReadKubernetesObject(std::string_view text, Problems& problems,
                                                     RepeatedKeys repeated = RepeatedKeys::kLastCounts);

}  // namespace prefetch::doc
