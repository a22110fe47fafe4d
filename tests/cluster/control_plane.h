// etcd, kube-apiserver and kube-controller-manager on loopback, with RBAC and Node authorization and the
// admission plugins that are on by default (ValidatingAdmissionPolicy, PodSecurity, ServiceAccount), and
// NodeRestriction.
#pragma once

#include <string>

#include "base/result.h"
#include "cluster/api.h"
#include "fakes/certificates.h"
#include "rig/process.h"
#include "rig/scratch.h"

namespace prefetch::cluster {

// One thread owns it; the scratch outlives it.
class ControlPlane {
 public:
  explicit ControlPlane(const rig::Scratch& scratch);

  // Returns when the API server is ready and the namespace `default` has its service account.
  base::Status Start();
  // SIGKILL of the API server alone, and the same server again.
  void StopApiServer();
  base::Status StartApiServer();

  // As an administrator. A copy a thread.
  Api Admin() const;
  // A user with these groups: by a token, in a kubeconfig; through another port of this host, if one is
  // given.
  std::string Kubeconfig(const std::string& user, int through = 0) const;

  const tests::CertificateAuthority& authority() const { return authority_; }
  std::string url() const;
  int port() const { return port_; }

  // `kubectl ARGS…` as an administrator; its output.
  rig::Ran Kubectl(std::vector<std::string> args) const;

 private:
  void WriteTokens() const;

  const rig::Scratch& scratch_;
  const std::string folder_;
  const tests::CertificateAuthority authority_;
  const tests::KeyPair server_, accounts_;
  int port_ = 0, etcd_port_ = 0;
  rig::Process etcd_, apiserver_, manager_;
};

}  // namespace prefetch::cluster
