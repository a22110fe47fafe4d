#include "ctl/cluster.h"

#include <set>
#include <utility>

#include "ctl/exit_code.h"
#include "doc/node.h"
#include "kube/http_api.h"
#include "kube/identity.h"
#include "kube/kubeconfig.h"

extern char** environ;

namespace prefetch::ctl {
namespace {

std::vector<std::string> Environment() {
  std::vector<std::string> all;
  for (char** one = environ; *one != nullptr; one++) all.emplace_back(*one);
  return all;
}

base::Result<kube::Cluster> Find(const ClusterOptions& options) {
  auto cluster = kube::FromKubeconfig(
      kube::ProcessEnv,
      {.file = options.kubeconfig, .context = options.context, .environment = Environment()});
  // The pod's own account is only a fallback. A file or context that the user named must not be replaced
  // silently by another cluster.
  bool is_explicit = !options.kubeconfig.empty() || !options.context.empty();
  if (cluster || is_explicit || cluster.error().code() != base::Code::kNotFound) return cluster;
  auto in_cluster = kube::InCluster(kube::ProcessEnv);
  if (in_cluster) return in_cluster;
  return base::NotFound("no cluster is known: " + cluster.error().message() + "; " +
                        in_cluster.error().message() + " (name a file with --kubeconfig)");
}

}  // namespace

http::CurlOptions ProxiesFor(const kube::Cluster& cluster, const config::GetEnv& get_env) {
  http::CurlOptions options = EnvironmentProxies(get_env);
  options.proxy = std::string(cluster.proxy.Reveal());
  return options;
}

int WithCluster(const ClusterOptions& options, std::ostream& err, const std::function<int(kube::Api&)>& use) {
  auto cluster = Find(options);
  if (!cluster) return Fail(cluster.error(), err);
  base::SystemClock clock;
  http::CurlClient client(ProxiesFor(*cluster, config::ProcessEnv));
  kube::Identity identity(*std::move(cluster), clock);
  return use(*kube::MakeHttpApi(client, identity, clock));
}

base::Error ToUserError(const kube::Failure& failure, const std::string& example) {
  if (failure.kind != kube::ApiError::kForbidden) return kube::ToError(failure);
  // The message begins with the attempted call, which says which right is missing; the server's own text
  // follows.
  std::string attempt = failure.message.substr(0, failure.message.find(": "));
  return base::PermissionDenied("a right is missing, " + attempt + " (deploy/examples/" + example +
                                " grants what is needed): " +
                                failure.message.substr(std::min(attempt.size() + 2, failure.message.size())));
}

http::CurlOptions EnvironmentProxies(const config::GetEnv& get_env) {
  auto first = [&](const char* one, const char* other) {
    const char* value = get_env(one);
    if (value == nullptr || *value == '\0') value = get_env(other);
    return std::string(value == nullptr ? "" : value);
  };
  http::CurlOptions options;
  options.http_proxy = first("HTTP_PROXY", "http_proxy");
  options.https_proxy = first("HTTPS_PROXY", "https_proxy");
  options.no_proxy = first("NO_PROXY", "no_proxy");
  return options;
}

namespace {

using doc::Node;
using doc::TextAt;

// Controllers come before what they make.
constexpr kube::Resource kWorkloads[] = {
    {"Deployment", "apps", "deployments"},
    {"StatefulSet", "apps", "statefulsets"},
    {"DaemonSet", "apps", "daemonsets"},
    {"CronJob", "batch", "cronjobs"},
    {"Job", "batch", "jobs"},
    {"Pod", "", "pods"},
};

std::string GroupOf(const std::string& api_version) {
  return api_version.substr(0, api_version.find('/'));
}

// Objects of one kind, and then of the next one.
class Workloads {
 public:
  // Adds an object, unless one that makes it is known.
  void Add(const Node& object, const manifest::ReadOptions& options, doc::Problems& problems,
           std::vector<manifest::Manifests>& read) {
    const std::string name_space = TextAt(object, {"metadata", "namespace"});
    const std::string version = TextAt(object, {"apiVersion"}), kind = TextAt(object, {"kind"});
    known_.insert(Key(version, kind, name_space, TextAt(object, {"metadata", "name"})));
    if (!HasKnownController(object, name_space))
      read.push_back(manifest::ReadObject(object, problems, options));
  }

 private:
  static std::string Key(const std::string& version, const std::string& kind, const std::string& name_space,
                         const std::string& name) {
    return GroupOf(version) + "/" + kind + "/" + name_space + "/" + name;
  }

  bool HasKnownController(const Node& object, const std::string& name_space) const {
    const Node* owners = doc::ValueAt(object, {"metadata", "ownerReferences"});
    if (owners == nullptr) return false;
    for (const Node& owner : owners->items) {
      const Node* controls = owner.Find("controller");
      if (controls == nullptr || !controls->boolean) continue;
      const std::string version = TextAt(owner, {"apiVersion"}), kind = TextAt(owner, {"kind"});
      const std::string name = TextAt(owner, {"name"});
      if (kind == "Node") return true;
      if (known_.contains(Key(version, kind, name_space, name))) return true;
      // A Deployment's ReplicaSet has its name and the hash of the template.
      const std::string end = "-" + TextAt(object, {"metadata", "labels", "pod-template-hash"});
      if (kind == "ReplicaSet" && name.ends_with(end) &&
          known_.contains(Key(version, "Deployment", name_space, name.substr(0, name.size() - end.size())))) {
        return true;
      }
    }
    return false;
  }

  std::set<std::string> known_;
};

}  // namespace

kube::Answer<kube::Done> ReadWorkloads(const base::Call& call, kube::Api& api,
                                       const std::vector<std::string>& namespaces,
                                       const manifest::ReadOptions& options, doc::Problems& problems,
                                       const std::function<void(manifest::Manifests)>& take) {
  Workloads workloads;
  std::vector<manifest::Manifests> all;
  for (const std::string& name_space : namespaces.empty() ? std::vector<std::string>{""} : namespaces) {
    for (const kube::Resource& resource : kWorkloads) {
      std::vector<manifest::Manifests> read;
      auto done = ForEachObject<Node>(
          call, {},
          [&](const kube::ListOptions& page) { return api.ListObjects(call, resource, name_space, page); },
          [&] { read.clear(); }, [&](const Node& object) { workloads.Add(object, options, problems, read); });
      if (!done) return std::move(done).failure();
      std::ranges::move(read, std::back_inserter(all));
    }
  }
  for (manifest::Manifests& one : all) take(std::move(one));
  return kube::Done{};
}

}  // namespace prefetch::ctl
