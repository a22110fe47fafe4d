#include "status/retry_document.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "doc/json.h"
#include "doc/reader.h"
#include "doc/write.h"
#include "image/reference.h"
#include "status/rows.h"

namespace prefetch::status {

// An empty body asks for all images that wait.
base::Result<RetryRequest> ParseRetryRequest(std::string_view json) {
  RetryRequest request;
  if (base::TrimSpace(json).empty()) return request;
  doc::Problems problems("request");
  std::optional<doc::Node> root = doc::ParseJson(json, problems);
  if (!root) return problems.ToStatus().error();
  doc::ObjectReader object(doc::Reader(*root, problems));
  const std::vector<doc::Reader> items = object.Items("images");
  if (items.size() > kMostRetries) {
    object.Fail("images", "must be at most " + std::to_string(kMostRetries));
  } else {
    for (const doc::Reader& item : items) {
      std::optional<std::string> image = item.String();
      if (!image) continue;
      auto reference = image::Reference::Parse(*image);
      if (!reference) item.Fail(reference.error().message());
      request.images.push_back(*std::move(image));
    }
  }
  object.Finish();
  if (!problems.empty()) return problems.ToStatus().error();
  return request;
}

doc::Node ToNode(const RetryRequest& request) {
  doc::Node root = doc::Node::Mapping();
  if (!request.images.empty()) root.Set("images", doc::Node::Strings(request.images));
  return root;
}

template <typename V>
static void Rows(V&& v, const RetriedImage*) {
  v("image", &RetriedImage::image, kPublic, "The image, as the list has it");
  v("state", &RetriedImage::state, kPublic | kMore, "What becomes of the retry");
}

template <typename V>
static void Rows(V&& v, const RetryResult*) {
  v("node", &RetryResult::node, kPublic, "Name of the node");
  v("images", &RetryResult::images, kPublic, "The images of the request, or all that waited");
}

std::string RetryResultJson(const RetryResult& result) {
  return WriteDocument(result, "RetryResult", View::kFull, 0);
}

base::Result<RetryResult> ParseRetryResult(std::string_view json) {
  auto result = ParseDocument<RetryResult>(json, "RetryResult", "answer", {});
  if (result) std::erase_if(result->images, [](const RetriedImage& image) { return !image.state.value(); });
  return result;
}

}  // namespace prefetch::status
