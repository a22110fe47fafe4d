#include "status/retry_document.h"

#include <optional>
#include <utility>

#include "base/enum_name.h"
#include "base/text.h"
#include "doc/json.h"
#include "doc/reader.h"
#include "doc/write.h"
#include "image/reference.h"
#include "status/rows.h"
#include "status/status_json.h"

namespace prefetch::status {

std::string_view RetryStateName(RetryState state) {
  return base::EnumName(state);
}

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

std::string RetryResultJson(const RetryResult& result) {
  doc::JsonWriter out;
  out.Object([&] {
    out.Member("apiVersion", kStatusApiVersion);
    out.Member("kind", "RetryResult");
    out.Member("node", result.node);
    out.Array("images", [&] {
      for (const RetriedImage& image : result.images) {
        out.Object([&] {
          out.Member("image", image.image);
          out.Member("state", RetryStateName(image.state));
        });
      }
    });
  });
  return out.Take() + "\n";
}

// Unknown members and states are ignored: the agent may be newer than this program.
base::Result<RetryResult> ParseRetryResult(std::string_view json) {
  doc::Problems problems("answer");
  auto root = doc::ParseJson(json, problems, doc::JsonRules::kLenient);
  if (!root) return base::Error(problems.ToStatus().error());
  std::string error, api_version, kind;
  RetryResult result;
  Members in(*root, "", error);
  in.Read("apiVersion", api_version);
  in.Read("kind", kind);
  if (error.empty() && (api_version != kStatusApiVersion || kind != "RetryResult")) {
    error = "it is no RetryResult of prefetchd.dev/v1";
  }
  in.Read("node", result.node);
  in.Objects("images", [&](const Members& members) {
    RetriedImage image;
    std::string state;
    members.Read("image", image.image);
    members.Read("state", state);
    const std::optional<RetryState> known = base::EnumNamed<RetryState>(state);
    if (!known) return;
    image.state = *known;
    result.images.push_back(std::move(image));
  });
  if (!error.empty()) return base::InvalidArgument("answer: " + error);
  return result;
}

}  // namespace prefetch::status
