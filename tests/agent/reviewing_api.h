// An API server that reviews tokens for the agent (deploy/components/preflight), and the agent's way to it.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "base/clock.h"
#include "base/secret.h"
#include "fakes/fake_api_server.h"
#include "fakes/rbac.h"
#include "http/curl_client.h"
#include "kube/http_api.h"

namespace prefetch::agent {

// The clock outlives it.
struct ReviewingApi {
  explicit ReviewingApi(const base::Clock& the_clock) : clock(the_clock) {
    EXPECT_TRUE(server.LoadRbac(tests::ClusterRights(
        "{kind: ServiceAccount, name: prefetchd, namespace: prefetchd}",
        "[{apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}]")));
  }

  const base::Clock& clock;
  tests::FakeApiServer server{clock};
  http::CurlClient client;
  kube::Identity identity{{.server = server.url(),
                           .token = base::Secret(server.AddServiceAccountToken("prefetchd", "prefetchd"))},
                          clock};
  std::unique_ptr<kube::Api> api = kube::MakeHttpApi(client, identity, clock);
};

}  // namespace prefetch::agent
