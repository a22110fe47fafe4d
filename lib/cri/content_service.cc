#include "cri/content_service.h"

#include "base/sha256.h"

namespace prefetch::cri {
namespace {

// Ends the name of a lease for an image that a preflight asked for.
constexpr std::string_view kRequestedSuffix = "-asked";

}  // namespace

std::string LeasePrefix(std::string_view instance) {
  // Any instance and any reference give a short id of plain characters.
  return std::string(kLeasePrefix) + PinOwner(instance) + "-";
}

std::string PinOwner(std::string_view instance) {
  return base::Sha256Hex(instance).substr(0, 8);
}

std::string LeaseFor(std::string_view instance, const image::Reference& reference) {
  return LeasePrefix(instance) + base::Sha256Hex(reference.Normalized()).substr(0, 32);
}

std::string RequestedLeaseFor(std::string_view instance, const image::Reference& reference) {
  return LeaseFor(instance, reference) + std::string(kRequestedSuffix);
}

bool IsRequestedLease(std::string_view lease) {
  return lease.starts_with(kLeasePrefix) && lease.ends_with(kRequestedSuffix);
}

}  // namespace prefetch::cri
