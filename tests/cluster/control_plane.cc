#include "cluster/control_plane.h"

#include <filesystem>

#include "cluster/world.h"
#include "rig/expect_ok.h"
#include "rig/port.h"
#include "text_of.h"

namespace prefetch::cluster {
namespace {

constexpr std::chrono::seconds kControlPlaneLimit{60};
// The port of the Service: see kServiceAddress.
constexpr int kApiPort = 443;

struct TokenUser {
  const char* user;
  const char* groups;
};
constexpr TokenUser kTokenUsers[] = {
    {"admin", "system:masters"},
    {"kube-controller-manager", "system:masters"},
    {"system:node:n1", "system:nodes"},
    {"system:node:n2", "system:nodes"},
    {"fleet-viewer", "prefetchd-fleet-viewers"},
};

std::string TokenOf(const std::string& user) {
  return "token-of-" + user;
}

std::string MadeFolder(const std::string& path) {
  std::filesystem::create_directories(path);
  return path;
}

int PortOrFail() {
  auto port = rig::FreePort();
  EXPECT_OK(port);
  return port ? *port : 0;
}

}  // namespace

ControlPlane::ControlPlane(const rig::Scratch& scratch)
    : scratch_(scratch),
      folder_(MadeFolder(scratch / "control-plane")),
      authority_(folder_, "cluster"),
      server_(authority_.Server("apiserver", std::string("IP:127.0.0.1,DNS:localhost,IP:") + kNodeAddress +
                                                 ",IP:" + kServiceAddress)),
      accounts_(authority_.Server("accounts")) {}

std::string ControlPlane::url() const {
  return "https://127.0.0.1:" + std::to_string(port_);
}

void ControlPlane::WriteTokens() const {
  std::string text;
  for (const TokenUser& user : kTokenUsers) {
    text += TokenOf(user.user) + "," + user.user + "," + user.user + ",\"" + user.groups + "\"\n";
  }
  scratch_.Write("control-plane/tokens.csv", text);
}

std::string ControlPlane::Kubeconfig(const std::string& user, int through) const {
  const std::string server = through == 0 ? url() : "https://127.0.0.1:" + std::to_string(through);
  return scratch_.Write(
      "control-plane/" + user + ".kubeconfig",
      "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: \"" + server +
          "\", certificate-authority: \"" + authority_.certificate_file() +
          "\"}}]\nusers: [{name: u, user: {token: \"" + TokenOf(user) +
          "\"}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n");
}

Api ControlPlane::Admin() const {
  return {url(), authority_.certificate_file(), TokenOf("admin")};
}

base::Status ControlPlane::StartApiServer() {
  std::vector<std::string> argv = {"kube-apiserver",
                                   "--etcd-servers=http://127.0.0.1:" + std::to_string(etcd_port_),
                                   "--bind-address=0.0.0.0",
                                   "--advertise-address=" + std::string(kNodeAddress),
                                   "--secure-port=" + std::to_string(port_),
                                   "--endpoint-reconciler-type=none",
                                   "--tls-cert-file=" + server_.certificate_file,
                                   "--tls-private-key-file=" + server_.key_file,
                                   "--client-ca-file=" + authority_.certificate_file(),
                                   "--token-auth-file=" + (scratch_ / "control-plane/tokens.csv"),
                                   "--service-account-issuer=https://cluster.test",
                                   "--service-account-key-file=" + accounts_.certificate_file,
                                   "--service-account-signing-key-file=" + accounts_.key_file,
                                   "--service-cluster-ip-range=10.96.0.0/24",
                                   "--authorization-mode=Node,RBAC",
                                   "--enable-admission-plugins=NodeRestriction",
                                   "--kubelet-certificate-authority=" + authority_.certificate_file(),
                                   "--kubelet-preferred-address-types=InternalIP",
                                   "--allow-privileged=true",
                                   "--cert-dir=" + folder_};
  if (auto started = apiserver_.Start({argv, {}}, folder_ + "/apiserver.log"); !started) return started;
  Api admin = Admin();
  bool ready = rig::Eventually(kControlPlaneLimit,
                               [&] { return !apiserver_.Running() || admin.Get("/readyz").status == 200; });
  if (ready && apiserver_.Running()) return {};
  return base::Unavailable("kube-apiserver did not start: " + tests::TailOf(folder_ + "/apiserver.log"));
}

void ControlPlane::StopApiServer() {
  apiserver_.Kill();
}

base::Status ControlPlane::Start() {
  etcd_port_ = PortOrFail();
  const std::string client = "http://127.0.0.1:" + std::to_string(etcd_port_);
  const std::string peer = "http://127.0.0.1:" + std::to_string(PortOrFail());
  base::Status started = etcd_.Start(
      {{"etcd", "--name=e", "--data-dir=" + folder_ + "/etcd", "--listen-client-urls=" + client,
        "--advertise-client-urls=" + client, "--listen-peer-urls=" + peer,
        "--initial-advertise-peer-urls=" + peer, "--initial-cluster=e=" + peer, "--unsafe-no-fsync"},
       {}},
      folder_ + "/etcd.log");
  if (!started) return started;
  if (!rig::Eventually(kControlPlaneLimit, [&] { return rig::SomebodyListens(etcd_port_); }))
    return base::Unavailable("etcd did not start: " + tests::TailOf(folder_ + "/etcd.log"));
  WriteTokens();
  port_ = kApiPort;
  if (started = StartApiServer(); !started) return started;
  started = manager_.Start(
      {{"kube-controller-manager", "--kubeconfig=" + Kubeconfig("kube-controller-manager"),
        "--service-account-private-key-file=" + accounts_.key_file,
        "--root-ca-file=" + authority_.certificate_file(), "--leader-elect=false", "--bind-address=127.0.0.1",
        "--secure-port=" + std::to_string(PortOrFail()), "--cert-dir=" + folder_},
       {}},
      folder_ + "/controller-manager.log");
  if (!started) return started;
  Api admin = Admin();
  if (rig::Eventually(kControlPlaneLimit, [&] {
        return admin.Get("/api/v1/namespaces/default/serviceaccounts/default").status == 200;
      })) {
    return {};
  }
  return base::Unavailable("kube-controller-manager did not start: " +
                           tests::TailOf(folder_ + "/controller-manager.log"));
}

rig::Ran ControlPlane::Kubectl(std::vector<std::string> args) const {
  std::vector<std::string> argv = {"kubectl", "--kubeconfig", Kubeconfig("admin"), "--cache-dir",
                                   scratch_ / "kubectl-cache"};
  argv.insert(argv.end(), args.begin(), args.end());
  auto ran = rig::RunProgram({argv, {{"HOME", scratch_.path()}}}, std::chrono::minutes(2));
  EXPECT_OK(ran);
  return ran ? *ran : rig::Ran{{-1, 0}, "", ""};
}

}  // namespace prefetch::cluster
