// Cluster: the address of an API server, its authorities, and our identity there. InCluster (below) and
// FromKubeconfig (kubeconfig.h) make one; Identity (identity.h) reads the named files.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "http/headers.h"

namespace prefetch::kube {

// getenv, handed in.
using GetEnv = std::function<std::optional<std::string>(const std::string& name)>;
// That of this process.
std::optional<std::string> ProcessEnv(const std::string& name);

// A program that prints the credential (a client-go credential plugin, as of AWS, GKE, Azure, OIDC).
struct ExecPlugin {
  std::string api_version;  // client.authentication.k8s.io/v1 or /v1beta1
  std::string command;      // a path: what stood in PATH has been found
  std::vector<std::string> args;
  std::vector<std::string> environment;  // "NAME=value", all of it
  std::string info;                      // its KUBERNETES_EXEC_INFO; holds no secret
  std::string install_hint;              // for the error, if it is not there
  std::vector<base::Secret> secrets;     // values of its own variables that may be secrets
};

// A value. It has the paths of files, not their contents, since files are replaced while the program runs.
struct Cluster {
  std::string server;  // "https://10.96.0.1:443", no "/" at its end; may have a path
  std::string name_space = "default";
  std::string source;  // for messages: "the pod's service account", "context \"dev\" of /root/.kube/config"

  std::string ca_file, ca_pem;  // one of them, or none: the system's authorities
  std::string tls_server_name;
  bool verify = true;
  base::Secret proxy;  // "http://proxy:3128", may hold a password; empty: none. For http::CurlOptions::proxy

  // Our identity. Several may be given: a certificate beside a token is sent beside it.
  std::string token_file;  // counts before `token`
  base::Secret token;
  std::string certificate_file, certificate_pem;
  std::string key_file;
  base::Secret key_pem;
  std::string username;  // sent with `password` if there is no token; empty: none
  base::Secret password;
  std::optional<ExecPlugin> exec;  // only if there is nothing of the above
  http::Headers impersonation;     // Impersonate-User and so on: another identity that we ask for
};

// Returns the API server of the cluster in which this pod runs. As every in-cluster client, it uses
// KUBERNETES_SERVICE_HOST and _PORT (an IPv6 address gets its brackets), and token, ca.crt and namespace in
// `folder`, the mounted service account. NotFound: this is no pod, or none with a service account;
// InvalidArgument: the variables make no address.
base::Result<Cluster> InCluster(const GetEnv& get_env,
                                const std::string& folder = "/var/run/secrets/kubernetes.io/serviceaccount");

}  // namespace prefetch::kube
