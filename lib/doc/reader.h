// Typed, strict reads of a Node. Every mistake goes to Problems with its place and path; a read that failed
// gives nullopt, and the caller goes on, so that all mistakes are found in one pass.
//
//   ObjectReader object(Reader(root, problems));
//   config.name = object.String("name", Need::kRequired).value_or("");
//   config.wait = object.Duration("wait", {.least = 1s}).value_or(kDefaultWait);
//   for (const Reader& image : object.Items("images")) DecodeImage(image, config);
//   object.Finish();                                       // every key that was not read is a mistake
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/enum_name.h"
#include "doc/problems.h"

namespace prefetch::doc {

enum class Need { kOptional, kRequired };
enum class UnknownKeys { kProblem, kIgnored };

struct IntRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

struct DurationRange {
  std::chrono::nanoseconds least{0};
  std::chrono::nanoseconds most = std::chrono::nanoseconds::max();
};

// The names of an enum's values, as they are written.
template <typename E>
using EnumNames = std::initializer_list<std::pair<std::string_view, E>>;

// One value with its path. Cheap to copy; the Node and the Problems outlive it.
class Reader {
 public:
  Reader(const Node& node, Problems& problems, std::string path = "")
      : node_(&node), problems_(&problems), path_(std::move(path)) {}

  const Node& node() const { return *node_; }
  Problems& problems() const { return *problems_; }
  const std::string& path() const { return path_; }
  bool IsNull() const { return node_->kind == Node::Kind::kNull; }

  // A mistake in this value: "must be …".
  void Fail(std::string_view message) const { problems_->Add(node_->at, path_, message); }

  std::optional<std::string> String() const;  // a plain YAML `yes` or 5 is none
  std::optional<bool> Bool() const;
  std::optional<std::int64_t> Int(IntRange range = {}) const;
  // A string such as "90s" or "1h30m"; a bare number is a mistake, as it is for Kubernetes.
  std::optional<std::chrono::nanoseconds> Duration(DurationRange range = {}) const;
  template <typename E>
  std::optional<E> Enum(EnumNames<E> names) const {
    std::vector<std::string_view> words;
    for (const auto& name : names) words.push_back(name.first);
    std::optional<std::size_t> which = OneOf(words);
    return which ? std::optional<E>((names.begin() + *which)->second) : std::nullopt;
  }
  // An enumerator that is written as it is spelled (base/enum_name.h).
  template <typename E>
  std::optional<E> Enum() const {
    constexpr auto& kNames = base::EnumNames<E>::kNames;
    std::optional<std::size_t> which = OneOf({kNames.begin(), kNames.end()});
    return which ? std::optional<E>(static_cast<E>(*which)) : std::nullopt;
  }

  // The parts of a sequence, and of a mapping that has data for keys (labels, registries); none, with the
  // mistake said, if it is something else. null counts as empty.
  std::vector<Reader> Items() const;
  std::vector<std::pair<std::string, Reader>> Members() const;
  std::vector<std::string> Strings() const;
  std::vector<std::pair<std::string, std::string>> StringMap() const;

 private:
  std::optional<std::size_t> OneOf(const std::vector<std::string_view>& names) const;

  const Node* node_;
  Problems* problems_;
  std::string path_;
};

// A mapping whose keys are known. A value of null counts as absent, as in Kubernetes.
class ObjectReader {
 public:
  // Anything but a mapping is reported as a mistake, once, and counts as a mapping without keys.
  explicit ObjectReader(Reader reader);

  // The value of a key, to be read with Reader. Every function below is this one and a read.
  std::optional<Reader> Find(std::string_view key, Need need = Need::kOptional);
  bool Has(std::string_view key) { return Find(key).has_value(); }

  std::optional<std::string> String(std::string_view key, Need need = Need::kOptional) {
    return Read(key, need, &Reader::String);
  }
  std::optional<bool> Bool(std::string_view key, Need need = Need::kOptional) {
    return Read(key, need, &Reader::Bool);
  }
  std::optional<std::int64_t> Int(std::string_view key, IntRange range = {}, Need need = Need::kOptional) {
    return Read(key, need, &Reader::Int, range);
  }
  std::optional<std::chrono::nanoseconds> Duration(std::string_view key, DurationRange range = {},
                                                   Need need = Need::kOptional) {
    return Read(key, need, &Reader::Duration, range);
  }
  template <typename E>
  std::optional<E> Enum(std::string_view key, EnumNames<E> names, Need need = Need::kOptional) {
    return Read(key, need, [&](const Reader& value) { return value.Enum<E>(names); });
  }
  template <typename E>
  std::optional<E> Enum(std::string_view key, Need need = Need::kOptional) {
    return Read(key, need, [](const Reader& value) { return value.Enum<E>(); });
  }
  std::vector<Reader> Items(std::string_view key, Need need = Need::kOptional) {
    return Read(key, need, &Reader::Items);
  }
  std::vector<std::string> Strings(std::string_view key, Need need = Need::kOptional) {
    return Read(key, need, &Reader::Strings);
  }
  std::vector<std::pair<std::string, std::string>> StringMap(std::string_view key) {
    return Read(key, Need::kOptional, &Reader::StringMap);
  }
  std::optional<ObjectReader> Object(std::string_view key, Need need = Need::kOptional);

  // The two fields that every Kubernetes-like file begins with; a mistake unless they are exactly these.
  void Expect(std::string_view key, std::string_view value);

  // A key that may be there and is not looked at.
  void Ignore(std::string_view key) { known_.emplace_back(key); }
  // Returns the place of the key itself; nullopt if it is missing, or null.
  std::optional<Position> KeyAt(std::string_view key) const;
  // Reports a mistake in the value of `key`, or in the object if there is no such key.
  void Fail(std::string_view key, std::string_view message) const;
  void Fail(std::string_view message) const { reader_.Fail(message); }
  // Reports each key that was not read. Call it after the last read.
  void Finish(UnknownKeys rule = UnknownKeys::kProblem) const;

  const Reader& reader() const { return reader_; }

 private:
  // Returns nothing if the value is missing.
  template <typename Function, typename... Range>
  std::invoke_result_t<Function, const Reader&, Range...> Read(std::string_view key, Need need, Function read,
                                                               Range... range) {
    const std::optional<Reader> value = Find(key, need);
    if (!value) return {};
    return std::invoke(read, *value, range...);
  }
  bool IsKnown(const std::string& key) const;
  std::string PathOf(std::string_view key) const;

  Reader reader_;
  std::vector<std::string> known_;
};

// A mistake for each key of a mapping that is one of `names` misspelt.
void ReportMisspelt(const Reader& mapping, std::initializer_list<std::string_view> names);

}  // namespace prefetch::doc
