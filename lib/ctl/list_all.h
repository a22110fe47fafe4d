// ListAll: every page of a collection of the API server.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "base/call.h"
#include "ctl/agent_client.h"
#include "kube/api.h"

namespace prefetch::ctl {

template <typename T>
using ListPage = std::function<kube::Answer<kube::Page<T>>(const kube::ListOptions&)>;

inline constexpr int kMostPages = 2000;  // of a list: a million objects in pages of 500

inline constexpr std::chrono::minutes kLongestList{5};  // however slowly its pages come

inline kube::Failure EndlessPages() {
  return {.kind = kube::ApiError::kMalformed,
          .message = "the API server announces ever more pages of a list"};
}

// Begins anew, twice at most, if the server has forgotten where it was, and waits as long as it asks for
// where it is busy. Fails if the pages never end. `keep` sees each object once it is known to stay; objects
// are not held.
template <typename T>
kube::Answer<kube::Done> ForAll(const base::Call& call, kube::ListOptions options, const ListPage<T>& list,
                                const std::function<void()>& begin_anew, const std::function<void(T)>& keep) {
  using std::chrono::seconds;
  constexpr int kMaxRestarts = 3;
  constexpr seconds kMaxRetryAfter{5};
  const base::TimePoint end = call.Within(kLongestList).deadline;
  int pages = 0;
  for (int beginnings = 1;;) {
    if (++pages > kMostPages || (pages > 1 && std::chrono::steady_clock::now() >= end)) return EndlessPages();
    auto page = list(options);
    if (!page) {
      kube::ApiError kind = page.failure().kind;
      bool may_pass = kind == kube::ApiError::kGone || kind == kube::ApiError::kTooManyRequests;
      if (!may_pass || beginnings == kMaxRestarts) return std::move(page).failure();
      beginnings++;
      base::Pause(call, std::min(page.failure().retry_after.value_or(seconds(0)), kMaxRetryAfter));
      begin_anew();
      options.continue_token.clear();
      continue;
    }
    for (T& one : page->items) keep(std::move(one));
    options.continue_token = page->continue_token;
    if (options.continue_token.empty()) return kube::Done{};
  }
}

template <typename T>
kube::Answer<std::vector<T>> ListAll(const base::Call& call, const kube::ListOptions& options,
                                     const ListPage<T>& list) {
  std::vector<T> all;
  auto done = ForAll<T>(
      call, options, list, [&] { all.clear(); }, [&](T one) { all.push_back(std::move(one)); });
  if (!done) return std::move(done).failure();
  return all;
}

}  // namespace prefetch::ctl
