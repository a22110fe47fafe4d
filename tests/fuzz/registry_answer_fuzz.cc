// Bodies and headers that a registry or a token service sends.

#include "base/redactor.h"
#include "base/text.h"
#include "fuzz/target.h"
#include "http/headers.h"
#include "image/reference.h"
#include "registry/index_choice.h"
#include "registry/response.h"
#include "registry/token_cache.h"

FUZZ_TARGET(text) {
  using namespace prefetch;
  (void)registry::ManifestKindOf(text, registry::MediaTypeRules::kContainerd);
  if (auto token = registry::ParseTokenResponse(text)) {
    if (!http::IsFieldValue(token->text.Reveal()) || token->lifetime.count() <= 0) std::abort();
  }
  base::Secret secret("hunter2");
  std::string shown =
      base::SanitizedText(registry::ParseOciError(text).message + std::string(text), 200, {&secret});
  if (!base::IsUtf8(shown) || shown.size() > 203 || shown.find('\n') != std::string::npos) std::abort();
  auto wait = registry::ParseRetryAfter(text, text, base::WallTime());
  if (wait && (wait->count() < 1000 || wait->count() > 6 * 3600 * 1000)) std::abort();
  (void)registry::ParseRateLimit(text);
  auto manifest = registry::ChooseManifest(text, {"linux", "arm", "v7"});
  if (manifest && !image::IsDigest(*manifest)) std::abort();
}
