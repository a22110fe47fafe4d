#include "cluster/api.h"

#include <curl/curl.h>
#include <gtest/gtest.h>

#include <sstream>
#include <utility>

#include "doc/json.h"
#include "doc/write.h"

namespace prefetch::cluster {
namespace {

constexpr long kApiTimeoutSeconds = 30;
constexpr doc::Limits kApiLimits{.bytes = 64 << 20, .depth = 64, .nodes = 5'000'000};

size_t CollectBody(char* bytes, size_t size, size_t count, void* into) {
  static_cast<std::string*>(into)->append(bytes, size * count);
  return size * count;
}

}  // namespace

struct Api::Handle {
  Handle() : curl(::curl_easy_init()) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { ::curl_easy_cleanup(curl); }
  CURL* curl;
};

Api::Api(std::string url, std::string ca_file, std::string token)
    : url_(std::move(url)),
      ca_file_(std::move(ca_file)),
      token_(std::move(token)),
      handle_(std::make_unique<Handle>()) {}
Api::Api(Api&&) noexcept = default;
Api::~Api() = default;

Api Api::As(std::string token) const {
  return {url_, ca_file_, std::move(token)};
}

ApiAnswer Api::Do(const char* method, const std::string& path, const std::string& body, const char* type) {
  ApiAnswer answer;
  CURL* curl = handle_->curl;
  ::curl_easy_reset(curl);
  ::curl_slist* headers = ::curl_slist_append(nullptr, ("Authorization: Bearer " + token_).c_str());
  headers = ::curl_slist_append(headers, (std::string("Content-Type: ") + type).c_str());
  ::curl_easy_setopt(curl, CURLOPT_URL, (url_ + path).c_str());
  ::curl_easy_setopt(curl, CURLOPT_CAINFO, ca_file_.c_str());
  ::curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  ::curl_easy_setopt(curl, CURLOPT_TIMEOUT, kApiTimeoutSeconds);
  ::curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
  ::curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  ::curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &CollectBody);
  ::curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.text);
  if (!body.empty()) {
    ::curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.c_str());
    ::curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  }
  if (::curl_easy_perform(curl) == CURLE_OK)
    ::curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
  ::curl_slist_free_all(headers);
  answer.body = ParseOrNull(answer.text);
  return answer;
}

ApiAnswer Api::Get(const std::string& path) {
  return Do("GET", path, "", "application/json");
}
ApiAnswer Api::Post(const std::string& path, const std::string& body) {
  return Do("POST", path, body, "application/json");
}
ApiAnswer Api::Put(const std::string& path, const std::string& body) {
  return Do("PUT", path, body, "application/json");
}
ApiAnswer Api::Delete(const std::string& path) {
  return Do("DELETE", path, "", "application/json");
}
ApiAnswer Api::Kill(const std::string& path) {
  return Do("DELETE", path, R"({"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0})",
            "application/json");
}
ApiAnswer Api::MergePatch(const std::string& path, const std::string& body) {
  return Do("PATCH", path, body, "application/merge-patch+json");
}
ApiAnswer Api::JsonPatch(const std::string& path, const std::string& body) {
  return Do("PATCH", path, body, "application/json-patch+json");
}

std::vector<doc::Node> Api::VersionsSince(const std::string& collection, const std::string& name,
                                          const std::string& resource_version) {
  std::istringstream lines(Get(collection + "?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3D" +
                               name + "&resourceVersion=" + resource_version)
                               .text);
  std::vector<doc::Node> versions;
  for (std::string line; std::getline(lines, line);) {
    const doc::Node event = ParseOrNull(line);
    const std::string type = doc::TextAt(event, {"type"});
    const doc::Node* object = doc::ValueAt(event, {"object"});
    EXPECT_TRUE(object != nullptr && type != "ERROR") << line;
    if (object != nullptr) versions.push_back(*object);
  }
  return versions;
}

std::string Quote(const std::string& text) {
  return doc::WriteJson(doc::Node::String(text));
}

doc::Node ParseOrNull(const std::string& json) {
  doc::Problems problems("answer");
  auto node = doc::ParseJson(json, problems, doc::JsonRules::kLenient, kApiLimits);
  return node ? *std::move(node) : doc::Node{};
}

}  // namespace prefetch::cluster
