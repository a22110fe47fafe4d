#include "doc/kubernetes_stream.h"

#include <algorithm>

#include "base/text.h"
#include "doc/parser_parts.h"
#include "doc/problems.h"

namespace prefetch::doc {
namespace {

constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";
constexpr std::string_view kSeparator = "---";

// kubectl looks for the brace in the first 4,096 bytes, and takes fewer than four for the end of a file.
constexpr std::size_t kPeeked = 4096;
constexpr std::size_t kLeastRest = 4;

}  // namespace

KubernetesStream::KubernetesStream(std::string_view text, Problems& problems, const Limits& limits,
                                   LimitScope limits_of)
    : problems_(problems), limits_(limits), limits_of_(limits_of), text_(text), as_json_(problems.source()) {
  if (limits_of == LimitScope::kStream) {
    limits_ = LimitsFor(text.size(), limits, kLeastBytesInManifests);
    if (text.size() > limits.bytes) {
      Stop({}, TooLong(limits.bytes));
      return;
    }
  }
  if (std::optional<std::string> wide = Utf8OfUtf16(text, kReplacementCharacter)) {
    text_ = repaired_ = *std::move(wide);
  } else if (text.starts_with(kByteOrderMark)) {
    text_.remove_prefix(kByteOrderMark.size());
  }
  const bool marked = text_.size() != text.size() && repaired_.empty();
  const bool looks_like_json = LooksLikeJson(text_.substr(0, kPeeked));
  if (!base::IsUtf8(text_)) {
    // If the text says that it is UTF-8, only kubectl's reader of JSON replaces other bytes.
    if (!marked || looks_like_json) text_ = repaired_ = base::ToUtf8(text_);
    json_only_ = marked;
  }
  // kubectl refuses arrays, so these are as well read by their own grammar.
  if (looks_like_json || text_.starts_with("[")) json_.emplace(text_, as_json_, limits_);
}

std::optional<Node> KubernetesStream::Next() {
  while (!ended_) {
    std::optional<Node> document = json_ ? NextJson() : NextYaml();
    if (document && document->kind != Node::Kind::kNull) return document;
  }
  return std::nullopt;
}

std::optional<Node> KubernetesStream::Stop(Position at, std::string_view message) {
  problems_.Add(at, "", message);
  ended_ = true;
  return std::nullopt;
}

std::optional<Node> KubernetesStream::NextJson() {
  if (std::optional<Node> value = json_->Next()) {
    json_values_++;
    return value;
  }
  const std::size_t offset = json_->offset();
  const bool is_json = json_only_ || json_values_ > 1 || json_->out_of_range();
  begin_ = json_->at();
  usage_.nodes = json_->nodes();
  json_.reset();
  text_.remove_prefix(offset);
  ended_ = as_json_.empty() || is_json || !SkipSpace();
  if (ended_) problems_.Append(as_json_);
  return std::nullopt;
}

// Passes over spaces up to the next line. False if the file ends too soon for kubectl.
bool KubernetesStream::SkipSpace() {
  while (text_.size() >= kLeastRest) {
    const std::size_t space = GoSpaceAt(text_);
    const bool ends_line = text_.starts_with('\n');
    Pass(space);
    if (space == 0 || ends_line) return true;
  }
  return false;
}

void KubernetesStream::Pass(std::size_t bytes) {
  const std::string_view passed = text_.substr(0, bytes);
  const std::size_t line = passed.rfind('\n');
  if (line == std::string_view::npos) {
    begin_.column += static_cast<std::uint32_t>(CharactersIn(passed));
  } else {
    begin_.line += static_cast<std::uint32_t>(std::count(passed.begin(), passed.end(), '\n'));
    begin_.column = static_cast<std::uint32_t>(CharactersIn(passed.substr(line + 1)) + 1);
  }
  text_.remove_prefix(passed.size());
}

// Adds the problem if anything but a comment stands behind the dashes.
bool KubernetesStream::IsSeparator(std::string_view line) {
  line.remove_prefix(kSeparator.size());
  while (const std::size_t space = GoSpaceAt(line)) line.remove_prefix(space);
  if (line.empty() || line.starts_with('#')) return true;
  Stop(begin_,
       "kubectl takes a line that begins with --- for the next document; only a comment may follow there");
  return false;
}

std::optional<Node> KubernetesStream::NextYaml() {
  auto line = [&] { return text_.substr(0, text_.find('\n')); };
  // The first of several lines is a part of the document, which then begins with it.
  if (text_.starts_with(kSeparator) && !IsSeparator(line())) return std::nullopt;
  const std::size_t end = text_.find("\n---");
  const std::string_view document = text_.substr(0, end);
  const Position begin = begin_;
  Pass(document.size() + 1);
  if (end == std::string_view::npos) {
    ended_ = true;
  } else {
    if (!IsSeparator(line())) return std::nullopt;
    Pass(line().size() + 1);
  }
  Limits limits = limits_;
  if (limits_of_ == LimitScope::kDocument) {
    if (document.size() > limits.bytes) return Stop(begin, "this document " + TooLong(limits.bytes));
    limits = LimitsFor(document.size(), limits, kLeastBytesInManifests);
    usage_ = {};
  }
  // A text that looks like JSON and is neither is more often JSON with a mistake.
  Problems as_yaml(problems_.source());
  std::optional<Node> node = ReadKubernetesDocument(document, begin, as_yaml, RepeatedKeys::kLastCounts,
                                                    TrailingText::kProblem, limits, usage_);
  if (!node) problems_.Append(as_json_.empty() || json_values_ > 0 ? as_yaml : as_json_);
  ended_ = ended_ || !node;
  as_json_ = Problems(problems_.source());
  return node;
}

std::optional<std::vector<Node>> ReadKubernetesDocuments(std::string_view text, Problems& problems,
                                                         const Limits& limits) {
  const std::size_t before = problems.count();
  KubernetesStream stream(text, problems, limits, LimitScope::kStream);
  const Limits fitting = LimitsFor(text.size(), limits, kLeastBytesInManifests);
  std::vector<Node> documents;
  while (std::optional<Node> document = stream.Next()) {
    MakeRoom(documents, fitting.nodes);
    documents.push_back(*std::move(document));
  }
  return problems.count() > before ? std::nullopt : std::optional(std::move(documents));
}

}  // namespace prefetch::doc
