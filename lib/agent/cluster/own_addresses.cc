#include "agent/cluster/own_addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/fs.h"
#include "base/text.h"

namespace prefetch::agent {
namespace {

constexpr std::chrono::minutes kResolveAgain{1};
constexpr std::chrono::seconds kResolveSoon{5};  // while a name has no address yet
constexpr std::chrono::hours kAddressLifetime{1};
constexpr std::chrono::seconds kLongestWait{2}, kLongestFirstWait{10};

constexpr std::size_t kLongestFile = 1 << 20;
// Where a platform gives pods a public name for the API server, this has the Service's address. DNS of the
// node itself does not know it.
constexpr const char* kService = "kubernetes.default.svc";

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
                           std::string ipv6_route, Resolve resolve)
    : clock_(clock),
      route_(std::move(route)),
      ipv6_route_(std::move(ipv6_route)),
      resolve_(std::move(resolve)) {
  base::Lock lock(mutex_);
  resolve_at_ = clock.Now();
  // Some platforms put the API server's public name into the first one; the second is the Service's address.
  for (const char* variable : {"KUBERNETES_SERVICE_HOST", "KUBERNETES_PORT_443_TCP_ADDR"}) {
    const auto host = get_env(variable);
    if (!host || host->empty()) continue;
    if (http::IsAddress(*host)) {
      api_server_.push_back(*host);
    } else {
      seen_[*host];
      seen_[kService];
    }
  }
}

void OwnAddresses::SetNode(std::vector<std::string> addresses) {
  base::Lock lock(mutex_);
  node_ = std::move(addresses);
}

void OwnAddresses::ResolveAll(base::TimePoint now) {
  std::vector<std::string> all;
  {
    base::Lock lock(mutex_);
    for (const auto& [name, addresses] : seen_) all.push_back(name);
  }
  for (const std::string& name : all) {
    const std::vector<std::string> found = resolve_(name);
    if (found.empty()) continue;  // nothing says that the server has moved
    base::Lock lock(mutex_);
    auto& seen = seen_[name];
    for (const std::string& address : found) seen[address] = now;
    std::erase_if(seen, [&](const auto& one) { return now - one.second > kAddressLifetime; });
  }
  base::Lock lock(mutex_);
  once_ = true;
  resolve_at_ = now + (IsUnknown() ? base::Duration(kResolveSoon) : base::Duration(kResolveAgain));
}

bool OwnAddresses::IsUnknown() const {
  return std::ranges::any_of(seen_,
                             [](const auto& one) { return one.second.empty() && one.first != kService; });
}

std::optional<std::vector<std::string>> OwnAddresses::Resolved(const base::Call& call) {
  const base::TimePoint now = clock_.Now();
  bool due = false, once = false;
  {
    base::Lock lock(mutex_);
    if (seen_.empty()) return std::vector<std::string>();
    due = now >= resolve_at_;
    if (due) resolve_at_ = now + kResolveAgain;
    once = once_;
  }
  // A client that has left must not hold its thread until DNS answers.
  if ((due || !once) && !call.Stopped()) {
    const base::Duration left = call.deadline - std::chrono::steady_clock::now();
    resolver_.Run([this, now] { ResolveAll(now); },
                  std::min<base::Duration>(once ? kLongestWait : kLongestFirstWait, left));
  }
  base::Lock lock(mutex_);
  if (!once_ || IsUnknown()) return std::nullopt;
  std::vector<std::string> all;
  for (const auto& [name, seen] : seen_) {
    for (const auto& [address, when] : seen) all.push_back(address);
  }
  return all;
}

std::optional<std::vector<std::string>> OwnAddresses::Get(const base::Call& call) {
  const std::optional<std::vector<std::string>> resolved = Resolved(call);
  if (!resolved) return std::nullopt;
  const std::vector<std::string> here = http::InterfaceAddresses();
  const auto is_here = [&](const std::string& each) { return std::ranges::find(here, each) != here.end(); };
  base::Lock lock(mutex_);
  std::vector<std::string> all;
  // On the node's own network, gateways are other machines. The CNI plugin may set them late.
  if (std::ranges::none_of(node_, is_here))
    all = GatewaysOf(ReadOrNothing(route_), ReadOrNothing(ipv6_route_));
  all.insert(all.end(), node_.begin(), node_.end());
  all.insert(all.end(), api_server_.begin(), api_server_.end());
  all.insert(all.end(), resolved->begin(), resolved->end());
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
