// A runtime's words on a failed pull hold those of registries, proxies and images.

#include "cri/classify.h"
#include "fuzz/target.h"

FUZZ_TARGET(text) {
  for (prefetch::cri::RpcCode code : {prefetch::cri::RpcCode::kUnknown, prefetch::cri::RpcCode::kNotFound,
                                      prefetch::cri::RpcCode::kUnavailable}) {
    if (prefetch::base::EnumName(prefetch::cri::Classify(code, text, {"reg.example/app:v1"})).empty())
      std::abort();
  }
  const prefetch::cri::ParsedFailure reading = prefetch::cri::ParseFailure(text);
  // All of the text is somebody's, or is passed over between the two.
  if (reading.own.size() + reading.quoted.size() > text.size()) std::abort();
  if (reading.status != 0 && (reading.status < 100 || reading.status > 999)) std::abort();
}
