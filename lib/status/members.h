// Members: reads an answer of an agent, which may be older or newer, or of another server. Internal to
// status/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/scrub.h"
#include "base/text.h"
#include "doc/node.h"

namespace prefetch::status {

// "2026-08-01T10:00:00Z", as base::Rfc3339 writes it; fractions of a second are dropped.
std::optional<base::WallTime> ParseTime(const std::string& text);

// Reads members of one mapping into fields. The first mistake is kept; null and missing leave the default.
class Members {
 public:
  Members(const doc::Node& node, std::string path, std::string& error)
      : node_(node), path_(std::move(path)), error_(error) {
    if (node.kind != doc::Node::Kind::kMapping) Fail("", "an object");
  }

  void Read(const char* name, std::string& field) const {
    if (const doc::Node* value = Find(name, doc::Node::Kind::kString, "a string"))
      field = base::WithoutControls(value->text);
  }
  void Read(const char* name, bool& field) const {
    if (const doc::Node* value = Find(name, doc::Node::Kind::kBool, "true or false")) field = value->boolean;
  }
  void Read(const char* name, std::uint64_t& field) const {
    const doc::Node* found = node_.Find(name);
    // A registry may count beyond what the parser has as an integer.
    if (found != nullptr && found->kind == doc::Node::Kind::kDouble) {
      if (std::optional<std::uint64_t> large = base::ParseUint(found->text)) {
        field = *large;
        return;
      }
    }
    const doc::Node* value = Find(name, doc::Node::Kind::kInt, "a whole number");
    if (value == nullptr) return;
    if (value->integer < 0) return Fail(name, "a number from 0");
    field = static_cast<std::uint64_t>(value->integer);
  }
  void Read(const char* name, std::optional<std::uint64_t>& field) const {
    const doc::Node* found = node_.Find(name);
    if (found == nullptr || found->kind == doc::Node::Kind::kNull) return;
    Read(name, field.emplace(0));
  }
  void Read(const char* name, std::int64_t& field) const {
    if (const doc::Node* value = Find(name, doc::Node::Kind::kInt, "a whole number")) field = value->integer;
  }
  void Read(const char* name, std::optional<bool>& field) const {
    if (const doc::Node* value = Find(name, doc::Node::Kind::kBool, "true or false")) field = value->boolean;
  }
  void Read(const char* name, std::vector<std::pair<std::string, std::string>>& field) const {
    const doc::Node* value = Find(name, doc::Node::Kind::kMapping, "an object");
    if (value == nullptr) return;
    // A later version may add what is no text.
    for (const doc::Member& member : value->members) {
      if (member.value.kind != doc::Node::Kind::kString) continue;
      field.emplace_back(base::WithoutControls(member.key), base::WithoutControls(member.value.text));
    }
  }
  void Read(const char* name, std::optional<base::WallTime>& field) const {
    const doc::Node* value = Find(name, doc::Node::Kind::kString, "a time");
    if (value == nullptr) return;
    field = ParseTime(value->text);
    if (!field) Fail(name, "a time");
  }
  void Read(const char* name, std::vector<std::string>& field) const {
    EachItem(name, [&](const doc::Node& item, const std::string& path) {
      if (item.kind == doc::Node::Kind::kString) {
        field.push_back(base::WithoutControls(item.text));
      } else {
        FailAt(path, "a string");
      }
    });
  }
  // Calls `read` with the members of the object of that name, if it is there.
  template <typename Function>
  bool Object(const char* name, Function read) const {
    const doc::Node* value = Find(name, doc::Node::Kind::kMapping, "an object");
    if (value != nullptr) read(Members(*value, At(name), error_));
    return value != nullptr;
  }
  // The same for each object of the list of that name. False: there is no such list.
  template <typename Function>
  bool Objects(const char* name, Function read) const {
    return EachItem(
        name, [&](const doc::Node& item, const std::string& path) { read(Members(item, path, error_)); });
  }

 private:
  std::string At(std::string_view name) const {
    if (path_.empty() || name.empty()) return path_ + std::string(name);
    return path_ + "." + std::string(name);
  }
  void FailAt(const std::string& path, std::string_view expected) const {
    if (error_.empty()) error_ = (path.empty() ? "the document" : path) + " is not " + std::string(expected);
  }
  void Fail(std::string_view name, std::string_view expected) const { FailAt(At(name), expected); }
  const doc::Node* Find(const char* name, doc::Node::Kind kind, std::string_view expected) const {
    const doc::Node* value = node_.Find(name);
    if (value == nullptr || value->kind == doc::Node::Kind::kNull) return nullptr;
    if (value->kind == kind) return value;
    Fail(name, expected);
    return nullptr;
  }
  template <typename Function>
  bool EachItem(const char* name, Function read) const {
    const doc::Node* list = Find(name, doc::Node::Kind::kSequence, "a list");
    if (list == nullptr) return false;
    for (std::size_t i = 0; i < list->items.size() && error_.empty(); i++) {
      read(list->items[i], At(name) + "[" + std::to_string(i) + "]");
    }
    return true;
  }

  const doc::Node& node_;
  const std::string path_;
  std::string& error_;
};

}  // namespace prefetch::status
