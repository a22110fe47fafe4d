// FakeApiServer's part for objects: keeps them with their versions, lists, patches and deletes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "doc/json.h"
#include "doc/node.h"
#include "fakes/api_question.h"
#include "fakes/fake_api_server.h"
#include "fakes/json_patch.h"

namespace prefetch::tests {
namespace {

std::optional<doc::Node> Parse(std::string_view json) {
  doc::Problems problems("body");
  auto node = doc::ParseJson(json, problems);
  if (!node || node->kind != doc::Node::Kind::kMapping) return std::nullopt;
  return node;
}

// "a=b,c" against labels, or against the fields that can be selected by.
bool Selected(std::string_view selector,
              const std::function<std::optional<std::string>(std::string)>& value) {
  for (std::string_view term : base::Split(selector, ',')) {
    if (term.empty()) continue;
    std::size_t equals = term.find('=');
    auto found = value(std::string(term.substr(0, equals)));
    if (!found || (equals != std::string_view::npos && *found != term.substr(term.rfind('=') + 1)))
      return false;
  }
  return true;
}

bool IsSelected(const doc::Node& object, std::string_view labels, std::string_view fields) {
  auto label = [&](const std::string& key) -> std::optional<std::string> {
    const doc::Node* found = ValueAt(object, {"metadata", "labels", key});
    return found == nullptr ? std::nullopt : std::optional(found->text);
  };
  auto field = [&](const std::string& key) -> std::optional<std::string> {
    if (key == "spec.nodeName") return TextAt(object, {"spec", "nodeName"});
    if (key == "involvedObject.kind") return TextAt(object, {"involvedObject", "kind"});
    if (key == "reason") return TextAt(object, {"reason"});
    if (key == "metadata.name") return TextAt(object, {"metadata", "name"});
    return std::nullopt;
  };
  return Selected(labels, label) && Selected(fields, field);
}

}  // namespace

void FakeApiServer::Store(const std::string& path, doc::Node object) {
  doc::Put(Sub(object, "metadata"), "resourceVersion", doc::Node::String(std::to_string(++version_)));
  kept_.Keep(path, object);
  objects_[path] = std::move(object);
}

void FakeApiServer::Put(const std::string& path, std::string_view json) {
  auto object = Parse(json);
  ASSERT_TRUE(object) << json;
  std::vector<std::string_view> parts = base::Split(path, '/');
  doc::Node& metadata = Sub(*object, "metadata");
  doc::Put(metadata, "name", doc::Node::String(std::string(parts.back())));
  if (parts.size() == 3) doc::Put(metadata, "namespace", doc::Node::String(std::string(parts[1])));
  base::Lock lock(mutex_);
  if (metadata.Find("uid") == nullptr)
    metadata.Set("uid", doc::Node::String("uid-" + std::to_string(++serial_)));
  Store(path, *std::move(object));
}

std::optional<doc::Node> FakeApiServer::Get(const std::string& path) const {
  base::Lock lock(mutex_);
  auto found = objects_.find(path);
  return found == objects_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> FakeApiServer::Paths() const {
  base::Lock lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& [path, object] : objects_) paths.push_back(path);
  return paths;
}

void FakeApiServer::Delete(const std::string& path) {
  base::Lock lock(mutex_);
  objects_.erase(path);
}

bool FakeApiServer::SetStatus(const std::string& path, const std::string& uid, doc::Node status) {
  base::Lock lock(mutex_);
  auto found = objects_.find(path);
  if (found == objects_.end() || TextAt(found->second, {"metadata", "uid"}) != uid) return false;
  doc::Node object = found->second;
  doc::Put(object, "status", std::move(status));
  Store(path, std::move(object));
  return true;
}

http::ServerResponse FakeApiServer::GetOne(const Asked& asked) const {
  auto found = objects_.find(asked.Path());
  if (found == objects_.end()) {
    return StatusAnswer(404, "NotFound", asked.resource + " \"" + asked.name + "\" not found");
  }
  return JsonAnswer(200, found->second);
}

// The continue token is "VERSION/OFFSET".
http::ServerResponse FakeApiServer::List(const http::ServerRequest& request, const Asked& asked) const {
  std::uint64_t begin = 0, version = version_;
  std::string_view token = request.Query("continue").value_or("");
  if (!token.empty()) {
    auto parts = base::Split(token, '/');
    version = base::ParseUint(parts.front()).value_or(0);
    begin = base::ParseUint(parts.back()).value_or(0);
    if (version < continue_since_) {
      return StatusAnswer(410, "Expired", "The provided continue parameter is too old");
    }
  }
  std::uint64_t limit = base::ParseUint(request.Query("limit").value_or("")).value_or(UINT64_MAX);
  std::vector<doc::Node> items;
  std::uint64_t nth = 0;
  bool more = false;
  for (const auto& [path, object] : objects_) {
    if (!path.starts_with(asked.Collection()) ||
        !IsSelected(object, request.Query("labelSelector").value_or(""),
                    request.Query("fieldSelector").value_or(""))) {
      continue;
    }
    if (nth++ < begin) continue;
    more = items.size() == limit;
    if (more) break;
    items.push_back(object);
  }
  doc::Node metadata = doc::Node::Mapping({{"resourceVersion", doc::Node::String(std::to_string(version))}});
  if (more)
    metadata.Set("continue", doc::Node::String(std::to_string(version) + "/" + std::to_string(nth - 1)));
  return JsonAnswer(200, doc::Node::Mapping({{"kind", doc::Node::String("List")},
                                             {"apiVersion", doc::Node::String("v1")},
                                             {"metadata", std::move(metadata)},
                                             {"items", doc::Node::Sequence(std::move(items))}}));
}

http::ServerResponse FakeApiServer::Create(const http::ServerRequest& request, const Asked& asked) {
  auto object = Parse(request.body);
  if (!object) return StatusAnswer(400, "BadRequest", "the body is no object");
  doc::Node& metadata = Sub(*object, "metadata");
  std::string name = TextAt(metadata, {"name"});
  if (name.empty()) name = TextAt(metadata, {"generateName"}) + std::to_string(++serial_);
  if (objects_.contains(asked.Collection() + name)) {
    return StatusAnswer(409, "AlreadyExists", asked.resource + " \"" + name + "\" already exists");
  }
  doc::Put(metadata, "name", doc::Node::String(name));
  doc::Put(metadata, "namespace", doc::Node::String(asked.name_space));
  doc::Put(metadata, "uid", doc::Node::String("uid-" + std::to_string(++serial_)));
  if (asked.resource == "pods") {
    doc::Put(Sub(*object, "status"), "phase", doc::Node::String("Pending"));
    if (admission_) admission_(*object);
    if (auto refused = WhatRefuses(asked, *object)) {
      return StatusAnswer(refused->status, refused->reason, refused->message);
    }
  }
  if (request.Query("dryRun") == "All") return JsonAnswer(201, *object);
  Store(asked.Collection() + name, *std::move(object));
  return JsonAnswer(201, objects_[asked.Collection() + name]);
}

std::optional<FakeApiServer::Refusal> FakeApiServer::WhatRefuses(const Asked& asked,
                                                                 const doc::Node& pod) const {
  if (auto refused = refusal_ ? refusal_(pod) : std::nullopt) return refused;
  auto there = std::count_if(objects_.begin(), objects_.end(),
                             [&](const auto& one) { return one.first.starts_with(asked.Collection()); });
  return namespaces_.WhatRefuses(asked.name_space, pod, static_cast<std::size_t>(there));
}

http::ServerResponse FakeApiServer::PatchOne(const http::ServerRequest& request, const Asked& asked) {
  auto found = objects_.find(asked.Path());
  if (found == objects_.end()) return GetOne(asked);
  auto patch = Parse(request.body);
  std::string_view type = request.headers.Get("Content-Type").value_or("");
  bool strategic = type == "application/strategic-merge-patch+json";
  if (!patch) return StatusAnswer(400, "BadRequest", "the body is no object");
  if (!strategic && type != "application/merge-patch+json") {
    return StatusAnswer(415, "UnsupportedMediaType", "the body is of an unknown type");
  }
  std::string wanted = TextAt(*patch, {"metadata", "resourceVersion"});
  if (!wanted.empty() && wanted != TextAt(found->second, {"metadata", "resourceVersion"})) {
    return StatusAnswer(409, "Conflict",
                        "the object has been modified; please apply your changes to the latest version");
  }
  doc::Node patched = found->second;
  tests::Patch(strategic ? PatchKind::kStrategic : PatchKind::kMerge, *patch, patched);
  // The status changes through its subresource and nothing else does.
  const bool of_status = asked.subresource == "status";
  const doc::Node* status = (of_status ? patched : found->second).Find("status");
  doc::Node result = of_status ? found->second : patched;
  if (status != nullptr && asked.resource != "events") doc::Put(result, "status", doc::Node(*status));
  if (request.Query("dryRun") == "All") return JsonAnswer(200, result);
  Store(asked.Path(), std::move(result));
  return JsonAnswer(200, objects_[asked.Path()]);
}

http::ServerResponse FakeApiServer::DeleteOne(const http::ServerRequest& request, const Asked& asked) {
  auto found = objects_.find(asked.Path());
  if (found == objects_.end()) return GetOne(asked);
  auto options = Parse(request.body);
  std::string uid = options ? TextAt(*options, {"preconditions", "uid"}) : "";
  if (!uid.empty() && uid != TextAt(found->second, {"metadata", "uid"})) {
    return StatusAnswer(409, "Conflict", "the UID in the precondition does not match");
  }
  doc::Node gone = found->second;
  if (request.Query("dryRun") != "All") objects_.erase(found);
  return JsonAnswer(200, gone);
}

http::ServerResponse FakeApiServer::CreateToken(const http::ServerRequest& request, const Asked& asked) {
  if (!objects_.contains(asked.Path())) return GetOne(asked);
  auto body = Parse(request.body);
  const doc::Node* wanted = body ? ValueAt(*body, {"spec", "expirationSeconds"}) : nullptr;
  if (wanted == nullptr || wanted->integer < 600) {
    return StatusAnswer(422, "Invalid",
                        "spec.expirationSeconds: may not specify a duration less than 10 minutes");
  }
  auto life = std::min<std::chrono::seconds>(std::chrono::seconds(wanted->integer), std::chrono::hours(1));
  const auto& audiences = doc::ItemsAt(*body, {"spec", "audiences"});
  doc::Node status = doc::Node::Mapping();
  status.Set("token",
             doc::Node::String(
                 audiences.empty()
                     ? NewToken("system:serviceaccount:" + asked.name_space + ":" + asked.name, {}, life)
                     : NewAccountToken({asked.name_space, asked.name, "", ""}, audiences[0].text, life)));
  status.Set("expirationTimestamp", doc::Node::String(base::Rfc3339(clock_.Wall() + life)));
  doc::Node answer = *body;
  doc::Put(answer, "status", std::move(status));
  return JsonAnswer(201, answer);
}

}  // namespace prefetch::tests
