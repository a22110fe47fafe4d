// FleetLoad: what a list costs a fleet and its registries, before it is rolled out. Pure arithmetic; the
// model is simple, and says more about the order of magnitude than about minutes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/desired.h"

namespace prefetch::plan {

struct LoadBlob {
  std::string digest;
  std::uint64_t bytes = 0;
};

struct LoadImage {
  std::string registry;  // "docker.io"
  int priority = 0;
  std::uint64_t manifests = 2;           // requests for documents: HEAD, index, manifest
  std::vector<LoadBlob> blobs;           // layers and configuration; a node fetches equal ones once
  std::vector<PullWindow> windows = {};  // as DesiredImage::pull_windows
};

struct FleetOptions {
  std::uint64_t nodes = 1;
  std::uint64_t node_rate = 100'000'000;  // bytes a second that a node receives
  std::uint64_t registry_rate = 0;  // bytes a second that all nodes together receive; 0: no limit is known
  std::uint64_t hub_pulls = 100;    // that Docker Hub allows the fleet in six hours
  std::chrono::seconds start_jitter{0};
};

struct RegistryLoad {
  std::string registry;
  std::uint64_t images = 0, bytes = 0;    // of one node
  std::uint64_t pulls = 0, requests = 0;  // of all nodes
};

// The images of one priority: nodes pull them before those of lower ones.
struct LoadPriority {
  int priority = 0;
  std::uint64_t images = 0, bytes = 0;  // of one node
  double node_seconds = 0;              // until a node that begins has them
  double fleet_seconds = 0;             // until the last node has them
};

// The images whose pulls start in the same pullWindow.
struct LoadWindow {
  std::string text;                     // "22:00 to 06:00 UTC"; of several, separated by "; "
  std::uint64_t images = 0, bytes = 0;  // of one node
  std::chrono::minutes open{0};         // the shortest, if there are several
  double fleet_seconds = 0;             // from the opening until the last node has them
};

// The effect of one startJitter.
struct LoadSpread {
  std::chrono::seconds start_jitter{0};
  double first_second = 0;   // requests in the second in which most nodes begin
  double mean = 0;           // requests a second, until all nodes are ready
  double ready_seconds = 0;  // until all nodes are ready
};

// A new DaemonSet replaces a part of its pods at a time, and goes on when these are ready.
struct LoadRollout {
  std::uint64_t waves = 0, nodes = 0;  // nodes of a wave
  double wave_seconds = 0;             // for its downloads
};

struct FleetLoad {
  std::uint64_t images = 0, bytes = 0;   // of one node
  std::vector<RegistryLoad> registries;  // by name
  std::vector<LoadPriority> priorities;  // the highest priority first
  std::vector<LoadWindow> windows;       // empty: all pulls start at any time
  LoadRollout rollout;
  std::vector<LoadSpread> spreads;    // the shortest startJitter first; the chosen one is among them
  std::vector<std::string> warnings;  // a sentence each, with what to do
};

// Assumes the default plan::Limits, but for startJitter.
FleetLoad LoadOf(const std::vector<LoadImage>& images, const FleetOptions& options);

// "3 min": rounded up to a second.
std::string HumanSeconds(double count);

}  // namespace prefetch::plan
