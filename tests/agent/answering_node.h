// A node's board, with the endpoints that answer from it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/answers/endpoints.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_image_service.h"

namespace prefetch::agent {

class AnsweringNode {
 public:
  explicit AnsweringNode(plan::Snapshot snapshot) {
    Publish(std::move(snapshot));
    board_.RecordTurn(clock.Now());
  }

  tests::FakeImageService& runtime() { return runtime_; }
  void Publish(plan::Snapshot snapshot) {
    board_.Publish(std::make_shared<const plan::Snapshot>(std::move(snapshot)));
  }
  http::Handler Handler(Audience audience, ClientAuthenticator* callers = nullptr) const {
    return Endpoints(board_, metrics, image_queries_, retries_, clock, audience, callers);
  }
  http::ServerResponse Answer(Audience audience, const http::ServerRequest& request,
                              ClientAuthenticator* callers = nullptr) const {
    http::ServerResponse response = Handler(audience, callers)(request).Wait({});
    if (response.shared) response.body = *response.shared;
    return response;
  }

  // The names of each request that reached the loop.
  const std::vector<std::vector<std::string>>& retried() const { return retried_; }

  tests::FakeClock clock;
  Metrics metrics;

 private:
  tests::FakeClock runtime_clock_;
  tests::FakeImageService runtime_{runtime_clock_, tests::Persona::kContainerd16};
  credentials::Keyring keyring_{{.docker_configs = {"/absent"}}, clock};
  Board board_;
  ImageQueryService image_queries_{board_, runtime_, runtime_, keyring_, clock};
  std::vector<std::vector<std::string>> retried_;
  mutable Retries retries_{board_, clock,
                           [this](std::vector<std::string> names) { retried_.push_back(std::move(names)); }};
};

}  // namespace prefetch::agent
