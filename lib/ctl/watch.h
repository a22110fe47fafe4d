// `prefetchctl watch --fleet`: tells a webhook of nodes that begin to fail, or have recovered.
#pragma once

#include <ostream>
#include <string>

#include "base/call.h"
#include "ctl/fleet.h"
#include "http/client.h"
#include "kube/api.h"

namespace prefetch::ctl {

struct WatchOptions {
  FleetQuery query;
  std::string webhook_file;  // has the URL, which may be a secret in itself
  std::string secret_file;   // has the key of the signature; empty: no signature
  std::string interval = "60s";
  bool once = false;
};

// Asks the fleet once an interval, and sends at most one request to the webhook each time, so that an
// interval is its rate limit. News that the webhook did not take (no answer, 429, 5xx and all but 2xx) is
// sent with that of the next round. Runs until `call` is stopped, or one round with `once`. Exit code: 0;
// with `once` 1 if the webhook did not take the news; 2 bad input; with `once` 4 if the cluster could not be
// asked.
int WatchFleet(const base::Call& call, kube::Api& api, http::Client& client, const WatchOptions& options,
               std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
