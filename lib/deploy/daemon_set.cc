#include "deploy/daemon_set.h"

#include "doc/edit.h"
#include "doc/path.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace prefetch::deploy {
namespace {

doc::Node* ItemNamed(doc::Node& list, std::string_view key, std::string_view name) {
  for (doc::Node& item : list.items) {
    if (TextAt(item, {key}) == name) return &item;
  }
  return nullptr;
}

bool IsFlag(const doc::Node& arg, std::string_view flag) {
  std::string_view text = arg.text;
  return text.substr(0, text.find('=')) == flag;
}

doc::Node ProjectedMap(const std::string& name) {
  doc::Node source = doc::Node::Mapping();
  Put(Sub(source, "configMap"), "name", doc::Node::String(name));
  return source;
}

}  // namespace

AgentDaemonSet::AgentDaemonSet(Objects& objects) : body_(nullptr), pod_spec_(nullptr), container_(nullptr) {
  for (Object& object : objects.all) {
    if (object.Kind() == "DaemonSet") body_ = &object.body;
  }
  if (body_ != nullptr) pod_spec_ = ValueAt(*body_, {"spec", "template", "spec"});
  doc::Node* containers = pod_spec_ == nullptr ? nullptr : Find(*pod_spec_, "containers");
  // Only a broken tree has no such container, and it is part of the program.
  if (containers == nullptr || containers->items.empty()) std::abort();
  container_ = &containers->items.front();
}

bool AgentDaemonSet::OnHostNetwork() const {
  const doc::Node* host = pod_spec_->Find("hostNetwork");
  return host != nullptr && host->boolean;
}

std::string AgentDaemonSet::NameSpace() const {
  return TextAt(*body_, {"metadata", "namespace"});
}

void AgentDaemonSet::SetArg(const std::string& flag, const std::string& value) {
  // A flag that is given twice could mean either value, so the existing one is replaced.
  doc::Node& args = *Find(*container_, "args");
  doc::Node arg = doc::Node::String(flag + "=" + value);
  for (doc::Node& old : args.items) {
    if (IsFlag(old, flag)) {
      old = std::move(arg);
      return;
    }
  }
  args.items.push_back(std::move(arg));
}

void AgentDaemonSet::AddSwitch(const std::string& flag) {
  Find(*container_, "args")->items.push_back(doc::Node::String(flag));
}

void AgentDaemonSet::RemoveArg(std::string_view flag) {
  std::vector<doc::Node>& args = Find(*container_, "args")->items;
  args.erase(
      std::remove_if(args.begin(), args.end(), [&](const doc::Node& arg) { return IsFlag(arg, flag); }),
      args.end());
}

void AgentDaemonSet::SetEnv(const std::string& name, const std::string& value) {
  doc::Node& env = *Find(*container_, "env");
  doc::Node* variable = ItemNamed(env, "name", name);
  if (variable == nullptr) {
    env.items.push_back(doc::Node::Mapping().Set("name", doc::Node::String(name)));
    variable = &env.items.back();
  }
  Put(*variable, "value", doc::Node::String(value));
}

void AgentDaemonSet::SetImage(const std::string& image) {
  Put(*container_, "image", doc::Node::String(image));
}

void AgentDaemonSet::SetImagePullSecrets(const std::vector<std::string>& names) {
  std::vector<doc::Node> secrets;
  for (const std::string& name : names) {
    secrets.push_back(doc::Node::Mapping());
    secrets.back().Set("name", doc::Node::String(name));
  }
  Put(*pod_spec_, "imagePullSecrets", doc::Node::Sequence(std::move(secrets)));
}

void AgentDaemonSet::MountSecret(const std::string& volume, const std::string& secret,
                                 const std::string& folder) {
  doc::Node source = doc::Node::Mapping();
  source.Set("name", doc::Node::String(volume));
  Put(Sub(source, "secret"), "secretName", doc::Node::String(secret));
  doc::Node mount = doc::Node::Mapping();
  mount.Set("name", doc::Node::String(volume))
      .Set("mountPath", doc::Node::String(folder))
      .Set("readOnly", doc::Node::Bool(true));
  std::vector<doc::Node>& volumes = Find(*pod_spec_, "volumes")->items;
  // Placed first, since kustomize puts the items of a patch before existing ones; the tests compare with its
  // output.
  volumes.insert(volumes.begin(), std::move(source));
  std::vector<doc::Node>& mounts = Find(*container_, "volumeMounts")->items;
  mounts.insert(mounts.begin(), std::move(mount));
}

void AgentDaemonSet::SetPort(std::uint16_t port) {
  SetArg("--listen", "[$(POD_IP)]:" + std::to_string(port));
  for (doc::Node& one : Find(*container_, "ports")->items) {
    Put(one, "containerPort", doc::Node::Int(port));
    if (one.Find("hostPort") != nullptr) Put(one, "hostPort", doc::Node::Int(port));
  }
}

void AgentDaemonSet::SetRunFolder(const std::string& folder) {
  SetArg("--local", folder + "/prefetchd.sock");
  if (doc::Node* volume = ItemNamed(*Find(*pod_spec_, "volumes"), "name", "run")) {
    Put(Sub(*volume, "hostPath"), "path", doc::Node::String(folder));
  }
  if (doc::Node* mount = ItemNamed(*Find(*container_, "volumeMounts"), "name", "run")) {
    Put(*mount, "mountPath", doc::Node::String(folder));
  }
}

void AgentDaemonSet::SetListMaps(const std::vector<std::string>& config_maps) {
  doc::Node* volume = ItemNamed(*Find(*pod_spec_, "volumes"), "name", "list");
  if (volume == nullptr) return;
  // A volume has exactly one source.
  Remove(*volume, "configMap");
  Remove(*volume, "projected");
  if (config_maps.size() == 1) {
    Put(Sub(*volume, "configMap"), "name", doc::Node::String(config_maps.front()));
    return;
  }
  std::vector<doc::Node> sources;
  for (const std::string& name : config_maps) sources.push_back(ProjectedMap(name));
  Put(Sub(*volume, "projected"), "sources", doc::Node::Sequence(std::move(sources)));
}

}  // namespace prefetch::deploy
