// The URL of a manifest, or of the API's root, on one host (R5, R9). Pure.
#pragma once

#include <string>
#include <string_view>

#include "http/absolute_url.h"
#include "image/reference.h"
#include "registry/host.h"

namespace prefetch::registry {

// By digest if the reference has one, else by tag; with `?ns=` where the host is not the registry's own,
// which is how mirrors learn whom they stand for.
http::AbsoluteUrl ManifestUrl(const Host& host, const image::Reference& reference);

// "https://host/v2/", which every registry knows and nobody else does.
http::AbsoluteUrl ApiRootUrl(const Host& host, const image::Reference& reference);

}  // namespace prefetch::registry
