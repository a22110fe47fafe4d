// Which connections are cut, so that there is room for others: the old ones, and those of an address that has
// many.
#include <sys/socket.h>

#include <algorithm>

#include "http/server_loop.h"

namespace prefetch::http {

std::optional<base::TimePoint> Server::Loop::Sweep(base::TimePoint now) {
  bool crowded = Open() > limits_.connections / 2 || (!listener_.local() && limits_.budget->Crowded());
  auto granted = crowded ? limits_.request_time / 10 : limits_.request_time;
  for (Connection& connection : connections_) {
    if (connection.shut) continue;
    if (now < connection.since + granted) return connection.since + granted;
    Shut(connection);
  }
  return std::nullopt;
}

void Server::Loop::Shut(Connection& connection) {
  ::shutdown(connection.fd, SHUT_RDWR);
  connection.shut = true;
  Forget(connection);
}

void Server::Loop::Forget(const Connection& connection) {
  auto count = of_peer_.find(connection.peer);
  if (count != of_peer_.end() && --count->second == 0) of_peer_.erase(count);
}

void Server::Loop::ShutOldestOf(const std::string& peer) {
  auto oldest = std::find_if(connections_.begin(), connections_.end(),
                             [&](const Connection& one) { return !one.shut && one.peer == peer; });
  if (oldest != connections_.end()) Shut(*oldest);
}

// Pods whose address is translated come from the node's own, as kubelet's probes do: the newest one gets in.
void Server::Loop::FreeDiskSpaceFor(const Connection& newest) {
  if (listener_.local()) return;
  if (of_peer_[newest.peer] > limits_.connections_per_address) return ShutOldestOf(newest.peer);
  if (Open() <= limits_.connections - limits_.connections / 8) return;
  auto busiest = std::max_element(of_peer_.begin(), of_peer_.end(),
                                  [](const auto& a, const auto& b) { return a.second < b.second; });
  if (busiest->second > 1) ShutOldestOf(busiest->first);
}

}  // namespace prefetch::http
