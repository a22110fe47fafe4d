#include "image/written_name.h"

namespace prefetch::image {

std::string_view WrittenName(std::string_view image) {
  // The digest goes first, since it contains a colon.
  image = image.substr(0, image.find('@'));
  std::size_t slash = image.rfind('/');
  // A colon before the last slash belongs to the registry's port.
  std::size_t colon = image.find(':', slash == std::string_view::npos ? 0 : slash);
  return image.substr(0, colon);
}

bool NamesRegistry(std::string_view image) {
  std::size_t slash = image.find('/');
  if (slash == std::string_view::npos) return false;
  std::string_view first = image.substr(0, slash);
  return first == "localhost" || first.find_first_of(".:") != std::string_view::npos;
}

}  // namespace prefetch::image
