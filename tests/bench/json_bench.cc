// JSON: the parser and the writer of lib/doc beside jsoncpp, on the documents that are large. Holds the table
// of lib/DESIGN.md, "Libraries not used". jsoncpp reads as strictly as it can; its tree has no conversion to
// a doc::Node.
#include <gtest/gtest.h>
#include <json/json.h>
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "doc/json.h"
#include "doc/write.h"
#include "status/sample.h"
#include "status/status_json.h"

namespace prefetch::bench::json {
namespace {

constexpr int kEntries = 5'000;
constexpr int kManifests = 10'000;
constexpr int kPairs = 9;
constexpr doc::Limits kLimits{.bytes = 64 << 20, .depth = 64, .nodes = 8'000'000};

std::string List() {
  std::string text = R"({"apiVersion":"prefetchd.dev/v1alpha1","kind":"ImageList","images":[)";
  for (int i = 0; i < kEntries; i++) {
    text += (i == 0 ? "" : ",") + std::string(R"({"image":"ghcr.io/acme/service-)") + std::to_string(i) +
            R"(:v1","required":true,"refresh":"IfDigestChanged","priority":)" + std::to_string(i % 10) + "}";
  }
  return text + "]}";
}

std::string StatusDocument() {
  std::vector<plan::ImageState> images;
  for (int i = 0; i < kEntries; i++)
    images.push_back(sample::Ready("ghcr.io/acme/service-" + std::to_string(i) + ":v1", 90'000'000));
  return status::StatusJson(sample::Node(images));
}

std::string Manifest(int i) {
  const std::string name = "web-" + std::to_string(i);
  return R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":")" + name +
         R"(","namespace":"shop","labels":{"app":"web","tier":"front"}},"spec":{"replicas":3,"selector":)"
         R"({"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":)"
         R"({"containers":[{"name":"app","image":"quay.io/acme/app:v1","imagePullPolicy":"IfNotPresent",)"
         R"("ports":[{"containerPort":8080,"name":"http"}],"env":[{"name":"A","value":"1"}],"resources":)"
         R"({"requests":{"cpu":"100m","memory":"128Mi"}}}]}}}})";
}

std::optional<doc::Node> Ours(const std::string& text) {
  doc::Problems problems("bench");
  return doc::ParseJson(text, problems, doc::JsonRules::kStrict, kLimits);
}

std::optional<Json::Value> Theirs(const std::string& text) {
  static const Json::CharReaderBuilder kStrict = [] {
    Json::CharReaderBuilder builder;
    Json::CharReaderBuilder::strictMode(&builder.settings_);
    builder["stackLimit"] = 64;
    return builder;
  }();
  const std::unique_ptr<Json::CharReader> reader(kStrict.newCharReader());
  Json::Value root;
  if (!reader->parse(text.data(), text.data() + text.size(), &root, nullptr)) return std::nullopt;
  return root;
}

std::string TheirText(const Json::Value& value) {
  static const Json::StreamWriterBuilder kCompact = [] {
    Json::StreamWriterBuilder builder;
    builder["indentation"] = "";
    return builder;
  }();
  return Json::writeString(kCompact, value);
}

double SecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return SecondsSince(start);
}

// The median of theirs / ours, of runs in pairs: both meet the same noise.
std::string TimesOurs(const std::function<void()>& theirs, const std::function<void()>& ours) {
  std::vector<double> ratios;
  for (int i = 0; i < kPairs; i++) {
    const double first = SecondsOf(ours);
    ratios.push_back(SecondsOf(theirs) / first);
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", Median(ratios));
  return text;
}

// The heap that all trees of `texts` hold at once.
template <typename Parse>
double HeapOf(const std::vector<std::string>& texts, Parse parse) {
  const std::size_t before = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
  std::vector<decltype(parse(texts.front()))> trees;
  trees.reserve(texts.size());
  for (const std::string& text : texts) {
    trees.push_back(parse(text));
    EXPECT_TRUE(trees.back());
  }
  return static_cast<double>(::mallinfo2().uordblks + ::mallinfo2().hblkhd - before);
}

void Compare(const std::string& name, const std::vector<std::string>& texts) {
  const std::string reading = TimesOurs(
      [&] {
        for (const std::string& text : texts) EXPECT_TRUE(Theirs(text));
      },
      [&] {
        for (const std::string& text : texts) EXPECT_TRUE(Ours(text));
      });
  std::vector<doc::Node> nodes;
  std::vector<Json::Value> values;
  for (const std::string& text : texts) {
    nodes.push_back(Ours(text).value_or(doc::Node()));
    values.push_back(Theirs(text).value_or(Json::Value()));
  }
  std::size_t bytes = 0, their_bytes = 0;
  const std::string writing = TimesOurs(
      [&] {
        for (const Json::Value& value : values) their_bytes += TheirText(value).size();
      },
      [&] {
        for (const doc::Node& node : nodes) bytes += doc::WriteJson(node).size();
      });
  EXPECT_EQ(bytes, their_bytes) << "the two wrote different documents";
  char memory[32];
  std::snprintf(memory, sizeof memory, "%.2f", HeapOf(texts, Theirs) / HeapOf(texts, Ours));
  Print("jsoncpp against lib/doc, " + name,
        "reading " + reading + " x, writing " + writing + " x, memory " + memory + " x",
        "<= 1.1 x, or the parser stays ours");
}

TEST(Json, JsoncppAgainstOurs) {
  Compare("a list of 5,000 entries", {List()});
  Compare("a status document of 5,000 images", {StatusDocument()});
  std::vector<std::string> manifests;
  for (int i = 0; i < kManifests; i++) manifests.push_back(Manifest(i));
  Compare("10,000 manifests", manifests);
}

}  // namespace
}  // namespace prefetch::bench::json
