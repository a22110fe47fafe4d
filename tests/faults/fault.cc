#include "faults/fault.h"

#include "faults/kinds.h"

namespace prefetch::tests::faults {
namespace {

std::vector<FaultKind> All() {
  std::vector<FaultKind> all = OfRuntime();
  for (auto* more : {&OfRegistry, &OfCredentials, &OfNode, &OfApiServer}) {
    for (FaultKind& kind : more()) all.push_back(std::move(kind));
  }
  return all;
}

}  // namespace

const std::vector<FaultKind>& FaultKinds() {
  static const std::vector<FaultKind> kAll = All();
  return kAll;
}

}  // namespace prefetch::tests::faults
