#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "doc/json.h"
#include "doc/json_items.h"
#include "manifest/object_visitor.h"
#include "manifest/read.h"

namespace prefetch::manifest {
namespace {

std::string MemberText(const doc::Node& object, const char* key) {
  const doc::Node* value = object.Find(key);
  return value == nullptr ? "" : value->text;
}

// The type that the items have if they name none, as far as the list has begun.
Implied ImpliedBy(const std::string& begun) {
  doc::Problems nobodys("");
  const std::optional<doc::Node> list = doc::ParseJson(begun + "]}", nobodys);
  if (!list) return {};
  const std::string kind = MemberText(*list, "kind");
  if (kind == "List" || !kind.ends_with("List")) return {};
  return {MemberText(*list, "apiVersion"), kind.substr(0, kind.size() - 4)};
}

std::string TooLong(std::size_t bytes) {
  return "is longer than " + std::to_string(bytes) + " bytes";
}

void ReadJsonList(std::string& text, const ReadMore& more, doc::Problems& problems,
                  const ReadOptions& options, ObjectVisitor& visitor) {
  std::optional<Implied> implied;
  std::size_t number = 0, total = 0;
  doc::JsonItems* list = nullptr;
  doc::JsonItems items(options.limits.bytes, [&](std::string_view item, doc::Position at) {
    if (!implied) implied = ImpliedBy(list->rest());
    const auto node = doc::ParseJson(item, problems, doc::JsonRules::kStrict, options.limits, at);
    const std::string path = "items[" + std::to_string(number++) + "]";
    if (node) visitor.Visit(doc::Reader(*node, problems, path), *implied);
  });
  list = &items;
  do {
    total += text.size();
    if (total > kMostManifestBytes) return problems.Add({}, "", TooLong(kMostManifestBytes));
    items.Feed(text);
    text.clear();
  } while (!problems.Full() && more(text));
  if (items.cut()) return problems.Add({}, "", "a part of it " + TooLong(options.limits.bytes));
  if (problems.Full()) return;
  const auto rest = doc::ParseJson(items.rest(), problems, doc::JsonRules::kStrict, options.limits);
  if (rest && items.whole()) visitor.Visit(doc::Reader(*rest, problems), {});
}

// Documents together, up to the limit of a part, behind as many empty lines as stand before them in the text.
void ReadYamlDocuments(std::string_view text, doc::Problems& problems, const ReadOptions& options,
                       ObjectVisitor& visitor) {
  static constexpr std::string_view kNext = "\n---";
  doc::Limits limits = options.limits;
  std::size_t lines = 0;
  while (!text.empty() && problems.empty()) {
    std::size_t end = text.size();
    if (end > options.limits.bytes) {
      end = text.rfind(kNext, options.limits.bytes);
      if (end == std::string_view::npos || end == 0) end = text.find(kNext, 1);
      end = end == std::string_view::npos ? text.size() : end + 1;
    }
    const std::string_view part = text.substr(0, end);
    if (part.size() > options.limits.bytes) {
      return problems.Add({static_cast<std::uint32_t>(lines + 1), 1}, "",
                          "this document " + TooLong(options.limits.bytes));
    }
    limits.bytes = lines + part.size();
    for (const doc::Node& document :
         ParseManifests(std::string(lines, '\n') + std::string(part), problems, limits)) {
      visitor.Visit(doc::Reader(document, problems), {});
    }
    lines += static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n'));
    text.remove_prefix(end);
  }
}

}  // namespace

Manifests ReadLongManifests(std::string& text, const ReadMore& more, doc::Problems& problems,
                            const ReadOptions& options) {
  Manifests manifests;
  ObjectVisitor visitor(options, manifests, nullptr);
  const std::string_view begin = base::TrimSpace(std::string_view(text).substr(0, 1024));
  if (begin.starts_with("{") || begin.starts_with("[")) {
    ReadJsonList(text, more, problems, options, visitor);
    return manifests;
  }
  while (text.size() <= kMostManifestBytes && more(text)) {
  }
  if (text.size() > kMostManifestBytes) {
    problems.Add({}, "", TooLong(kMostManifestBytes));
  } else {
    ReadYamlDocuments(text, problems, options, visitor);
  }
  return manifests;
}

}  // namespace prefetch::manifest
