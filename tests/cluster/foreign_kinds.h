// The kinds of other projects that renderings have, as CustomResourceDefinitions that take anything.
#pragma once

#include <string>

namespace prefetch::cluster {

std::string ForeignKinds();

}  // namespace prefetch::cluster
