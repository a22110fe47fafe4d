// One list of rows for each struct of a document, and the interpreters of such lists: JSON, reader, public
// view, fields of the schema. Internal to status/.
//
// A struct T has an overload of Rows in this namespace. The interpreters are in it, too, so they find the
// overload whatever the namespace of T.
//   template <typename V>
//   void Rows(V&& v, const T*) {
//     v("name", &T::name, kPublic | kNull, "Help, for the reference page", WordsOfAnEnum);
//   }
// `v` is one of the interpreters, and the pointer only selects the struct. Members may be those of a base.
// The rows are in the order in which the members are written.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/enum_name.h"
#include "base/result.h"
#include "base/scrub.h"
#include "base/text.h"
#include "doc/enum_text.h"
#include "doc/field.h"
#include "doc/json.h"
#include "doc/node.h"
#include "doc/write.h"
#include "status/documents.h"

namespace prefetch::status {

// "2026-08-01T10:00:00Z", as base::Rfc3339 writes it; fractions of a second are dropped.
std::optional<base::WallTime> ParseTime(const std::string& text);

// How a member is written. Without kPublic, callers that the agent does not know never see it: a new member
// is hidden until its row says otherwise.
enum Flags : unsigned {
  kPublic = 1,
  kNull = 2,      // null where it is empty; else an empty text, list or 0 is written as it is
  kLeftOut = 4,   // missing where it is empty
  kLater = 8,     // agents of earlier versions lack it
  kKubelet = 16,  // missing where the operator declared that there is no kubelet
  kMore = 32,     // later versions may know more words
};

// The words of a member that is a text, and has only a few values. Members of type EnumText need none.
using EnumWords = std::vector<std::string> (*)();

// The types of members, taken apart: a struct with rows, an optional, a list of either.

template <typename T>
concept HasRows = requires(const T* of) {
  Rows([](auto&&...) {}, of);
};

template <typename T>
struct IsOptional : std::false_type {
  using Item = T;
};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {
  using Item = T;
};
template <typename T>
struct IsList : std::false_type {
  using Item = T;
};
template <typename T>
struct IsList<std::vector<T>> : std::true_type {
  using Item = T;
};
template <typename T>
struct IsEnumText : std::false_type {};
template <typename E>
struct IsEnumText<doc::EnumText<E>> : std::true_type {
  using Enum = E;
};
// The type of the member's value if it is not null.
template <typename M>
using Value = typename IsOptional<M>::Item;
// The struct of an object, or of the items of a list.
template <typename M>
using Struct = typename IsList<Value<M>>::Item;

template <typename M>
bool IsEmpty(const M& member) {
  if constexpr (IsOptional<M>::value) {
    return !member.has_value();
  } else if constexpr (IsList<M>::value) {
    return member.empty();
  } else {
    return member == M{};
  }
}

// Writes the members of one struct.
template <typename T>
class MemberWriter {
 public:
  MemberWriter(doc::JsonWriter& out, View view, const T& of, const ImageSource* images = nullptr)
      : out_(out), view_(view), of_(of), images_(images) {}

  template <typename M, typename Base>
  void operator()(const char* name, M Base::*member, unsigned flags, const char*, EnumWords = nullptr) const {
    const M& value = of_.*member;
    if (view_ == View::kPublic && (flags & kPublic) == 0) return;
    if constexpr (std::is_same_v<T, StatusKubelet>) {
      if ((flags & kKubelet) != 0 && of_.None()) return;
    }
    // Structs that are never empty need no comparison.
    if constexpr (std::equality_comparable<M> || IsOptional<M>::value || IsList<M>::value) {
      if ((flags & kLeftOut) != 0 && IsEmpty(value)) return;
      if ((flags & kNull) != 0 && IsEmpty(value)) return out_.MemberNull(name);
    }
    out_.Key(name);
    if constexpr (std::is_same_v<M, std::vector<StatusImage>>) {
      if (images_ != nullptr) return WriteImages(*images_);
    }
    Write(value);
  }
  template <typename M>
  void Inline(M T::*member) const {
    Rows(MemberWriter<M>(out_, view_, of_.*member), static_cast<const M*>(nullptr));
  }

 private:
  void Write(const std::string& text) const { out_.String(text); }
  template <typename E>
  void Write(const doc::EnumText<E>& value) const {
    out_.String(value.text());
  }
  void Write(bool value) const { out_.Bool(value); }
  void Write(std::uint64_t value) const { out_.Number(value); }
  void Write(std::int64_t value) const { out_.Integer(value); }
  void Write(base::WallTime time) const { out_.String(base::Rfc3339(time)); }
  void Write(const std::vector<std::string>& texts) const { out_.Strings(texts); }
  void Write(const std::vector<std::pair<std::string, std::string>>& texts) const {
    out_.BeginObject();
    for (const auto& [name, text] : texts) out_.Member(name, text);
    out_.EndObject();
  }
  template <typename M>
  void Write(const std::optional<M>& value) const {
    if (!value) return out_.Null();
    Write(*value);
  }
  template <HasRows M>
  void Write(const M& value) const {
    out_.BeginObject();
    Rows(MemberWriter<M>(out_, view_, value), static_cast<const M*>(nullptr));
    out_.EndObject();
  }
  template <HasRows M>
  void Write(const std::vector<M>& items) const {
    out_.BeginArray();
    for (const M& item : items) Write(item);
    out_.EndArray();
  }

  void WriteImages(const ImageSource& images) const {
    out_.BeginArray();
    for (std::size_t i = 0; i < images.count; i++) Write(images.at(i));
    out_.EndArray();
  }

  doc::JsonWriter& out_;
  const View view_;
  const T& of_;
  const ImageSource* const images_;  // of T; nullptr: its own member has them
};

// Reads one value of an answer of an agent, which may be older or newer, or of another server, into a field.
// The first mistake of the whole answer is kept.
class ValueReader {
 public:
  ValueReader(const doc::Node& node, std::string path, std::string& error)
      : node_(node), path_(std::move(path)), error_(error) {}

  // Reads the member of that name of this object. Null and missing leave the default.
  template <typename M>
  void Member(const char* name, M& field) const {
    const doc::Node* value = node_.Find(name);
    if (value == nullptr || value->kind == doc::Node::Kind::kNull) return;
    ValueReader(*value, path_.empty() ? name : path_ + "." + name, error_).Read(field);
  }

  void Read(std::string& field) const {
    if (Is(doc::Node::Kind::kString, "a string")) field = base::WithoutControls(node_.text);
  }
  template <typename E>
  void Read(doc::EnumText<E>& field) const {
    std::string text = field.text();
    Read(text);
    field = doc::EnumText<E>(std::move(text));
  }
  void Read(bool& field) const {
    if (Is(doc::Node::Kind::kBool, "true or false")) field = node_.boolean;
  }
  void Read(std::uint64_t& field) const {
    // A registry may count beyond what the parser has as an integer.
    const bool is_double = node_.kind == doc::Node::Kind::kDouble;
    if (std::optional<std::uint64_t> large = is_double ? base::ParseUint(node_.text) : std::nullopt) {
      field = *large;
    } else if (Is(doc::Node::Kind::kInt, "a whole number")) {
      if (node_.integer < 0) return Fail("a number from 0");
      field = static_cast<std::uint64_t>(node_.integer);
    }
  }
  void Read(std::int64_t& field) const {
    if (Is(doc::Node::Kind::kInt, "a whole number")) field = node_.integer;
  }
  void Read(std::vector<std::pair<std::string, std::string>>& field) const {
    if (!Is(doc::Node::Kind::kMapping, "an object")) return;
    // A later version may add what is no text.
    for (const doc::Member& member : node_.members) {
      if (member.value.kind != doc::Node::Kind::kString) continue;
      field.emplace_back(base::WithoutControls(member.key), base::WithoutControls(member.value.text));
    }
  }
  void Read(base::WallTime& field) const {
    if (!Is(doc::Node::Kind::kString, "a time")) return;
    const std::optional<base::WallTime> time = ParseTime(node_.text);
    if (!time) Fail("a time");
    field = time.value_or(field);
  }
  template <typename M>
  void Read(std::optional<M>& field) const {
    Read(field.emplace());
  }
  template <typename M>
  void Read(std::vector<M>& items) const {
    if (!Is(doc::Node::Kind::kSequence, "a list")) return;
    for (std::size_t i = 0; i < node_.items.size() && error_.empty(); i++) {
      ValueReader(node_.items[i], path_ + "[" + std::to_string(i) + "]", error_).Read(items.emplace_back());
    }
  }
  template <HasRows M>
  void Read(M& object) const;

  // Reports a value of another kind.
  bool Is(doc::Node::Kind kind, const char* expected) const {
    if (node_.kind != kind) Fail(expected);
    return node_.kind == kind;
  }

 private:
  void Fail(const char* expected) const {
    if (error_.empty()) error_ = (path_.empty() ? "the document" : path_) + " is not " + expected;
  }

  const doc::Node& node_;
  const std::string path_;
  std::string& error_;
};

// Reads the members of one struct.
template <typename T>
struct MemberReader {
  const ValueReader& in;
  T& of;

  template <typename M, typename Base>
  void operator()(const char* name, M Base::*member, unsigned, const char*, EnumWords = nullptr) const {
    in.Member(name, of.*member);
  }
  template <typename M>
  void Inline(M T::*member) const {
    Rows(MemberReader<M>{in, of.*member}, static_cast<const M*>(nullptr));
  }
};

template <HasRows M>
void ValueReader::Read(M& object) const {
  if (Is(doc::Node::Kind::kMapping, "an object")) Rows(MemberReader<M>{*this, object}, &object);
}

template <typename M>
doc::Form FormOf() {
  using V = Value<M>;
  if (HasRows<V>) return doc::Form::kObject;
  if (HasRows<Struct<M>>) return doc::Form::kObjects;
  if (IsEnumText<V>::value) return doc::Form::kWord;
  if (std::is_same_v<V, bool>) return doc::Form::kBool;
  if (std::is_integral_v<V>) return doc::Form::kInt;
  if (std::is_same_v<V, base::WallTime>) return doc::Form::kTime;
  if (std::is_same_v<V, std::vector<std::string>>) return doc::Form::kTexts;
  return std::is_same_v<V, std::string> ? doc::Form::kText : doc::Form::kMap;
}

// Makes the fields of the schema.
template <typename T>
struct Describer {
  const std::string below;
  const bool hidden;  // callers that see one of these members see all of them
  doc::Fields& fields;

  template <typename M, typename Base>
  void operator()(const char* name, M Base::*, unsigned flags, const char* help,
                  EnumWords words = nullptr) const {
    const bool shown = hidden || (flags & kPublic) != 0;
    if constexpr (IsEnumText<Value<M>>::value) {
      if (words == nullptr) words = base::NamesOf<typename IsEnumText<Value<M>>::Enum>;
    }
    fields.push_back({.path = below + name,
                      .form = words != nullptr ? doc::Form::kWord : FormOf<M>(),
                      .help = help,
                      .required = shown && (flags & (kLeftOut | kLater | kKubelet)) == 0,
                      .nullable = (flags & kNull) != 0,
                      .hidden = !shown,
                      .words = words != nullptr ? words() : std::vector<std::string>(),
                      .more_words = (flags & kMore) != 0});
    if constexpr (HasRows<Struct<M>>) {
      const char* separator = IsList<Value<M>>::value ? "[]." : ".";
      Rows(Describer<Struct<M>>{below + name + separator, hidden || (flags & kPublic) == 0, fields},
           static_cast<const Struct<M>*>(nullptr));
    }
  }
  template <typename M>
  void Inline(M T::*) const {
    Rows(Describer<M>{below, hidden, fields}, static_cast<const M*>(nullptr));
  }
};

template <typename T>
doc::Fields FieldsOf(std::string_view kind) {
  doc::Fields fields = doc::FormatFields(kStatusApiVersion, kind);
  Rows(Describer<T>{"", false, fields}, static_cast<const T*>(nullptr));
  return fields;
}

template <typename T>
std::string WriteDocument(const T& document, std::string_view kind, View view, std::size_t bytes,
                          const ImageSource* images = nullptr) {
  return JsonDocument(
      kind, [&](doc::JsonWriter& out) { Rows(MemberWriter<T>(out, view, document, images), &document); },
      bytes);
}

template <typename T>
base::Result<T> ParseDocument(std::string_view json, std::string_view kind, const std::string& what,
                              const doc::Limits& limits) {
  doc::Problems problems(what);
  auto root = doc::ParseJson(json, problems, doc::JsonRules::kLenient, limits);
  if (!root) return base::Error(problems.ToStatus().error());
  std::string error, api_version, its_kind;
  T document;
  const ValueReader in(*root, "", error);
  if (in.Is(doc::Node::Kind::kMapping, "an object")) {
    in.Member("apiVersion", api_version);
    in.Member("kind", its_kind);
    // Checked before anything else: members of another document would give confusing errors.
    if (error.empty() && (api_version != kStatusApiVersion || its_kind != kind)) {
      error = "it is no " + std::string(kind) + " of " + std::string(kStatusApiVersion);
    }
    // ValueReader keeps the first error, so reading goes on without a check after each member.
    if (error.empty()) in.Read(document);
  }
  if (!error.empty()) return base::InvalidArgument(what + ": " + error);
  return document;
}

}  // namespace prefetch::status
