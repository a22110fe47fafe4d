// A file that changes while somebody reads it, many times over.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "temp_dir.h"

namespace prefetch::registry::late_change {

inline constexpr int kRounds = 300;

// In each round the file says `first`, then `last` from some moment of a `read` on, each round a little
// later. How often `read` afterwards did not have `last`. The two differ in length: times of files are
// coarse.
inline int Missed(const tests::TempDir& dir, const std::string& file, const std::string& first,
                  const std::string& last, const std::function<bool()>& read) {
  // All at once, as kubelet and configuration tools do.
  auto replace = [&](const std::string& text) {
    std::filesystem::rename(dir.Write(file + ".new", text), dir / file);
  };
  int missed = 0;
  for (int round = 0; round < kRounds; round++) {
    replace(first);
    std::atomic<bool> reading = false;
    std::thread change([&] {
      while (!reading) std::this_thread::yield();
      const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(round);
      while (std::chrono::steady_clock::now() < until) continue;
      replace(last);
    });
    reading = true;
    read();
    change.join();
    if (!read()) missed++;
  }
  return missed;
}

// So many more files that a reading takes a while: `folder`/z0.crt and so on.
inline void AddCertificates(const tests::TempDir& dir, const std::string& folder) {
  for (int i = 0; i < 30; i++) dir.Write(folder + "/z" + std::to_string(i) + ".crt", "Z");
}

}  // namespace prefetch::registry::late_change
