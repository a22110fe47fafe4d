// LooseJson: reads a few members of another program's JSON document (a runtime's, a registry's). Anything may
// be missing or of another type, and then it is not known: there are no places and no mistakes. For documents
// that users write, or that have a contract, use doc/json and doc/reader.
//
// Read by jsoncpp. Its leniences (`01`) do no harm here: the writer is a program.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace Json {  // NOLINT(readability-identifier-naming): jsoncpp's
class Value;
}

namespace prefetch::doc {

// A value within a document, which it keeps alive; cheap to copy. Any thread may read.
class LooseJson {
 public:
  // Null for what cannot be read, nests deeper than 64 or has more than 100,000 values. Pure.
  static LooseJson Parse(std::string_view text);

  bool IsObject() const;
  bool IsArray() const;
  // An object or an array with something in it.
  bool HasContent() const;
  // An object with a member that is neither null, false nor empty text.
  bool SaysSomething() const;
  // Null if this is no object, or has no such member.
  LooseJson Member(const char* name) const;
  std::string Text(const char* name) const;                     // empty: no text
  std::optional<std::uint64_t> Number(const char* name) const;  // nullopt: no whole number from 0 on
  std::vector<std::string> Names() const;                       // of an object, sorted
  std::vector<LooseJson> Items() const;                         // of an array

 private:
  LooseJson(std::shared_ptr<const Json::Value> document, const Json::Value& value);

  std::shared_ptr<const Json::Value> document_;
  const Json::Value* value_;
};

// A blob that an image manifest lists.
struct Blob {
  std::string digest;
  std::uint64_t size_bytes = 0;

  friend auto operator<=>(const Blob&, const Blob&) = default;
};

struct ImageManifest {
  // Its configuration and its layers, each once and in order.
  std::vector<Blob> blobs;
  // The media types are those of a configuration and of layers that runtimes unpack. False for an artifact (a
  // Helm chart), and for encrypted layers.
  bool can_be_unpacked = false;
  // It has layers that only their own servers may distribute
  // (application/vnd.oci.image.layer.nondistributable…). The registry does not have them.
  bool has_foreign_layers = false;
};

// Reads a manifest of OCI or of Docker's schema 2. nullopt: not an image manifest (an index, a configuration,
// not JSON), or one with a size that no blob has.
std::optional<ImageManifest> ParseImageManifest(std::string_view json);

}  // namespace prefetch::doc
