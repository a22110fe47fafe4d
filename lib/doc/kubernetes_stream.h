// KubernetesStream: the documents of a file of manifests, as kubectl finds and reads them.
//
//   KubernetesStream stream(text, problems, limits, LimitScope::kStream);
//   while (std::optional<Node> document = stream.Next()) …
//
// UTF-16 needs a byte order mark; bytes that are no UTF-8 become U+FFFD. A text that begins with `{` is a
// sequence of JSON values. If there is at most one, the rest is YAML. Lines that begin with `---` part
// documents of YAML, wherever they stand, and each of these is a text of its own: ReadKubernetesYaml reads
// it. tests/judges compares this with kubectl's own decoder.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doc/json.h"
#include "doc/kubernetes_yaml.h"

namespace prefetch::doc {

// Whether the Limits are for all documents together, or for each one.
enum class LimitScope { kStream, kDocument };

// Not thread-safe. Time and memory are linear in the text.
class KubernetesStream {
 public:
  // The text and the Problems outlive the stream.
  KubernetesStream(std::string_view text, Problems& problems, const Limits& limits, LimitScope limits_of);

  KubernetesStream(const KubernetesStream&) = delete;
  KubernetesStream& operator=(const KubernetesStream&) = delete;

  // The next document that is not null; nullopt at the end, or with the problem added.
  std::optional<Node> Next();

 private:
  std::optional<Node> NextJson();
  std::optional<Node> NextYaml();
  std::optional<Node> Stop(Position at, std::string_view message);
  bool IsSeparator(std::string_view line);
  bool SkipSpace();
  void Pass(std::size_t bytes);

  Problems& problems_;
  Limits limits_;
  LimitScope limits_of_;
  std::string repaired_;
  std::string_view text_;  // the rest, which stands at begin_
  Position begin_{1, 1};
  bool ended_ = false;
  LimitUsage usage_;
  Problems as_json_;
  std::optional<JsonValues> json_;  // while the text is taken for JSON
  std::size_t json_values_ = 0;
  bool json_only_ = false;
};

// Returns the kind of the items that name none in a list of this kind ("PodList"), as the API server sends
// typed lists; empty if each has to name its own ("List").
inline std::string KindOfItems(std::string_view list) {
  if (list.ends_with("List")) list.remove_suffix(4);
  return std::string(list);
}

// Returns all documents; nullopt, with the problem added, if kubectl cannot read them, or a limit is reached.
// A JSON array, which kubectl refuses, is a document here.
std::optional<std::vector<Node>> ReadKubernetesDocuments(std::string_view text, Problems& problems,
                                                         const Limits& limits = {});

}  // namespace prefetch::doc
