#include "agent/cluster/own_addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/fs.h"
#include "base/text.h"
#include "http/host_names.h"

namespace prefetch::agent {
namespace {

constexpr std::chrono::minutes kResolveAgain{1};

constexpr std::size_t kLongestFile = 1 << 20;

std::string ReadOrNothing(const std::string& file) {
  if (file.empty()) return "";
  auto text = base::ReadFile(file, kLongestFile);
  return text ? *std::move(text) : "";
}

// The bytes of this many digits of hex; nullopt if `text` is anything else.
std::optional<std::string> Hex(std::string_view text, std::size_t digits) {
  if (text.size() != digits) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < digits; i += 2) {
    const int high = base::HexDigit(text[i]), low = base::HexDigit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

}  // namespace

OwnAddresses::OwnAddresses(const kube::GetEnv& get_env, const base::Clock& clock, std::string route,
                           std::string ipv6_route)
    : clock_(clock), route_(std::move(route)), ipv6_route_(std::move(ipv6_route)), resolve_at_(clock.Now()) {
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
  }
  std::vector<std::string> found;
  if (resolves) {
    for (const std::string& host : api_server_) {
      for (std::string& address : http::AddressesOf(host)) found.push_back(std::move(address));
    }
  }
  std::vector<std::string> all =
      GatewaysOf(ReadOrNothing(route_), ReadOrNothing(ipv6_route_));  // the CNI plugin may set them late
  base::Lock lock(mutex_);
  if (!found.empty()) {
    resolved_ = std::move(found);
    resolve_at_ = clock_.Now() + kResolveAgain;
  }
  all.insert(all.end(), node_.begin(), node_.end());
  all.insert(all.end(), resolved_.begin(), resolved_.end());
  return all;
}

std::vector<std::string> GatewaysOf(std::string_view route, std::string_view ipv6_route) {
  std::vector<std::string> gateways;
  const auto add = [&](int family, const void* address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (::inet_ntop(family, address, text, sizeof text) != nullptr) gateways.emplace_back(text);
  };
  // "eth0 00000000 0100A8C0 0003 …": interface, destination, gateway.
  for (std::string_view line : base::Split(route, '\n')) {
    const std::vector<std::string_view> fields = base::Split(line, '\t');
    const auto number = fields.size() < 3 ? std::nullopt : Hex(fields[2], 8);
    if (!number || *number == std::string(4, '\0')) continue;
    in_addr address{};
    std::uint32_t value = 0;
    for (char byte : *number) value = value << 8U | static_cast<unsigned char>(byte);
    address.s_addr = value;  // written as a number of this machine
    add(AF_INET, &address);
  }
  // Destination and its length, source and its length, next hop, …
  for (std::string_view line : base::Split(ipv6_route, '\n')) {
    const std::vector<std::string_view> fields = base::Split(line, ' ');
    const auto bytes = fields.size() < 5 ? std::nullopt : Hex(fields[4], 32);
    if (bytes && *bytes != std::string(16, '\0')) add(AF_INET6, bytes->data());
  }
  return gateways;
}

}  // namespace prefetch::agent
