#include "rig/images.h"

#include <curl/curl.h>

#include <cstdlib>

#include "rig/layer_blob.h"

namespace prefetch::rig {
namespace {

struct MediaTypes {
  const char* manifest;
  const char* config;
  const char* layer;
  const char* index;
};

const MediaTypes& TypesOf(ManifestKind kind) {
  static constexpr MediaTypes kDockerTypes{"application/vnd.docker.distribution.manifest.v2+json",
                                           "application/vnd.docker.container.image.v1+json",
                                           "application/vnd.docker.image.rootfs.diff.tar.gzip",
                                           "application/vnd.docker.distribution.manifest.list.v2+json"};
  static constexpr MediaTypes kOciTypes{
      "application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.config.v1+json",
      "application/vnd.oci.image.layer.v1.tar+gzip", "application/vnd.oci.image.index.v1+json"};
  static constexpr MediaTypes kChartTypes{
      "application/vnd.oci.image.manifest.v1+json", "application/vnd.cncf.helm.config.v1+json",
      "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/vnd.oci.image.index.v1+json"};
  switch (kind) {
    case ManifestKind::kDocker:
      return kDockerTypes;
    case ManifestKind::kOci:
      return kOciTypes;
    case ManifestKind::kChart:
      return kChartTypes;
  }
  std::abort();
}

std::string Quoted(const std::string& text) {
  return "\"" + text + "\"";
}

// The members of an OCI descriptor, without the braces.
std::string Descriptor(const std::string& media_type, const std::string& digest, std::size_t size) {
  return "\"mediaType\":" + Quoted(media_type) + ",\"digest\":" + Quoted(digest) +
         ",\"size\":" + std::to_string(size);
}

// "os", "architecture", "variant" as JSON members.
std::string PlatformMembers(const image::Platform& platform) {
  std::string text = "\"os\":" + Quoted(platform.os) + ",\"architecture\":" + Quoted(platform.architecture);
  if (!platform.variant.empty()) text += ",\"variant\":" + Quoted(platform.variant);
  return text;
}

std::string Config(const ImageSpec& spec, const std::vector<std::string>& diff_ids) {
  std::string list;
  for (const std::string& id : diff_ids) list += (list.empty() ? "" : ",") + Quoted(id);
  // The name is part of it, so that images of the same layers are still different images.
  std::string name = spec.name.empty() ? spec.repository + ":" + spec.tag : spec.name;
  if (spec.kind == ManifestKind::kChart) return "{\"name\":" + Quoted(name) + ",\"apiVersion\":\"v2\"}";
  return "{\"created\":\"2026-01-01T00:00:00Z\"," + PlatformMembers(spec.platform) + ",\"config\":{" +
         (spec.entrypoint.empty() ? "" : "\"Entrypoint\":[" + Quoted(spec.entrypoint) + "],") +
         "\"Labels\":{\"name\":" + Quoted(name) + "}},\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[" + list +
         "]}}";
}

size_t Collect(char* bytes, size_t size, size_t count, void* into) {
  static_cast<std::string*>(into)->append(bytes, size * count);
  return size * count;
}

}  // namespace

// One curl handle with the registry's address and credentials.
class Pusher::Http {
 public:
  struct Answer {
    long status = 0;
    std::string headers;
    std::string body;
  };

  Http(std::string registry, std::string user, base::Secret password)
      : registry_(std::move(registry)), user_(std::move(user)), password_(std::move(password)) {
    static const CURLcode initialized = ::curl_global_init(CURL_GLOBAL_DEFAULT);
    (void)initialized;
    curl_ = ::curl_easy_init();
  }
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;
  ~Http() { ::curl_easy_cleanup(curl_); }

  // `where` is a path, or what a Location header said. A body only with PUT.
  base::Result<Answer> Send(const std::string& method, const std::string& where,
                            const std::string* body = nullptr,
                            const std::string& content_type = "application/octet-stream") {
    ::curl_easy_reset(curl_);
    Answer answer;
    std::string url = where[0] == '/' ? "http://" + registry_ + where : where;
    ::curl_easy_setopt(curl_, CURLOPT_URL, url.c_str());
    ::curl_easy_setopt(curl_, CURLOPT_PROXY, "");
    ::curl_easy_setopt(curl_, CURLOPT_CUSTOMREQUEST, method.c_str());
    ::curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, Collect);
    ::curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &answer.body);
    ::curl_easy_setopt(curl_, CURLOPT_HEADERDATA, &answer.headers);
    ::curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
    ::curl_easy_setopt(curl_, CURLOPT_TIMEOUT, 120L);
    ::curl_easy_setopt(curl_, CURLOPT_UPLOAD_BUFFERSIZE, 1L << 20);
    if (method == "HEAD") ::curl_easy_setopt(curl_, CURLOPT_NOBODY, 1L);
    if (!user_.empty()) {
      ::curl_easy_setopt(curl_, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
      ::curl_easy_setopt(curl_, CURLOPT_USERNAME, user_.c_str());
      ::curl_easy_setopt(curl_, CURLOPT_PASSWORD, std::string(password_.Reveal()).c_str());
    }
    // The empty Expect stops curl from waiting for "100 Continue" before it sends.
    curl_slist* headers = ::curl_slist_append(nullptr, "Expect:");
    headers = ::curl_slist_append(headers, ("Content-Type: " + content_type).c_str());
    ::curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers);
    if (body != nullptr || method == "POST") {
      ::curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, body != nullptr ? body->data() : "");
      ::curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE,
                         static_cast<curl_off_t>(body != nullptr ? body->size() : 0));
    }
    CURLcode code = ::curl_easy_perform(curl_);
    ::curl_slist_free_all(headers);
    if (code != CURLE_OK) return base::Unavailable(method + " " + url + ": " + ::curl_easy_strerror(code));
    ::curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &answer.status);
    return answer;
  }

  // The same, but any status other than `expected` is an error.
  base::Result<Answer> Demand(long expected, const std::string& method, const std::string& where,
                              const std::string* body = nullptr,
                              const std::string& content_type = "application/octet-stream") {
    auto answer = Send(method, where, body, content_type);
    if (!answer || answer->status == expected) return answer;
    std::string what = method + " " + where + ": " + std::to_string(answer->status) + " " + answer->body;
    if (answer->status == 401 || answer->status == 403) return base::PermissionDenied(what);
    return base::Internal(what);
  }

 private:
  std::string registry_;
  std::string user_;
  base::Secret password_;
  CURL* curl_ = nullptr;
};

namespace {

// The value of Location in a block of response headers.
std::string LocationOf(const std::string& headers) {
  constexpr std::string_view kName = "\r\nLocation: ";
  std::size_t at = headers.find(kName);
  if (at == std::string::npos) return "";
  at += kName.size();
  return headers.substr(at, headers.find("\r\n", at) - at);
}

}  // namespace

Pusher::Pusher(std::string registry, std::string user, base::Secret password)
    : http_(std::make_unique<Http>(std::move(registry), std::move(user), std::move(password))) {}
Pusher::~Pusher() = default;

base::Status Pusher::PushBlob(const std::string& repository, const std::string& digest,
                              const std::string& bytes) {
  auto head = http_->Send("HEAD", "/v2/" + repository + "/blobs/" + digest);
  if (!head) return head.status();
  if (head->status == 200) return {};
  auto begun = http_->Demand(202, "POST", "/v2/" + repository + "/blobs/uploads/");
  if (!begun) return begun.status();
  std::string location = LocationOf(begun->headers);
  if (location.empty()) return base::Internal("an upload without Location");
  location += (location.find('?') == std::string::npos ? "?digest=" : "&digest=") + digest;
  auto put = http_->Demand(201, "PUT", location, &bytes);
  if (!put) return put.status();
  return {};
}

base::Result<PushedImage> Pusher::PushManifest(const std::string& repository, const std::string& tag,
                                               const std::string& media_type, const std::string& manifest) {
  PushedImage pushed;
  pushed.digest = DigestOf(manifest);
  std::string path = "/v2/" + repository + "/manifests/" + (tag.empty() ? pushed.digest : tag);
  auto put = http_->Demand(201, "PUT", path, &manifest, media_type);
  if (!put) return std::move(put).error();
  return pushed;
}

base::Result<PushedImage> Pusher::PushBlobsAndManifest(const ImageSpec& spec, const std::string& reference,
                                                       std::string& descriptor) {
  const MediaTypes& types = TypesOf(spec.kind);
  PushedImage blobs;
  std::vector<std::string> diff_ids;
  std::string layers;
  for (const Layer& layer : spec.layers) {
    LayerBlob blob = MakeLayer(layer);
    if (auto ok = PushBlob(spec.repository, blob.digest, blob.bytes); !ok) return std::move(ok).error();
    blobs.bytes += blob.bytes.size();
    blobs.layers.push_back(blob.digest);
    diff_ids.push_back(blob.diff_id);
    layers += (layers.empty() ? "{" : ",{") + Descriptor(types.layer, blob.digest, blob.bytes.size()) + "}";
  }
  std::string config = Config(spec, diff_ids);
  blobs.config = DigestOf(config);
  if (auto ok = PushBlob(spec.repository, blobs.config, config); !ok) return std::move(ok).error();
  std::string manifest = "{\"schemaVersion\":2,\"mediaType\":" + Quoted(types.manifest) + ",\"config\":{" +
                         Descriptor(types.config, blobs.config, config.size()) + "},\"layers\":[" + layers +
                         "]}";
  auto pushed = PushManifest(spec.repository, reference, types.manifest, manifest);
  if (!pushed) return pushed;
  blobs.digest = pushed->digest;
  descriptor = "{" + Descriptor(types.manifest, blobs.digest, manifest.size()) + ",\"platform\":{" +
               PlatformMembers(spec.platform) + "}}";
  return blobs;
}

base::Result<PushedImage> Pusher::Push(const ImageSpec& spec) {
  std::string descriptor;
  return PushBlobsAndManifest(spec, spec.tag, descriptor);
}

base::Result<PushedImage> Pusher::PushIndex(const std::vector<ImageSpec>& images) {
  if (images.empty()) return base::InvalidArgument("an index of nothing");
  PushedImage all;
  std::string list;
  for (const ImageSpec& spec : images) {
    std::string descriptor;
    auto pushed = PushBlobsAndManifest(spec, "", descriptor);
    if (!pushed) return pushed;
    all.bytes += pushed->bytes;
    list += (list.empty() ? "" : ",") + descriptor;
  }
  const char* type = TypesOf(images[0].kind).index;
  std::string index = "{\"schemaVersion\":2,\"mediaType\":" + Quoted(type) + ",\"manifests\":[" + list + "]}";
  auto pushed = PushManifest(images[0].repository, images[0].tag, type, index);
  if (!pushed) return pushed;
  all.digest = pushed->digest;
  return all;
}

}  // namespace prefetch::rig
