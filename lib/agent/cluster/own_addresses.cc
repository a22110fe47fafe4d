#include "agent/cluster/own_addresses.h"

#include <chrono>
#include <utility>

#include "http/host_names.h"

namespace prefetch::agent {
namespace {

constexpr std::chrono::minutes kResolveAgain{1};

}  // namespace

OwnAddresses::OwnAddresses(const kube::GetEnv& get_env, const base::Clock& clock)
    : clock_(clock), resolve_at_(clock.Now()) {
  // Some platforms put the API server's public name into the first one; the second is the Service's address.
  for (const char* variable : {"KUBERNETES_SERVICE_HOST", "KUBERNETES_PORT_443_TCP_ADDR"}) {
    if (auto host = get_env(variable); host && !host->empty()) api_server_.push_back(*std::move(host));
  }
}

void OwnAddresses::SetNode(std::vector<std::string> addresses) {
  base::Lock lock(mutex_);
  node_ = std::move(addresses);
}

std::vector<std::string> OwnAddresses::Get() {
  bool resolves = false;
  {
    base::Lock lock(mutex_);
    resolves = clock_.Now() >= resolve_at_;
    if (resolves) resolve_at_ = clock_.Now() + kResolveAgain;
  }
  std::vector<std::string> found;
  if (resolves) {
    for (const std::string& host : api_server_) {
      for (std::string& address : http::AddressesOf(host)) found.push_back(std::move(address));
    }
  }
  base::Lock lock(mutex_);
  if (!found.empty()) resolved_ = std::move(found);
  std::vector<std::string> all = node_;
  all.insert(all.end(), resolved_.begin(), resolved_.end());
  return all;
}

}  // namespace prefetch::agent
