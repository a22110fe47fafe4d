#include "cluster/crio.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>

#include <filesystem>

#include "cluster/programs.h"
#include "rig/expect_ok.h"
#include "system/node.h"
#include "text_of.h"

namespace prefetch::cluster {
namespace {

constexpr std::chrono::seconds kCrioLimit{30};

std::string FolderFor(const std::string& path) {
  std::filesystem::create_directories(path);
  return path;
}

// A message of one length-delimited field with number 1 (up to 127 bytes twice nested, or with two-byte
// lengths).
std::string FieldOne(const std::string& content) {
  std::string field = "\x0a";
  std::size_t size = content.size();
  if (size >= 0x80) field += static_cast<char>((size & 0x7F) | 0x80);
  field += static_cast<char>(size >= 0x80 ? size >> 7 : size);
  return field + content;
}

}  // namespace

Crio::Crio(const rig::Scratch& scratch, const std::string& root)
    : scratch_(scratch),
      folder_(FolderFor(scratch / "crio")),
      root_(root.empty() ? folder_ : root),
      socket_(folder_ + "/crio.sock"),
      log_(folder_ + "/crio.log") {}

void Crio::MayUseHttp(int port) {
  registries_ += "[[registry]]\nlocation = \"127.0.0.1:" + std::to_string(port) + "\"\ninsecure = true\n";
}

void Crio::RunPods(const std::string& pause_image, const std::string& cni_bin, const std::string& cni_conf) {
  pods_ = "[crio.network]\nnetwork_dir = \"" + cni_conf + "\"\nplugin_dirs = [\"" + cni_bin + "\"]\n" +
          "[crio.image]\npause_image = \"" + pause_image + "\"\npause_command = \"/program\"\n";
}

std::string Crio::Config() const {
  std::string image =
      "signature_policy = \"" + folder_ + "/policy.json\"\nbig_files_temporary_dir = \"" + root_ + "/big\"\n";
  if (!insecure_.empty()) image += "insecure_registries = [\"" + insecure_ + "\"]\n";
  if (silence_.count() > 0)
    image += "pull_progress_timeout = \"" + std::to_string(silence_.count()) + "s\"\n";
  if (!auth_file_.empty()) image += "global_auth_file = \"" + folder_ + "/auth.json\"\n";
  return "[crio]\nroot = \"" + root_ + "/storage\"\nrunroot = \"" + folder_ +
         "/run\"\nstorage_driver = \"overlay\"\nlog_dir = \"" + folder_ + "/pods\"\nversion_file = \"" +
         folder_ + "/version\"\nversion_file_persist = \"" + folder_ +
         "/version-persist\"\nclean_shutdown_file = \"" + folder_ + "/clean\"\n[crio.api]\nlisten = \"" +
         socket_ + "\"\nstream_port = \"0\"\n" +
         "[crio.runtime]\ncgroup_manager = \"cgroupfs\"\nconmon_cgroup = \"pod\"\ndefault_runtime = "
         "\"runc\"\n" +
         "pinns_path = \"" + PathOf("pinns") + "\"\nnamespaces_dir = \"" + folder_ +
         "/ns\"\ncontainer_exits_dir = \"" + folder_ + "/exits\"\ncontainer_attach_socket_dir = \"" +
         folder_ + "/attach\"\n[crio.runtime.runtimes.runc]\nruntime_path = \"" + PathOf("runc") +
         "\"\nruntime_root = \"" + folder_ + "/runc\"\nmonitor_path = \"" + PathOf("conmon") + "\"\n" +
         (pods_.empty() ? "[crio.image]\n" : pods_) + image + "[crio.metrics]\nenable_metrics = false\n";
}

base::Status Crio::Start() {
  std::filesystem::create_directories(root_ + "/big");
  for (const char* name : {"empty.d", "pods", "exits", "attach"})
    std::filesystem::create_directories(folder_ + "/" + name);
  scratch_.Write("crio/policy.json", R"({"default":[{"type":"insecureAcceptAnything"}]})");
  if (!auth_file_.empty()) scratch_.Write("crio/auth.json", auth_file_);
  scratch_.Write("crio/registries.conf", registries_ + more_registries_);
  scratch_.Write("crio/crio.conf", Config());
  auto started =
      process_.Start({{"crio", "--config", folder_ + "/crio.conf", "--config-dir", folder_ + "/empty.d",
                       "--registries-conf", registries_conf()},
                      {{"HOME", folder_ + "/home"},
                       {"CONTAINERS_STORAGE_CONF",
                        scratch_.Write("crio/storage.conf", "[storage]\ndriver = \"overlay\"\n")}}},
                     log_);
  if (!started) return started;
  auto channel = grpc::CreateChannel(endpoint(), grpc::InsecureChannelCredentials());
  bool up = channel->WaitForConnected(std::chrono::system_clock::now() + kCrioLimit);
  if (up && process_.Running()) return {};
  process_.Kill();
  return base::Unavailable("crio did not start: " + tests::TailOf(log_));
}

base::Status Crio::Stop() {
  if (process_.Stop(std::chrono::seconds(20))) return {};
  return base::DeadlineExceeded("crio did not stop on SIGTERM");
}

base::Result<std::string> Crio::AddRegistry(const std::string& /*host*/, int port) {
  MayUseHttp(port);
  if (process_.Running()) {
    if (auto stopped = Stop(); !stopped) return std::move(stopped).error();
    if (auto started = Start(); !started) return std::move(started).error();
  }
  return "127.0.0.1:" + std::to_string(port);
}

base::Result<std::string> Crio::Ask(const std::string& call, const std::string& message) const {
  auto channel = grpc::CreateChannel(endpoint(), grpc::InsecureChannelCredentials());
  grpc::Slice slice(message);
  grpc::ByteBuffer request(&slice, 1), response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  const std::string path = "/runtime.v1.ImageService/" + call;
  grpc::internal::RpcMethod method(path.c_str(), grpc::internal::RpcMethod::NORMAL_RPC);
  grpc::Status status =
      grpc::internal::BlockingUnaryCall(channel.get(), method, &context, request, &response);
  if (!status.ok()) return base::Internal(call + ": " + status.error_message());
  std::vector<grpc::Slice> slices;
  if (!response.Dump(&slices).ok()) return base::Internal(call + ": no answer");
  std::string bytes;
  for (const grpc::Slice& part : slices)
    bytes.append(reinterpret_cast<const char*>(part.begin()), part.size());
  return bytes;
}

base::Status Crio::Remove(const std::string& image) const {
  auto removed =
      Ask("RemoveImage", FieldOne(FieldOne(image)));  // RemoveImageRequest{image: ImageSpec{image}}
  if (!removed) return std::move(removed).error();
  return {};
}

bool Crio::Has(const std::string& image) const {
  auto listed = Ask("ListImages", "");
  EXPECT_OK(listed);
  // Image.repo_tags is field 2.
  const std::string tag = std::string("\x12") + static_cast<char>(image.size()) + image;
  return listed && listed->find(tag) != std::string::npos;
}

OnCrio::OnCrio() {
  system::Node::UseRuntime(
      [](const rig::Scratch& scratch, const std::string& root) -> std::unique_ptr<rig::Runtime> {
        return std::make_unique<Crio>(scratch, root);
      },
      "big");
}

OnCrio::~OnCrio() {
  system::Node::UseContainerd();
}

}  // namespace prefetch::cluster
