#include "registry/oci_error.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "doc/json.h"

namespace prefetch::registry {
namespace {

constexpr doc::Limits kErrorLimits{.bytes = 16 * 1024, .depth = 32, .nodes = 2000};

std::string ErrorText(const doc::Node& object, const std::string& key) {
  const doc::Node* value = object.Find(key);
  return value != nullptr && value->kind == doc::Node::Kind::kString ? value->text : "";
}

}  // namespace

OciError ParseOciError(std::string_view body) {
  doc::Problems problems("answer");
  auto root = doc::ParseJson(body, problems, doc::JsonRules::kLenient, kErrorLimits);
  if (!root || root->kind != doc::Node::Kind::kMapping) return {};
  const doc::Node* errors = root->Find("errors");
  if (errors == nullptr || errors->kind != doc::Node::Kind::kSequence || errors->items.empty()) return {};
  const doc::Node& first = errors->items.front();
  if (first.kind != doc::Node::Kind::kMapping) return {};
  OciError error{.code = ErrorText(first, "code"), .message = ErrorText(first, "message")};
  // Codes are compared in capitals, as the specification has them.
  std::transform(error.code.begin(), error.code.end(), error.code.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return error;
}

}  // namespace prefetch::registry
