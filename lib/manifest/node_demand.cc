#include "manifest/pod_template.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doc/reader.h"

namespace prefetch::manifest {
namespace {

using doc::ObjectReader;
using doc::Reader;
using Values = std::vector<std::string>;

bool IsOsLabel(std::string_view label) {
  return label == "kubernetes.io/os" || label == "beta.kubernetes.io/os";
}

bool IsArchitectureLabel(std::string_view label) {
  return label == "kubernetes.io/arch" || label == "beta.kubernetes.io/arch";
}

void ReadSelector(ObjectReader& spec, NodeDemand& nodes) {
  for (auto& [label, value] : spec.StringMap("nodeSelector")) {
    if (!IsOsLabel(label) && !IsArchitectureLabel(label)) continue;
    (IsOsLabel(label) ? nodes.operating_systems : nodes.architectures) = {value};
    nodes.at = spec.KeyAt("nodeSelector");
  }
}

// The values that one term of the affinity allows; nullopt: any.
struct Term {
  std::optional<Values> operating_systems, architectures;
};

Term ReadTerm(const Reader& item) {
  Term term;
  for (const Reader& part : ObjectReader(item).Items("matchExpressions")) {
    ObjectReader expression(part);
    std::string key = expression.String("key").value_or("");
    bool in = expression.String("operator").value_or("") == "In";
    if (!in || (!IsOsLabel(key) && !IsArchitectureLabel(key))) continue;
    (IsOsLabel(key) ? term.operating_systems : term.architectures) = expression.Strings("values");
  }
  return term;
}

// The terms are alternatives: one that does not say allows everything.
Values AnyOf(const std::vector<Term>& terms, std::optional<Values> Term::*part) {
  Values allowed;
  for (const Term& term : terms) {
    if (!(term.*part)) return {};
    for (const std::string& value : *(term.*part)) {
      if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) allowed.push_back(value);
    }
  }
  return allowed;
}

void ReadAffinity(ObjectReader& spec, NodeDemand& nodes) {
  auto affinity = spec.Object("affinity");
  auto node = affinity ? affinity->Object("nodeAffinity") : std::nullopt;
  auto required = node ? node->Object("requiredDuringSchedulingIgnoredDuringExecution") : std::nullopt;
  if (!required) return;
  std::vector<Term> terms;
  for (const Reader& item : required->Items("nodeSelectorTerms")) terms.push_back(ReadTerm(item));
  auto add = [&](Values& values, std::optional<Values> Term::*part) {
    if (!values.empty()) return;  // nodeSelector is as binding, and narrower
    values = AnyOf(terms, part);
    if (!values.empty() && !nodes.at) nodes.at = spec.KeyAt("affinity");
  };
  add(nodes.operating_systems, &Term::operating_systems);
  add(nodes.architectures, &Term::architectures);
}

void ReadOs(ObjectReader& spec, NodeDemand& nodes) {
  auto os = spec.Object("os");
  std::string name = os ? os->String("name").value_or("") : "";
  if (name.empty()) return;
  nodes.operating_systems = {name};
  if (!nodes.at) nodes.at = spec.KeyAt("os");
}

}  // namespace

NodeDemand ReadNodeDemand(const doc::Node& node) {
  doc::Problems nobodys("");
  ObjectReader spec(Reader(node, nobodys));
  NodeDemand nodes;
  ReadSelector(spec, nodes);
  ReadAffinity(spec, nodes);
  ReadOs(spec, nodes);
  return nodes;
}

}  // namespace prefetch::manifest
