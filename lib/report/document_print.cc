#include "report/document_print.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "doc/json.h"

namespace prefetch::report {
namespace {

using doc::Node;

constexpr doc::Limits kLimits{.bytes = 32 << 20, .depth = 32, .nodes = 4'000'000};

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  base::AppendJsonEscaped(out, text);
  return out + "\"";
}

bool IsContainer(const Node& node) {
  return node.kind == Node::Kind::kMapping || node.kind == Node::Kind::kSequence;
}
bool IsEmpty(const Node& node) {
  return node.items.empty() && node.members.empty();
}

// A scalar, or an empty container.
std::string Scalar(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "null";
    case Node::Kind::kBool:
      return node.boolean ? "true" : "false";
    case Node::Kind::kInt:
    case Node::Kind::kDouble:
      return node.text;
    case Node::Kind::kString:
      return Quoted(node.text);
    case Node::Kind::kSequence:
      return "[]";
    case Node::Kind::kMapping:
      return "{}";
  }
  std::abort();
}

// May this string stand in YAML without quotes, for YAML 1.1 and 1.2 readers alike?
bool IsPlain(std::string_view text) {
  static constexpr std::string_view kWords[] = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
  if (text.empty() || text.size() > 200 || text.back() == ':') return false;
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!letter(text.front()) && text.front() != '/') return false;
  for (char c : text) {
    bool digit = c >= '0' && c <= '9';
    if (!letter(c) && !digit && std::string_view("_./@:+-").find(c) == std::string_view::npos) return false;
  }
  return std::none_of(std::begin(kWords), std::end(kWords),
                      [&](std::string_view word) { return base::EqualsIgnoreCase(text, word); });
}

void PrintJson(const Node& node, std::size_t depth, std::string& out) {
  if (!IsContainer(node) || IsEmpty(node)) {
    out += Scalar(node);
    return;
  }
  bool mapping = node.kind == Node::Kind::kMapping;
  out += mapping ? "{" : "[";
  std::string margin = "\n" + std::string(2 * (depth + 1), ' ');
  bool first = true;
  auto begin = [&] {
    out += (first ? "" : ",") + margin;
    first = false;
  };
  for (const doc::Member& member : node.members) {
    begin();
    out += Quoted(member.key) + ": ";
    PrintJson(member.value, depth + 1, out);
  }
  for (const Node& item : node.items) {
    begin();
    PrintJson(item, depth + 1, out);
  }
  out += "\n" + std::string(2 * depth, ' ') + (mapping ? "}" : "]");
}

std::string YamlScalar(const Node& node) {
  return node.kind == Node::Kind::kString && IsPlain(node.text) ? node.text : Scalar(node);
}

// `out` stands where the first member or item begins; further ones are indented by `indent`.
void PrintYaml(const Node& node, std::size_t indent, std::string& out) {
  if (!IsContainer(node) || IsEmpty(node)) {
    out += YamlScalar(node) + "\n";
    return;
  }
  std::string margin(indent, ' ');
  bool first = true;
  for (const doc::Member& member : node.members) {
    if (!first) out += margin;
    first = false;
    out += (IsPlain(member.key) ? member.key : Quoted(member.key)) + ":";
    bool nested = IsContainer(member.value) && !IsEmpty(member.value);
    // Items of a list begin in the column of its key, as kubectl prints them.
    std::size_t deeper = member.value.kind == Node::Kind::kMapping ? indent + 2 : indent;
    out += nested ? "\n" + std::string(deeper, ' ') : " ";
    PrintYaml(member.value, deeper, out);
  }
  for (const Node& item : node.items) {
    if (!first) out += margin;
    first = false;
    out += "- ";
    PrintYaml(item, indent + 2, out);
  }
}

template <typename Function>
base::Result<std::string> Print(std::string_view json, Function print) {
  doc::Problems problems("document");
  auto root = doc::ParseJson(json, problems, doc::JsonRules::kLenient, kLimits);
  if (!root) return base::Error(problems.ToStatus().error());
  std::string out;
  print(*root, 0, out);
  if (out.empty() || out.back() != '\n') out += '\n';
  return out;
}

}  // namespace

base::Result<std::string> IndentedJson(std::string_view json) {
  return Print(json, &PrintJson);
}

base::Result<std::string> AsYaml(std::string_view json) {
  return Print(json, &PrintYaml);
}

}  // namespace prefetch::report
