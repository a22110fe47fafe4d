// As each platform ships it: it runs, ends, is rolled out, and survives the end of its node's programs.
#include "cluster/as_shipped.h"
#include "rig/expect_ok.h"

namespace prefetch::cluster::as_shipped_test {
namespace {

const Platform kShipped[] = {
    GenericPlatform(),
    {"eks",
     {"/var/lib/kubelet", "/etc/kubernetes/kubelet/config.json",
      "/etc/eks/image-credential-provider/config.json", "/etc/eks/image-credential-provider"},
     {"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"}},
    {"gke",
     {"/var/lib/kubelet", "/home/kubernetes/kubelet-config.yaml", "/etc/srv/kubernetes/cri_auth_config.yaml",
      "/home/kubernetes/bin"}},
    {"aks",
     {"/var/lib/kubelet", "/etc/default/kubeletconfig.json",
      "/var/lib/kubelet/credential-provider-config.yaml", "/var/lib/kubelet/credential-provider"},
     {"/etc/kubernetes/azure.json"}},
    {"bottlerocket",
     {"/var/lib/kubelet", "/etc/kubernetes/kubelet/config",
      "/etc/kubernetes/kubelet/credential-provider-config.yaml", "/usr/libexec/kubernetes/kubelet/plugins"},
     {"/etc/pki/tls/certs/ca-bundle.crt"}},
    {"kind", {"/var/lib/kubelet", "/var/lib/kubelet/config.yaml", "", ""}},
    {.name = "k3s",
     .paths = {"/var/lib/kubelet", "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00-defaults.conf", "", ""},
     .runtime = "/run/k3s/containerd",
     .runtime_config = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml",
     .shows_processes = false},
    {.name = "rke2",
     .paths = {"/var/lib/kubelet", "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d/00-defaults.conf", "", ""},
     .runtime = "/run/k3s/containerd",
     .runtime_config = "/var/lib/rancher/rke2/agent/etc/containerd/config.toml"},
    {.name = "crio",
     .paths = {"/var/lib/kubelet", "/var/lib/kubelet/config.yaml", "", ""},
     .runtime = "/run/crio",
     .runtime_config = "/etc/containers/registries.conf",
     .on_crio = true},
    {.name = "openshift",
     .paths = {"/var/lib/kubelet", "/etc/kubernetes/kubelet.conf", "", ""},
     .files = {"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"},
     .runtime = "/run/crio",
     .runtime_config = "/etc/containers/registries.conf",
     .docker_config = "/var/lib/kubelet/config.json",
     .on_crio = true},
};

TEST_P(AsShipped, RunsAsTheDaemonSetsPod) {
  Install(listed_ + "\n");
  auto pod = AwaitReady();
  ASSERT_TRUE(pod);
  EXPECT_EQ(StatusLine("CapEff"), "0000000000000000");
  EXPECT_EQ(StatusLine("NoNewPrivs"), "1");
  EXPECT_EQ(StatusLine("Seccomp"), RuntimeHasSeccomp() ? "2" : "0");
  EXPECT_TRUE(node_->node().Has(listed_));
  EXPECT_EQ(node_->pods().Ask({.images = {listed_}})[0].answer, PodAnswer::kStarts);
  auto status = rig::RunProgram({{FromEnvironment("PREFETCHCTL"), "status"}, {}}, seconds(20));
  ASSERT_OK(status);
  EXPECT_TRUE(status->exit == rig::Exit{}) << status->err << "the local socket is where it is said to be";
  ExpectLearntVersion();
  ExpectMeasuredDisk();

  // A job under Pod Security "restricted" asks this agent, at the node's address, by its token.
  MakeNamespace(node_->api(), "ci");
  EXPECT_TRUE(
      node_->api()
          .MergePatch("/api/v1/namespaces/ci",
                      R"({"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}})")
          .ok());
  EXPECT_EQ(Preflight(listed_, "Never").substr(0, 2), "0 ");
  const std::string refused = Preflight(listed_ + "-absent", "Never");
  EXPECT_EQ(refused.substr(0, 2), "1 ") << refused;
  for (const std::string& words : {listed_ + "-absent", std::string("n1"), std::string("NotListed")}) {
    EXPECT_NE(refused.find(words), std::string::npos) << refused;
  }

  // SIGTERM: it ends before it is killed, and the next one is ready.
  const std::string uid = doc::TextAt(*pod, {"metadata", "uid"});
  EXPECT_EQ(ExitCodeOfDeleted(std::string(kAgentPods) + "/" + doc::TextAt(*pod, {"metadata", "name"})), "0");
  pod = AwaitReady(uid);
  ASSERT_TRUE(pod);

  // A changed list rolls out.
  const std::string more = PushForAgent("team/more", 2);
  Install(listed_ + "\n" + more + "\n");
  pod = AwaitReady(doc::TextAt(*pod, {"metadata", "uid"}));
  ASSERT_TRUE(pod);
  EXPECT_TRUE(node_->node().Has(more));

  // The node starts anew: kubelet and the runtime stop, and come back.
  node_->kubelet().Stop();
  ASSERT_OK(node_->node().runtime().Stop());
  ASSERT_OK(node_->node().runtime().Start());
  ASSERT_OK(node_->kubelet().Start());
  EXPECT_TRUE(AwaitReady());
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] { return node_->node().Has(more); }));
  // Where the overlay gives the agent no credential providers, an error names those that this kubelet has.
  const bool names_providers = GetParam().shows_processes && !HasProviders();
  EXPECT_EQ(ErrorsOfAgent().find("kubelet uses credential providers from") != std::string::npos,
            names_providers)
      << ErrorsOfAgent();
  EXPECT_TRUE(ErrorsOfAgent().empty() || names_providers) << ErrorsOfAgent();
}

INSTANTIATE_TEST_SUITE_P(On, AsShipped, testing::ValuesIn(kShipped), NameOfPlatform);

}  // namespace
}  // namespace prefetch::cluster::as_shipped_test
