// Classifies a broken exchange (R24). Pure.
#pragma once

#include "base/result.h"
#include "http/client.h"
#include "image/registry_answer.h"

namespace prefetch::registry {

// `error` is http::Client's, which holds no secret. kNone is no fault, and must not be asked for.
image::RegistryAnswer AnswerToFault(http::Fault fault, const base::Error& error);

}  // namespace prefetch::registry
