// StartFile: a file that is made anew whenever kubelet starts. If kubelet is a part of another program, it
// shows a start as kubelet's own process would.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"

namespace prefetch::kubelet {

// The socket of K3s' own containerd: K3s ends with it, and it with K3s (k3s-io/k3s
// pkg/agent/containerd/containerd.go), which is kubelet too. Empty: none for this runtime. Pure.
std::string StartFileOf(const std::string& runtime_socket);

// Part of one NodeFactsReader. Blocks as a disk does.
class StartFile {
 public:
  explicit StartFile(std::string path) : path_(std::move(path)) {}  // empty: there is none

  // One stat. True if it is another file than before; one that is away for a while is none.
  bool Poll();
  // Another text, another file; empty: none was seen.
  const std::string& seen() const { return seen_; }
  // nullopt: none was seen.
  std::optional<base::WallTime> MadeAt() const;

 private:
  const std::string path_;
  std::string seen_;
  std::int64_t made_ns_ = 0;
};

}  // namespace prefetch::kubelet
