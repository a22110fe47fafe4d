// Reads tokens that pods send. No token makes a clock's time overflow.

#include "fuzz/target.h"
#include "kube/token_keys.h"
#include "plan/caller.h"

FUZZ_TARGET(text) {
  namespace base = prefetch::base;
  namespace kube = prefetch::kube;
  namespace plan = prefetch::plan;
  auto claims = kube::ReadTokenClaims(text);
  if (!claims) return;
  if (claims->expires && *claims->expires < base::WallTime()) __builtin_trap();
  const auto now = base::WallTime(std::chrono::seconds(1'800'000'000));
  const bool fleet = !plan::CheckClaims(*claims, plan::CallerPurpose::kFleet, "n1", now);
  const bool worth_a_review = !plan::CheckClaims(*claims, plan::CallerPurpose::kPreflight, "n1", now);
  if (worth_a_review && !fleet) __builtin_trap();  // what is asked of any token is asked of a pod's
  if (worth_a_review && (claims->node != "n1" || claims->pod_uid.empty())) __builtin_trap();
}
