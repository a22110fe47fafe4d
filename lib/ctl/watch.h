// `prefetchctl watch --fleet`: tells a webhook of nodes that begin to fail, or have recovered.
#pragma once

#include <chrono>
#include <ostream>
#include <string>

#include "base/call.h"
#include "config/settings.h"
#include "ctl/fleet.h"
#include "kube/api.h"

namespace prefetch::ctl {

struct WatchOptions {
  FleetQuery query;
  std::string webhook_file;  // has the URL, which may be a secret in itself
  std::string secret_file;   // has the key of the signature; empty: no signature
  base::Duration interval = std::chrono::seconds(60);
  bool once = false;
};

// Asks the fleet once an interval, and sends at most one request to the webhook each time, so that an
// interval is its rate limit. News that the webhook did not take (no answer, 429, 5xx and all but 2xx) is
// sent with that of the next round. Runs until `call` is stopped, until the cluster refuses the user's rights
// or credentials or the webhook rejects its URL (401, 403, 404, 410), or one round with `once`. Exit code: 0;
// 1 if the webhook rejects its URL, with `once` also if it did not take the news; 2 bad input; 4 if the
// cluster refuses, with `once` also if it could not be asked; 130 stopped. `get_env` names the proxies to the
// webhook.
int WatchFleet(const base::Call& call, kube::Api& api, const config::GetEnv& get_env,
               const WatchOptions& options, std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
