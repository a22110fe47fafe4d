#include "faults/real/world.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/fs.h"
#include "rig/expect_ok.h"

namespace prefetch::tests::real_faults {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;
// Room for all content, and as much again.
constexpr std::uint64_t kDisk = 40 * kMegabyte;
const char* const kPlugin = "plugins/login";
const char* const kRecords = "kubelet/image_manager/pulled";
constexpr uid_t kNobody = 65534;
// A broken connection loses the bytes in the kernel's buffers.
constexpr std::uint64_t kInFlight = 2 * kMegabyte;
// And an agent that downloads loses its ranges that are not next in their blobs (lib/DESIGN.md).
constexpr std::uint64_t kRanges = 8 * 1024 * 1024;
// An answer takes longer than the 25 ms of a near registry that is busy (plan/fetch_order.h).
constexpr std::chrono::milliseconds kFarOneWay{15};

const rig::User kUser{"puller", "password-of-the-real-faults"};

struct Made {
  const char* repository;
  bool closed;  // its registry asks for a password
  std::vector<rig::Layer> layers;
};

const std::vector<Made>& AllMade() {
  static const std::vector<Made> made = {
      {"app", true, {{1, 2 * kMegabyte}, {2, 3 * kMegabyte}}},
      {"tool", true, {{1, 2 * kMegabyte}, {3, kMegabyte}}},
      {"base", false, {{4, 4 * kMegabyte}}},
      {"small", false, {{5, 100'000}}},
  };
  return made;
}

// A program whose clock is set by a file (clock_shim.cc) becomes the agent.
std::vector<std::string> WithClock(const std::string& file) {
  const char* shim = std::getenv("PREFETCH_CLOCK_SHIM");
  EXPECT_NE(shim, nullptr) << "PREFETCH_CLOCK_SHIM must name a library: run the tests by meson test";
  return {"env", std::string("LD_PRELOAD=") + (shim == nullptr ? "" : shim), "PREFETCH_CLOCK_OFFSET=" + file};
}

}  // namespace

RealWorld::RealWorld(Distance distance) : distance_(distance), node_(system::Node::Small::kContent, kDisk) {
  closed_ = node_.AddRegistry("closed.example.test", kUser);
  open_ = node_.AddRegistry("open.example.test", {});
  node_.HasPlugin(closed_->host(), kUser);
  auto plugin = base::ReadFile(node_.scratch() / kPlugin, 1 << 20);
  EXPECT_OK(plugin);
  if (plugin) good_plugin_ = *plugin;
  for (const Made& made : AllMade()) {
    system::Host& host = made.closed ? *closed_ : *open_;
    const rig::User user = made.closed ? kUser : rig::User{};
    auto pushed = rig::Pusher(host.registry().address(), user.name, base::Secret(user.password))
                      .Push({.repository = made.repository, .tag = "v1", .layers = made.layers, .name = ""});
    EXPECT_OK(pushed);
    images_.push_back(host.host() + "/" + made.repository + ":v1");
    if (pushed) ids_[images_.back()] = pushed->config;
  }
  listed_.insert(images_.begin(), images_.end());
  removed_ = listed_;
  for (system::Host* host : {closed_.get(), open_.get()}) {
    host->proxy().LimitBandwidth(kLink);
    if (distance_ == Distance::kFar) host->proxy().Delay(kFarOneWay);
    host->proxy().Forget();
  }
  WriteList();
  const std::string config = node_.scratch().Write("kubelet.yaml", system::kKubeletConfig);
  node_.HasKubelet({"--kubelet-version", "1.36.2", "--kubelet-config", config, "--kubelet-root",
                    node_.scratch() / "kubelet"});
  kubelet_.Start({.version = {1, 36}});
  ClockIsOff(seconds(0));
  // As the manifests have it.
  node_.RunsAgentAlsoBy({"setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"});
  node_.RunsAgentAlsoBy(WithClock(node_.scratch() / "clock"));
  StartAgent();
}

std::uint64_t RealWorld::BytesOf(const std::string& image) const {
  const auto at =
      static_cast<std::size_t>(std::find(images_.begin(), images_.end(), image) - images_.begin());
  std::uint64_t bytes = 0;
  for (const rig::Layer& layer : AllMade().at(at).layers) bytes += layer.size;
  return bytes;
}

std::uint64_t RealWorld::BytesOfAll() const {
  std::set<std::uint64_t> seen;
  std::uint64_t bytes = 0;
  for (const Made& made : AllMade()) {
    for (const rig::Layer& layer : made.layers) bytes += seen.insert(layer.seed).second ? layer.size : 0;
  }
  return bytes;
}

std::uint64_t RealWorld::OfAnEnd() const {
  return 2 * kInFlight + (agent_downloads_ ? kRanges : 0);
}

std::uint64_t RealWorld::BytesSent() const {
  return closed_->proxy().BytesToClients() + open_->proxy().BytesToClients();
}

system::Host& RealWorld::HostOf(const std::string& image) {
  return IsClosed(image) ? *closed_ : *open_;
}

void RealWorld::WriteList() {
  node_.HasList({listed_.begin(), listed_.end()});
}

void RealWorld::BreakList() {
  node_.HasListFile("images.txt", "NOT/An Image\n");
}

void RealWorld::Unlist(const std::string& image) {
  // Its lease goes, and all that it had.
  Destroyed(BytesOf(image));
  listed_.erase(image);
  WriteList();
}

void RealWorld::Relist(const std::string& image) {
  listed_.insert(image);
  WriteList();
}

void RealWorld::StopRuntime() {
  if (!runtime_answers_) return;
  runtime_answers_ = false;
  Destroyed(OfAnEnd());
  EXPECT_OK(node_.runtime().Stop());
}

void RealWorld::KillRuntime() {
  if (!runtime_answers_) return;
  runtime_answers_ = false;
  Destroyed(OfAnEnd());
  node_.runtime().Kill();
}

void RealWorld::FreezeRuntime() {
  if (!runtime_answers_) return;
  runtime_answers_ = false;
  runtime_frozen_ = true;
  Destroyed(OfAnEnd());
  EXPECT_EQ(::kill(node_.runtime().pid(), SIGSTOP), 0);
}

void RealWorld::RuntimeIsBack() {
  if (runtime_answers_) return;
  if (runtime_frozen_) {
    EXPECT_EQ(::kill(node_.runtime().pid(), SIGCONT), 0);
  } else {
    EXPECT_OK(node_.runtime().Start());
  }
  runtime_answers_ = true;
  runtime_frozen_ = false;
}

void RealWorld::PluginIs(const std::string& script) {
  // By rename: a script that runs is not written to.
  node_.scratch().Write("plugins/next", script.empty() ? good_plugin_ : "#!/bin/sh\n" + script + "\n", 0700);
  EXPECT_EQ(::rename((node_.scratch() / "plugins/next").c_str(), (node_.scratch() / kPlugin).c_str()), 0);
}

void RealWorld::ApiServerIs(bool away) {
  api_server_is_away_ = away;
  away ? api().GoAway() : api().ComeBack();
}

void RealWorld::StartAgent() {
  std::vector<std::string> flags = {"--node-label", "--node-condition"};
  if (distance_ == Distance::kFar) {
    // hosts.toml leads to another name, so the operator trusts it with the login.
    flags.insert(flags.end(),
                 {"--fetch=auto", "--registry-containerd-config", node_.containerd().config_file(),
                  "--registry-trusted-mirror", closed_->proxy().address()});
  }
  node_.StartAgent(flags);
  agent_since_ = std::chrono::steady_clock::now();
}

void RealWorld::RecordPull(const std::string& image, const PullCredential& credential) {
  ASSERT_TRUE(kubelet_.BeginPull(image));
  kubelet_.EndPull(image, ids_.at(image), credential);
}

void RealWorld::CloseRecord(const std::string& image) {
  RecordPull(image, {.secret = kubelet::HashedSecret{{.uid = "u1", .namespace_name = "team", .name = "pull"},
                                                     base::Secret("h1")}});
  refused_.insert(image);
}

void RealWorld::BreakRecord(const std::string& image) {
  RecordPull(image, {});
  refused_.insert(image);
  for (const auto& file : std::filesystem::directory_iterator(node_.scratch() / kRecords)) {
    auto content = base::ReadFile(file.path().string(), 1 << 20);
    if (!content || content->find(ids_.at(image)) == std::string::npos) continue;
    std::ofstream(file.path(), std::ios::trunc) << "{";
  }
}

void RealWorld::OpenRecord(const std::string& image) {
  for (const auto& file : std::filesystem::directory_iterator(node_.scratch() / kRecords)) {
    auto content = base::ReadFile(file.path().string(), 1 << 20);
    if (content && *content == "{") std::filesystem::remove(file.path());
  }
  for (const std::string& other : std::set<std::string>(refused_)) RecordPull(other, {});
  RecordPull(image, {});
  refused_.clear();
}

void RealWorld::LimitMemory() {
  if (!has_memory_) return;
  has_memory_ = false;
  lacked_memory_ = true;
  Destroyed(OfAnEnd());
  std::ifstream statm("/proc/" + std::to_string(node_.agent().pid()) + "/statm");
  rlim_t pages = 0;
  EXPECT_TRUE(statm >> pages);
  const rlimit no_more{pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (1 << 20), RLIM_INFINITY};
  EXPECT_EQ(::prlimit(node_.agent().pid(), RLIMIT_AS, &no_more, nullptr), 0);
}

void RealWorld::MemoryIsBack() {
  has_memory_ = true;
  if (!node_.agent().Running()) {
    node_.agent().Kill();
    StartAgent();
    return;
  }
  const rlimit any{RLIM_INFINITY, RLIM_INFINITY};
  EXPECT_EQ(::prlimit(node_.agent().pid(), RLIMIT_AS, &any, nullptr), 0);
}

void RealWorld::RestartAfterLackOfMemory() {
  if (!exited_after_lack_of_memory()) return;
  Destroyed(OfAnEnd());
  node_.agent().Kill();
  StartAgent();
}

std::string RealWorld::PathOf(Part part) {
  switch (part) {
    case Part::kRuntime:
      return node_.containerd().socket();
    case Part::kList:
      return node_.scratch() / "lists/images.txt";
    case Part::kRecords:
      return node_.scratch() / kRecords;
    case Part::kPlugin:
      return node_.scratch() / kPlugin;
  }
  std::abort();
}

// An absent file needs nothing: it will belong to root.
void RealWorld::Deny(Part part) {
  const std::string path = PathOf(part);
  const bool there = ::chown(path.c_str(), kNobody, kNobody) == 0 && ::chmod(path.c_str(), 0700) == 0;
  EXPECT_TRUE(there || errno == ENOENT) << path;
}

void RealWorld::Allow(Part part) {
  const std::string path = PathOf(part);
  EXPECT_TRUE(::chown(path.c_str(), 0, 0) == 0 || errno == ENOENT) << path;
}

void RealWorld::ClockIsOff(seconds by) {
  const std::int64_t offset = by.count();
  std::string bytes(sizeof offset, '\0');
  std::memcpy(bytes.data(), &offset, sizeof offset);
  const std::string path = node_.scratch() / "clock";
  base::Fd file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));  // the same file: it is mapped
  EXPECT_EQ(::pwrite(file.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
}

void RealWorld::BreaksDownloads() {
  if (agent_downloads_) Destroyed(kRanges);
}

void RealWorld::FreezeAgent() {
  if (!has_memory_ || agent_frozen_) return;
  agent_frozen_ = true;
  node_.agent().Signal(SIGSTOP);
}

void RealWorld::ThawAgent() {
  if (std::exchange(agent_frozen_, false)) node_.agent().Signal(SIGCONT);
}

void RealWorld::KillAgent() {
  agent_frozen_ = false;
  Destroyed(OfAnEnd());
  node_.agent().Kill();
  StartAgent();
}

void RealWorld::StopAgent() {
  ThawAgent();
  Destroyed(OfAnEnd());
  if (has_memory_) {
    EXPECT_EQ(node_.agent().Stop(seconds(1)), rig::Exit{}) << node_.AgentLog();
  } else {
    node_.agent().Kill();
  }
  StartAgent();
}

void RealWorld::Remove(const std::string& image) {
  if (!runtime_answers_) return;
  Destroyed(BytesOf(image));
  removed_.insert(image);
  if (!node_.Has(image)) return;
  EXPECT_OK(node_.runtime().Remove(image));
}

void RealWorld::RemoveEveryName() {
  // A lease would keep all of it.
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] {
    auto leases = node_.containerd().Ctr({"leases", "ls"});
    return leases && leases->find("prefetchd-") == std::string::npos;
  })) << node_.AgentLog();
  // Nobody pulls them while they go.
  node_.agent().Kill();
  EXPECT_OK(node_.containerd().RemoveAll());
  StartAgent();
}

void RealWorld::FillDisk() {
  Destroyed(BytesOfAll());
  const std::string path = node_.scratch() / "disk" + "/" + rig::Containerd::kContent + "/filler";
  base::Fd file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  EXPECT_TRUE(file.valid()) << path;
  const std::string block(1 << 16, 'f');
  for (std::size_t size = block.size(); size > 0;) {
    const ssize_t written = ::write(file.get(), block.data(), size);
    if (written < static_cast<ssize_t>(size)) size /= 2;
  }
}

void RealWorld::EmptyDisk() {
  ::unlink((node_.scratch() / "disk" + "/" + rig::Containerd::kContent + "/filler").c_str());
}

}  // namespace prefetch::tests::real_faults
