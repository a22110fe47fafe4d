#include "credentials/token_attributes.h"

#include <algorithm>
#include <set>

#include "base/label_syntax.h"
#include "base/text.h"

namespace prefetch::credentials {
namespace {

std::vector<std::string> DecodeKeys(doc::ObjectReader& object, std::string_view field,
                                    std::set<std::string>& required) {
  std::vector<std::string> keys;
  std::set<std::string> seen;
  for (const doc::Reader& item : object.Items(field)) {
    std::optional<std::string> key = item.String();
    if (!key) continue;
    if (!IsQualifiedName(*key)) item.Fail("must be a qualified name such as example.com/name");
    if (!seen.insert(*key).second) item.Fail("is listed twice");
    // A5: each key is in one of the two lists only.
    if (required.count(*key) != 0) item.Fail("is also a required key");
    keys.push_back(std::move(*key));
  }
  // The next list is compared with this one.
  required.merge(seen);
  return keys;
}

}  // namespace

bool IsQualifiedName(std::string_view text) {
  return base::IsLabelKey(base::ToLower(text));
}

TokenAttributes DecodeTokenAttributes(const doc::Reader& reader) {
  using doc::Need;
  TokenAttributes out;
  doc::ObjectReader object(reader);
  out.service_account_token_audience =
      object.String("serviceAccountTokenAudience", Need::kRequired).value_or("");
  if (object.Has("serviceAccountTokenAudience") && out.service_account_token_audience.empty()) {
    object.Fail("serviceAccountTokenAudience", "must not be empty");
  }
  out.cache_type = object
                       .Enum<TokenCacheType>("cacheType",
                                             {{"ServiceAccount", TokenCacheType::kServiceAccount},
                                              {"Token", TokenCacheType::kToken}},
                                             Need::kRequired)
                       .value_or(TokenCacheType::kServiceAccount);
  out.require_service_account = object.Bool("requireServiceAccount", Need::kRequired).value_or(false);
  std::set<std::string> required;
  out.required_annotation_keys = DecodeKeys(object, "requiredServiceAccountAnnotationKeys", required);
  out.optional_annotation_keys = DecodeKeys(object, "optionalServiceAccountAnnotationKeys", required);
  if (!out.require_service_account && !out.required_annotation_keys.empty()) {
    object.Fail("requiredServiceAccountAnnotationKeys", "needs requireServiceAccount: true");
  }
  object.Finish();
  return out;
}

}  // namespace prefetch::credentials
