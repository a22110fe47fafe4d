#include "system/node.h"

#include <curl/curl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>

#include "base/fs.h"
#include "base/text.h"
#include "rig/binary.h"
#include "rig/expect_ok.h"
#include "text_of.h"

namespace prefetch::system {
namespace {

// The one of Node::OnPrinted; null: nobody.
Node::Hearer& OnPrintedHearer() {
  static Node::Hearer hearer = nullptr;
  return hearer;
}

constexpr std::chrono::minutes kOnceLimit{2};

std::size_t Collect(char* bytes, std::size_t size, std::size_t count, void* into) {
  static_cast<std::string*>(into)->append(bytes, size * count);
  return size * count;
}

std::string BasicHeader(const rig::User& user) {
  return "Basic " + base::Base64Encode(user.name + ":" + user.password);
}

std::vector<rig::User> UsersOf(const rig::User& user, const std::vector<rig::User>& others) {
  std::vector<rig::User> users = others;
  if (!user.name.empty()) users.insert(users.begin(), user);
  return users;
}

rig::Ran RunOrFail(const rig::Command& command, std::chrono::milliseconds limit) {
  auto ran = rig::RunProgram(command, limit);
  EXPECT_OK(ran);
  return ran ? *ran : rig::Ran{{-1, 0}, "", ""};
}

std::unique_ptr<rig::Runtime> MakeContainerd(const rig::Scratch& scratch, const std::string& root) {
  return std::make_unique<rig::Containerd>(scratch, "containerd", root);
}

Node::MakeRuntime make_runtime = &MakeContainerd;
std::string downloads_folder = rig::Containerd::kContent;

// A folder for a runtime with a tmpfs in it; the scratch folder takes its mounts with it. "": none is needed.
std::string RootWith(const rig::Scratch& scratch, Node::Small small, std::uint64_t bytes) {
  if (small == Node::Small::kNothing) return "";
  std::string root = scratch / "disk";
  EXPECT_EQ(::mkdir(root.c_str(), 0700), 0);
  std::string folder = root;
  if (small == Node::Small::kContent) {
    folder += "/" + downloads_folder;
    EXPECT_EQ(::mkdir(folder.c_str(), 0700), 0);
  }
  EXPECT_EQ(::mount("tmpfs", folder.c_str(), "tmpfs", 0, ("size=" + std::to_string(bytes)).c_str()), 0);
  return root;
}

}  // namespace

Host::Host(const rig::Scratch& scratch, rig::Runtime& runtime, std::string host, const rig::User& user,
           const std::vector<rig::User>& others)
    : host_(std::move(host)), user_(user), registry_(scratch, host_, UsersOf(user, others)) {
  EXPECT_OK(registry_.Start());
  proxy_ = std::make_unique<rig::Proxy>(registry_.port());
  EXPECT_OK(proxy_->Start());
  auto known = runtime.AddRegistry(host_, proxy_->port());
  EXPECT_OK(known);
  if (known) host_ = *known;
}

std::string Host::Push(const std::string& repository, const std::string& tag, std::vector<rig::Layer> layers,
                       rig::ManifestKind kind) {
  rig::Pusher pusher(registry_.address(), user_.name, base::Secret(user_.password));
  EXPECT_OK(pusher.Push(
      {.repository = repository, .tag = tag, .layers = std::move(layers), .kind = kind, .name = ""}));
  return host_ + "/" + repository + ":" + tag;
}

std::size_t Host::RequestsAs(const rig::User& user) const {
  std::size_t count = 0;
  std::string header = BasicHeader(user);
  for (const rig::Passed& request : proxy_->Requests()) count += request.authorization == header ? 1U : 0U;
  return count;
}

void Node::UseRuntime(MakeRuntime make, const std::string& downloads) {
  make_runtime = make;
  downloads_folder = downloads;
}

void Node::UseContainerd() {
  UseRuntime(&MakeContainerd, rig::Containerd::kContent);
}

Node::Node(Small small, std::uint64_t bytes)
    : runtime_(make_runtime(scratch_, RootWith(scratch_, small, bytes))) {
  EXPECT_OK(runtime_->Start());
  // The disk of the machine that runs the tests may be nearly full; what the disk rule does has tests of its
  // own.
  HasLimits("{diskHighPercent: 99, diskMinFreeBytes: 1000000}");
}

// Its last answers are kept for the search for passwords (tests/run secrets).
Node::~Node() {
  if (std::getenv("PREFETCH_TEST_LOGS") == nullptr || agent_.pid() <= 0 || !agent_.Running()) return;
  for (const char* file : {"cmdline", "environ"}) {
    if (auto text = base::ReadFile("/proc/" + std::to_string(agent_.pid()) + "/" + file, 1 << 20))
      Keep("process.log", *text);
  }
  for (const char* path : {"/v1/status", "/metrics", "/readyz?verbose"}) {
    if (Get(path).status == 0) return;
  }
}

std::unique_ptr<Host> Node::AddRegistry(const std::string& host, const rig::User& user,
                                        const std::vector<rig::User>& others) {
  return std::make_unique<Host>(scratch_, *runtime_, host, user, others);
}

void Node::HasPlugin(const std::string& host, const rig::User& user) {
  scratch_.Write("plugins/login",
                 R"(#!/bin/sh
read -r request
printf '%s\n' "$request" >>)" +
                     (scratch_ / "plugin-requests.log") + R"(
tr '\0' '\n' </proc/$$/cmdline >>)" +
                     (scratch_ / "process.log") + R"(
tr '\0' '\n' </proc/$$/environ >>)" +
                     (scratch_ / "process.log") + R"(
cat <<'EOF'
{"apiVersion":"credentialprovider.kubelet.k8s.io/v1","kind":"CredentialProviderResponse",
 "cacheKeyType":"Registry","cacheDuration":"10m",
 "auth":{")" + host + R"(":{"username":")" +
                     user.name + R"(","password":")" + user.password + R"("}}}
EOF
)",
                 0700);
  scratch_.Write("provider-config.yaml", R"(apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: login
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: [")" + host + R"("]
  defaultCacheDuration: 10m
)");
}

void Node::HasLimits(const std::string& limits) {
  scratch_.Write("agent.yaml",
                 "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\nlimits: " + limits + "\n");
}

void Node::HasDockerConfig(const std::string& host, const rig::User& user) {
  scratch_.Write("docker-config.json", R"({"auths":{")" + host + R"(":{"username":")" + user.name +
                                           R"(","password":")" + user.password + R"("}}})");
}

void Node::HasList(const std::vector<std::string>& images) {
  std::string text;
  for (const std::string& image : images) text += image + "\n";
  HasListFile("images.txt", text);
}

void Node::HasListFile(const std::string& name, const std::string& text) {
  scratch_.Write("lists/" + name, text);
}

rig::Command Node::Agent(const std::vector<std::string>& more) const {
  rig::Command command{runner_, {{"HOME", scratch_.path()}}};
  auto has = [&](const char* name) { return base::KindOf(scratch_ / name).ok(); };
  auto add = [&](std::vector<std::string> words) {
    command.argv.insert(command.argv.end(), words.begin(), words.end());
  };
  add({rig::Binary("PREFETCHD"), "--config", scratch_ / "agent.yaml", "--list", scratch_ / "lists",
       "--runtime-endpoint", runtime_->endpoint(), "--listen", "127.0.0.1:0", "--local",
       scratch_ / "agent.sock"});
  add(kubelet_flags_);
  if (has("provider-config.yaml")) {
    add({"--image-credential-provider-config", scratch_ / "provider-config.yaml",
         "--image-credential-provider-bin-dir", scratch_ / "plugins"});
  }
  if (has("docker-config.json")) add({"--docker-config", scratch_ / "docker-config.json"});
  add(more);
  return command;
}

rig::Ran Node::Once(const std::vector<std::string>& more) {
  rig::Command command = Agent({"--once"});
  command.argv.insert(command.argv.end(), more.begin(), more.end());
  rig::Ran ran = RunOrFail(command, kOnceLimit);
  scratch_.Write("once.log", ran.out + ran.err);
  return ran;
}

void Node::StartAgent(const std::vector<std::string>& more) {
  ASSERT_OK(agent_.Start(Agent(more), scratch_ / "agent.log"));
  ASSERT_TRUE(rig::Eventually(std::chrono::seconds(20), [&] { return Get("/livez").status == 200; }))
      << AgentLog();
}

std::string Node::AgentLog() const {
  return tests::TextSoFar(scratch_ / "agent.log");
}

std::string Node::NeighbourUrl() const {
  const std::string log = AgentLog();
  const std::string field = "\"listen\":\"";
  std::size_t at = log.rfind(field);
  EXPECT_NE(at, std::string::npos) << log;
  if (at == std::string::npos) return "";
  at += field.size();
  return "http://" + log.substr(at, log.find('"', at) - at);
}

void Node::OnPrinted(Hearer hearer) {
  OnPrintedHearer() = hearer;
}

rig::Ran Node::Ctl(std::vector<std::string> args, std::chrono::milliseconds limit) const {
  rig::Command command{{rig::Prefetchctl()}, {{"PREFETCHD_AGENT", "unix://" + (scratch_ / "agent.sock")}}};
  command.argv.insert(command.argv.end(), args.begin(), args.end());
  rig::Ran ran = RunOrFail(command, limit);
  Keep("ctl.log", ran.out + ran.err);
  if (OnPrintedHearer() != nullptr && ran.out.starts_with('{')) OnPrintedHearer()(ran.out);
  return ran;
}

// Suites ask thousands of times, and each process would cost more than the agent's answer. Where somebody
// hears, it is prefetchctl that prints.
status::StatusDocument Node::Status() const {
  std::string text, error;
  if (OnPrintedHearer() == nullptr) {
    text = Get("/v1/status").body;
  } else {
    rig::Ran ran = Ctl({"status", "-o", "json"});
    text = ran.out;
    error = ran.err;
  }
  auto document = status::ParseStatusDocument(text);
  EXPECT_TRUE(document) << error << text;
  return document ? *document : status::StatusDocument{};
}

status::StatusImage Node::StatusOf(const std::string& image) const {
  for (const status::StatusImage& entry : Status().images) {
    if (entry.image == image) return entry;
  }
  return {};
}

Node::Answer Node::Get(const std::string& path) const {
  static const CURLcode initialized = ::curl_global_init(CURL_GLOBAL_DEFAULT);
  EXPECT_EQ(initialized, CURLE_OK);
  const std::unique_ptr<CURL, decltype(&::curl_easy_cleanup)> curl(::curl_easy_init(), &::curl_easy_cleanup);
  Answer answer;
  ::curl_easy_setopt(curl.get(), CURLOPT_URL, ("http://localhost" + path).c_str());
  ::curl_easy_setopt(curl.get(), CURLOPT_UNIX_SOCKET_PATH, socket().c_str());
  ::curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");
  ::curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, Collect);
  ::curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer.body);
  ::curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, 10L);
  (void)::curl_easy_perform(curl.get());
  long code = 0;  // without an answer
  ::curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &code);
  answer.status = static_cast<int>(code);
  Keep("http.log", answer.body);
  return answer;
}

void Node::Keep(const std::string& log, const std::string& text) const {
  std::ofstream(scratch_ / log, std::ios::app) << text << "\n";
}

bool Node::Has(const std::string& image) const {
  return runtime_->Has(image);
}

}  // namespace prefetch::system
