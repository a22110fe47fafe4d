// FleetApi: an API server with nodes, the agents' pods on them, and what each pod answers.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fakes/refusing_api.h"

namespace prefetch::tests {

// Any thread.
class FleetApi final : public RefusingApi {
 public:
  void Add(const std::string& node) { nodes_.push_back({.name = node}); }
  kube::Node& node(std::size_t i) { return nodes_[i]; }
  std::size_t size() const { return nodes_.size(); }
  kube::Pod& AddPod(const std::string& node, const std::string& name, const std::string& phase = "Running") {
    kube::Pod pod;
    pod.name = name;
    pod.node = node;
    pod.phase = phase;
    pods_.push_back(pod);
    return pods_.back();
  }
  void RemovePod(const std::string& name) {
    std::erase_if(pods_, [&](const kube::Pod& pod) { return pod.name == name; });
  }
  // Called with the number of listings, this one included.
  void WhenPodsAreListed(std::function<void(int)> call) { when_listed_ = std::move(call); }
  int listings() const { return listings_; }
  void ListingFails(kube::Failure failure) { listing_ = std::move(failure); }
  // Sets a pod's answer. The API server rejects requests to pods without one.
  void Answers(const std::string& pod, kube::Answer<std::string> answer) {
    answers_.insert_or_assign(pod, std::move(answer));
  }
  // Sets the answer to requests with a token. Without it, a token makes no difference.
  void AnswersToToken(const std::string& pod, kube::Answer<std::string> answer) {
    with_token_.insert_or_assign(pod, std::move(answer));
  }
  // The component is there, and the user may request its tokens.
  void HasFleet(const std::string& account = "prefetchd-fleet-ci") { fleet_ = account; }
  int asked() const { return asked_; }
  int shown() const { return shown_; }
  int requested() const { return requested_; }

  kube::Answer<kube::ServiceAccountToken> CreateToken(const base::Call& call, const std::string& name_space,
                                                      const std::string& account, const std::string& audience,
                                                      std::int64_t seconds) override {
    requested_++;
    EXPECT_EQ(audience, "prefetchd");
    EXPECT_EQ(seconds, 600);
    if (account != fleet_) return RefusingApi::CreateToken(call, name_space, account, audience, seconds);
    return kube::ServiceAccountToken{base::Secret("a-token-of-" + account), base::WallTime()};
  }

  kube::Answer<kube::Page<kube::Node>> ListNodes(const base::Call&, const kube::ListOptions&) override {
    return kube::Page<kube::Node>{nodes_, ""};
  }
  kube::Answer<kube::Page<kube::Pod>> ListPods(const base::Call&, const std::string&,
                                               const kube::ListOptions&) override {
    if (when_listed_) when_listed_(++listings_);
    if (listing_) return *listing_;
    return kube::Page<kube::Pod>{pods_, ""};
  }
  // Answers a POST as a GET, and keeps its last body for each pod.
  kube::Answer<std::string> PodProxy(const base::Call& call, const kube::PodRequest& request) override {
    if (request.body) {
      std::lock_guard lock(mutex_);
      posted_[request.name] = request.path + " " + *request.body;
    }
    asked_++;
    if (request.header) {
      shown_++;
      EXPECT_EQ(request.header->name, "Prefetchd-Authorization");
      EXPECT_EQ(request.header->value.Reveal(), "Bearer a-token-of-" + fleet_);
      if (auto full = with_token_.find(request.name); full != with_token_.end()) return full->second;
    }
    auto answer = answers_.find(request.name);
    return answer == answers_.end() ? RefusingApi::PodProxy(call, request) : answer->second;
  }
  // Path and body, by pod.
  const std::map<std::string, std::string>& posted() const { return posted_; }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> posted_;
  std::function<void(int)> when_listed_;
  int listings_ = 0;
  std::optional<kube::Failure> listing_;
  std::vector<kube::Node> nodes_;
  std::vector<kube::Pod> pods_;
  std::map<std::string, kube::Answer<std::string>> answers_, with_token_;
  std::string fleet_;  // the account whose tokens are given; empty: none
  int requested_ = 0;
  std::atomic<int> asked_{0}, shown_{0};
};

}  // namespace prefetch::tests
